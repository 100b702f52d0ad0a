// Corner Stones.

import { RANKS, SUITS, deck, rank, suit, top } from "./cards.mjs";

const STACKS = "c1 l1 l2 l3 l4 c3 c2 r1 r2 r3 r4 c4".split(" ");
const ROWS = [1, 2, 3, 4];
const isCorner = (place) => place[0] === "c";

/** The stacks' ranks are cyclic: king and ace are adjacent. */
const adjacent = (one, other) => [1, 12].includes(Math.abs(rank(one) - rank(other)));

/** The foundations that take the top card of a stack. */
function foundationsFor(piles, from) {
  const card = top(piles[from]);
  const row = SUITS.indexOf(suit(card)) + 1;
  if (!isCorner(from) && from[1] !== String(row)) return [];
  const [up, down] = [`u${row}`, `d${row}`];
  return [
    ...(rank(card) === 1 + piles[up].length ? [up] : []),
    ...(rank(card) === 13 - piles[down].length ? [down] : []),
  ];
}

/** The stacks that take the top card of a stack. */
function stacksFor(piles, from) {
  // Moving the only card of a corner to another one would change nothing.
  const isAlone = isCorner(from) && piles[from].length === 1;
  return STACKS.filter((to) => {
    if (piles[to].length === 0) return isCorner(to) && !isAlone;
    return to !== from && adjacent(top(piles[from]), top(piles[to]));
  });
}

function moves({ piles }) {
  return STACKS.filter((from) => piles[from].length > 0).flatMap((from) =>
    [...foundationsFor(piles, from), ...stacksFor(piles, from)].map((to) => from + to),
  );
}

const home = ({ piles }) => ROWS.reduce((sum, row) => sum + piles[`u${row}`].length + piles[`d${row}`].length - 2, 0);

export default {
  slug: "corner-stones",
  rules: "corner-stones/1",
  goal: 96,
  variants: {},
  end: "stuck",
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
  isWon: (state) => home(state) === 96,
  home,
  table: ({ piles }) => piles,
  notes: () => ({}),
};
