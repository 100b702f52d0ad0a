// Before a race for one: the covered cards, and a button that deals them.

import { h, nameList } from "./dom.js";
import { nameField, nameForm, raceOptions } from "./lobby.js";
import { formatClock } from "./phrases.js";
import { guest } from "./storage.js";
import { Table } from "./table.js";

/** Shows the cards and a form that calls `play(name)`. `counts` says whether the result of this race counts.
 *  @param {any} page
 *  @param {any} view
 *  @param {any} options */
export function soloStart({ game, header, raceId }, { ghosts = [] }, { play, counts, refused = null }) {
  const table = new Table(game);
  table.cover();
  const names = nameList(ghosts.map(({ name }) => name)); // the server may not have loaded them yet
  const needsName = refused || !guest();
  const form = nameForm(
    play,
    h("h1", {}, game.title),
    h("p", {}, `Against the clock: ${formatClock(header.options.limit_ms, false)}`),
    header.ghosts?.length ? h("p", {}, "You race the ghosts of ", names.length ? names : "earlier racers", ".") : null,
    counts ? h("p", { class: "counts" }, "This race counts: your first race on the deal of the day is your result.") : null,
    needsName ? nameField(suggestedName(raceId), refused) : null,
    h("button", { class: "first big" }, "Play"),
  );
  const field = h("div", { class: "field" }, table.element, h("div", { class: "start" }, form));
  return h("div", {}, field, raceOptions({ game, header }));
}

/** A name for players without one, such as "Glad Wolf", from the id of the race. */
const suggestedName = (raceId) =>
  raceId.split("-", 2).map((word) => word[0].toUpperCase() + word.slice(1)).join(" ");
