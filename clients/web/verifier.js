// Verifies replays on the reader's own device, with the second verifier of the project (examples/verify).

import { GAMES } from "./verify/deals.mjs";
import { FormatError } from "./verify/encoding.mjs";
import { readReplay } from "./verify/format.mjs";
import { verify } from "./verify/proof.mjs";

/** Verifies the bytes of a file. `keys` are those that the server publishes, `games` its games by slug, and `receipts`
 *  the lines of a receipts file, if any. Returns the outcome and the facts; if the file is a replay, also the replay
 *  and whether its key is known, otherwise a note.
 *  @returns {Promise<any>} */
export async function checkReplay(bytes, { keys, games, receipts, onProgress }) {
  let replay;
  try {
    replay = readReplay(bytes);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return { outcome: "unreadable", facts: [], note: error.message };
  }
  const { header, signature } = replay;
  const keyKnown = keys.includes(signature.key);
  if (games.has(header.game) && !GAMES.has(header.game)) {
    const rules = { name: "rules", holds: null, unsupported: true };
    return { replay, keyKnown, outcome: "not-checked", facts: [rules] };
  }
  // A replay by another key is not refused: it may be of another server.
  const result = await verify(replay, { keys: keyKnown ? keys : [], receipts, onProgress });
  return { replay, keyKnown, ...result };
}
