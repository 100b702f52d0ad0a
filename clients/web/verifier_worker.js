// The worker that verifies replays, with the second verifier of the project (examples/verify).

import { GAMES } from "./verify/deals.mjs";
import { FormatError } from "./verify/encoding.mjs";
import { readReplay } from "./verify/format.mjs";
import { verify } from "./verify/proof.mjs";

self.addEventListener("message", async ({ data: { port, bytes, ...options } }) => {
  const onProgress = (...progress) => port.postMessage({ progress });
  try {
    port.postMessage({ check: await check(bytes, { ...options, onProgress }) });
  } catch (/** @type {any} */ error) {
    port.postMessage({ error: error.message });
  }
});

self.postMessage("ready");

async function check(bytes, { keys, games, receipts, onProgress }) {
  let replay;
  try {
    replay = readReplay(bytes);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return { outcome: "unreadable", facts: [], note: error.message };
  }
  const { header, signature } = replay;
  const keyKnown = keys.includes(signature.key);
  if (games.includes(header.game) && !GAMES.has(header.game)) {
    const rules = { name: "rules", holds: null, unsupported: true };
    return { replay, keyKnown, outcome: "not-checked", facts: [rules] };
  }
  // A replay by another key is not refused: it may be of another server.
  const result = await verify(replay, { keys: keyKnown ? keys : [], receipts, onProgress });
  return { replay, keyKnown, ...result };
}
