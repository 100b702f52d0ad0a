// The search for a winning line in Corners (docs/bots/bots.md). It knows all cards.

import { SUITS, rank, suit } from "./games/cards.mjs";

const WIDTHS = [4, 16, 64, 256, 1024, 4096];
const PASSES = 3;
const STEPS = 12; // the cards that go onto a foundation

// A card is its number: the reserve from 0 to 4, then the stock from its top. A position has the number of cards home
// (`home`, by suit), the cards in the reserve in ascending order, the number `drawn`, and the pass. All other cards are
// in the waste if they are below `drawn`, otherwise in the stock.

/** Returns the number of positions that the search visits until it finds a winning line, or Infinity if it finds none
 *  within `most` positions. */
export function visitsToWin(deal, most) {
  const search = new Search(deal, most);
  for (const width of WIDTHS) {
    const { isWon, isComplete } = search.run(width);
    if (isWon) return search.visited;
    if (isComplete || search.visited === most) break; // wider layers would not find more
  }
  return Infinity;
}

class Search {
  visited = 0;

  constructor({ refill, foundations, reserve, stock }, most) {
    this.most = most;
    this.wasteFirst = refill === "waste";
    const cards = [...reserve, ...[...stock].reverse()];
    const bases = foundations.map(([first]) => rank(first));
    this.suits = cards.map((card) => SUITS.indexOf(suit(card)));
    this.steps = cards.map((card, n) => (rank(card) - bases[this.suits[n]] + 13) % 13); // 1 for the first to go home
    this.numbers = bases.map(() => []); // of each suit, by step
    cards.forEach((_, n) => (this.numbers[this.suits[n]][this.steps[n]] = n));
    this.start = { home: [0, 0, 0, 0], reserve: [0, 1, 2, 3, 4], drawn: 5, pass: 1 };
  }

  run(width) {
    let isComplete = true;
    for (let layer = [this.start]; layer.length > 0; ) {
      const seen = new Set(layer.map(keyOf));
      const candidates = new Map();
      for (const position of layer) {
        // Plays are appended to the layer, and visited in turn.
        if (this.visited === this.most) return { isWon: false };
        this.visited += 1;
        for (const after of this.plays(position)) {
          if (after.home.every((count) => count === STEPS)) return { isWon: true };
          const key = keyOf(after);
          if (seen.has(key)) continue;
          seen.add(key);
          layer.push(after);
        }
        const after = this.draw(position);
        const key = after && keyOf(after);
        if (after && !candidates.has(key)) candidates.set(key, after);
      }
      const valued = [...candidates.values()].map((position) => ({ position, value: this.value(position) }));
      valued.sort((one, other) => other.value - one.value); // stable
      isComplete &&= valued.length <= width;
      layer = valued.slice(0, width).map(({ position }) => position);
    }
    return { isWon: false, isComplete };
  }

  /** Whether a card is in the waste or the stock. */
  isAway({ home, reserve }, card) {
    return this.steps[card] > home[this.suits[card]] && !reserve.includes(card);
  }

  topOfWaste(position) {
    let card = position.drawn - 1;
    while (card >= 0 && !this.isAway(position, card)) card--;
    return card;
  }

  /** The top of the stock, or undefined if it is empty. */
  topOfStock(position) {
    for (let card = position.drawn; card < this.steps.length; card++) if (this.isAway(position, card)) return card;
  }

  plays(position) {
    const { home, reserve } = position;
    const isNext = (card) => this.steps[card] === home[this.suits[card]] + 1;
    const after = (card, kept) => {
      const more = [...home];
      more[this.suits[card]] += 1;
      return this.filled({ ...position, home: more, reserve: kept });
    };
    const found = [];
    const wasted = this.topOfWaste(position);
    if (wasted >= 0 && isNext(wasted)) found.push(after(wasted, reserve));
    for (const card of reserve) if (isNext(card)) found.push(after(card, reserve.filter((kept) => kept !== card)));
    return found;
  }

  draw(position) {
    const card = this.topOfStock(position);
    if (card !== undefined) return { ...position, drawn: card + 1 };
    if (position.pass === PASSES || this.topOfWaste(position) < 0) return null;
    return this.filled({ ...position, drawn: 0, pass: position.pass + 1 });
  }

  /** Fills the reserve. */
  filled(position) {
    while (position.reserve.length < 5) {
      const waste = this.wasteFirst ? this.topOfWaste(position) : -1;
      const card = waste >= 0 ? waste : this.topOfStock(position);
      if (card === undefined) break;
      position = { ...position, reserve: [...position.reserve, card].sort((one, other) => one - other) };
    }
    return position;
  }

  value(position) {
    const { home, reserve, drawn } = position;
    let value = 0;
    for (const [suit, count] of home.entries()) {
      value += 60 * count;
      let least = drawn;
      for (const card of this.numbers[suit].slice(count + 1)) {
        if (reserve.includes(card)) value += 16;
        else if (card >= least) {
          value += 14;
          least = card + 1;
        } else {
          for (let above = card + 1; above < drawn; above++) value -= Number(this.isAway(position, above));
          break;
        }
      }
    }
    return value;
  }
}

const keyOf = ({ home, reserve, drawn, pass }) => String.fromCharCode(...home, drawn, pass, ...reserve);
