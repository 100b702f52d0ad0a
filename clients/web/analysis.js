// What could have been done on the deal of a finished race: whether it could be solved, and until when by each racer.

import { ApiError, fetchWhenReady } from "./api.js";
import { fill, h, nameText } from "./dom.js";
import { SEARCHING } from "./phrases.js";
import { practicePath } from "./practice.js";

const TITLE = "Could it be solved?";

/** Shows the analysis of a race in a section, and returns it. Shows nothing and returns null if there is none, or while
 *  it could still help somebody. `names` are those of the racers by seat. */
export async function showAnalysis(section, raceId, { names, variant = {} }) {
  const show = (...children) => fill(section, h("h2", {}, TITLE), ...children);
  try {
    const onWait = () => show(h("p", {}, SEARCHING));
    const analysis = await fetchWhenReady(`/races/${raceId}/analysis`, { onWait });
    const { text, outcome, deal, racers } = analysis;
    const solution = outcome === "won" ? h("a", { class: "button", href: `/solution/${raceId}` }, "Watch how") : null;
    const again = h("a", { class: "button", href: practicePath({ deal, variant }) }, "Play it again with hints");
    const turns = outcome === "lost" ? [] : racers; // nobody could have solved it
    const line = (racer) => h("li", {}, nameText(names.get(racer.seat)), " ", turnText(raceId, racer));
    show(
      h("p", {}, text),
      turns.length ? h("ul", { class: "list", "aria-label": "Turning points" }, turns.map(line)) : null,
      h("div", { class: "row" }, solution, again),
    );
    return analysis;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    fill(section);
    return null;
  }
}

/** The last moment at which a racer could still have solved it, with a link to it if there is a replay. */
function turnText(raceId, { seat, step, text }) {
  return step === null ? text : h("a", { href: `/replay/${raceId}#s${seat}m${step}` }, text);
}
