// The evening: the score over races that follow each other.

import { ApiError, fetchJson } from "./api.js";
import { fill, h } from "./dom.js";
import { displayNames } from "./phrases.js";

/** Returns the scores over the finished races of a race's evening, or null if the server does not answer. */
export async function fetchEvening(raceId) {
  try {
    return await fetchJson(`/races/${raceId}/evening`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return null;
  }
}

/** Shows an evening: "Ada 2 : 1 Bo" for two players, otherwise a table by matchpoints, on one line if `compact`. */
export function showEvening(element, evening, { bestOf = 1, compact = false } = {}) {
  const { table, best_of: winners } = evening;
  const rows = table.map((row, index) => ({ ...row, seat: index }));
  const names = displayNames(rows);
  const winner = rows.find(({ player }) => player === winners[bestOf]);
  const match = winner ? `${names.get(winner.seat)} wins the best of ${bestOf}.` : `Best of ${bestOf}.`;
  element.hidden = rows.length === 0;
  const scores = rows.length === 2 ? duel(rows, names) : compact ? line(rows, names) : ranking(rows, names);
  fill(element, scores, bestOf > 1 ? h("p", {}, match) : null);
}

const pointsText = (points) => String(Math.round(100 * points) / 100);

function duel([first, second], names) {
  const score = `${pointsText(first.points)} : ${pointsText(second.points)}`;
  return h("p", { class: "duel" }, names.get(first.seat), h("b", {}, ` ${score} `), names.get(second.seat));
}

function line(rows, names) {
  const texts = rows.map((row) => `${row.place}. ${names.get(row.seat)} ${pointsText(row.points)}`);
  return h("p", {}, texts.join(" · "));
}

function ranking(rows, names) {
  const facts = (row) => [`${row.place}.`, names.get(row.seat), pointsText(row.points), String(row.races), String(row.wins)];
  const cells = (tag, texts) => h("tr", {}, texts.map((text) => h(tag, tag === "th" ? { scope: "col" } : {}, text)));
  return h(
    "table",
    {},
    h("caption", {}, "This evening"),
    h("thead", {}, cells("th", ["", "Player", "Points", "Races", "Won"])),
    h("tbody", {}, rows.map((row) => cells("td", facts(row)))),
  );
}
