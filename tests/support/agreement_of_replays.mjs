// Verifies the replays on standard input, one line of JSON each, for agreement_of_replays.py.

import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";

import { FormatError } from "../../examples/verify/encoding.mjs";
import { readReceipts, readReplay } from "../../examples/verify/format.mjs";
import { verify } from "../../examples/verify/proof.mjs";

globalThis.crypto ??= webcrypto;
const bytesOf = (base64) => new Uint8Array(Buffer.from(base64, "base64"));

/** Calls a function, and returns null if what it reads is not what it should be. */
function readable(read) {
  try {
    return read();
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

async function answer({ replay, keys, receipts }) {
  const content = readable(() => readReplay(bytesOf(replay)));
  if (content === null) return { outcome: "unreadable", facts: [] };
  const received = receipts === null ? undefined : readable(() => readReceipts(bytesOf(receipts)));
  const { facts, outcome } = await verify(content, { keys, receipts: received ?? undefined });
  return { outcome, facts: received === null ? [...facts, { name: "receipts", note: "unreadable" }] : facts };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
