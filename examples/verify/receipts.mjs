// Compares a replay with what somebody received during the race (replay format, section 7).

import { canonical, hmac } from "./encoding.mjs";

/** Collects the receipts under the replay's header, and when each nonce was sent: after which entry. */
function collect(header, receipts) {
  const own = canonical(header);
  const digests = new Map(); // by n, a set of them
  const nonces = []; // { seat, nonce, after }
  const elsewhere = new Set(); // nonces under other headers
  let under = null;
  let newest = 0; // the newest entry of a digest since the header
  let found = false;
  for (const [type, ...values] of receipts) {
    if (type === "header") {
      under = canonical(values[0]);
      newest = 0;
      found ||= under === own;
    } else if (under !== own) {
      if (type === "nonce") elsewhere.add(values[1]);
    } else if (type === "nonce") nonces.push({ seat: values[0], nonce: values[1], after: newest });
    else {
      const [n, digest] = values;
      digests.set(n, (digests.get(n) ?? new Set()).add(digest));
      newest = Math.max(newest, n);
    }
  }
  const after = Math.min(...nonces.map((sent) => (elsewhere.has(sent.nonce) ? 0 : sent.after)));
  return { found, digests, nonces, after };
}

/** Returns the fact `receipts`. */
export function compareReceipts({ header, entries }, secret, receipts) {
  const fails = (note, entry = null) => ({ name: "receipts", holds: false, entry, note });
  const { found, digests, nonces, after } = collect(header, receipts);
  if (!found) return fails("none are for a race with this header");
  if (digests.size === 0) return fails("no digests to compare");
  const others = (n, digest) => digests.has(n) && [...digests.get(n)].some((received) => received !== digest);
  const initial = secret === undefined ? undefined : hmac(secret)(`samedeal/1/log|${canonical(header)}`);
  if (others(0, initial)) return fails("another digest was received before the first entry");
  const isSealed = !["seed", "daily", "heat"].some((field) => field in header);
  for (const [i, [, , event, h]] of entries.entries()) {
    const entry = i + 1;
    if (others(entry, h)) return fails("another digest was received", entry);
    if (isSealed && event.t === "counting" && after < entry) return fails("a nonce was sent before it", entry);
    const sent = event.t === "nonce" ? nonces.filter(({ seat }) => seat === event.seat) : [];
    const differ = sent.length > 0 && sent.every(({ nonce }) => nonce !== event.nonce);
    if (differ) return fails("another nonce was sent", entry);
  }
  const beyond = [...digests.keys()].some((n) => n > entries.length);
  if (beyond) return fails("the log ends before a receipt", entries.length);
  return { name: "receipts", holds: true, entry: null, note: "" };
}
