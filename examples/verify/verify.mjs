#!/usr/bin/env node
// Verifies a Same Deal replay without Same Deal's own code; see README.md.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { GAMES, deal } from "./deals.mjs";
import { FormatError } from "./encoding.mjs";
import { readReceipts, readReplay } from "./format.mjs";
import { printable } from "./printing.mjs";
import { verify } from "./proof.mjs";

globalThis.crypto ??= webcrypto; // before Node.js 20, it is only in the module

const USAGE = `usage: node verify.mjs [--key HEX]... [--receipts FILE] REPLAY
       node verify.mjs --deal GAME:SEED

REPLAY is a file in JSON or NDJSON, or - for the standard input.`;

/** The exit code and the name of each outcome. */
const OUTCOMES = {
  verified: [0, "verified (key known)"],
  "key-unknown": [0, "verified, key unknown"],
  usage: [2, USAGE],
  refused: [5, "refused"],
  unreadable: [5, "not a replay"],
  "not-checked": [6, "not checked"],
};

function finish(outcome, detail = "") {
  const [code, name] = OUTCOMES[outcome];
  if (code === 2) console.error(name);
  else console.log(printable(name + detail));
  process.exitCode = code;
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
    const [file, ...others] = positionals;
    const one = others.length === 0 && (file === undefined) === (values.deal !== undefined);
    return valid && one ? { ...values, file } : null;
  } catch {
    return null;
  }
}

function printDeal(code) {
  const [slug, ...rest] = code.split(":");
  const [game, seed] = [GAMES.get(slug), rest.join(":")];
  if (!game || rest.length === 0 || game.isSeed?.(seed) === false) return finish("usage");
  console.log(deal(game, seed).cards.join(" "));
}

const showProgress = (done, total) => process.stderr.write(`\r${Math.floor((100 * done) / total)} %`);
const onProgress = process.stderr.isTTY ? showProgress : undefined;

function print({ name, holds, entry, note, unsupported }) {
  const mark = { true: "holds", false: "FAILS", null: unsupported ? "?????" : "-----" }[holds];
  const where = holds === false && entry !== null ? `at entry ${entry}` : "";
  console.log(printable([mark, name.padEnd(10), [where, note].filter(Boolean).join(": ")].join("  ")).trimEnd());
}

async function main() {
  const given = readArguments();
  if (given === null) return finish("usage");
  if (given.deal !== undefined) return printDeal(given.deal);
  try {
    const receipts = given.receipts === undefined ? undefined : readReceipts(readFileSync(given.receipts));
    const replay = readReplay(readFileSync(given.file === "-" ? 0 : given.file));
    const { facts, outcome } = await verify(replay, { keys: given.key, receipts, onProgress });
    if (onProgress) process.stderr.write("\r     \r");
    facts.forEach(print);
    const failed = facts.find(({ holds }) => holds === false);
    const unchecked = facts.filter(({ unsupported }) => unsupported).map(({ name }) => name);
    if (outcome === "refused") {
      finish(outcome, ` (${failed.name}${failed.entry === null ? "" : `, entry ${failed.entry}`})`);
    } else if (outcome === "not-checked") finish(outcome, `: ${unchecked.join(", ")}`);
    else finish(outcome, outcome === "key-unknown" ? ": compare it with the server's, or use --key" : "");
  } catch (error) {
    const expected = error instanceof FormatError || typeof error.code === "string"; // such as ENOENT
    if (!expected) throw error;
    finish("unreadable", `: ${error.message}`);
  }
}

await main();
