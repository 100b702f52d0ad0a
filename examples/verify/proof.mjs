// What a replay proves: one fact after another (replay format, sections 2 and 5).

import { GAMES } from "./deals.mjs";
import { canonical, hmac, isSigned, hexHash } from "./encoding.mjs";
import { Race, Refusal } from "./race.mjs";
import { compareReceipts } from "./receipts.mjs";

/** A fact holds if `holds` is true. It is false if the replay is wrong, and null if the fact cannot be checked: because
 *  another one fails or, if `unsupported` is true, because this verifier doesn't know how. */
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

function checkRules({ game, rules, variant = {} }) {
  const known = GAMES.get(game);
  if (known?.rules !== rules) return fact("rules", false, `${rules} of ${game} is not known here`);
  if (!isVariantOf(known, variant)) return fact("rules", false, "the variant is not known here");
  return fact("rules", true, rules);
}

function checkComplete(entries) {
  const closing = entries.findIndex(([, , event]) => event.t === "closed");
  const last = entries.length - 1;
  if (closing < 0) return fact("complete", false, "the race is not closed", last < 0 ? null : last + 1);
  return unless("complete", closing === last ? -1 : closing, "entries follow the closing");
}

function checkCommitment(header, secret, closing) {
  if (secret === undefined) return fact("commitment", null, "there is no secret");
  if ("daily" in header && ("seed" in header || "variant" in header)) {
    return fact("commitment", false, "a daily deal has neither seed nor variant");
  }
  const day = new Date(header.opened_at).toISOString().slice(0, 10);
  const subject = "daily" in header ? `daily|${header.game}|${day}` : `commit|${header.race}`;
  const holds = hexHash(`samedeal/1/${subject}|${secret}`) === header.commitment;
  return holds ? fact("commitment", true) : failedAt("commitment", closing, "the secret is another one");
}

/** Folds entries until one is refused, or needs a missing secret. Returns the race, the index of that entry, or of the
 *  end, and the refusal. */
function fold(header, entries, secret, sound) {
  const race = new Race(header, GAMES.get(header.game), secret);
  for (const [index, [, at, event]] of entries.entries()) {
    if (index >= sound || (event.t === "dealt" && secret === undefined && !race.isPublic)) return { race, index };
    try {
      race.apply(at, event);
    } catch (error) {
      if (error instanceof Refusal) return { race, index, refusal: error };
      throw error;
    }
  }
  return { race, index: entries.length };
}

/** The facts that follow from the fold. */
function foldFacts(entries, folded) {
  const names = ["order", "nonces", "deal", "filter", "moves"];
  if (folded === null) return new Map(names.map((name) => [name, fact(name, null)]));
  const { race, index, refusal } = folded;
  const whole = index === entries.length;
  const isDealt = race.dealtAt !== undefined;
  const known = whole || isDealt; // whether there is a deal, or none at all
  const facts = new Map(names.map((name) => [name, fact(name, whole ? true : null)]));
  const note = isDealt ? `${race.game.slug}:${race.seed}` : "none was dealt";
  if (known) facts.set("deal", fact("deal", true, note));
  if (known) facts.set("filter", fact("filter", true));
  if (race.filterUnchecked && isDealt) {
    facts.set("filter", unsupported("filter", `${race.options.filter} needs the bots`));
  }
  if (refusal) facts.set(refusal.fact, failedAt(refusal.fact, index + 1, refusal.message));
  return facts;
}

function checkChain({ header, entries, digest }, secret, folded) {
  if (secret === undefined) return fact("chain", null, "there is no secret");
  const keyed = hmac(secret);
  let previous = keyed(`samedeal/1/log|${canonical(header)}`);
  for (const [index, [n, at, event, h]] of entries.entries()) {
    previous = keyed(`${previous}|${canonical([n, at, event])}`);
    if (h !== previous) return failedAt("chain", index + 1, "another digest follows");
  }
  if (digest !== previous) return failedAt("chain", entries.length, "the digest is not that of the last entry");
  return folded?.index === entries.length ? fact("chain", true) : fact("chain", null);
}

function checkStandings(entries, standings, folded) {
  if (folded?.index !== entries.length || folded.race.stage !== "closed") return fact("standings", null);
  const holds = canonical(folded.race.standings()) === canonical(standings);
  return fact("standings", holds, holds ? "" : "others follow from the log");
}

async function checkSignature({ header, digest, signature }, keys) {
  const signed = await isSigned(`samedeal/1/replay|${header.race}|${digest}`, signature.key, signature.value);
  if (signed === false) return fact("signature", false, "not a signature by its key");
  const wanted = keys.length === 0 || keys.includes(signature.key);
  if (wanted && signed === null) return unsupported("signature", "this browser does not have Ed25519");
  return fact("signature", wanted, wanted ? `by ${signature.key}` : `by another key, ${signature.key}`);
}

/** Verifies a replay as readReplay returns it. `keys` are the known keys of its server, if any, and `receipts` what
 *  readReceipts returns, if any. Returns the facts in order, and the outcome: refused, not-checked, key-unknown or
 *  verified. */
export async function verify(replay, { keys = [], receipts } = {}) {
  const { header, entries, standings } = replay;
  const closing = entries.findIndex(([, , event]) => event.t === "closed");
  const secret = closing < 0 ? undefined : entries[closing][2].secret;
  const rules = checkRules(header);
  const complete = checkComplete(entries);
  const commitment = checkCommitment(header, secret, closing + 1);
  const misnumbered = entries.findIndex(([n], index) => n !== index + 1);
  const late = entries.findIndex(([, at], index) => at < (index === 0 ? header.opened_at : entries[index - 1][1]));
  const sound = Math.min(...[misnumbered, late].map((index) => (index < 0 ? entries.length : index)));
  const folds = rules.holds && commitment.holds !== false;
  const folded = folds ? fold(header, entries, secret, sound) : null;
  const { order, nonces, deal, filter, moves } = Object.fromEntries(foldFacts(entries, folded));
  const facts = [
    rules,
    complete,
    commitment,
    unless("numbers", misnumbered, "not the next number"),
    unless("times", late, "earlier than what comes before"),
    order,
    nonces,
    deal,
    filter,
    moves,
    checkChain(replay, secret, folded),
    checkStandings(entries, standings, folded),
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
