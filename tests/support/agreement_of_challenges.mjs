// Prints the tables of the challenges on standard input, one line of JSON each, for agreement_of_challenges.py.

import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";

import { challengeTable, verifyChallenge } from "../../examples/verify/challenge.mjs";
import { FormatError, canonical } from "../../examples/verify/encoding.mjs";
import { readChallenge, readReplay } from "../../examples/verify/format.mjs";
import { verify } from "../../examples/verify/proof.mjs";
import { resultOf } from "../../examples/verify/scores.mjs";

globalThis.crypto ??= webcrypto;
const bytesOf = (base64) => new Uint8Array(Buffer.from(base64, "base64"));

function read(base64) {
  try {
    return readChallenge(bytesOf(base64));
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

async function answer({ log: bytes, replays, keys }) {
  const log = read(bytes);
  if (log === null) return ["unreadable", []];
  try {
    await verifyChallenge(log, keys);
  } catch (error) {
    if (error instanceof FormatError) return [error.message, []];
    throw error;
  }
  const given = replays.map((replay) => readReplay(bytesOf(replay)));
  const outcomes = [];
  for (const replay of given) outcomes.push((await verify(replay, { keys })).outcome);
  const outcome = keys.length > 0 ? "verified" : "key-unknown";
  return [canonical(challengeTable(log, given.map(resultOf), outcome)), outcomes];
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
