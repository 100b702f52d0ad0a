// The hand: what a tap on a pile means, from the legal moves alone.

/** A legal move as what one taps: places in order, or cells in any order. */
export function parsed(move) {
  if (/^[a-z]\d[a-z]\d$/.test(move)) return { move, kind: "carry", places: [move.slice(0, 2), move.slice(2)] };
  if (/[+-]/.test(move)) return { move, kind: "remove", places: move.split("+").map((cell) => cell.replace("-", "")) };
  if (/^[a-z]\d$/.test(move)) return { move, kind: "tap", places: [move] };
  if (move === "w") return { move, kind: "tap", places: ["waste"] };
  return { move, kind: "tap", places: ["stock"] };
}

/** Which piles are picked up, and what may follow. It never changes: every act answers with the next one. */
export class Hand {
  constructor(moves = [], foundations = [], picked = []) {
    this.all = moves.map(parsed);
    this.foundations = new Set(foundations);
    this.picked = picked;
  }

  /** The legal moves that what is picked up may become. */
  get candidates() {
    return this.all.filter(({ kind, places }) =>
      kind === "remove"
        ? this.picked.every((place) => places.includes(place))
        : this.picked.every((place, at) => places[at] === place),
    );
  }

  /** The piles that one may tap now with some effect. */
  get lit() {
    const found = new Set();
    for (const { kind, places } of this.candidates) {
      if (kind === "remove") places.forEach((place) => this.picked.includes(place) || found.add(place));
      else if (places.length > this.picked.length) found.add(places[this.picked.length]);
    }
    return found;
  }

  /** What was picked up makes a whole move, which others that need more begin with too: it takes a word to make it. */
  get whole() {
    return this.picked.length
      ? (this.candidates.find(({ places }) => places.length === this.picked.length) ?? null)
      : null;
  }

  /** A tap on a place: `{hand, play}`, where `play` is a move or null. */
  tap(place) {
    if (this.picked.at(-1) === place && this.picked.length === 1) {
      const home = this.home(place);
      return { hand: this.empty(), play: home };
    }
    if (this.picked.includes(place)) return { hand: this.with(this.picked.filter((one) => one !== place)), play: null };
    const next = this.with([...this.picked, place]);
    const { candidates } = next;
    if (!candidates.length) {
      if (!this.picked.length) return { hand: this, play: null };
      return this.empty().lit.has(place) ? this.empty().tap(place) : { hand: this.empty(), play: null, missed: true };
    }
    const whole = candidates.filter(({ places }) => places.length === next.picked.length);
    if (whole.length && candidates.length === whole.length) return { hand: this.empty(), play: whole[0].move };
    return { hand: next, play: null };
  }

  /** A card carried from one place to another and let go there. */
  carry(from, to) {
    const whole = this.all.find(({ kind, places }) => kind === "carry" && places[0] === from && places[1] === to);
    if (whole) return whole.move;
    const onto = this.all.find(({ kind, places }) => kind === "tap" && places[0] === to && this.gives(from));
    if (onto) return onto.move;
    const away = this.all.filter(({ kind, places }) => kind === "tap" && places[0] === from);
    return away.length === 1 ? away[0].move : null;
  }

  /** The move that sends the top card of a place home, if the server says which piles are foundations. */
  home(place) {
    const moves = this.all.filter(({ places }) => places[0] === place);
    return moves.find(({ kind, places }) => kind === "carry" && this.foundations.has(places[1]))?.move ?? null;
  }

  /** Whether cards are placed from here: from the hand, onto cells. */
  gives(place) {
    return place === "hand";
  }

  empty() {
    return this.with([]);
  }

  with(picked) {
    const hand = new Hand([], [], picked);
    hand.all = this.all;
    hand.foundations = this.foundations;
    return hand;
  }
}
