// A practice deal: says which move to make next, and marks its piles. The steps come from the game.

import { fetchAsGuest } from "./api.js";
import { h } from "./dom.js";
import { withCards } from "./phrases.js";
import { goToRace, savePractice } from "./storage.js";

const SOLO = { max_racers: 1, start_delay_ms: 1000, unlisted: true };

/** Opens a solo race on the practice deal of a game. */
export async function startPractice({ slug, practice }) {
  const body = { game: slug, seed: practice.seed, options: SOLO };
  const { race } = await fetchAsGuest("/races", { body });
  savePractice(race);
  goToRace(race);
}

/** The address of a deal to play alone, at the position after `moves`. */
export function practicePath({ deal, variant = {}, moves = [] }) {
  const [slug, ...seed] = deal.split(":");
  const query = String(new URLSearchParams(variant));
  const address = `/practice/${slug}:${encodeURIComponent(seed.join(":"))}${query && `?${query}`}`;
  return moves.length ? `${address}#${encodeURI(moves.join(","))}` : address;
}

/** The address of a new deal of a game, which nobody has raced. */
export function freshPracticePath(slug) {
  const seed = [...crypto.getRandomValues(new Uint8Array(5))].map((byte) => byte.toString(16).padStart(2, "0"));
  return practicePath({ deal: `${slug}:${seed.join("")}` });
}

/** Marks the piles of the move to make next, or none. */
export function markPiles(table, move = "") {
  const places = move ? table.parse(move).places : [];
  for (const [place, pile] of table.piles) pile.classList.toggle("wanted", places.includes(place));
}

export class Practice {
  constructor(game, table) {
    this.steps = game.practice.steps;
    this.table = table;
    this.moves = null; // since the deal, once there is a board
    this.element = h("p", { class: "practice", role: "status" });
  }

  /** Records a move of the player. */
  played(move) {
    if (move === "undo") this.moves.pop();
    else if (move === "restart") this.moves = [];
    else this.moves.push(move);
  }

  /** Shows the next step. After a reload, the moves so far are taken to be those of the steps. */
  show({ ply }) {
    this.moves ??= this.steps.slice(0, ply).map(({ move }) => move);
    const followed = this.moves.every((move, index) => index >= this.steps.length || move === this.steps[index].move);
    const step = followed ? this.steps[this.moves.length] : null;
    markPiles(this.table, step?.move);
    const count = `Step ${this.moves.length + 1} of ${this.steps.length}. `;
    const end = followed ? "Now you know how it goes: play on." : "You have left the practice. Play on, or restart.";
    const text = step ? count + withCards(step.text) : end;
    if (this.element.textContent !== text) this.element.textContent = text;
  }
}
