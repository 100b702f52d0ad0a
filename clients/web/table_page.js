// What the pages with a table to play at have in common: buttons and keys that make moves, notes, and what is read aloud.

import { celebrate } from "./celebration.js";
import { actionOf, announce, button, confirmAction, h } from "./dom.js";
import { advice, boardResult, capitalized, cardName, statusText } from "./phrases.js";
import { Table } from "./table.js";

export class TablePage {
  table;
  stockMove;
  isOver = false;
  playTones; // a function, where the page has a sound

  /** Creates the table and its buttons. `play(move)` makes a move, as for Table; null if the user only watches.
   *  `question` is asked before a restart. */
  createTable(game, { play, question }) {
    const table = new Table(game, { play, label: `${play ? "Your " : ""}${game.title} table` });
    this.table = table;
    const restart = () => table.make("restart");
    const askToRestart = () => (this.isOver ? restart() : confirmAction(question, restart, "Restart"));
    this.undoButton = button("Undo", () => table.make("undo"), { "aria-keyshortcuts": "u", class: "big" });
    this.stockButton = button("Draw", () => this.draw(), { "aria-keyshortcuts": "d", class: "big", hidden: true });
    this.moveButton = button("Move", () => this.completeMove(), {
      "aria-label": "Make this move",
      "aria-keyshortcuts": "m",
      class: "first big",
      hidden: true,
      disabled: true,
    });
    this.restartButton = button("Restart", askToRestart);
    this.moveButtons = [this.undoButton, this.stockButton, this.moveButton, this.restartButton];
    table.element.addEventListener("picked", ({ detail }) => (this.moveButton.disabled = !detail.complete));
  }

  /** Enables the buttons of the moves that are possible on a board; none while another one is shown. */
  updateButtons(board, isShown = true) {
    const disabled = !board || !isShown;
    this.stockMove = board?.moves?.find((move) => this.table.parse(move).isWord) ?? null;
    this.undoButton.disabled = disabled || !board.undo;
    this.restartButton.disabled = disabled || !board.restart;
    this.stockButton.disabled = disabled || !this.stockMove;
    this.isOver = Boolean(board) && board.outcome !== "playing";
    this.restartButton.classList.toggle("first", this.isOver && !this.restartButton.disabled);
    // Once they can be needed, these buttons stay, so that nothing shifts.
    if (this.table.selection.isAmbiguous) this.moveButton.hidden = false;
    if (this.stockMove) this.stockButton.hidden = false;
    if (this.stockMove) this.stockButton.textContent = capitalized(this.stockMove);
  }

  draw() {
    if (this.stockMove && !this.stockButton.disabled) this.table.make(this.stockMove);
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
  }

  onKey(event) {
    const u = () => this.undoButton.disabled || this.table.make("undo");
    const Escape = () => this.table.clearSelection();
    actionOf(event, { u, d: () => this.draw(), m: () => this.completeMove(), Escape })?.();
  }

  showRefusal(text) {
    if (text) this.table.refuse(text);
  }

  /** Buttons that read aloud what can be seen: what to do, the board, and what the functions in `others` return. */
  readers(others = {}) {
    const readers = {
      "Read what to do": () => advice(this.table.board ?? {}, cardName) || "Nothing to do.",
      "Read board": () => this.table.describe(),
      ...others,
    };
    return Object.entries(readers).map(([name, read]) => button(name, () => announce(read())));
  }

  rulesLink({ slug }, text) {
    return h("a", { class: "button", href: `/rules/${slug}`, target: "_blank" }, text);
  }

  /** A note below the table: what to do or how the attempt ended, and facts. */
  note({ outcome }, text, facts) {
    const attributes = outcome === "playing" ? {} : { class: `end-${outcome}` };
    return [text ? h("strong", attributes, text) : null, " ", h("span", { class: "facts" }, facts.join(" · "))];
  }
}

/** What only some users need: a row of buttons and links, and more below it. */
export const more = (row, ...content) =>
  h("details", { class: "more" }, h("summary", {}, "More"), h("div", { class: "row" }, row), content);
