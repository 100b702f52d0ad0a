// The evening: the score over races that follow each other.

import { ApiError, fetchJson } from "./api.js";
import { fill, h, nameText } from "./dom.js";
import { displayNames } from "./phrases.js";
import { botTag } from "./standings.js";

/** Returns the scores over the finished races of a race's evening, or null if the server does not answer. */
export async function fetchEvening(raceId) {
  try {
    return await fetchJson(`/races/${raceId}/evening`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return null;
  }
}

/**
 * Shows an evening: "Ada 2 : 1 Bo" for two players, otherwise a table by matchpoints, on one line if `compact`; in a
 * match of `bestOf` races also who has won it, and returns that as a sentence ("" if nobody has).
 */
export function showEvening(element, evening, { bestOf = 1, compact = false } = {}) {
  const { races, table, best_of: winners } = evening;
  const rows = table.map((row, index) => ({ ...row, seat: index }));
  const names = displayNames(rows);
  const winner = rows.find(({ player }) => player === winners[bestOf]);
  const won = winner ? `${names.get(winner.seat)} wins the match` : "";
  const match = won || (bestOf > 1 ? `best of ${bestOf}` : "");
  element.hidden = rows.length === 0;
  if (rows.length === 2) {
    const isMatchScore = winner && races.length <= bestOf; // it does not include races after the match
    fill(element, isMatchScore ? h("p", { class: "duel" }, won, score(rows)) : duel(rows, names, match));
  } else {
    fill(element, compact ? line(rows, names, match) : ranking(rows, names, match));
  }
  return won && `${won}.`;
}

const pointsText = (points) => String(Math.round(100 * points) / 100);

const score = ([first, second]) => h("b", {}, ` ${pointsText(first.points)} : ${pointsText(second.points)} `);

function duel(rows, names, match) {
  const [first, second] = rows.map(({ seat }) => nameText(names.get(seat)));
  return h("p", { class: "duel" }, first, score(rows), second, match && ` · ${match}`);
}

function line(rows, names, match) {
  const texts = rows.map((row, index) => [
    `${index ? " · " : ""}${row.place}. `,
    nameText(names.get(row.seat)),
    ` ${pointsText(row.points)}`,
  ]);
  return h("p", {}, texts, match && ` · ${match}`);
}

function ranking(rows, names, match) {
  const player = (row) => [nameText(names.get(row.seat)), row.bot ? botTag() : null];
  const facts = (row) => [`${row.place}.`, player(row), pointsText(row.points), String(row.races), String(row.wins)];
  const attributes = (tag) => (tag === "th" ? { scope: "col" } : {});
  const cells = (tag, contents) => h("tr", {}, contents.map((each) => h(tag, attributes(tag), each)));
  return h(
    "table",
    {},
    h("caption", {}, "This evening", match && ` · ${match}`),
    h("thead", {}, cells("th", ["", "Player", "Points", "Races", "Won"])),
    h("tbody", {}, rows.map((row) => cells("td", facts(row)))),
  );
}
