// Before a race for one: the covered cards, and a button that deals them.

import { h, nameField, nameList } from "./dom.js";
import { nameForm, raceOptions } from "./lobby.js";
import { formatClock } from "./phrases.js";
import { lessonLink } from "./practice.js";
import { guest } from "./storage.js";
import { Table } from "./table.js";

const DAILY_COUNTS = "This race counts: your first race on the deal of the day is your result.";

/** Shows the cards and a form that calls `join(name)`. It contains `name`, as for nameField, if that is needed. */
export function soloStart({ game, header, raceId, counting, heatNote }, { ghosts = [] }, { join, name }) {
  const table = new Table(game);
  table.cover();
  const names = nameList(ghosts.map(({ name }) => name)); // the server may not have loaded them yet
  const form = nameForm(
    join,
    "",
    h("h1", {}, game.title),
    h("p", {}, `Against the clock: ${formatClock(header.options.limit_ms, false)}`),
    header.ghosts?.length ? h("p", {}, "You race the ghosts of ", names.length ? names : "earlier racers", ".") : null,
    h("p", { class: "counts" }, heatNote || (counting && DAILY_COUNTS)),
    name || !guest() ? nameField({ value: suggestedName(raceId), ...name }) : null,
    h("button", { class: "first big" }, "Play"),
    h("div", { class: "row" }, lessonLink(game)),
  );
  const field = h("div", { class: "field" }, table.element, h("div", { class: "start" }, form));
  return h("div", {}, field, raceOptions({ game, header }));
}

/** A name for players without one, such as "Glad Wolf", from the id of the race. */
const suggestedName = (raceId) =>
  raceId.split("-", 2).map((word) => word[0].toUpperCase() + word.slice(1)).join(" ");
