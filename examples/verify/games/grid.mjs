// The Edge, and Kings in the Corners, which is played on the same grid.

import { deck, faceDown, rank } from "./cards.mjs";

const CELLS = [..."abcd"].flatMap((column) => [..."1234"].map((row) => column + row));
export const LABELS = { K: "a1 a4 d1 d4", Q: "b1 b4 c1 c4", J: "a2 a3 d2 d3" };
export const isFace = (card) => card[0] in LABELS;

// A grid is an array of the cards in the cells, or null.
const allows = (card, at) => !isFace(card) || LABELS[card[0]].includes(CELLS[at]);
const freeFor = ({ grid, hand }) => CELLS.filter((_, at) => grid[at] === null && allows(hand, at));
const isFull = ({ grid }) => !grid.includes(null);
const faces = ({ grid }) => grid.filter((card) => card !== null && isFace(card)).length;
const home = ({ hand, stock }) => 52 - stock.length - (hand === null ? 0 : 1);

/** All groups of at most `largest` cells whose cards add up to ten, in the order of their cells. */
export function groups(grid, largest) {
  const ranks = grid.map((card) => (card === null || isFace(card) ? Infinity : rank(card)));
  const found = [];
  const extend = (cells, first, missing) => {
    if (missing === 0) found.push(cells.length === 1 ? `${cells[0]}-` : cells.join("+"));
    else if (cells.length < largest) {
      for (let at = first; at < CELLS.length; at++) {
        if (ranks[at] <= missing) extend([...cells, CELLS[at]], at + 1, missing - ranks[at]);
      }
    }
  };
  extend([], 0, 10);
  return found;
}

const draw = (state) => ({ ...state, hand: state.stock.at(-1), stock: state.stock.slice(0, -1) });

/** A game on the grid. Of Kings in the Corners, groups have at most two cards, all of them must go before the next card
 *  is drawn, and the game continues until the stock is empty. */
function game(slug, pairs) {
  const groupsOf = ({ grid }) => groups(grid, pairs ? 2 : 10);
  const isWon = (state) => (pairs ? home(state) === 52 : faces(state) === 12);

  function place({ grid, hand, ...rest }, cell) {
    const at = CELLS.indexOf(cell);
    const state = { ...rest, grid: grid.map((card, i) => (i === at ? hand : card)), hand: null };
    return isWon(state) || isFull(state) ? state : draw(state);
  }

  function remove(state, cells) {
    const removed = cells.map((cell) => CELLS.indexOf(cell));
    const grid = state.grid.map((card, at) => (removed.includes(at) ? null : card));
    const after = { ...state, grid, discard: [...state.discard, ...removed.map((at) => state.grid[at])] };
    return pairs && groupsOf(after).length === 0 ? draw(after) : after;
  }

  return {
    slug,
    rules: `${slug}/1`,
    goal: 52,
    variants: {},
    end: "lost",
    pack: () => deck(),
    deal: (cards) => draw({ grid: CELLS.map(() => null), hand: null, stock: [...cards].reverse(), discard: [] }),
    moves(state) {
      if (state.hand !== null) return freeFor(state);
      return [...groupsOf(state), ...(pairs || isFull(state) ? [] : ["draw"])];
    },
    play(state, move) {
      if (move === "draw") return draw(state);
      return state.hand === null ? remove(state, move.replace("-", "").split("+")) : place(state, move);
    },
    isWon,
    home,
    table({ grid, hand, stock, discard }) {
      const cells = CELLS.map((cell, at) => [cell, grid[at] === null ? [] : [grid[at]]]);
      return { ...Object.fromEntries(cells), hand: hand === null ? [] : [hand], stock: faceDown(stock), discard };
    },
    notes(state) {
      const phase = state.hand === null && !isWon(state) ? "match" : "place";
      return { phase, faces: `${faces(state)} of 12` };
    },
  };
}

export const theEdge = game("the-edge", false);
export const kingsInTheCorners = game("kings-in-the-corners", true);
