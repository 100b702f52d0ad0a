// Gallery, with the plays that the computer makes by itself (`cap`).

import { deck, faceDown, rank, shifted, top } from "./cards.mjs";

const BASES = { a: "2", b: "3", c: "4" }; // the rank of the first cards in each row
const COLUMNS = [1, 2, 3, 4, 5, 6, 7, 8];
const SPOTS = Object.keys(BASES).flatMap((row) => COLUMNS.map((column) => row + column));
const TABLEAU = COLUMNS.map((column) => `t${column}`);
const PLACES = [...SPOTS, ...TABLEAU];

const inRow = (row) => SPOTS.filter((spot) => spot[0] === row);
const isBase = (card) => "234".includes(card[0]);
const rowOf = (base) => "abc"["234".indexOf(base[0])];
const isHome = (piles, spot) => piles[spot].length > 0 && piles[spot][0][0] === BASES[spot[0]];
export const isMisplaced = (piles, spot) => piles[spot].length > 0 && !isHome(piles, spot);
const home = ({ piles }) => SPOTS.reduce((sum, spot) => sum + (isHome(piles, spot) ? piles[spot].length : 0), 0);

/** The spots that accept a card, from the left. */
function accepting(piles, card) {
  if (isBase(card)) return inRow(rowOf(card)).filter((spot) => piles[spot].length === 0);
  return SPOTS.filter((spot) => isHome(piles, spot) && top(piles[spot]) === shifted(card, -3));
}

/** The places whose last card can be played. */
function playable(piles) {
  const accepted = new Set(); // cards, and ranks of first cards
  for (const spot of SPOTS) {
    if (piles[spot].length === 0) accepted.add(BASES[spot[0]]);
    else if (isHome(piles, spot)) accepted.add(shifted(top(piles[spot]), 3));
  }
  return PLACES.filter((place) => {
    if (place[0] === "t" ? piles[place].length === 0 : !isMisplaced(piles, place)) return false;
    const card = top(piles[place]);
    return accepted.has(isBase(card) ? card[0] : card);
  });
}

function playFrom(piles, place) {
  const card = top(piles[place]);
  const [to] = accepting(piles, card);
  return { ...piles, [place]: piles[place].slice(0, -1), [to]: [...piles[to], card] };
}

/** Whether a playable card may be played without asking, because that can never hurt. */
function isSafe({ piles, stock }, place) {
  const card = top(piles[place]); // its twin is equal to it
  if (stock.length === 0 && playable(piles).length === 1) return true;
  if (isBase(card)) return !inRow(rowOf(card)).some((spot) => isMisplaced(piles, spot));
  const twinUnder = (rule) =>
    TABLEAU.some((t) => piles[t].some((twin, at) => twin === card && rule(piles[t].slice(at + 1))));
  const sameRow = place[0] === "t" ? [] : inRow(place[0]);
  return (
    accepting(piles, card).length > 1 ||
    SPOTS.some((spot) => isHome(piles, spot) && piles[spot].includes(card)) ||
    (place[0] === "t" && piles[place].slice(0, -1).includes(card)) ||
    sameRow.some((spot) => spot !== place && isMisplaced(piles, spot) && piles[spot][0] === card) ||
    twinUnder((above) => above.length > 0 && above[0] === shifted(card, -3)) ||
    twinUnder((above) => [3, 6, 9].some((by) => above.includes(shifted(card, by))))
  );
}

/** The state after all that happens by itself: aces leave, and with `cap` safe cards are played one by one. */
function settle(state) {
  const piles = { ...state.piles };
  const aces = [...state.aces];
  for (const place of PLACES) {
    while (piles[place].length > 0 && rank(top(piles[place])) === 1) {
      aces.push(top(piles[place]));
      piles[place] = piles[place].slice(0, -1);
    }
  }
  const settled = { ...state, piles, aces };
  const safe = state.cap ? playable(piles).find((place) => isSafe(settled, place)) : undefined;
  return safe === undefined ? settled : settle({ ...settled, piles: playFrom(piles, safe) });
}

const moves = ({ piles, stock }) => [...playable(piles), ...(stock.length > 0 ? ["deal"] : [])];

export default {
  slug: "gallery",
  rules: "gallery/1",
  goal: 96,
  variants: { cap: [true, false] },
  end: "over",
  pack: () => [...deck(), ...deck()],
  deal(cards, { cap = true }) {
    const piles = Object.fromEntries(PLACES.map((place, i) => [place, [cards[i]]]));
    const accepted = SPOTS.some((spot) => rank(piles[spot][0]) === 1 || isHome(piles, spot));
    return accepted ? settle({ cap, piles, stock: cards.slice(PLACES.length).reverse(), aces: [] }) : null;
  },
  moves,
  play(state, move) {
    if (move !== "deal") return settle({ ...state, piles: playFrom(state.piles, move) });
    const stock = [...state.stock];
    const dealt = Object.fromEntries(TABLEAU.map((t) => [t, [...state.piles[t], stock.pop()]]));
    return settle({ ...state, piles: { ...state.piles, ...dealt }, stock });
  },
  isWon: (state) => home(state) === 96,
  home,
  table: ({ piles, stock, aces }) => ({ ...piles, stock: faceDown(stock), aces }),
  notes: (state) => ({ score: String(96 - home(state)) }),
};
