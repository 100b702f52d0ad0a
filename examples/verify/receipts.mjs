// Compares a replay with what somebody received during the race (replay format, section 7).

import { canonical, hmac } from "./encoding.mjs";
import { isHeader } from "./format.mjs";

const mismatch = (note, entry = null) => ({ name: "receipts", holds: false, entry, note });

/** Returns the fact `receipts`. */
export function compareReceipts({ header, entries }, secret, receipts) {
  const own = canonical(header);
  const isSealed = !("seed" in header) && !("daily" in header);
  const counting = entries.findIndex(([, , event]) => event.t === "counting") + 1;
  const revealed = entries.filter(([, , event]) => event.t === "nonce");
  const logged = new Map(revealed.map(([n, , { seat, nonce }]) => [seat, { n, nonce }]));
  const initial = secret === undefined ? undefined : hmac(secret)(`samedeal/1/log|${own}`);
  const digestOf = (n) => (n === 0 ? initial : entries[n - 1]?.[3]);

  let under = null; // the header that a line is under
  let afterCountdown = false; // whether a digest since that header binds all commitments
  let found = false;
  const nonces = new Map(); // by seat, those of this race
  const headersOf = new Map(); // nonce to the headers that it is under
  for (const [type, ...values] of receipts) {
    if (type === "header") {
      under = canonical(values[0]);
      found ||= under === own;
      afterCountdown = false;
      if (values[0].race === header.race && !isHeader(values[0])) {
        return mismatch("unsupported-version: the header of the receipts has fields that are not known here");
      }
    } else if (type === "nonce") {
      const [seat, nonce] = values;
      headersOf.set(nonce, (headersOf.get(nonce) ?? new Set()).add(under));
      if (under !== own) continue;
      nonces.set(seat, (nonces.get(seat) ?? new Set()).add(nonce));
      if (isSealed && !afterCountdown) return mismatch("a nonce does not come after the digest of the countdown");
    } else if (under === own) {
      const [n, digest] = values;
      if (n > entries.length) return mismatch("the log ends before a receipt", entries.length);
      if (digest !== digestOf(n)) return mismatch("another digest was received for this entry", n);
      afterCountdown ||= counting > 0 && n >= counting;
    }
  }
  if (!found) return mismatch("none are for a race with this header");
  for (const [seat, sent] of nonces) {
    const reused = isSealed && [...sent].some((nonce) => headersOf.get(nonce).size > 1);
    if (reused) return mismatch("a nonce is also under another header");
    const { n, nonce } = logged.get(seat) ?? {};
    if (nonce !== undefined && !sent.has(nonce)) return mismatch("the nonce of this seat is another one", n);
  }
  return { name: "receipts", holds: true, entry: null, note: "" };
}
