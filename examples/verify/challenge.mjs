// Challenges: the fold of a challenge's log, and the table of its heats with what they prove together.

import { canonical, hexHash } from "./encoding.mjs";
import { expect } from "./format.mjs";
import { checkSignature, fold } from "./proof.mjs";
import { Refusal } from "./race.mjs";
import { fieldTable, proofOf } from "./scores.mjs";

const HOUR = 3_600_000;

class Challenge {
  count = 0; // of the entries
  last = null; // the type of the last event
  open = new Set(); // the numbers of the heats that have not ended

  constructor(header, secret = "") {
    this.header = header;
    this.secret = secret;
    this.revealsAt = header.until + Math.max(...header.deals.map(({ options }) => options.limit_ms));
  }

  apply(at, event) {
    const isDue = this.last !== "revealed" && (event.t === "opened") === (this.count === 0);
    this.count += 1;
    this.last = event.t;
    if (!isDue || !this[event.t](at, event)) throw new Refusal("order", "not possible now");
  }

  opened = (at) => at <= this.header.opened_at + 60_000;
  heat(at, { deal }) {
    const isPossible = at < this.header.until && deal <= this.header.deals.length && this.open.size < 1000;
    return isPossible && this.open.add(this.count);
  }
  finished = (at, { heat }) => this.open.delete(heat);
  cancelled = this.finished;
  revealed = (at, { secret }) => at >= this.revealsAt && this.open.size === 0 && secret === this.secret;
}

/** Verifies the log of a challenge as readDocument returns it. Returns whether its signature holds or, if that cannot be
 *  checked here, null. Throws a FormatError if anything is wrong with the log. */
export async function verifyChallenge(log, keys) {
  const { header, entries, digest } = log;
  const [, , { t, secret }, h] = entries.at(-1) ?? [0, 0, {}];
  expect(t === "revealed", "The log of the challenge does not end with the secret.");
  expect(h === digest, "The last digest of the challenge does not match its log.");
  const committed = hexHash(`samedeal/1/commit|${header.challenge}|${secret}`);
  expect(committed === header.commitment, "The secret does not match the commitment of the challenge.");
  const hours = (header.until - header.opened_at) / HOUR;
  const seenBy = new Set(header.deals.map(({ options }) => `${options.unlisted} ${options.spectators}`));
  const isValid = hours >= 1 && hours <= 720 && seenBy.size === 1;
  expect(isValid, "A challenge lasts 1 hour to 30 days, and the same people see all of its deals.");
  return verifyLog(log, new Challenge(header, secret), "challenge", keys);
}

/** Does the same for a log of some kind, given its state before the first entry. */
export async function verifyLog(log, state, kind, keys) {
  const { header, digest, signature } = log;
  const { broken, index } = await fold(log, state, () => {});
  const failed = broken < 0 ? index : broken;
  expect(failed === undefined, `Entry ${failed + 1} does not match the log of the ${kind}.`);
  const { holds } = await checkSignature({ header: { race: `${kind}/${header[kind]}` }, digest, signature }, []);
  expect(holds !== false, `The signature of the ${kind} is not valid for ${signature.key}.`);
  const isKnown = keys.length === 0 || keys.includes(signature.key);
  expect(isKnown, `The ${kind} is signed by ${signature.key}, which is not one of the expected keys.`);
  return holds;
}

/** What the headers of all heats on a deal have in common: they choose two options themselves. */
function common({ game, rules, variant, heat, commitment, salt, opened_at, options }) {
  const fixed = { ...options, max_racers: 0, start_delay_ms: 0 };
  return canonical({ game, rules, variant, heat, commitment, salt, opened_at, ...fixed });
}

/** Returns what is wrong with the result of a heat, or nothing. */
function faultOf([, endedAt, end], result, expected) {
  if (end.t === "cancelled") return result?.dealtAt ? "was dealt, although the log says that it was cancelled" : "";
  if (!result) return "is missing";
  if (result.digest !== end.digest || result.dealtAt > endedAt) return "does not end as the log says";
  const { heat } = result.header;
  if (heat && heat.h !== expected.heat.h) return "names a different head of the log";
  return common(result.header) === common(expected) ? "" : "does not match the challenge";
}

/** The table of a challenge, given its log, the results of different races, and the outcome of their verification. */
export function challengeTable({ header, entries, signature }, results, outcome) {
  const { challenge, deals, until } = header;
  const given = new Map(results.map((result) => [result.race, result]));
  const ends = new Map(entries.map((entry) => [entry[2].heat, entry]));
  const { nonce } = entries[0][2];
  const { revealsAt } = new Challenge(header);
  const faults = [];
  const counted = [];
  for (const [i, [n, at, event]] of entries.entries()) {
    if (event.t !== "heat") continue;
    const race = `${challenge}-${n}`;
    const heat = { challenge, deal: event.deal, nonce, until, reveals_at: revealsAt, h: entries[i - 1][3] };
    const fault = faultOf(ends.get(n), given.get(race), { ...header, ...deals[event.deal - 1], heat, opened_at: at });
    if (fault) faults.push(`${race} ${fault}`);
    else if (ends.get(n)[2].t === "finished") counted.push(given.get(race));
    given.delete(race);
  }
  for (const race of [...given.keys()].sort()) faults.push(`${race} is not in the log of the challenge`);
  const proof = proofOf([{ race: challenge, key: signature.key }, ...counted], faults, outcome);
  return { challenge, table: fieldTable(deals.length, counted), ...proof };
}
