// Practice: deals to play alone, the steps of a game's guided deal, and miniatures of a table, which can play them.

import { h, motionIsOff, sleep } from "./dom.js";
import { randomHex } from "./storage.js";
import { Table } from "./table.js";

const STEP_MS = 1300;

/** The address of a deal to play alone, at the position after `moves`.
 *  @param {{ deal: string, variant?: Record<string, string>, moves?: string[] }} deal */
export function practicePath({ deal, variant = {}, moves = [] }) {
  const [slug, ...seed] = deal.split(":");
  const query = String(new URLSearchParams(variant));
  const address = `/practice/${slug}:${encodeURIComponent(seed.join(":"))}${query && `?${query}`}`;
  return moves.length ? `${address}#${encodeURI(moves.join(","))}` : address;
}

/** The code of a new deal of a game, which nobody has raced. */
export const freshDeal = ({ slug }) => `${slug}:${randomHex(5)}`;

/** The code of the deal whose first moves a game explains; of a new deal if it has none. */
export const guidedDeal = (game) => (game.practice ? `${game.slug}:${game.practice.seed}` : freshDeal(game));

/** A link to the lesson of a game, if it has one. */
export const lessonLink = (game) =>
  game?.practice ? h("a", { class: "button", href: practicePath({ deal: guidedDeal(game) }) }, "Learn it") : null;

/** The step of a game's guided deal after some moves, or undefined: on other deals, after other moves, and at the end. */
export function guidedStep(game, deal, moves) {
  const steps = deal === guidedDeal(game) ? (game.practice?.steps ?? []) : [];
  return moves.every((move, index) => move === steps[index]?.move) ? steps[moves.length] : undefined;
}

/** Marks the piles of the move to make next, or none. */
export function markPiles(table, move = "") {
  const places = move ? table.parse(move).places : [];
  for (const [place, pile] of table.piles) pile.classList.toggle("wanted", places.includes(place));
}

// Miniatures.

/** Creates a miniature: a picture of the game's table, or with `moves`, the steps of its guided deal. The table is drawn in
 *  a task of its own, so that the page reacts in between. */
export function miniature(game, { moves = false } = {}) {
  const figure = h("figure");
  setTimeout(() => {
    const table = new Table(game, { small: true, simple: true });
    table.show({ table: game.example });
    figure.append(table.element);
    if (moves && game.film?.length && !motionIsOff()) play(game.film, table);
  });
  return h("div", { class: `miniature${moves ? " moving" : ""}`, "aria-hidden": "true", inert: true }, figure);
}

/** Repeats the steps as long as the table is on the page. */
async function play(film, table) {
  let piles = {};
  for (let step = 0; ; step = (step + 1) % film.length) {
    await sleep(STEP_MS);
    if (!table.element.isConnected) return;
    piles = { ...piles, ...film[step] }; // the first step has all of them
    table.show({ table: piles }, { animate: step > 0 });
  }
}
