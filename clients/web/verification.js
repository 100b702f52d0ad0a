// Verification of a finished race by the browser and by the server, as shown to the user.

import { attempt, fetchGames, fetchJson, fetchKeys, fetchText, keepTrying } from "./api.js";
import { fill, h, hint, sleep } from "./dom.js";
import { explanations, factList, outcomeLabel, toneOf } from "./outcomes.js";
import { checkReplay } from "./verifier.js";

const REPLAY_RETRY_MS = 250;
const MAX_TRIES = 20;
const TITLE = "Verification";

/** Verifies the replay at a path of the API and shows the results. `receipts` is what this page received during the race:
 *  the header, and the digests by the numbers of their entries. Returns the public ids of the racers by seat, as far as the replay was read. */
export async function showVerification(section, path, receipts = null) {
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
  const lines = receipts && [
    ["header", receipts.header],
    ...[...receipts.digests].map(([n, digest]) => ["digest", n, digest]),
  ];
  const bytes = new TextEncoder().encode(replay);
  const check = await checkReplay(bytes, { keys, games, receipts: lines ?? undefined, onProgress });
  const matching = check.facts.find(({ name, holds }) => name === "receipts" && holds);
  if (matching) matching.note = `${receipts.digests.size} digests received during the race match`;
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
  const isCompleted = own.outcome === "not-checked" && server.outcome === "verified";
  const publishes = own.keyKnown ? "publishes" : "does not publish";
  const key = { name: "key", holds: own.keyKnown, note: `this server ${publishes} the key` };
  return [
    h("p", { class: `verdict ${tone}` }, verdict),
    line("Checked by your browser, not by us", own),
    line("Checked by this server", server),
    explanations(own).map((text) => hint(text)),
    isCompleted && hint("This server has also checked what your browser did not."),
    differ && h("p", { class: "bad" }, "Your browser and this server do not agree. Verify the replay elsewhere, too."),
    h("details", { open: tone !== "good" }, [
      h("summary", {}, "Show checks"),
      h("h3", {}, "By your browser"),
      factList(own.replay ? [...own.facts, key] : own.facts),
      differ ? [h("h3", {}, "By this server"), factList(server.facts)] : null,
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
