// A miniature of a game's table: a picture, or the first moves of its guided deal, played on this device.

import { loadModule } from "./api.js";
import { h, motionIsOff, sleep } from "./dom.js";
import { Table } from "./table.js";

const FIRST_MS = 1500; // until the first move, so that the page around it is ready
const STEP_MS = 1300;

/** Creates a miniature. Its table is drawn in a task of its own, so that the page reacts in between. */
export function miniature(game, { moves = false } = {}) {
  const figure = h("figure");
  setTimeout(() => {
    const table = new Table(game, { small: true, simple: true });
    table.show({ table: game.example });
    figure.append(table.element);
    if (moves && game.practice && !motionIsOff()) play(game, table);
  });
  return h("div", { class: `miniature${moves ? " moving" : ""}`, "aria-hidden": "true", inert: true }, figure);
}

/** Repeats the steps of the guided deal as long as the table is on the page. */
async function play({ slug, practice }, table) {
  await sleep(FIRST_MS);
  const { GAMES, deal } = await loadModule("./verify/deals.mjs");
  const game = GAMES.get(slug);
  if (!game) return; // of a newer server
  const start = deal(game, practice.seed).state;
  const states = practice.steps.reduce((made, { move }) => [...made, game.play(made.at(-1), move)], [start]);
  for (let step = 0; table.element.isConnected; step = (step + 1) % states.length) {
    table.show({ table: game.table(states[step]) }, { animate: step > 0 });
    await sleep(STEP_MS);
  }
}
