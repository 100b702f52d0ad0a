// Par: the computer's results on the deal of a race.

import { ApiError, fetchStatusAndJson } from "./api.js";
import { fill, h, sleep } from "./dom.js";

const POLL_MS = 700;
const MAX_POLLS = 300;
const SQUARES = { solved: "won", better: "better", equal: "equal", worse: "worse" };

export const percent = (share) => `${Math.round(100 * share)}%`;

/**
 * Shows par when the computer has finished playing the deal, or nothing if par is not available. Returns the racer's
 * comparison with the computer, if there is one.
 */
export async function showPar(section, raceId, seat = null, name = "You") {
  try {
    for (let polls = 0; polls < MAX_POLLS; polls++) {
      const { status, data } = await fetchStatusAndJson(`/races/${raceId}/par`);
      if (status === 200) {
        const racer = data.racers.find((candidate) => candidate.seat === seat);
        fill(section, parContent(data, racer, name));
        return racer;
      }
      const bar = h("progress", { max: data.of, value: data.done, "aria-label": "games played by the computer" });
      const progress = h("p", {}, "The computer is playing this deal: ", bar, ` ${data.done} of ${data.of}`);
      fill(section, h("h2", {}, "Par"), progress);
      await sleep(POLL_MS);
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    fill(section);
  }
  return undefined;
}

function parContent(par, racer, name) {
  const mean = Math.round(10 * par.mean) / 10;
  const summary =
    `The computer played this deal ${par.plays} times and won ${par.solved}. Cards ${par.counted}: ` +
    `median ${par.median}, mean ${mean}, range ${par.minimum} to ${par.maximum}.`;
  if (!racer) return [h("h2", {}, "Par"), h("p", {}, summary)];
  const comparison =
    `${name} did better than ${percent(racer.worse)} of its games, the same as ${percent(racer.equal)}, ` +
    `and worse than ${percent(racer.better)}.`;
  return [h("h2", {}, "Par"), h("p", {}, summary), h("p", {}, comparison), parChart(racer.squares)];
}

/** One square for each of the computer's games, compared with the racer's result. */
function parChart(squares) {
  const counts = Object.entries(SQUARES)
    .map(([kind, text]) => [kind, text, squares.filter((square) => square === kind).length])
    .filter(([, , count]) => count);
  const label = counts.map(([, text, count]) => `${count} ${text}`).join(", ");
  const image = squares.map((square) => h("span", { class: square }));
  const entry = ([kind, text, count]) => h("span", { class: "key" }, h("i", { class: kind }), ` ${count} ${text}`);
  return h(
    "figure",
    { class: "par-chart" },
    h("div", { role: "img", "aria-label": label }, image),
    h("figcaption", {}, counts.map(entry)),
  );
}
