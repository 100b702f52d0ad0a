#!/usr/bin/env node
// Prints the standings over several races or of a challenge, as docs/bots/scores.md describes them, from their replays.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { challengeTable, verifyChallenge } from "./challenge.mjs";
import { FormatError, canonical } from "./encoding.mjs";
import { readChallenge, readReplay } from "./format.mjs";
import { printable, printableJson } from "./printing.mjs";
import { verify } from "./proof.mjs";
import { resultOf, signedEvening } from "./scores.mjs";

globalThis.crypto ??= webcrypto; // before Node.js 20, it is only in the module

const USAGE = "usage: node table.mjs [--key HEX]... [--no-verify] FILE...";
/** What ends the program, with its exit code. */
class Failure extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function readRace(bytes, { isTrusted, keys }) {
  const replay = readReplay(bytes);
  const { facts, outcome } = isTrusted ? { facts: [], outcome: "not-checked" } : await verify(replay, { keys });
  const failed = facts.find(({ holds }) => holds === false);
  if (failed) throw new FormatError(`${failed.name}: ${failed.note}`);
  const unchecked = facts.filter(({ unsupported }) => unsupported).map(({ name }) => name);
  return { ...resultOf(replay), outcome, unchecked };
}

async function readLog(log, { isTrusted, keys }) {
  const holds = await verifyChallenge(log, keys);
  const outcome = isTrusted || !holds ? "not-checked" : keys.length > 0 ? "verified" : "key-unknown";
  return { log, outcome, unchecked: holds ? [] : ["signature"] };
}

async function read(file, given) {
  try {
    const bytes = readFileSync(file === "-" ? 0 : file);
    const log = readChallenge(bytes);
    const { unchecked, ...result } = await (log ? readLog(log, given) : readRace(bytes, given));
    if (unchecked.length > 0) console.error(printable(`${file}: not checked: ${unchecked.join(", ")}`));
    return { ...result, file };
  } catch (error) {
    const expected = error instanceof FormatError || typeof error.code === "string"; // such as ENOENT
    throw expected ? new Failure(5, `${file}: ${error.message}`) : error;
  }
}

function readArguments() {
  try {
    const options = { "no-verify": { type: "boolean" }, key: { type: "string", multiple: true, default: [] } };
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    const { key: keys, "no-verify": isTrusted = false } = values;
    const valid = keys.every((key) => /^[0-9a-f]{64}$/.test(key)) && !(isTrusted && keys.length > 0);
    if (valid && positionals.length > 0) return { files: positionals, keys, isTrusted };
  } catch {
    // The usage says what is possible.
  }
  throw new Failure(2, USAGE);
}

async function main() {
  const { files, ...given } = readArguments();
  const results = new Map();
  let challenge;
  for (const file of files) {
    const result = await read(file, given);
    const before = results.get(result.race);
    if (before) throw new Failure(2, `${file}: the race ${result.race} is already in ${before.file}`);
    const { header } = challenge?.log ?? {};
    if (result.log && header) throw new Failure(2, `${file}: the challenge ${header.challenge} is already in ${challenge.file}`);
    if (result.log) challenge = result;
    else results.set(result.race, result);
  }
  const races = [...results.values()];
  const outcomes = [...races, challenge].map((each) => each?.outcome);
  const least = ["not-checked", "key-unknown", "verified"].find((outcome) => outcomes.includes(outcome));
  const scores = challenge ? challengeTable(challenge.log, races, least) : signedEvening(races, least);
  const json = canonical(scores);
  process.stdout.write(process.stdout.isTTY ? printableJson(json) : json);
  process.exitCode = { refused: 5, "not-checked": given.isTrusted ? 0 : 6 }[scores.outcome] ?? 0;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(printable(error.message));
  process.exitCode = error.code;
}
