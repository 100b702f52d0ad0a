// What verifications say, in words, and the verification of a finished race by the browser and by the server.

import { attempt, fetchGames, fetchJson, fetchKeys, fetchText, keepTrying } from "./api.js";
import { fill, h, hint, sleep } from "./dom.js";
import { checkReplay } from "./verifier.js";

const REPLAY_RETRY_MS = 250;
const MAX_TRIES = 20;
const TITLE = "Verification";

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

const LABELS = {
  verified: "genuine, signed by this server",
  refused: "not genuine",
  "key-unknown": "consistent, but signed with an unknown key",
  unreadable: "not a replay",
};
const TONES = { verified: "good", refused: "bad", unreadable: "bad" };

/** An outcome in words. The checks say what is wrong with a replay that is not genuine. */
export function outcomeLabel({ outcome, facts, note }) {
  if (outcome === "not-checked") return `not checked: ${unchecked(facts).join(", ")}`;
  return LABELS[outcome] ?? note;
}

/** The class of an element that shows an outcome. */
export const toneOf = (outcome) => TONES[outcome] ?? "caution";

const unchecked = (facts) => facts.filter(({ unsupported }) => unsupported).map(({ name }) => name);

const reasonFor = (name) =>
  name === "rules"
    ? "Your browser's verifier does not know this game."
    : "Your browser checked everything except the signature, " +
      (globalThis.isSecureContext ? "for which it is too old." : "because this page is not encrypted (https).");

/** Sentences that explain the browser's own outcome, if it is not simply verified. */
export function explanations({ outcome, facts, note, keyKnown }) {
  const names = outcome === "not-checked" ? unchecked(facts) : [];
  const reasons = names.slice(0, 1).map(reasonFor);
  if (outcome === "key-unknown") {
    reasons.push("The replay is consistent, but anyone can write such a file and sign it with a key of their own.");
  }
  if (["key-unknown", "not-checked"].includes(outcome) && !keyKnown) {
    reasons.push("The key in the file is not one that this server publishes. Compare it with the race's own server.");
  }
  if (outcome === "unreadable") reasons.push(`What is wrong: ${note}.`);
  if (outcome === "unreadable" && note.startsWith("MessagePack")) {
    reasons.push("This page reads JSON and NDJSON. For MessagePack, run “samedeal verify FILE”.");
  }
  if (outcome === "unreadable" && note.startsWith("the replay is in the format")) {
    reasons.push("The file may be newer than this page. Reload the page, or update “samedeal” and run it instead.");
  }
  return reasons;
}

/** A list of facts about a race. One whose `holds` is null was not checked, on purpose or because another one fails. */
export function factList(facts, header) {
  const isShown = ({ name, holds }) => name !== "filter" || holds === false || header?.options.filter;
  const line = ({ name, holds, entry, note, unsupported }) => {
    const [tone, mark, text] = {
      true: ["good", "✓", note || MEANINGS[name]],
      false: ["bad", "✗", [entry && `entry ${entry}`, note].filter(Boolean).join(": ")],
      null: ["caution", "–", unsupported ? "not checked by your browser" : "not checked, because another fact fails"],
    }[holds];
    return h("li", { class: tone }, h("b", {}, `${mark} ${name}`), ` ${text}`);
  };
  return h("ul", { class: "facts" }, facts.filter(isShown).map(line));
}

/** Verifies the replay at a path of the API and shows the results. `receipts` are the header and the digests that this page
 *  received during the race, if it was there, as the lines of a receipts file. Returns the public ids of the racers by
 *  seat, as far as the replay was read. */
export async function showVerification(section, path, receipts) {
  const show = (...children) => fill(section, h("h2", {}, TITLE), ...children);
  const progress = h("progress", { "aria-label": TITLE });
  const state = h("p", {}, "Verifying…");
  const onProblem = (error) => fill(state, `${error.message} Trying again…`);
  show(state, progress);
  const check = async () => {
    const replay = await fetchReplay(`/api/v1${path}.json`, onProblem);
    fill(state, "Verifying…");
    const onProgress = (done, total) => Object.assign(progress, { max: total, value: done });
    const here = checkHere(replay, { receipts, onProgress, onProblem });
    const onServerProblem = async ({ message }) => show(results(await here, unavailable(`${message} Trying again…`)));
    const [own, server] = await Promise.all([here, checkOnServer(replay, onServerProblem)]);
    show(results(own, server));
    const joined = own.replay?.entries.map(([, , event]) => event).filter(({ t }) => t === "joined") ?? [];
    return new Map(joined.map(({ seat, player }) => [seat, player]));
  };
  return attempt(check, ({ message }) => {
    show(h("p", {}, message));
    return new Map();
  });
}

/** Returns the replay at a path, which the server stores shortly after the race ends. */
async function fetchReplay(path, onProblem) {
  for (let tries = 0; ; tries++) {
    try {
      return await keepTrying(() => fetchText(path), onProblem);
    } catch (/** @type {any} */ error) {
      if (error.code !== "not-found" || tries === MAX_TRIES) throw error;
      await sleep(REPLAY_RETRY_MS);
    }
  }
}

async function checkHere(replay, { receipts, onProgress, onProblem }) {
  const [keys, games] = await keepTrying(() => Promise.all([fetchKeys(), fetchGames()]), onProblem);
  const check = await checkReplay(new TextEncoder().encode(replay), { keys, games, receipts, onProgress });
  const matching = check.facts.find(({ name, holds }) => name === "receipts" && holds);
  if (matching) matching.note = `${receipts.length - 1} digests received during the race match`;
  return check;
}

async function checkOnServer(replay, onProblem) {
  const request = () => keepTrying(() => fetchJson("/verify", { body: replay }), onProblem);
  const check = await attempt(request, ({ message }) => unavailable(message));
  return { ...check, facts: check.facts.map((fact) => (isUnchecked(fact) ? { ...fact, holds: null } : fact)) };
}

const unavailable = (note) => ({ outcome: "unavailable", facts: [], note });

const isUnchecked = ({ holds, note }) => !holds && note.startsWith("not checked");

function results(own, server) {
  const [tone, verdict] = verdictOf(own, server);
  const line = (checker, check) =>
    h("p", {}, `${checker}: `, h("b", { class: toneOf(check.outcome) }, outcomeLabel(check)));
  const differ = doDiffer(own, server);
  const isSigned = unchecked(own.facts).join() === "signature" && server.outcome === "verified";
  const reasons = [...explanations(own), isSigned && "This server says that the signature is genuine."];
  const publishes = own.keyKnown ? "publishes" : "does not publish";
  const key = { name: "key", holds: own.keyKnown, note: `this server ${publishes} the key` };
  return [
    h("p", { class: `verdict ${tone}` }, verdict),
    line("Checked by your browser, not by us", own),
    line("Checked by this server", server),
    hint(reasons.filter(Boolean).join(" ")),
    differ && h("p", { class: "bad" }, "Your browser and this server do not agree. Verify the replay elsewhere, too."),
    h("details", { open: tone !== "good" }, [
      h("summary", {}, "Show checks"),
      h("h3", {}, "By your browser"),
      factList(own.replay ? [...own.facts, key] : own.facts, own.replay?.header),
      differ ? [h("h3", {}, "By this server"), factList(server.facts, own.replay?.header)] : null,
    ]),
  ];
}

/** Whether the two outcomes contradict each other. */
function doDiffer(own, server) {
  const isPartial = ["not-checked", "unreadable"].includes(own.outcome) && server.outcome !== "refused";
  return server.outcome !== "unavailable" && own.outcome !== server.outcome && !isPartial;
}

/** The result of both checks: a class and a sentence. */
function verdictOf(own, server) {
  const outcomes = [own.outcome, server.outcome];
  if (outcomes.includes("refused")) return ["bad", "Verification failed ✗"];
  if (own.outcome === "unreadable") return ["bad", "Your browser cannot read this replay ✗"];
  if (!own.keyKnown || outcomes.includes("key-unknown")) return ["bad", "Not signed with a key of this server ✗"];
  if (own.outcome === "verified") return ["good", "Verified ✓ Every move, the deal and the standings are valid."];
  if (server.outcome === "verified") return ["good", "Verified ✓ by this server, but not completely by your browser."];
  return ["caution", "Not completely checked"];
}
