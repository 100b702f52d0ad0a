// Verification of a finished race, as shown to the user.

import { ApiError, fetchJson, fetchText } from "./api.js";
import { fill, h, sleep } from "./dom.js";

const FORMAT = "samedeal.replay/1";
const REPLAY_RETRY_MS = 250;
const BUSY_RETRY_MS = 1500;
const MAX_RETRIES = 20;
const TEMPORARY = ["not-found", "too-many", "store-unavailable", "unreachable"];
const TITLE = "Verification";

/** Verifies a race and shows the checks. `receipts` maps entry numbers to the digests received during the race. */
export async function showVerification(section, raceId, receipts = new Map()) {
  const show = (...children) => fill(section, h("h2", {}, TITLE), ...children);
  show(h("p", {}, "Verifying…"));
  try {
    // The server stores a replay shortly after the race ends, and verifies one replay at a time.
    const replay = await retry(() => fetchText(`/api/v1/replays/${raceId}.json`), REPLAY_RETRY_MS);
    const result = await retry(() => fetchJson("/verify", { body: replay }), BUSY_RETRY_MS);
    const { format, entries } = JSON.parse(replay);
    if (format !== FORMAT)
      throw new ApiError(426, "", `The replay is in the format ${format}; this page reads ${FORMAT}.`);
    const digests = [...receipts].filter(([n]) => n > 0);
    const mismatch = digests.find(([n, digest]) => entries[n - 1]?.[3] !== digest);
    show(checkList(result, digests.length, mismatch));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    show(h("p", {}, error.message));
  }
}

/** Calls `action`, repeatedly while it fails with a temporary error. */
async function retry(action, waitMs) {
  for (let retries = 0; ; retries++) {
    try {
      return await action();
    } catch (error) {
      if (retries > MAX_RETRIES || !TEMPORARY.includes(error.code)) throw error;
      await sleep(waitMs);
    }
  }
}

function checkList({ ok, facts, known_key: knownKey }, receipts, mismatch) {
  const checks = facts.map(({ holds, name, entry, note }) => [holds, name, entry ? `entry ${entry}: ${note}` : note]);
  checks.push([
    knownKey,
    "key",
    knownKey ? "signed with this server's key" : "signed with a key that does not belong to this server",
  ]);
  if (receipts) {
    const match = `${receipts} digests received during the race match`;
    checks.push([!mismatch, "receipts", mismatch ? `entry ${mismatch[0]} differs from the digest received` : match]);
  }
  const valid = ok && knownKey && !mismatch;
  const verdict = valid ? "Verified ✓ Every move, the deal and the standings are valid." : "Verification failed ✗";
  const line = ([holds, name, note]) =>
    h("li", { class: holds ? "good" : "bad" }, h("b", {}, `${holds ? "✓" : "✗"} ${name}`), ` ${note}`);
  return [
    h("p", { class: `verdict ${valid ? "good" : "bad"}` }, verdict),
    h("details", { open: !valid }, h("summary", {}, "Show checks"), h("ul", { class: "facts" }, checks.map(line))),
  ];
}
