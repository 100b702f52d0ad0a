// Klondike.

import { RANKS, SUITS, deck, faceDown, rank, suit, top } from "./cards.mjs";

const COLUMNS = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"];
const FOUNDATIONS = ["f1", "f2", "f3", "f4"];
const foundationOf = (card) => FOUNDATIONS[SUITS.indexOf(suit(card))];
const isRed = (card) => "HD".includes(suit(card));
const fits = (card, onto) => rank(onto) === rank(card) + 1 && isRed(onto) !== isRed(card);
const isNext = (piles, card) => piles[foundationOf(card)].length === rank(card) - 1;
const takes = (pile, card) => (pile.length > 0 ? fits(card, top(pile)) : rank(card) === RANKS.length);

/** The columns whose last card is face up, can go home and is not needed by lower cards. */
function safe({ piles, down }) {
  const [spades, hearts, clubs, diamonds] = FOUNDATIONS.map((place) => piles[place].length);
  const [black, red] = [Math.min(spades, clubs) + 1, Math.min(hearts, diamonds) + 1];
  const most = {
    S: Math.min(red, clubs + 2),
    H: Math.min(black, diamonds + 2),
    C: Math.min(red, spades + 2),
    D: Math.min(black, hearts + 2),
  };
  return COLUMNS.filter((place, i) => {
    const card = top(piles[place]);
    return piles[place].length > down[i] && isNext(piles, card) && rank(card) <= Math.max(2, most[suit(card)]);
  });
}

/** How many face-up cards of a column go onto another one; 0 for none. */
function fitting({ piles, down }, source, target) {
  const [pile, onto] = [piles[source], piles[target]];
  const most = pile.length - down[COLUMNS.indexOf(source)];
  // A column without face-down cards would leave another empty column.
  if (onto.length === 0) return most < pile.length && rank(pile.at(-most)) === RANKS.length ? most : 0;
  const count = rank(top(onto)) - rank(top(pile));
  return count > 0 && count <= most && fits(pile.at(-count), top(onto)) ? count : 0;
}

function moves(state) {
  const { piles, passes, pass, played } = state;
  const found = [];
  const isFilled = (place) => piles[place].length > 0;
  for (const source of COLUMNS.filter(isFilled)) {
    const card = top(piles[source]);
    if (isNext(piles, card)) found.push(source + foundationOf(card));
    found.push(...COLUMNS.filter((to) => fitting(state, source, to) > 0).map((to) => source + to));
  }
  for (const source of ["waste", ...FOUNDATIONS].filter(isFilled)) {
    const card = top(piles[source]);
    const name = source === "waste" ? "w" : source;
    if (isNext(piles, card)) found.push(name + foundationOf(card));
    found.push(...COLUMNS.filter((to) => takes(piles[to], card)).map((to) => name + to));
  }
  if (safe(state).length > 0) found.push("home");
  if (isFilled("stock")) found.push("draw");
  else if (isFilled("waste") && played && passes !== String(pass)) found.push("redeal");
  return found;
}

function carry(piles, source, target, count) {
  const cards = piles[source];
  return { ...piles, [source]: cards.slice(0, -count), [target]: [...piles[target], ...cards.slice(-count)] };
}

/** The last card of each column is face up. */
const turnUp = (state) => ({
  ...state,
  down: state.down.map((count, i) => Math.max(0, Math.min(count, state.piles[COLUMNS[i]].length - 1))),
});

function play(state, move) {
  const { stock, waste } = state.piles;
  if (move === "draw") {
    const count = Number(state.draw);
    const drawn = stock.slice(-count).reverse();
    return { ...state, piles: { ...state.piles, stock: stock.slice(0, -count), waste: [...waste, ...drawn] } };
  }
  if (move === "redeal") {
    const piles = { ...state.piles, stock: [...waste].reverse(), waste: [] };
    return { ...state, piles, pass: state.pass + 1, played: false };
  }
  if (move === "home") {
    // Cards that turn up do not go home with this move.
    let { piles } = state;
    for (let [place] = safe(state); place; [place] = safe({ ...state, piles })) {
      piles = carry(piles, place, foundationOf(top(piles[place])), 1);
    }
    return turnUp({ ...state, piles, played: true });
  }
  const [source, target] = move[0] === "w" ? ["waste", move.slice(1)] : [move.slice(0, 2), move.slice(2)];
  const isTransfer = source[0] === "c" && target[0] === "c";
  const piles = carry(state.piles, source, target, isTransfer ? fitting(state, source, target) : 1);
  return turnUp({ ...state, piles, played: true });
}

const home = ({ piles }) => FOUNDATIONS.reduce((sum, place) => sum + piles[place].length, 0);

export default {
  slug: "klondike",
  rules: "klondike/1",
  goal: 52,
  variants: { draw: ["3", "1"], passes: ["unlimited", "3", "1"] },
  end: "stuck",
  pack: () => deck(),
  deal(cards, { draw = "3", passes = "unlimited" }) {
    const piles = { stock: cards.slice(28).reverse(), waste: [] };
    for (const place of FOUNDATIONS) piles[place] = [];
    for (const [i, place] of COLUMNS.entries()) piles[place] = cards.slice((i * (i + 1)) / 2, ((i + 1) * (i + 2)) / 2);
    return { draw, passes, piles, down: [...COLUMNS.keys()], pass: 1, played: false };
  },
  moves,
  play,
  isWon: (state) => home(state) === 52,
  home,
  table({ piles, down }) {
    const columns = COLUMNS.map((place, i) => {
      const pile = piles[place];
      return [place, [...faceDown(pile.slice(0, down[i])), ...pile.slice(down[i])]];
    });
    return { ...piles, ...Object.fromEntries(columns), stock: faceDown(piles.stock) };
  },
  notes: ({ passes, pass }) => (passes === "unlimited" ? {} : { pass: `${pass} of ${passes}` }),
  hidden: ({ piles, down }) => [piles.stock.length, ...down],
};
