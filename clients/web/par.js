// Par: the computer's results on the deal of a race.

import { ApiError, fetchWhenReady } from "./api.js";
import { fill, h } from "./dom.js";
import { counted, listed } from "./phrases.js";

const MAX_BARS = 24;

const percent = (share) => `${Math.round(100 * share)}%`;

/**
 * Shows par when the computer has finished playing the deal, or nothing if par is not available. Returns the racer's
 * comparison with the computer, if there is one.
 */
export async function showPar(section, raceId, seat = null, name = "You") {
  const onWait = ({ of, done }) => {
    const bar = h("progress", { max: of, value: done, "aria-label": "games played by the computer" });
    fill(section, h("h2", {}, "Par"), h("p", {}, "The computer is playing this deal: ", bar, ` ${done} of ${of}`));
  };
  try {
    const data = await fetchWhenReady(`/races/${raceId}/par`, { onWait });
    const racer = data.racers.find((candidate) => candidate.seat === seat);
    fill(section, parContent(data, racer, name));
    return racer;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    fill(section);
  }
  return undefined;
}

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
  const parts = shares.filter(([share]) => share).map(([share, text]) => `${text} ${share === 1 ? "all" : percent(share)}`);
  return [...content, h("p", {}, `${name} did ${listed(parts)} of its games.`), histogram(par, racer.result, name)];
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
  const games = (count) => `${count} ${count === 1 ? "game" : "games"}`;
  const texts = bins.filter(({ count }) => count).map((bin) => `${range(bin)}: ${games(bin.count)}`);
  const mark = (index) => own !== null && binOf(own) === index;
  const bar = (bin, index) =>
    h(
      "span",
      { class: mark(index) ? "own" : false, title: `${range(bin)}: ${games(bin.count)}` },
      h("i", { style: `height:${(100 * bin.count) / most}%` }),
    );
  const at = own === null ? 0 : (100 * (binOf(own) + 0.5)) / bins.length;
  const side = at > 50 ? `right:${100 - at}%` : `left:${at}%`;
  const label = `Cards ${what} in the computer's games. ${texts.join(", ")}.${own === null ? "" : ` ${name}: ${own}.`}`;
  return h(
    "figure",
    { class: "par-chart" },
    h(
      "div",
      { role: "img", "aria-label": label },
      own === null ? null : h("p", { class: "mark" }, h("b", { style: side }, at > 50 ? `${name} ▾` : `▾ ${name}`)),
      h("div", { class: "bars" }, bins.map(bar)),
    ),
    h("figcaption", {}, h("span", {}, low), h("span", {}, `cards ${what}`), h("span", {}, high)),
  );
}
