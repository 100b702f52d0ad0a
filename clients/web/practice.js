// A practice deal: says which move to make next, and marks its piles. The steps come from the game.

import { h } from "./dom.js";
import { openRace, SOLO } from "./opening.js";
import { withCards } from "./phrases.js";
import { goToRace, practiceMoves, randomHex, savePractice } from "./storage.js";

const OPTIONS = { ...SOLO, limit_ms: 2 * 60 * 60_000, unlisted: true };

/** Opens a solo race on the practice deal of a game. */
export async function startPractice({ slug, practice }) {
  const { race } = await openRace({ game: slug, seed: practice.seed, options: OPTIONS });
  savePractice(race, []);
  goToRace(race);
}

/** The address of a deal to play alone, at the position after `moves`.
 *  @param {{ deal: string, variant?: Record<string, string>, moves?: string[] }} deal */
export function practicePath({ deal, variant = {}, moves = [] }) {
  const [slug, ...seed] = deal.split(":");
  const query = String(new URLSearchParams(variant));
  const address = `/practice/${slug}:${encodeURIComponent(seed.join(":"))}${query && `?${query}`}`;
  return moves.length ? `${address}#${encodeURI(moves.join(","))}` : address;
}

/** The address of a new deal of a game, which nobody has raced. */
export function freshPracticePath(slug) {
  return practicePath({ deal: `${slug}:${randomHex(5)}` });
}

/** Marks the piles of the move to make next, or none. */
export function markPiles(table, move = "") {
  const places = move ? table.parse(move).places : [];
  for (const [place, pile] of table.piles) pile.classList.toggle("wanted", places.includes(place));
}

export class Practice {
  constructor(raceId, game, table) {
    this.raceId = raceId;
    this.steps = game.practice.steps;
    this.table = table;
    this.moves = practiceMoves(raceId); // since the deal
    this.element = h("p", { class: "practice", role: "status" });
  }

  /** Records a move of the player. */
  played(move) {
    if (move === "undo") this.moves.pop();
    else if (move === "restart") this.moves = [];
    else this.moves.push(move);
    savePractice(this.raceId, this.moves);
  }

  /** Says why a move is not made now: until its last step, the practice continues with the next one. */
  refusal(move) {
    const isNext = !this.step || ["undo", "restart", this.step.move].includes(move);
    return isNext ? null : `Not yet. ${withCards(this.step.text)}`;
  }

  /** Shows the next step. */
  show({ moves }) {
    const step = this.steps[this.moves.length];
    this.step = moves?.includes(step?.move) ? step : null;
    markPiles(this.table, this.step?.move);
    const text = this.step
      ? `Step ${this.moves.length + 1} of ${this.steps.length}. ${withCards(step.text)}`
      : "Now you know how it goes: play on.";
    if (this.element.textContent !== text) this.element.textContent = text;
  }
}
