#!/usr/bin/env node
// Prints the standings over several races, as docs/bots/scores.md describes them, from their replays.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { FormatError, canonical } from "./encoding.mjs";
import { readReplay } from "./format.mjs";
import { printable, printableJson } from "./printing.mjs";
import { verify } from "./proof.mjs";

globalThis.crypto ??= webcrypto; // before Node.js 20, it is only in the module

const USAGE = "usage: node table.mjs [--key HEX]... [--no-verify] FILE...";
const MATCHES = [3, 5, 7];
const WITHOUT_CARDS = ["waiting", "ready", "scratched"];

/** What ends the program, with its exit code. */
class Failure extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** The result of a race: its id, order and signer, and everyone who was dealt cards, best first. */
function resultOf({ header, entries, standings, signature }) {
  const players = new Map(); // by seat; the last one to join has it
  for (const [, , event] of entries) if (event.t === "joined") players.set(event.seat, event.player);
  const unknown = standings.find(({ seat }) => !players.has(seat));
  if (unknown) throw new FormatError(`nobody took seat ${unknown.seat}, which the standings name`);
  const racers = standings
    .filter(({ outcome }) => !WITHOUT_CARDS.includes(outcome))
    .map(({ seat, place, name, bot }) => ({ player: players.get(seat), seat, place, name, bot }));
  return { race: header.race, openedAt: header.opened_at, follows: header.follows, key: signature.key, racers };
}

/** Sorts by opening time and id, but puts each race after the one that it follows. */
function inOrder(results) {
  const earlier = (one, other) => one.openedAt - other.openedAt || (one.race < other.race ? -1 : 1);
  const byId = new Map(results.sort(earlier).map((result) => [result.race, result]));
  const ordered = new Set();
  for (const result of byId.values()) {
    const chain = [];
    let link = result;
    while (link && !ordered.has(link) && !chain.includes(link)) {
      chain.unshift(link);
      link = byId.get(link.follows);
    }
    chain.forEach((each) => ordered.add(each));
  }
  return [...ordered];
}

/** Returns why races, in the order of inOrder, do not form complete chains. */
function faultsIn(ordered) {
  const places = new Map(ordered.map(({ race }, place) => [race, place]));
  const faults = [];
  const followers = new Map();
  for (const [place, { race, follows }] of ordered.entries()) {
    if (follows === undefined) continue;
    followers.set(follows, [...(followers.get(follows) ?? []), race]);
    if (!places.has(follows)) faults.push(`${race} follows ${follows}, which is missing`);
    else if (places.get(follows) >= place) faults.push(`${race} follows ${follows}, which comes later`);
  }
  for (const [followed, races] of followers) {
    const all = races.length === 2 ? "both" : "all";
    const others = races.slice(0, -1).join(", ");
    if (others) faults.push(`${others} and ${races.at(-1)} ${all} follow ${followed}`);
  }
  return faults;
}

const greatestDivisor = (one, other) => (other === 0n ? one : greatestDivisor(other, one % other));
const leastMultiple = (one, other) => (one / greatestDivisor(one, other)) * other;

/** Twice the rivals beaten, plus the ties. */
function halves(place, racers) {
  const beaten = racers.filter((rival) => rival.place > place).length;
  const tied = racers.filter((rival) => rival.place === place).length - 1;
  return 2 * beaten + tied;
}

function evening(results) {
  const races = results.filter(({ racers }) => racers.length > 1);
  const most = ({ racers }) => BigInt(2 * (racers.length - 1));
  const unit = races.map(most).reduce(leastMultiple, 1n); // exact: sums of fractions could round ties apart
  const rows = new Map();
  const bestOf = {};
  for (const race of races) {
    const leaders = race.racers.filter(({ place }) => place === 1);
    for (const { player, seat, name, bot, place } of race.racers) {
      const row = rows.get(player) ?? { player, total: 0n, races: 0, wins: 0 };
      row.total += BigInt(halves(place, race.racers)) * (unit / most(race));
      const wins = row.wins + (place === 1 && leaders.length === 1 ? 1 : 0);
      rows.set(player, Object.assign(row, { seat, name, bot, wins, races: row.races + 1 }));
      for (const length of MATCHES) if (wins > length / 2) bestOf[length] ??= player;
    }
  }
  // Sorting is stable: players with equal points stay in the order in which they first appear.
  const table = [...rows.values()].sort((one, other) => (one.total < other.total ? 1 : one.total > other.total ? -1 : 0));
  table.forEach((row, i) => {
    row.place = i > 0 && table[i - 1].total === row.total ? table[i - 1].place : i + 1;
    row.points = Number(row.total) / Number(unit);
  });
  table.forEach((row) => delete row.total);
  return { races: races.map(({ race }) => race), table, best_of: bestOf };
}

/** The table over verified replays, with what they prove together. */
function signedEvening(ordered, outcome) {
  const keys = {};
  for (const { race, key } of ordered) keys[key] = [...(keys[key] ?? []), race];
  const signers = Object.keys(keys).length;
  const several = outcome === "key-unknown" && signers > 1 ? [`signed by ${signers} different keys`] : [];
  const faults = [...several, ...faultsIn(ordered)];
  const scores = { ...evening(ordered), faults, keys, outcome };
  return faults.length > 0 ? { ...scores, best_of: {}, outcome: "refused" } : scores;
}

async function read(file, { isTrusted, keys }) {
  try {
    const replay = readReplay(readFileSync(file === "-" ? 0 : file));
    const { facts, outcome } = isTrusted ? { facts: [], outcome: "not-checked" } : await verify(replay, { keys });
    const failed = facts.find(({ holds }) => holds === false);
    if (failed) throw new FormatError(`${failed.name}: ${failed.note}`);
    const unchecked = facts.filter(({ unsupported }) => unsupported).map(({ name }) => name);
    if (unchecked.length > 0) console.error(printable(`${file}: not checked: ${unchecked.join(", ")}`));
    return { ...resultOf(replay), outcome, file };
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
  for (const file of files) {
    const result = await read(file, given);
    const before = results.get(result.race);
    if (before) throw new Failure(2, `${file}: the race ${result.race} is already in ${before.file}`);
    results.set(result.race, result);
  }
  const outcomes = [...results.values()].map(({ outcome }) => outcome);
  const least = ["not-checked", "key-unknown", "verified"].find((outcome) => outcomes.includes(outcome));
  const scores = signedEvening(inOrder([...results.values()]), least);
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
