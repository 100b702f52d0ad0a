// Golf.

import { deck, faceDown, rank, top } from "./cards.mjs";

const HEIGHT = 5;
const COLUMNS = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"];

const left = ({ columns }) => columns.reduce((sum, pile) => sum + pile.length, 0);

/** Nothing goes onto a king unless kings and aces are next to each other. */
function fits({ wrap }, card, onto) {
  const step = Math.abs(rank(card) - rank(onto));
  return wrap ? step === 1 || step === 12 : step === 1 && rank(onto) !== 13;
}

export default {
  slug: "golf",
  rules: "golf/1",
  goal: 35,
  variants: { wrap: [false, true] },
  end: "over",
  pack: () => deck(),
  deal(cards, { wrap = false }) {
    const columns = COLUMNS.map((_, i) => cards.slice(HEIGHT * i, HEIGHT * (i + 1)));
    return { wrap, columns, waste: [cards[35]], stock: cards.slice(36).reverse() };
  },
  moves(state) {
    const plays = COLUMNS.filter((_, i) => {
      const card = top(state.columns[i]);
      return card && fits(state, card, top(state.waste));
    });
    return state.stock.length > 0 ? [...plays, "draw"] : plays;
  },
  play(state, move) {
    const { columns, waste, stock } = state;
    if (move === "draw") return { ...state, stock: stock.slice(0, -1), waste: [...waste, top(stock)] };
    const at = COLUMNS.indexOf(move);
    const after = columns.map((pile, i) => (i === at ? pile.slice(0, -1) : pile));
    return { ...state, columns: after, waste: [...waste, top(columns[at])] };
  },
  isWon: (state) => left(state) === 0,
  home: (state) => 35 - left(state),
  table: ({ columns, waste, stock }) => ({
    ...Object.fromEntries(columns.map((pile, i) => [COLUMNS[i], pile])),
    stock: faceDown(stock),
    waste,
  }),
  notes: (state) => ({ score: String(left(state)) }),
};
