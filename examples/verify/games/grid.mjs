// The Edge, and Kings in the Corners, which is played on the same grid.

import { deck, faceDown, rank } from "./cards.mjs";

const CELLS = [..."abcd"].flatMap((column) => [..."1234"].map((row) => column + row));
const LABELS = { K: "a1 a4 d1 d4", Q: "b1 b4 c1 c4", J: "a2 a3 d2 d3" };
const isFace = (card) => card[0] in LABELS;

const freeFor = ({ grid, hand }) =>
  CELLS.filter((cell) => !(cell in grid) && (!isFace(hand) || LABELS[hand[0]].includes(cell)));
const isFull = ({ grid }) => CELLS.every((cell) => cell in grid);
const faces = ({ grid }) => Object.values(grid).filter(isFace).length;
const home = ({ hand, stock }) => 52 - stock.length - (hand === null ? 0 : 1);

/** All groups of cells whose cards add up to ten, in the order of their cells. */
function groups(grid, largest, first = 0, cells = [], sum = 0) {
  if (sum === 10) return [cells.length === 1 ? `${cells[0]}-` : cells.join("+")];
  if (cells.length === largest) return [];
  return CELLS.slice(first).flatMap((cell, i) => {
    const fits = cell in grid && !isFace(grid[cell]) && sum + rank(grid[cell]) <= 10;
    return fits ? groups(grid, largest, first + i + 1, [...cells, cell], sum + rank(grid[cell])) : [];
  });
}

const draw = (state) => ({ ...state, hand: state.stock.at(-1), stock: state.stock.slice(0, -1) });

/** A game on the grid. Of Kings in the Corners, groups have at most two cards, all of them must go before the next card
 *  is drawn, and the game continues until the stock is empty. */
function game(slug, pairs) {
  const groupsOf = ({ grid }) => groups(grid, pairs ? 2 : 10);
  const isWon = (state) => (pairs ? home(state) === 52 : faces(state) === 12);

  function place({ grid, hand, ...rest }, cell) {
    const state = { ...rest, grid: { ...grid, [cell]: hand }, hand: null };
    return isWon(state) || isFull(state) ? state : draw(state);
  }

  function remove(state, cells) {
    const grid = { ...state.grid };
    for (const cell of cells) delete grid[cell];
    const discard = [...state.discard, ...cells.map((cell) => state.grid[cell])];
    const after = { ...state, grid, discard };
    return pairs && groupsOf(after).length === 0 ? draw(after) : after;
  }

  return {
    slug,
    rules: `${slug}/1`,
    goal: 52,
    variants: {},
    end: "lost",
    pack: () => deck(),
    deal: (cards) => draw({ grid: {}, hand: null, stock: [...cards].reverse(), discard: [] }),
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
      const cells = CELLS.map((cell) => [cell, cell in grid ? [grid[cell]] : []]);
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
