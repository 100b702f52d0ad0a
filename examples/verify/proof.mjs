// What a replay proves: one fact after another (replay format, sections 2 and 5).

import { GAMES } from "./deals.mjs";
import { canonical, hmac, isSigned, hexHash } from "./encoding.mjs";
import { Race, Refusal } from "./race.mjs";
import { compareReceipts } from "./receipts.mjs";

const PAUSE_STEPS = 500;
const DEAL_STEPS = PAUSE_STEPS; // testing a deal takes about as long as so many entries

/** A fact holds if `holds` is true. It is false if the replay is wrong, and null if the fact cannot be checked: because
 *  another one fails or, if `unsupported` is true, because this platform cannot. */
const fact = (name, holds, note = "", entry = null) => ({ name, holds, entry, note });
const unsupported = (name, note) => ({ ...fact(name, null, note), unsupported: true });
const failedAt = (name, entry, note) => fact(name, false, note, entry);

/** A fact that fails at an entry, by its index, or holds if that is -1. */
const unless = (name, index, note) => (index < 0 ? fact(name, true) : failedAt(name, index + 1, note));

/** Whether the options of a variant are known, and differ from their defaults. */
function isVariantOf(game, variant) {
  return Object.entries(variant).every(
    ([option, value]) => Object.hasOwn(game.variants, option) && game.variants[option].slice(1).includes(value),
  );
}

function checkRules({ game, rules, seed = "", variant = {} }) {
  const known = GAMES.get(game);
  if (known?.rules !== rules) return fact("rules", false, `${rules} of ${game} is not known here`);
  if (known?.isSeed?.(seed) === false) return fact("rules", false, "the seed is not known here");
  if (!isVariantOf(known, variant)) return fact("rules", false, "the variant is not known here");
  return fact("rules", true, rules);
}

function checkComplete(entries) {
  const closing = entries.findIndex(([, , event]) => event.t === "closed");
  if (closing < 0) return failedAt("complete", entries.length, "the race is not closed");
  return unless("complete", closing === entries.length - 1 ? -1 : closing, "entries follow the closing");
}

/** Whether a header is valid for a heat, apart from what depends on the log of its challenge. */
function isHeat({ heat, race, options, ...header }) {
  const isNamed = new RegExp(`^${heat.challenge}-[1-9][0-9]{0,8}$`).test(race);
  const isPlain = !["seed", "daily", "follows", "ghosts", "head_start"].some((field) => field in header);
  const isSealed = options.finishers === "none" && options.spectators !== "open" && !("best_of" in options);
  return isNamed && isPlain && isSealed && heat.reveals_at >= heat.until + options.limit_ms;
}

function checkCommitment({ header, entries }, secret) {
  const fails = (note) => failedAt("commitment", entries.length, note);
  const { options, head_start: headStart, heat } = header;
  const isSpecial = ["seed", "variant", "head_start"].some((field) => field in header) || "end_when_stuck" in options;
  if ("daily" in header && isSpecial) return fails("a daily deal has no seed, variant, head start or early end");
  if (headStart?.ms >= options.limit_ms) return fails("the head start is not shorter than the race");
  const isSealed = !["seed", "daily", "heat"].some((field) => field in header);
  if ("club" in header && !isSealed) return fails("the races of a club are on sealed deals, and heats name only their challenge");
  if (heat && !isHeat(header)) return fails("a heat has no seed, head start, ghosts or rematch, and is sealed");
  const day = new Date(header.opened_at).toISOString().slice(0, 10);
  const subject = "daily" in header ? `daily|${header.game}|${day}` : `commit|${heat?.challenge ?? header.race}`;
  const holds = hexHash(`samedeal/1/${subject}|${secret}`) === header.commitment;
  return holds ? fact("commitment", true) : fails("the secret is another one");
}

/** Returns a function to call and await after some of `total` steps. It now and then reports the number of steps, and
 *  lets other tasks run, such as those that draw a page. */
function pacer(total, onProgress) {
  let done = 0;
  let next = PAUSE_STEPS;
  return async (steps = 1) => {
    done += steps;
    if (done < next) return;
    next = done + PAUSE_STEPS;
    onProgress(done, total);
    await new Promise((resolve) => setTimeout(resolve));
  };
}

/** Folds the entries of a race or challenge, and compares their digests, until one is refused. Returns the race, the
 *  refusal with its index, and the index of the first digest that is wrong; -1 is none. The numbers and times that the
 *  chain needs are those that are due: an entry with others breaks it. */
export async function fold({ header, entries, digest }, race, pace) {
  const keyed = hmac(race.secret);
  let previous = keyed(`samedeal/1/log|${canonical(header)}`);
  let latest = header.opened_at;
  let broken = -1;
  for (const [index, [n, at, event, h]] of entries.entries()) {
    await pace();
    latest = Math.max(latest, at);
    try {
      race.apply(latest, event);
    } catch (refusal) {
      if (refusal instanceof Refusal) return { race, index, refusal, broken };
      throw refusal;
    }
    previous = keyed(`${previous}|${canonical([index + 1, latest, event])}`);
    if (broken < 0 && (h !== previous || n !== index + 1 || at !== latest)) broken = index;
  }
  if (broken < 0 && digest !== previous) broken = entries.length - 1;
  return { race, broken };
}

/** The facts that follow from the fold, if there was one. After a refused entry, all of them that have not failed before
 *  are unknown. */
function foldFacts({ entries, standings }, folded, filterHolds) {
  const { race, index, refusal, broken } = folded ?? {};
  const holds = folded && !refusal ? true : null;
  const facts = ["order", "nonces", "deal", "filter", "moves", "chain", "standings"].map((name) => fact(name, holds));
  if (!folded) return facts;
  const replace = (changed) => facts.splice(facts.findIndex(({ name }) => name === changed.name), 1, changed);
  if (refusal) replace(failedAt(refusal.fact, index + 1, refusal.message));
  if (broken >= 0) replace(failedAt("chain", broken + 1, "another digest follows"));
  const dealt = entries.findIndex(([, , event]) => event.t === "dealt");
  if (!filterHolds) replace(failedAt("filter", dealt + 1, `not the first deal that passes ${race.options.filter}`));
  if (refusal) return facts;
  replace(fact("deal", true, dealt < 0 ? "none was dealt" : `${race.game.slug}:${race.seed}`));
  if (canonical(race.standings()) !== canonical(standings)) replace(fact("standings", false, "others follow"));
  return facts;
}

const PRIME = 2n ** 255n - 19n;
const Y = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL_ORDER = [0n, 1n, PRIME - 1n, Y, PRIME - Y]; // the y-coordinates of the points of order 1, 2, 4 and 8

/** Whether a key proves nothing: its point has a small order, or it is not in canonical form. */
function isWeak(key) {
  const y = BigInt(`0x${key.match(/../g).reverse().join("")}`) % 2n ** 255n; // without the sign of x
  return y >= PRIME || SMALL_ORDER.includes(y);
}

export async function checkSignature({ header, digest, signature }, keys) {
  const { key, value } = signature;
  if (isWeak(key)) return fact("signature", false, `anybody can sign with the weak key ${key}`);
  const sign = (what) => isSigned(`samedeal/1/${what}|${header.race}|${digest}`, key, value);
  // The computer's plays were signed like races at first.
  const signed = (header.race.startsWith("par-") && (await sign("play"))) || (await sign("replay"));
  if (signed === false) return fact("signature", false, "not a signature by its key");
  const wanted = keys.length === 0 || keys.includes(key);
  if (wanted && signed === null) return unsupported("signature", "Ed25519 is not available here");
  return fact("signature", wanted, wanted ? `by ${key}` : `by another key, ${key}`);
}

/** Verifies a replay as readReplay returns it. `keys` are the known keys of its server, if any, and `receipts` what
 *  readReceipts returns, if any. `onProgress(done, total)` is called now and then. Returns the facts in order, and the
 *  outcome: refused, not-checked, key-unknown or verified.
 *  @param {any} replay
 *  @param {{ keys?: string[], receipts?: any, onProgress?: (done: number, total: number) => void }} [options] */
export async function verify(replay, { keys = [], receipts, onProgress = () => {} } = {}) {
  const { header, entries } = replay;
  const secret = entries.at(-1)?.[2].secret; // only `closed` has one
  const misnumbered = entries.findIndex(([n], index) => n !== index + 1);
  const late = entries.findIndex(([, at], index) => at < (index === 0 ? header.opened_at : entries[index - 1][1]));
  // Without the secret, or if the fold cannot start, the facts that follow from it are unknown.
  const rules = secret === undefined ? fact("rules", null) : checkRules(header);
  const commitment = rules.holds ? checkCommitment(replay, secret) : fact("commitment", null);
  const { k = 0 } = entries.find(([, , event]) => event.t === "dealt")?.[2] ?? {};
  const pace = pacer(entries.length + k * DEAL_STEPS, onProgress);
  const race = commitment.holds && new Race(header, GAMES.get(header.game), secret);
  const folded = race ? await fold(replay, race, pace) : null;
  const filterHolds = await folded?.race.passesFilter(() => pace(DEAL_STEPS));
  const facts = [
    rules,
    checkComplete(entries),
    commitment,
    unless("numbers", misnumbered, "not the next number"),
    unless("times", late, "earlier than what comes before"),
    ...foldFacts(replay, folded, filterHolds),
    await checkSignature(replay, keys),
  ];
  if (receipts) facts.push(compareReceipts(replay, secret, receipts));
  return { facts, outcome: outcomeOf(facts, keys) };
}

function outcomeOf(facts, keys) {
  if (facts.some(({ holds, unsupported }) => holds !== true && !unsupported)) return "refused";
  if (facts.some(({ unsupported }) => unsupported)) return "not-checked";
  return keys.length > 0 ? "verified" : "key-unknown";
}
