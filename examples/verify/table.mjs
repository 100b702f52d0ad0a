#!/usr/bin/env node
// Prints the standings over several races, of a challenge or of a club, as docs/bots/scores.md describes them.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { challengeTable, verifyChallenge } from "./challenge.mjs";
import { clubProof, verifyClub } from "./club.mjs";
import { FormatError, canonical } from "./encoding.mjs";
import { readDocument, readReplay } from "./format.mjs";
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
  const result = resultOf(replay);
  return { kind: "race", id: result.race, result, outcome, unchecked };
}

async function readLog({ kind, document: log }, { isTrusted, keys }) {
  const holds = await (kind === "club" ? verifyClub : verifyChallenge)(log, keys);
  const outcome = isTrusted || !holds ? "not-checked" : keys.length > 0 ? "verified" : "key-unknown";
  return { kind, id: log.header[kind], result: log, outcome, unchecked: holds ? [] : ["signature"] };
}

async function read(file, given) {
  try {
    const bytes = readFileSync(file === "-" ? 0 : file);
    const known = readDocument(bytes);
    if (known?.kind === "scores") return { kind: "scores", id: known.document.club, result: known.document, file };
    const { unchecked, ...found } = await (known ? readLog(known, given) : readRace(bytes, given));
    if (unchecked.length > 0) console.error(printable(`${file}: not checked: ${unchecked.join(", ")}`));
    return { ...found, file };
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

/** Throws a Failure unless everything is about one club, or there is at most one challenge and nothing about clubs. */
function checkTogether({ challenge, club, scores }) {
  const [first, ...others] = club.length > 0 ? club : challenge;
  const other = others.find(({ kind, id }) => kind === "challenge" || id !== first.id);
  if (other) throw new Failure(2, `${other.file}: the ${first.kind} ${first.id} is already in ${first.file}`);
  if (club.length === 0 && scores.length > 0) throw new Failure(2, `${scores[0].file}: the log of the club is missing`);
}

async function main() {
  const { files, ...given } = readArguments();
  const found = { race: [], challenge: [], club: [], scores: [] };
  for (const file of files) {
    const one = await read(file, given);
    const isRace = ["race", "challenge"].includes(one.kind);
    const before = isRace && [...found.race, ...found.challenge].find(({ id }) => id === one.id);
    if (before) throw new Failure(2, `${file}: the ${before.kind} ${one.id} is already in ${before.file}`);
    found[one.kind].push(one);
  }
  checkTogether(found);
  const outcomes = [...found.race, ...found.challenge, ...found.club].map(({ outcome }) => outcome);
  const least = ["not-checked", "key-unknown", "verified"].find((outcome) => outcomes.includes(outcome));
  const [races, challenges, clubs, stated] = Object.values(found).map((all) => all.map(({ result }) => result));
  const ofRaces = () => (challenges.length > 0 ? challengeTable(challenges[0], races, least) : signedEvening(races, least));
  const scores = clubs.length > 0 ? clubProof(clubs, challenges, races, stated, least) : ofRaces();
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
