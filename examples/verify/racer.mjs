// What one racer does with the deal: moves, undo, restart, and the best attempt.

import { reveals } from "./games/cards.mjs";

const MAX_MOVES = 5000;

export class Racer {
  /** @type {any[]} the states that undo can return to */
  past = [];

  /** `start` is the state of the deal; `undo` and `attempts` are the options of the race. */
  constructor(game, start, { undo = true, attempts = 0 } = {}) {
    this.game = game;
    this.start = start;
    this.undoAllowed = undo;
    this.maxAttempts = attempts;
    this.attempt = this.made = 0;
    this.resigned = this.revealed = false;
    this.best = { home: -1, ms: 0 };
    this.#deal();
  }

  #deal() {
    this.attempt += 1;
    this.past = [];
    this.#enter(this.start, 0);
  }

  #enter(state, ms) {
    this.state = state;
    const won = this.game.isWon(state);
    this.moves = won ? [] : this.game.moves(state);
    this.outcome = won ? "won" : this.moves.length > 0 ? "playing" : this.game.end;
    const home = this.game.home(state);
    // A win is always a new best: more cards are home, or placed, than in any attempt before.
    if (home > this.best.home) this.best = { home, ms };
  }

  get canUndo() {
    return this.undoAllowed && this.past.length > 0 && ["playing", "stuck"].includes(this.outcome);
  }

  get canRestart() {
    const more = this.maxAttempts === 0 || this.attempt < this.maxAttempts;
    // In Corner Stones, moves can also restore the deal.
    return more && this.outcome !== "won" && JSON.stringify(this.state) !== JSON.stringify(this.start);
  }

  /** Whether the racer can do nothing any more. */
  get stopped() {
    if (this.resigned || this.outcome === "won") return true;
    return this.outcome !== "playing" && !this.canUndo && !this.canRestart;
  }

  /** Makes a move at a time since the deal, and answers whether it is allowed. */
  move(move, ms = 0) {
    if (this.stopped || this.made >= MAX_MOVES) return false;
    if (move === "undo") {
      if (!this.canUndo) return false;
      this.#enter(this.past.pop(), ms);
      this.revealed = false;
    } else if (move === "restart") {
      if (!this.canRestart) return false;
      this.#deal();
      this.revealed = false;
    } else {
      if (!this.moves.includes(move)) return false;
      const before = this.state;
      this.#enter(this.game.play(before, move), ms);
      this.revealed = reveals(this.game, before, this.state);
      if (this.revealed) this.past = [];
      else this.past.push(before);
    }
    this.made += 1;
    return true;
  }
}
