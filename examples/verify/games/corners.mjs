// Corners.

import { SUITS, deck, faceDown, rank, suit, top } from "./cards.mjs";

const PASSES = 3;
const RESERVE = ["r1", "r2", "r3", "r4", "r5"];

const foundationOf = ({ foundations }, card) => foundations[SUITS.indexOf(suit(card))];
const home = ({ foundations }) => foundations.reduce((sum, pile) => sum + pile.length - 1, 0);
const cardAt = ({ reserve, waste }, place) => (place === "w" ? top(waste) : reserve[RESERVE.indexOf(place)]);

/** Foundations build up in suit, and the ace follows the king. */
function isPlayable(state, card) {
  const pile = foundationOf(state, card);
  return pile.length < 13 && rank(card) === (rank(top(pile)) % 13) + 1;
}

function fillReserve({ reserve, stock, waste, ...rest }) {
  [reserve, stock, waste] = [[...reserve], [...stock], [...waste]];
  for (const i of reserve.keys()) {
    reserve[i] ??= (rest.refill === "waste" ? waste.pop() : undefined) ?? stock.pop() ?? null;
  }
  return { ...rest, reserve, stock, waste };
}

function moves(state) {
  const playable = [...RESERVE, "w"].filter((place) => {
    const card = cardAt(state, place);
    return card && isPlayable(state, card);
  });
  if (state.stock.length > 0) return [...playable, "draw"];
  return state.waste.length > 0 && state.pass < PASSES ? [...playable, "redeal"] : playable;
}

export default {
  slug: "corners",
  rules: "corners/1",
  goal: 48,
  variants: { refill: ["stock", "waste"] },
  end: "stuck",
  pack: () => deck(),
  deal(cards, { refill = "stock" }) {
    const foundations = [...SUITS].map((own) => [cards.find((card) => suit(card) === own)]);
    const others = cards.filter((card) => !foundations.some(([first]) => first === card));
    return { refill, foundations, reserve: others.slice(0, 5), stock: others.slice(5).reverse(), waste: [], pass: 1 };
  },
  moves,
  play(state, move) {
    const { foundations, reserve, stock, waste, pass } = state;
    if (move === "draw") return { ...state, stock: stock.slice(0, -1), waste: [...waste, top(stock)] };
    // The card that was drawn first is on top of the new stock.
    if (move === "redeal") return fillReserve({ ...state, stock: [...waste].reverse(), waste: [], pass: pass + 1 });
    const card = cardAt(state, move);
    return fillReserve({
      ...state,
      foundations: foundations.map((pile) => (pile === foundationOf(state, card) ? [...pile, card] : pile)),
      reserve: reserve.map((kept, i) => (RESERVE[i] === move ? null : kept)),
      waste: move === "w" ? waste.slice(0, -1) : waste,
    });
  },
  isWon: (state) => home(state) === 48,
  home,
  table({ foundations, reserve, stock, waste }) {
    return {
      ...Object.fromEntries(foundations.map((pile, i) => [`f${i + 1}`, pile])),
      ...Object.fromEntries(reserve.map((card, i) => [RESERVE[i], card === null ? [] : [card]])),
      stock: faceDown(stock),
      waste,
    };
  },
  notes: ({ pass }) => ({ pass: `${pass} of ${PASSES}` }),
};
