// The bots that deal filters need (docs/bots/bots.md).

import { numbersOf } from "./deals.mjs";
import { shifted, top } from "./games/cards.mjs";
import { isMisplaced } from "./games/gallery.mjs";
import { LABELS, groups, isFace } from "./games/grid.mjs";

const isCentral = (cell) => "b2 b3 c2 c3".includes(cell);
const isTableau = (place) => place[0] === "t";
const isLow = (card) => "234".includes(card[0]);

/** Those of the moves that have the highest value. */
function best(moves, valueOf) {
  const values = moves.map(valueOf);
  const most = Math.max(...values);
  return moves.filter((_, i) => values[i] === most);
}

const cellsOf = (group) => group.replace("-", "").split("+");
const outside = (group) => cellsOf(group).filter((cell) => !isCentral(cell)).length;

/** the-edge-bot/1 and kings-in-the-corners-bot/1 */
function gridMoves(game, state) {
  const small = state.hand === null ? groups(state.grid, 2) : [];
  if (small.length > 0) return best(small, outside);
  const moves = game.moves(state);
  if (moves.includes("draw")) return ["draw"];
  if (state.hand === null) return best(best(moves, (group) => -cellsOf(group).length), outside);
  if (isFace(state.hand)) return moves;
  const central = moves.filter(isCentral);
  if (central.length > 0) return central;
  const slacks = Object.entries(LABELS).map(([face, cells]) => {
    const free = moves.filter((cell) => cells.includes(cell));
    const missing = 4 - state.grid.filter((card) => card?.[0] === face).length;
    return { cells, slack: 2 * free.length - missing };
  });
  return best(moves, (cell) => slacks.find(({ cells }) => cells.includes(cell))?.slack);
}

/** corners-bot/1 */
function cornersMoves(game, state) {
  const moves = game.moves(state);
  const plays = moves.filter((move) => move !== "draw" && move !== "redeal");
  return plays.length > 0 ? plays : moves;
}

/** gallery-bot/2 */
function galleryMoves(game, state) {
  const moves = game.moves(state);
  const plays = moves.filter((move) => move !== "deal");
  if (plays.length === 0) return moves;
  const { piles } = state;
  const movable = Object.keys(piles).filter((place) => isTableau(place) || isMisplaced(piles, place));
  const ends = movable.flatMap((place) => piles[place].slice(-1));
  return best(plays, (place) => {
    const card = top(piles[place]);
    const follows = ends.includes(shifted(card, 3)) ? 4 : 0;
    const frees = isTableau(place) ? 0 : 2;
    const empties = isTableau(place) && piles[place].length === 1 ? 4 : 0;
    return follows + frees - (isLow(card) ? 2 : 0) - empties;
  });
}

const BOTS = { "the-edge": gridMoves, "kings-in-the-corners": gridMoves, corners: cornersMoves, gallery: galleryMoves };

/** Returns the moves of a play by the game's bot, and the state at its end. */
export function play(game, state, seed, k) {
  const below = numbersOf(`${game.slug}-bot|${seed}|${k}`);
  const moves = [];
  while (!game.isWon(state)) {
    const preferred = BOTS[game.slug](game, state);
    if (preferred.length === 0) break;
    const move = preferred[below(preferred.length)];
    moves.push(move);
    state = game.play(state, move);
  }
  return { moves, state };
}
