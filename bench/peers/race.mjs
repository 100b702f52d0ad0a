// A race as both peers run it: the rules, the deal and the view of Same Deal, on plain objects that are never changed.
// The rules are those of the independent verifier.
import { GAMES, deal } from "../../examples/verify/deals.mjs";
import { reveals } from "../../examples/verify/games/cards.mjs";

const MAX_MOVES = 5000;
const CELLS = [..."abcd"].flatMap((column) => [..."1234"].map((row) => column + row));

const won = ({ outcome }) => (outcome === "won" ? 1 : 0);
const compare = (one, other) => won(other) - won(one) || other.home - one.home || one.ms - other.ms;

/** The piles of The Edge as the racer sees them, in a form that is fast to build. */
function tableOf({ grid, hand, stock, discard }) {
  const table = {};
  for (let at = 0; at < CELLS.length; at++) table[CELLS[at]] = grid[at] === null ? [] : [grid[at]];
  table.hand = hand === null ? [] : [hand];
  table.stock = stock.map(() => "??");
  table.discard = discard;
  return table;
}

/** A race on the deal of a request body: `game`, `seed` and `variant`. */
export class Rules {
  constructor({ game, seed, variant }) {
    this.game = GAMES.get(game);
    this.start = deal(this.game, seed, variant).state;
  }

  /** A racer who has just been dealt the cards. */
  dealt() {
    return this.#entered({ ply: 0, attempt: 1, past: [], depth: 0, best: { home: 0, ms: 0 } }, this.start, 0);
  }

  /** The racer after a move made so many ms after the deal, or null if it is not allowed. */
  after(racer, move, ms) {
    const { ply, attempt, past, depth } = racer;
    const made = { ...racer, ply: ply + 1 };
    if (ply >= MAX_MOVES) return null;
    if (move === "undo") {
      if (!racer.undo) return null;
      return this.#entered({ ...made, past: past.slice(0, -1), depth: depth - 1 }, past.at(-1), ms);
    }
    if (move === "restart") {
      if (!racer.restart) return null;
      return this.#entered({ ...made, attempt: attempt + 1, past: [], depth: 0 }, this.start, ms);
    }
    if (!racer.moves.includes(move)) return null;
    const state = this.game.play(racer.state, move);
    const undoable = reveals(racer.state, state) ? [] : [...past, racer.state];
    return this.#entered({ ...made, past: undoable, depth: depth + 1 }, state, ms);
  }

  #entered(racer, state, ms) {
    const won = this.game.isWon(state);
    const moves = won ? [] : this.game.moves(state);
    const outcome = won ? "won" : moves.length > 0 ? "playing" : this.game.end;
    const home = this.game.home(state);
    const best = home > racer.best.home ? { home, ms } : racer.best;
    const undo = racer.past.length > 0 && ["playing", "stuck"].includes(outcome);
    return { ...racer, state, moves, outcome, home, best, undo, restart: racer.depth > 0 && !won };
  }

  /** What a racer sees: `racers` are all racers in the order of their seats, of which `seat` is the number. */
  view(racers, seat, n) {
    const { state, moves, outcome, home, attempt, ply, undo, restart } = racers[seat - 1];
    const board = { table: tableOf(state), notes: this.game.notes(state), outcome, home, attempt, ply, moves, undo, restart };
    return { n, stage: "running", seat, standings: this.standings(racers), board };
  }

  /** The standings, best first. Those who are equal share a place. */
  standings(racers) {
    const { goal } = this.game;
    const rows = racers.map(({ best, outcome, attempt, undo, restart }, at) => ({
      place: 1,
      seat: at + 1,
      name: "racer",
      bot: true,
      outcome,
      done: outcome !== "playing" && !undo && !restart,
      home: best.home,
      goal,
      progress: best.home / goal,
      attempts: attempt,
      ms: best.ms,
    }));
    rows.sort(compare);
    for (let i = 1; i < rows.length; i++) {
      rows[i].place = compare(rows[i - 1], rows[i]) === 0 ? rows[i - 1].place : i + 1;
    }
    return rows;
  }
}
