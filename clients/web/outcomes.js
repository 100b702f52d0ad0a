// What verifications say, in words: outcomes, facts, and what was not checked.

import { h } from "./dom.js";

/** What each fact means if it holds. */
const MEANINGS = {
  rules: "the rules of the game are known",
  complete: "the log ends with its only closing entry",
  commitment: "the secret matches the commitment published before anyone took a seat",
  numbers: "the entries are numbered without gaps or duplicates",
  times: "the times never decrease",
  order: "seats, countdown and closing follow the stages of a race",
  nonces: "every nonce matches the commitment sent with the seat",
  deal: "the deal is derived from the secret and the nonces, or from the announced seed",
  filter: "the deal is the first of its root that passes the race's filter",
  moves: "every move was legal",
  chain: "every digest follows from the entry and the previous digest",
  standings: "the standings follow from the log",
  signature: "the signature of the last digest is valid",
  receipts: "the log is the one that the receipts were issued for",
};

const LABELS = { verified: "verified (key known)", "key-unknown": "verified, key unknown" };
const TONES = { verified: "good", refused: "bad", unreadable: "bad" };

/** The name of an outcome, such as "refused (moves, entry 12)". */
export function outcomeLabel({ outcome, facts, note }) {
  if (outcome === "refused") {
    const { name, entry } = firstFailure(facts);
    return `refused (${name}${entry ? `, entry ${entry}` : ""})`;
  }
  if (outcome === "not-checked") return `not checked: ${unchecked(facts).join(", ")}`;
  if (outcome === "unreadable") return `not a replay: ${note}`;
  return LABELS[outcome] ?? note;
}

/** The class of an element that shows an outcome. */
export const toneOf = (outcome) => TONES[outcome] ?? "caution";

const firstFailure = (facts) => facts.find(({ holds }) => holds === false);
const unchecked = (facts) => facts.filter(({ unsupported }) => unsupported).map(({ name }) => name);

const REASONS = {
  rules: () => "Your browser's verifier does not know this game.",
  signature: () =>
    (globalThis.isSecureContext
      ? "This browser is too old to check the signature."
      : "Browsers check signatures only on pages from https:// or localhost, and this page is neither.") +
    " So nobody has checked here who vouches for this replay.",
};

/** Sentences that explain the browser's own outcome, if it is not simply verified. */
export function explanations({ outcome, facts, note, keyKnown }) {
  const names = outcome === "not-checked" ? unchecked(facts) : [];
  const reasons = names.map((name) => REASONS[name]());
  if (names.length && names[0] !== "rules") reasons.push("Everything else was checked and holds.");
  if (outcome === "refused") reasons.push(`The first problem: ${firstFailure(facts).note}.`);
  if (outcome === "key-unknown") {
    reasons.push("The replay is consistent, but anyone can write such a file and sign it with a key of their own.");
  }
  if (["key-unknown", "not-checked"].includes(outcome) && !keyKnown) {
    reasons.push("The key in the file is not one that this server publishes. Compare it with the race's own server.");
  }
  if (outcome === "unreadable" && note.startsWith("MessagePack")) {
    reasons.push("This page reads JSON and NDJSON. For MessagePack, run “samedeal verify FILE”.");
  }
  if (outcome === "unreadable" && note.startsWith("the replay is in the format")) {
    reasons.push("The file may be newer than this page. Reload the page, or update “samedeal” and run it instead.");
  }
  return reasons;
}

/** A list of facts. One whose `holds` is null was not checked, on purpose or because another one fails. */
export function factList(facts) {
  const line = ({ name, holds, entry, note, unsupported }) => {
    const [tone, mark, text] = {
      true: ["good", "✓", note || MEANINGS[name]],
      false: ["bad", "✗", [entry && `entry ${entry}`, note].filter(Boolean).join(": ")],
      null: ["caution", "–", unsupported ? "not checked by your browser" : "not checked, because another fact fails"],
    }[holds];
    return h("li", { class: tone }, h("b", {}, `${mark} ${name}`), ` ${text}`);
  };
  return h("ul", { class: "facts" }, facts.map(line));
}
