// The selection: turns taps on piles into moves, using nothing but the list of legal moves. tests/selections.json holds this module and the CLI to the same choices.

import { counted } from "./phrases.js";

/**
 * Splits a legal move into the places to tap: in order, or in any order for cards removed together. A word such as
 * "draw" names no place; it works the first face-down pile. `places` and `hidden` are those of the game.
 */
export function parseMove(move, places, hidden = []) {
  if (/[+-]/.test(move)) return { move, kind: "remove", places: move.replace(/-$/, "").split("+") };
  if (places.includes(move)) return { move, kind: "tap", places: [move] };
  for (let at = 1; at < move.length; at += 1) {
    const pair = [move.slice(0, at), move.slice(at)];
    if (pair.every((place) => places.includes(place))) return { move, kind: "carry", places: pair };
  }
  // Moves abbreviate a place with a longer name to its first letter.
  const named = move.length === 1 && places.find((place) => place.length > 2 && place[0] === move);
  if (named) return { move, kind: "tap", places: [named] };
  return { move, kind: "tap", places: hidden.slice(0, 1), isWord: true };
}

/** The selected piles and the moves that they may become. Immutable. */
export class Selection {
  /** `moves` are parsed by `parseMove`. */
  constructor(moves = [], foundations = [], picked = []) {
    this.all = moves;
    this.foundations = new Set(foundations);
    this.picked = picked;
  }

  /** The legal moves that start with the selected piles. */
  get candidates() {
    return this.all.filter(({ kind, places }) =>
      kind === "remove"
        ? this.picked.every((place) => places.includes(place))
        : this.picked.every((place, index) => places[index] === place),
    );
  }

  /** The places that can be tapped next. */
  get targets() {
    const targets = new Set();
    for (const { kind, places } of this.candidates) {
      if (kind === "remove") places.forEach((place) => this.picked.includes(place) || targets.add(place));
      else if (places.length > this.picked.length) targets.add(places[this.picked.length]);
    }
    return targets;
  }

  /** The move that exactly matches the selection, if other moves start with it too: it needs an explicit command. */
  get complete() {
    return this.picked.length
      ? (this.candidates.find(({ places }) => places.length === this.picked.length) ?? null)
      : null;
  }

  /** Whether a complete move may be the start of another one. */
  get isAmbiguous() {
    const kinds = new Set(this.all.filter(({ isWord }) => !isWord).map(({ kind }) => kind));
    return kinds.has("remove") || (kinds.has("carry") && kinds.has("tap"));
  }

  /** Taps a place. Returns the next `selection` and the `move` to play, or null; `missed` if the tap did not match. */
  tap(place) {
    if (this.picked.at(-1) === place && this.picked.length === 1)
      return { selection: this.clear(), move: this.homeMove(place) };
    if (this.picked.includes(place))
      return { selection: this.withPicked(this.picked.filter((other) => other !== place)), move: null };
    const next = this.withPicked([...this.picked, place]);
    const { candidates } = next;
    if (!candidates.length) {
      if (!this.picked.length) return { selection: this, move: null };
      const cleared = this.clear();
      return cleared.targets.has(place) ? cleared.tap(place) : { selection: cleared, move: null, missed: true };
    }
    const complete = candidates.filter(({ places }) => places.length === next.picked.length);
    if (complete.length && candidates.length === complete.length)
      return { selection: this.clear(), move: complete[0].move };
    return { selection: next, move: null };
  }

  /** How the game would write an illegal move with these places, to learn why it is refused; null if unknown. */
  attempt(places) {
    const has = (kind) => this.all.some((legal) => legal.kind === kind && !legal.isWord);
    if (places.length > 1 && has("remove")) return places.join("+");
    if (places.length === 2 && has("carry")) return places.join("");
    const [place] = places;
    if (places.length > 1 || place === "hand" || this.foundations.has(place) || !has("tap")) return null;
    return place.length > 2 ? place[0] : place;
  }

  /** Returns the move for a card dragged from one place to another, or null. */
  dragMove(from, to) {
    const exact = this.all.find(({ kind, places }) => kind === "carry" && places[0] === from && places[1] === to);
    if (exact) return exact.move;
    const placed = from === "hand" && this.all.find(({ kind, places }) => kind === "tap" && places[0] === to);
    if (placed) return placed.move;
    const taps = this.all.filter(({ kind, places }) => kind === "tap" && places[0] === from);
    return taps.length === 1 ? taps[0].move : null;
  }

  /** Returns the move that takes the top card of a place to a foundation, or null. */
  homeMove(place) {
    const isHome = ({ kind, places }) => kind === "carry" && places[0] === place && this.foundations.has(places[1]);
    return this.all.find(isHome)?.move ?? null;
  }

  clear() {
    return this.withPicked([]);
  }

  withPicked(picked) {
    return new Selection(this.all, [...this.foundations], picked);
  }
}

const UNAIMED = ["undo", "restart"];

export class MoveQueue {
  constructor(table) {
    this.table = table;
    this.moves = []; // the first one is on its way
  }

  /**
   * Makes a move. It waits for those before it, and is dropped together with those behind it if one of them is refused
   * or has changed the cards that this one was aimed at: the player has not seen the new ones. The reason is shown next
   * to a pile. `card` has been sent ahead, and is released afterwards.
   */
  async add(move, place, card) {
    this.moves.push({ move, place, card, aim: this.aim(move) });
    if (this.moves.length > 1) return;
    try {
      while (this.moves.length) {
        const [next] = this.moves;
        const changed = next.aim !== this.aim(next.move);
        const refusal = changed ? "The cards have changed." : await this.table.play(next.move);
        const ended = refusal ? this.moves.splice(0) : [this.moves.shift()];
        for (const each of ended) this.table.release(each.card);
        const dropped = ended.length - (changed ? 0 : 1);
        if (refusal) this.table.refuse(dropped ? `${refusal} ${droppedText(dropped)}` : refusal, next.place);
      }
    } finally {
      this.moves = []; // also after a fault
    }
  }

  /** The cards that a move is aimed at: the top ones of its piles, and the one in hand, which a tap may place. */
  aim(move) {
    if (UNAIMED.includes(move)) return "";
    const { kind, places, isWord } = this.table.parse(move);
    const aimed = kind === "tap" && !isWord ? [...places, "hand"] : places;
    return aimed.map((place) => this.table.board.table[place]?.at(-1)).join();
  }
}

const droppedText = (count) => `${counted(count, "queued move")} ${count === 1 ? "was" : "were"} dropped.`;
