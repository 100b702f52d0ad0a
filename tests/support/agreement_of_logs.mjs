// Prints what the challenges and clubs on standard input prove, one line of JSON each, for agreement_of_logs.py.

import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";

import { challengeTable, verifyChallenge } from "../../examples/verify/challenge.mjs";
import { clubProof, verifyClub } from "../../examples/verify/club.mjs";
import { FormatError, canonical } from "../../examples/verify/encoding.mjs";
import { readDocument, readReplay } from "../../examples/verify/format.mjs";
import { verify } from "../../examples/verify/proof.mjs";
import { resultOf } from "../../examples/verify/scores.mjs";

globalThis.crypto ??= webcrypto;
const bytesOf = (base64) => new Uint8Array(Buffer.from(base64, "base64"));

/** Returns what a function returns, or the message of the FormatError that it throws. */
async function messageOf(read) {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FormatError) return error.message;
    throw error;
  }
}

async function answer({ documents, replays, keys }) {
  const found = await messageOf(() => documents.map((document) => readDocument(bytesOf(document))));
  if (typeof found === "string") return ["unreadable", []];
  const [challenges, clubs, stated] = ["challenge", "club", "scores"].map((kind) =>
    found.filter((each) => each.kind === kind).map(({ document }) => document),
  );
  const refusal = await messageOf(async () => {
    for (const log of challenges) await verifyChallenge(log, keys);
    for (const log of clubs) await verifyClub(log, keys);
  });
  if (refusal !== undefined) return [refusal, []];
  const given = replays.map((replay) => readReplay(bytesOf(replay)));
  const outcomes = [];
  for (const replay of given) outcomes.push((await verify(replay, { keys })).outcome);
  const outcome = keys.length > 0 ? "verified" : "key-unknown";
  const results = given.map(resultOf);
  if (clubs.length > 0) return [canonical(clubProof(clubs, challenges, results, stated, outcome)), outcomes];
  return [canonical(challengeTable(challenges[0], results, outcome)), outcomes];
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
