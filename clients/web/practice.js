// Practice: deals to play alone, and the steps of a game's guided deal.

import { randomHex } from "./storage.js";

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
