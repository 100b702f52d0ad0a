// Corner Stones.

import { RANKS, SUITS, deck, rank, suit, top } from "./cards.mjs";

const STACKS = "c1 l1 l2 l3 l4 c3 c2 r1 r2 r3 r4 c4".split(" ");
const ROWS = [1, 2, 3, 4];
const isCorner = (place) => place[0] === "c";

/** The stacks' ranks are cyclic: king and ace are adjacent. */
const adjacent = (one, other) => [1, 12].includes(Math.abs(rank(one) - rank(other)));

function goesUp(piles, from, card) {
  const row = SUITS.indexOf(suit(card)) + 1;
  return (isCorner(from) || from[1] === String(row)) && rank(card) === piles[`u${row}`].length + 1;
}

function goesDown(piles, from, card) {
  const row = SUITS.indexOf(suit(card)) + 1;
  return (isCorner(from) || from[1] === String(row)) && rank(card) === 13 - piles[`d${row}`].length;
}

function fits(piles, from, to) {
  if (from === to) return false;
  if (piles[to].length > 0) return adjacent(top(piles[from]), top(piles[to]));
  // Moving the only card of a corner to another one would change nothing.
  return isCorner(to) && !(isCorner(from) && piles[from].length === 1);
}

function moves({ piles }) {
  return STACKS.filter((from) => piles[from].length > 0).flatMap((from) => {
    const card = top(piles[from]);
    const row = SUITS.indexOf(suit(card)) + 1;
    return [
      ...(goesUp(piles, from, card) ? [`${from}u${row}`] : []),
      ...(goesDown(piles, from, card) ? [`${from}d${row}`] : []),
      ...STACKS.filter((to) => fits(piles, from, to)).map((to) => from + to),
    ];
  });
}

const home = ({ piles }) => ROWS.reduce((sum, row) => sum + piles[`u${row}`].length + piles[`d${row}`].length - 2, 0);

export default {
  slug: "corner-stones",
  rules: "corner-stones/1",
  goal: 96,
  variants: {},
  pack: () => [...deck(RANKS.slice(1, -1)), ...deck()],
  deal(cards) {
    const piles = {};
    for (const [i, place] of STACKS.entries()) piles[place] = cards.filter((_, at) => at % 12 === i);
    for (const row of ROWS) {
      piles[`u${row}`] = [`A${SUITS[row - 1]}`];
      piles[`d${row}`] = [`K${SUITS[row - 1]}`];
    }
    return moves({ piles }).length > 0 ? { piles } : null;
  },
  moves,
  play({ piles }, move) {
    const [from, to] = [move.slice(0, 2), move.slice(2)];
    return { piles: { ...piles, [from]: piles[from].slice(0, -1), [to]: [...piles[to], top(piles[from])] } };
  },
  outcome(state) {
    if (home(state) === 96) return "won";
    return moves(state).length > 0 ? "playing" : "stuck";
  },
  home,
  table: ({ piles }) => piles,
  notes: () => ({}),
};
