// What is known of a finished race: whether it is true, and what the computer makes of its deal.

import { api, asked, Problem, text } from "./api.js";
import { fill, h, pause } from "./dom.js";

const FORMAT = "samedeal.replay/1";
const PUT_AWAY_MS = 250;
const BUSY_MS = 1500;
const PLAYING_MS = 700;

/** Shows each fact that the server finds on the replay, and whether it is as one was `told` (n to digest). */
export async function showProof(section, race, told = new Map()) {
  fill(section, h("h2", {}, "Is it true?"), h("p", {}, "Checking the race…"));
  try {
    const replay = await patiently(() => text(`/api/v1/replays/${race}.json`), PUT_AWAY_MS);
    const found = await patiently(() => api("/verify", { body: replay }), BUSY_MS);
    const { format, entries } = JSON.parse(replay);
    if (format !== FORMAT)
      throw new Problem(426, "unsupported-version", `The replay is in the format ${format}; this page reads ${FORMAT}.`);
    const receipts = [...told].filter(([n]) => n > 0);
    const wrong = receipts.find(([n, digest]) => entries[n - 1]?.[3] !== digest);
    fill(section, h("h2", {}, "Is it true?"), factsList(found, receipts.length, wrong));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    fill(section, h("h2", {}, "Is it true?"), h("p", {}, error.message));
  }
}

/** A replay is put away a moment after the end, and the server verifies one at a time: what may pass is asked again. */
async function patiently(deed, wait) {
  for (let tries = 0; ; tries++) {
    try {
      return await deed();
    } catch (error) {
      const passes = ["not-found", "too-many", "store-unavailable", "unreachable"].includes(error.code);
      if (tries > 20 || !passes) throw error;
      await pause(wait);
    }
  }
}

function factsList({ ok, facts, known_key: known }, receipts, wrong) {
  const rows = facts.map((fact) => [
    fact.holds,
    fact.name,
    fact.entry ? `entry ${fact.entry}: ${fact.note}` : fact.note,
  ]);
  rows.push([
    known,
    "key",
    known ? "the signature is by a key of this server" : "it is signed with a key that is not this server's",
  ]);
  if (receipts) {
    const agree = `${receipts} digests that this window was told while the race ran agree`;
    rows.push([!wrong, "receipts", wrong ? `entry ${wrong[0]} is not what this window was told` : agree]);
  }
  const good = ok && known && !wrong;
  const verdict = good ? "✔ Verified: every move, the deal and the standings." : "✘ Not verified.";
  const line = ([holds, name, note]) =>
    h("li", { class: holds ? "good" : "bad" }, h("b", {}, `${holds ? "✔" : "✘"} ${name}`), ` ${note}`);
  return [
    h("p", { class: `verdict ${good ? "good" : "bad"}` }, verdict),
    h("details", { open: !good }, h("summary", {}, "Each fact"), h("ul", { class: "facts" }, rows.map(line))),
  ];
}

/** Par of the race's deal, as soon as the computer has played it; nothing where it may not be told. */
export async function showPar(section, race, seat = null, who = "You") {
  try {
    for (let tries = 0; tries < 300; tries++) {
      const { status, data } = await asked(`/races/${race}/par`);
      if (status === 200) return fill(section, parOf(data, seat, who));
      const bar = h("progress", { max: data.of, value: data.done, "aria-label": "plays of the computer" });
      fill(
        section,
        h("h2", {}, "Par"),
        h("p", {}, "The computer plays this deal: ", bar, ` ${data.done} of ${data.of}`),
      );
      await pause(PLAYING_MS);
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    fill(section);
  }
  return undefined;
}

/** Par in words, and one racer's plays of the computer as squares. */
function parOf(par, seat, who) {
  const racer = par.racers.find((one) => one.seat === seat);
  const share = (part) => `${Math.round(100 * part)} %`;
  const mean = Math.round(10 * par.mean) / 10;
  const told =
    `The computer played this deal ${par.plays} times and won ${par.solved}. Cards ${par.counted}: ` +
    `median ${par.median}, mean ${mean}, from ${par.minimum} to ${par.maximum}.`;
  if (!racer) return [h("h2", {}, "Par"), h("p", {}, told)];
  const held =
    `${who} did better than ${share(racer.worse)} of its plays, as well as ${share(racer.equal)}, ` +
    `worse than ${share(racer.better)}.`;
  return [h("h2", {}, "Par"), h("p", {}, told), h("p", {}, held), strip(racer.squares)];
}

const SQUARES = { solved: "won", better: "better", equal: "as good", worse: "worse" };

/** The computer's plays beside a racer's own, a square each. */
function strip(squares) {
  const counts = Object.entries(SQUARES)
    .map(([kind, word]) => [kind, word, squares.filter((square) => square === kind).length])
    .filter(([, , count]) => count);
  const label = counts.map(([, word, count]) => `${count} ${word}`).join(", ");
  return h(
    "figure",
    { class: "strip" },
    h(
      "div",
      { role: "img", "aria-label": label },
      squares.map((square) => h("span", { class: square })),
    ),
    h(
      "figcaption",
      {},
      counts.map(([kind, word, count]) => h("span", { class: "key" }, h("i", { class: kind }), ` ${count} ${word}`)),
    ),
  );
}

/** Where one's way first parted from that of the best other racer. */
export function differs(steps, seat) {
  const own = steps.racers.find((racer) => racer.seat === seat);
  const other = steps.racers.find((racer) => racer.seat !== seat);
  if (!own || !other) return "";
  const at = own.steps.findIndex((step, index) => other.steps[index]?.move !== step.move);
  const which = at < 0 ? own.steps.length : at;
  if (!own.steps[which] || !other.steps[which])
    return `You and ${other.name} played the same ${which} moves from the start.`;
  const did = (name, { move }) => (move === "resign" ? `${name} stopped` : `${name} played ${move}`);
  const both = `${did("you", own.steps[which])}, ${did(other.name, other.steps[which])}`;
  return `You and ${other.name} first differed at move ${which + 1}: ${both}.`;
}
