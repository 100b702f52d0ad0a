// The evening: the score over races that follow each other.

import { fill, h, nameText, table, tableRow } from "./dom.js";
import { displayName, pointsText } from "./phrases.js";
import { botTag } from "./standings.js";

/** Shows an evening: "Ada 2 : 1 Bo" for two players, otherwise a table by matchpoints, on one line if `compact`; in a
 *  match of `bestOf` races also who has won it. */
export function showEvening(element, { table, best_of: winners }, { bestOf = 1, compact = false } = {}) {
  const rows = table.map((row) => ({ ...row, label: displayName(row, table) }));
  const winner = rows.find(({ player }) => player === winners[bestOf]);
  const match = winner ? `${winner.label} wins the match` : bestOf > 1 ? `best of ${bestOf}` : "";
  element.hidden = rows.length === 0;
  if (rows.length === 2) fill(element, duel(rows, match));
  else fill(element, compact ? line(rows, match) : ranking(rows, match));
}

function duel([first, second], match) {
  const score = h("b", {}, ` ${pointsText(first.points)} : ${pointsText(second.points)} `);
  return h("p", { class: "duel" }, nameText(first.label), score, nameText(second.label), match && ` · ${match}`);
}

function line(rows, match) {
  const texts = rows.map((row, index) => [
    `${index ? " · " : ""}${row.place}. `,
    nameText(row.label),
    ` ${pointsText(row.points)}`,
  ]);
  return h("p", {}, texts, match && ` · ${match}`);
}

function ranking(rows, match) {
  const player = (row) => [nameText(row.label), row.bot ? botTag() : null];
  const cells = (row) => [`${row.place}.`, player(row), pointsText(row.points), row.races, row.wins];
  const caption = h("caption", {}, "This evening", match && ` · ${match}`);
  const body = h("tbody", {}, rows.map((row) => tableRow(cells(row))));
  return table({}, caption, ["", "Player", "Points", "Races", "Won"], body);
}
