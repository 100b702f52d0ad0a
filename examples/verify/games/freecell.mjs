// FreeCell, with the deals of Microsoft FreeCell.

import { RANKS, SUITS, deck, rank, suit, top } from "./cards.mjs";

const COLUMNS = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];
const CELLS = ["a1", "a2", "a3", "a4"];
const foundationOf = (card) => `f${SUITS.indexOf(suit(card)) + 1}`;
const isRed = (card) => "HD".includes(suit(card));
const fits = (card, onto) => rank(onto) === rank(card) + 1 && isRed(onto) !== isRed(card);
const isEmpty = (piles, place) => piles[place].length === 0;
const isNext = (piles, card) => piles[foundationOf(card)].length === rank(card) - 1;

/** How many cards at the end of a column are in order. */
function runOf(pile) {
  let count = Math.min(1, pile.length);
  while (count < pile.length && fits(pile.at(-count), pile.at(-count - 1))) count += 1;
  return count;
}

/** How many cards of a column would have to move so that they fit onto a card; 0 for none. */
function fitting(pile, onto) {
  const count = rank(onto) - rank(top(pile));
  return count > 0 && count <= pile.length && fits(pile.at(-count), onto) ? count : 0;
}

/** How many cards can move together, to an empty column or onto a card. */
function roomIn(piles, target) {
  const empty = COLUMNS.filter((place) => isEmpty(piles, place)).length;
  const free = CELLS.filter((place) => isEmpty(piles, place)).length;
  return (free + 1) * 2 ** (empty - (isEmpty(piles, target) ? 1 : 0));
}

/** The places whose card can go home and is not needed by a lower card of the other colour. */
function safe(piles) {
  const height = (letter) => piles[`f${SUITS.indexOf(letter) + 1}`].length;
  const least = (card) => Math.min(...[..."SHCD"].filter((each) => "HD".includes(each) !== isRed(card)).map(height));
  return [...COLUMNS, ...CELLS].filter((place) => {
    const card = top(piles[place]);
    return card && isNext(piles, card) && rank(card) <= Math.max(2, least(card) + 1);
  });
}

function moves({ piles }) {
  const found = [];
  const free = CELLS.find((place) => isEmpty(piles, place));
  for (const source of COLUMNS.filter((place) => !isEmpty(piles, place))) {
    const pile = piles[source];
    const run = runOf(pile);
    if (isNext(piles, top(pile))) found.push(source + foundationOf(top(pile)));
    for (const target of COLUMNS) {
      const room = Math.min(run, roomIn(piles, target));
      if (isEmpty(piles, target)) {
        const most = Math.min(room, pile.length - 1);
        for (let n = 1; n <= most; n++) found.push(source + target + (n > 1 ? `:${n}` : ""));
      } else if (target !== source) {
        const count = fitting(pile, top(piles[target]));
        if (count > 0 && count <= room) found.push(source + target);
      }
    }
    if (free) found.push(source + free);
  }
  for (const source of CELLS.filter((place) => !isEmpty(piles, place))) {
    const card = top(piles[source]);
    if (isNext(piles, card)) found.push(source + foundationOf(card));
    found.push(...COLUMNS.filter((to) => isEmpty(piles, to) || fits(card, top(piles[to]))).map((to) => source + to));
  }
  return safe(piles).length > 0 ? [...found, "home"] : found;
}

function carry(piles, source, target, count) {
  const cards = piles[source];
  return { ...piles, [source]: cards.slice(0, -count), [target]: [...piles[target], ...cards.slice(-count)] };
}

function play({ piles }, move) {
  if (move === "home") {
    for (let [place] = safe(piles); place; [place] = safe(piles)) {
      piles = carry(piles, place, foundationOf(top(piles[place])), 1);
    }
    return { piles };
  }
  const [source, target, number] = [move.slice(0, 2), move.slice(2, 4), Number(move.slice(5) || 1)];
  const isOnto = source[0] === "c" && target[0] === "c" && !isEmpty(piles, target);
  return { piles: carry(piles, source, target, isOnto ? fitting(piles[source], top(piles[target])) : number) };
}

/** The cards of a deal of Microsoft FreeCell in dealing order, or null for another seed (notation, section Deals). */
function knownCards(seed) {
  if (!seed.startsWith("ms:")) return null;
  const cards = [...RANKS].flatMap((letter) => [..."CDHS"].map((each) => letter + each));
  let x = BigInt(seed.slice(3));
  const dealt = [];
  while (cards.length > 0) {
    x = (214013n * x + 2531011n) % 2n ** 31n;
    const at = Number(x >> 16n) % cards.length;
    [cards[at], cards[cards.length - 1]] = [cards[cards.length - 1], cards[at]];
    dealt.push(cards.pop());
  }
  return dealt;
}

const home = ({ piles }) => ["f1", "f2", "f3", "f4"].reduce((sum, place) => sum + piles[place].length, 0);

export default {
  slug: "freecell",
  rules: "freecell/1",
  goal: 52,
  variants: {},
  end: "stuck",
  pack: () => deck(),
  isSeed: (seed) => !seed.startsWith("ms:") || /^ms:([1-9]\d{0,5}|1000000)$/.test(seed),
  knownCards,
  deal(cards) {
    const columns = COLUMNS.map((place, i) => [place, cards.filter((_, at) => at % 8 === i)]);
    const others = [...CELLS, "f1", "f2", "f3", "f4"].map((place) => [place, []]);
    return { piles: Object.fromEntries([...columns, ...others]) };
  },
  moves,
  play,
  isWon: (state) => home(state) === 52,
  home,
  table: ({ piles }) => piles,
  notes: () => ({}),
};
