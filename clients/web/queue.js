// The moves made at a table: one at a time, and only while the cards they were aimed at are still there.

import { counted } from "./phrases.js";

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
