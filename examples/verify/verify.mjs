#!/usr/bin/env node
// Verifies a Same Deal replay without Same Deal's own code; see README.md.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { GAMES, deal } from "./deals.mjs";
import { FormatError } from "./encoding.mjs";
import { readReceipts, readReplay } from "./format.mjs";
import { verify } from "./proof.mjs";

const USAGE = `usage: node verify.mjs [--key HEX]... [--receipts FILE] REPLAY
       node verify.mjs --deal GAME:SEED

REPLAY is a file in JSON or NDJSON, or - for the standard input.`;

const OUTCOMES = {
  verified: { exitCode: 0, text: "verified: every fact holds, and the key is known" },
  refused: { exitCode: 1, text: "refused" },
  usage: { exitCode: 2, text: USAGE },
  "unknown-key": { exitCode: 3, text: "verified, but the key is unknown: compare it with the server's, or use --key" },
  filter: { exitCode: 4, text: "not checked: filter. Everything else holds; the deal filter needs the bots" },
};

function finish(outcome, text = OUTCOMES[outcome].text) {
  (outcome === "usage" ? console.error : console.log)(text);
  process.exitCode = OUTCOMES[outcome].exitCode;
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        key: { type: "string", multiple: true, default: [] },
        receipts: { type: "string" },
        deal: { type: "string" },
      },
    });
    const valid = values.key.every((key) => /^[0-9a-f]{64}$/.test(key));
    return valid && positionals.length === (values.deal === undefined ? 1 : 0) ? { ...values, file: positionals[0] } : null;
  } catch {
    return null;
  }
}

async function printDeal(code) {
  const [slug, ...seed] = code.split(":");
  if (!GAMES.has(slug) || seed.length === 0) return finish("usage");
  console.log((await deal(GAMES.get(slug), seed.join(":"))).cards.join(" "));
}

function print({ name, holds, entry, note, unsupported }) {
  const mark = { true: "holds", false: "FAILS", null: unsupported ? "?????" : "-----" }[holds];
  const where = holds === false && entry !== null ? `at entry ${entry}` : "";
  console.log([mark, name.padEnd(10), [where, note].filter(Boolean).join(": ")].join("  ").trimEnd());
}

async function main() {
  const given = readArguments();
  if (given === null) return finish("usage");
  if (given.deal !== undefined) return printDeal(given.deal);
  try {
    const receipts = given.receipts === undefined ? undefined : readReceipts(readFileSync(given.receipts));
    const replay = readReplay(readFileSync(given.file === "-" ? 0 : given.file));
    const { facts, outcome } = await verify(replay, { keys: given.key, receipts });
    facts.forEach(print);
    finish(outcome);
  } catch (error) {
    const expected = error instanceof FormatError || error.code !== undefined;
    if (!expected) throw error;
    finish("usage", `${given.file}: ${error.message}`);
  }
}

await main();
