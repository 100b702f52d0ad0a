// What the pages with a table to play at have in common: buttons and keys that make moves, notes, and what is read aloud.

import { attempt, loadModule } from "./api.js";
import { celebrate } from "./celebration.js";
import { actionOf, announce, button, confirmAction, drawer, fill, h } from "./dom.js";
import { advice, boardResult, capitalized, cardName, statusText } from "./phrases.js";
import { HOME } from "./selection.js";
import { Table } from "./table.js";

const FLASH_MS = 3000;

export class TablePage {
  table;
  stockMove;
  isOver = false;
  playTones; // a function, where the page has a sound
  usualNote = h("span", {});
  flashed = h("b", {}); // for a moment, in place of the usual note
  notes = h("p", { class: "note" }, this.flashed, this.usualNote);
  flashing = 0; // the timer

  /** Creates the table and its buttons. `play(move)` makes a move, as for Table; null if the user only watches.
   *  `question` is asked before a restart. */
  createTable(game, { play, question }) {
    const table = new Table(game, { play, label: `${play ? "Your " : ""}${game.title} table` });
    this.table = table;
    const restart = () => table.make("restart");
    this.undoButton = button("Undo", () => table.make("undo"), { "aria-keyshortcuts": "u", class: "big" });
    this.stockButton = button("Draw", () => this.draw(), { "aria-keyshortcuts": "d", class: "big", hidden: true });
    this.homeButton = button("Home", () => this.sendHome(), { "aria-keyshortcuts": "+", class: "big", hidden: true });
    this.moveButton = button("Move", () => this.completeMove(), {
      "aria-label": "Make this move",
      "aria-keyshortcuts": "m",
      class: "first big",
      hidden: true,
      disabled: true,
    });
    this.againButton = button("Restart", restart, { class: "first big", hidden: true });
    this.moveButtons = [this.undoButton, this.stockButton, this.homeButton, this.moveButton, this.againButton];
    this.restartButton = button("Restart…", () => confirmAction(question, restart, "Restart"));
    table.element.addEventListener("picked", ({ detail }) => (this.moveButton.disabled = !detail.complete));
    table.element.addEventListener("refused", ({ detail }) => this.flash(detail));
  }

  /** Enables the buttons of the moves that are possible on a board; none while another one is shown. Shows those that the
   *  game has now. */
  updateButtons(board, isShown = true) {
    const disabled = !board || !isShown;
    this.stockMove = board?.moves?.find((move) => move !== HOME && this.table.parse(move).isWord) ?? null;
    this.undoButton.disabled = disabled || !board.undo;
    this.restartButton.disabled = disabled || !board.restart;
    this.stockButton.disabled = disabled || !this.stockMove;
    this.homeButton.disabled = disabled || !board.moves?.includes(HOME);
    this.isOver = Boolean(board) && board.outcome !== "playing";
    this.againButton.hidden = !this.isOver || this.restartButton.disabled;
    // Once they can be needed, these buttons stay for the rest of the attempt, so that nothing shifts.
    this.moveButton.hidden = this.isOver || (this.moveButton.hidden && !this.table.selection.isAmbiguous);
    this.stockButton.hidden = this.isOver || (this.stockButton.hidden && !this.stockMove);
    this.homeButton.hidden = this.isOver || (this.homeButton.hidden && this.homeButton.disabled);
    if (this.stockMove) this.stockButton.textContent = capitalized(this.stockMove);
  }

  draw() {
    if (this.stockMove && !this.stockButton.disabled) this.table.make(this.stockMove);
  }

  sendHome() {
    if (!this.homeButton.disabled) this.table.make(HOME);
  }

  /** Makes the move of the selected piles, which could be the start of another one. */
  completeMove() {
    const { complete } = this.table.selection;
    if (!complete) return;
    this.table.clearSelection();
    this.table.make(complete.move);
  }

  /** Announces what a move has changed, with how far the player has come, or how the attempt ended. Celebrates a win. */
  announceMove(change, before, after) {
    if (after.outcome === "won" && before.outcome !== "won") celebrate(this.playTones);
    const result = after.home === before.home ? "" : `; ${boardResult(this.table.game, after)}`;
    announce(after.outcome === "playing" ? `${change}${result}` : statusText(after));
    if (this.flashed.className === "refused") this.showFlash("", "");
  }

  onKey(event) {
    const u = () => this.undoButton.disabled || this.table.make("undo");
    const Escape = () => this.table.clearSelection();
    actionOf(event, { u, d: () => this.draw(), "+": () => this.sendHome(), m: () => this.completeMove(), Escape })?.();
  }

  showRefusal(text) {
    if (text) this.table.refuse(text);
  }

  // The note: what to do or how the attempt ended, and for a moment a refusal or news in its place.

  showNote(content) {
    fill(this.usualNote, content);
  }

  /** Shows a text in place of the note, and announces it. */
  flash(text, kind = "refused") {
    announce(text);
    this.showFlash(text, kind);
    clearTimeout(this.flashing);
    this.flashing = setTimeout(() => this.showFlash("", ""), FLASH_MS);
  }

  showFlash(text, kind) {
    this.flashed.textContent = text;
    this.flashed.className = kind;
  }

  /** What to do or how the attempt ended, and facts. */
  note({ outcome }, text, facts) {
    const attributes = outcome === "playing" ? {} : { class: `end-${outcome}` };
    return [text ? h("strong", attributes, text) : null, " ", h("span", { class: "facts" }, facts.join(" · "))];
  }

  // What only some users need, in drawers over the table.

  /** The drawer with the rules, which it loads when it is opened. */
  rulesDrawer(game) {
    const text = h("div", { class: "rules" }, h("ol", {}, (game.how ?? []).map((line) => h("li", {}, line))));
    const link = h("a", { href: `/rules/${game.slug}`, target: "_blank" }, "All rules, with pictures");
    const rules = drawer("?", "Rules", h("p", {}, link), text); // no link where "?" was, for those who tap twice
    const load = async () => fill(text, await (await loadModule("./rules.js")).mainRules(game));
    rules[1].addEventListener("toggle", () => attempt(load), { once: true });
    return rules;
  }

  /** Buttons that read aloud what can be seen: what to do, the board, and what the functions in `others` return. */
  readers(others = {}) {
    const readers = {
      "What to do": () => advice(this.table.board ?? {}, cardName) || "Nothing to do.",
      Board: () => this.table.describe(),
      ...others,
    };
    return h("div", { class: "row", role: "group", "aria-label": "Read aloud" }, [
      h("span", { class: "hint" }, "Read aloud:"),
      Object.entries(readers).map(([name, read]) => button(name, () => announce(read()))),
    ]);
  }
}
