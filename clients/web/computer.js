// What the computer makes of the deal of a finished race: par, its own results; and whether it could be solved, and until
// when by each racer.

import { attempt, fetchJson, keepTrying } from "./api.js";
import { fill, h, nameText } from "./dom.js";
import { SEARCHING, counted, listed } from "./phrases.js";
import { practicePath } from "./practice.js";

const MAX_BARS = 24;

/**
 * Shows par when the computer has finished playing the deal, or nothing if par is not available. Returns the racer's
 * comparison with the computer, if there is one.
 */
export async function showPar(section, raceId, seat = null, name = "You") {
  const onWait = ({ of, done }) => {
    const bar = h("progress", { max: of, value: done, "aria-label": "games played by the computer" });
    fill(section, h("h2", {}, "Par"), h("p", {}, "The computer is playing this deal: ", bar, ` ${done} of ${of}`));
  };
  const par = await fetchComputed(section, `/races/${raceId}/par`, onWait);
  const racer = par?.racers.find((candidate) => candidate.seat === seat);
  if (par) fill(section, parContent(par, racer, name));
  return racer;
}

/** Returns a result of the computer. `onWait(progress)` is called while it is not ready. Without a result, the section is
 *  empty. */
const fetchComputed = (section, path, onWait) =>
  attempt(
    () => keepTrying(() => fetchJson(path), () => {}, { onWait }),
    () => fill(section),
  );

function parContent(par, racer, name) {
  const { plays, solved, counted: what, median, minimum, maximum } = par;
  const isAlwaysTheSame = minimum === maximum;
  const mean = Math.round(10 * par.mean) / 10;
  const figures = isAlwaysTheSame
    ? `Every time it had ${counted(minimum, "card")} ${what}.`
    : `Cards ${what}: median ${median}, mean ${mean}, range ${minimum} to ${maximum}.`;
  const summary = `The computer played this deal ${plays} times and solved it ${counted(solved, "time")}. ${figures}`;
  const content = [h("h2", {}, "Par"), h("p", {}, summary)];
  if (!racer) return [...content, isAlwaysTheSame ? null : histogram(par)];
  const shares = [
    [racer.worse, "better than"],
    [racer.equal, "level with"],
    [racer.better, "worse than"],
  ];
  const parts = shares.filter(([share]) => share).map(([share, text]) => `${text} ${share === 1 ? "all" : `${Math.round(100 * share)}%`}`);
  const comparison = racer.better === 1 ? "The computer did better every time." : `${name} did ${listed(parts)} of its games.`;
  return [...content, h("p", {}, comparison), histogram(par, racer.result, name)];
}

/** How often the computer achieved each result, with the racer's own marked. */
function histogram({ results, counted: what }, own = null, name = "") {
  const all = own === null ? results : [...results, own];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const width = Math.ceil((high - low + 1) / MAX_BARS);
  const binOf = (result) => Math.floor((result - low) / width);
  const bins = Array.from({ length: binOf(high) + 1 }, (_, index) => ({ from: low + index * width, count: 0 }));
  for (const result of results) bins[binOf(result)].count += 1;
  const most = Math.max(...bins.map(({ count }) => count));
  const range = ({ from }) => (width === 1 ? `${from}` : `${from} to ${from + width - 1}`);
  const describe = (bin) => `${range(bin)}: ${counted(bin.count, "game")}`;
  const texts = bins.filter(({ count }) => count).map(describe);
  const bar = (bin, index) => {
    const isOwn = own !== null && binOf(own) === index;
    const filled = h("i", { style: `height:${(100 * bin.count) / most}%` });
    return h("span", { class: isOwn ? "own" : false, title: describe(bin) }, filled);
  };
  const at = own === null ? 0 : (100 * (binOf(own) + 0.5)) / bins.length;
  const side = at > 50 ? `right:${100 - at}%` : `left:${at}%`;
  const label = `Cards ${what} in the computer's games. ${texts.join(", ")}.${own === null ? "" : ` ${name}: ${own}.`}`;
  const mark = h("p", { class: "mark" }, h("b", { style: side }, at > 50 ? `${name} ▾` : `▾ ${name}`));
  return h("figure", { class: "par-chart" }, [
    h("div", { role: "img", "aria-label": label }, own === null ? null : mark, h("div", { class: "bars" }, bins.map(bar))),
    h("figcaption", {}, h("span", {}, low), h("span", {}, `cards ${what}`), h("span", {}, high)),
  ]);
}

/** Shows the analysis of a race in a section, and returns it. Shows nothing and returns null if there is none, or while
 *  it could still help somebody. `names` are those of the racers by seat. */
export async function showAnalysis(section, raceId, { names, variant = {} }) {
  const show = (...children) => fill(section, h("h2", {}, "Could it be solved?"), ...children);
  const analysis = await fetchComputed(section, `/races/${raceId}/analysis`, () => show(h("p", {}, SEARCHING)));
  if (!analysis) return null;
  const { text, outcome, deal, racers } = analysis;
  const solution = outcome === "won" ? h("a", { class: "button", href: `/solution/${raceId}` }, "Watch how") : null;
  const again = h("a", { class: "button", href: practicePath({ deal, variant }) }, "Play it again with hints");
  const turns = outcome === "lost" ? [] : racers; // nobody could have solved it
  const link = ({ seat, step, text }) => (step === null ? text : h("a", { href: `/replay/${raceId}#s${seat}m${step}` }, text));
  const line = (racer) => h("li", {}, nameText(names.get(racer.seat)), " ", link(racer));
  show(
    h("p", {}, text),
    turns.length ? h("ul", { class: "list", "aria-label": "Turning points" }, turns.map(line)) : null,
    h("div", { class: "row" }, solution, again),
  );
  return analysis;
}
