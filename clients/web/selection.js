// The selection: turns taps on piles into moves, using nothing but the list of legal moves. tests/selections.json holds this module and the CLI to the same choices.

import { counted } from "./phrases.js";

/** The word that sends all cards home that can safely go there. */
export const HOME = "home";

/** The name of a place in moves, which abbreviate longer names to the first letter, such as "w" for the waste. */
const inMoves = (place) => (place.length > 2 ? place[0] : place);

/**
 * Splits a legal move into the places to tap: in order, or in any order for cards removed together. A word such as
 * "draw" names no place; it works the stock, except "home". "c3c5:4" moves four cards. `places` and `hidden` are those of
 * the game.
 */
export function parseMove(move, places, hidden = []) {
  const [plain, number] = move.split(":");
  if (number) return { ...parseMove(plain, places, hidden), move, number: Number(number) };
  if (/[+-]/.test(move)) return { move, kind: "remove", places: move.replace(/-$/, "").split("+") };
  const named = (name) => places.find((place) => inMoves(place) === name);
  if (named(move)) return { move, kind: "tap", places: [named(move)] };
  for (let at = 1; at < move.length; at += 1) {
    const pair = [named(move.slice(0, at)), named(move.slice(at))];
    if (pair.every(Boolean)) return { move, kind: "carry", places: pair };
  }
  return { move, kind: "tap", places: move === HOME ? [] : hidden.slice(0, 1), isWord: true };
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
      ? (this.candidates.filter(({ places }) => places.length === this.picked.length).at(-1) ?? null)
      : null;
  }

  /** The moves between the selected piles, if they differ in how many cards they move. */
  get numbered() {
    const { candidates, picked } = this;
    return picked.length === 2 && candidates.some(({ number }) => number) ? candidates : [];
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
    if (this.numbered.length && this.picked[1] === place)
      return { selection: this.clear(), move: this.complete.move };
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
    if (complete.length && candidates.length === complete.length && !next.numbered.length)
      return { selection: this.clear(), move: complete[0].move };
    return { selection: next, move: null };
  }

  /** How the game would write an illegal move with these places, to learn why it is refused; null if unknown. */
  attempt(places) {
    const has = (kind) => this.all.some((legal) => legal.kind === kind && !legal.isWord);
    if (places.length > 1 && has("remove")) return places.join("+");
    if (places.length === 2 && has("carry")) return places.map(inMoves).join("");
    const [place] = places;
    if (places.length > 1 || place === "hand" || this.foundations.has(place) || !has("tap")) return null;
    return inMoves(place);
  }

  /** Returns the move for `count` cards dragged from one place to another, or null. */
  dragMove(from, to, count = 1) {
    const exact = this.all.filter(({ kind, places }) => kind === "carry" && places[0] === from && places[1] === to);
    if (exact.length > 1) return exact.find(({ number = 1 }) => number === count)?.move ?? `${from}${to}:${count}`;
    if (exact.length) return exact[0].move;
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
   * to a pile. `cards` have been sent ahead, and are released afterwards.
   */
  async add(move, place, cards) {
    this.moves.push({ move, place, cards, aim: this.aim(move) });
    if (this.moves.length > 1) return;
    try {
      while (this.moves.length) {
        const [next] = this.moves;
        const changed = next.aim !== this.aim(next.move);
        const refusal = changed ? "The cards have changed." : await this.table.play(next.move);
        const ended = refusal ? this.moves.splice(0) : [this.moves.shift()];
        for (const each of ended) each.cards.forEach((card) => this.table.release(card));
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
