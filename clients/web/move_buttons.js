// The buttons and keys that make moves at a table: undo, draw, restart, and "Move" for piles that could be more.

import { actionOf, button, confirmAction } from "./dom.js";
import { capitalized } from "./phrases.js";

export class MoveButtons {
  /** `question` is asked before a restart. */
  constructor(table, { question }) {
    this.table = table;
    const ask = () => confirmAction(question, () => table.make("restart"), "Restart");
    const restart = () => (this.isOver ? table.make("restart") : ask());
    this.undo = button("Undo", () => table.make("undo"), { "aria-keyshortcuts": "u", class: "big" });
    this.stock = button("Draw", () => this.draw(), { "aria-keyshortcuts": "d", class: "big", hidden: true });
    this.complete = button("Move", () => this.completeMove(), {
      "aria-label": "Make this move",
      "aria-keyshortcuts": "m",
      class: "first big",
      hidden: true,
      disabled: true,
    });
    this.restart = button("Restart", restart);
    this.all = [this.undo, this.stock, this.complete, this.restart];
    table.element.addEventListener("picked", ({ detail }) => (this.complete.disabled = !detail.complete));
  }

  /** Enables the buttons of the moves that are possible on a board; none while another one is shown. */
  update(board, isShown = true) {
    const disabled = !board || !isShown;
    this.stockMove = board?.moves?.find((move) => this.table.parse(move).isWord) ?? null;
    this.undo.disabled = disabled || !board.undo;
    this.restart.disabled = disabled || !board.restart;
    this.stock.disabled = disabled || !this.stockMove;
    this.isOver = Boolean(board) && board.outcome !== "playing";
    this.restart.classList.toggle("first", this.isOver && !this.restart.disabled);
    // Once they can be needed, these buttons stay, so that nothing shifts.
    if (this.table.selection.isAmbiguous) this.complete.hidden = false;
    if (this.stockMove) this.stock.hidden = false;
    if (this.stockMove) this.stock.textContent = capitalized(this.stockMove);
  }

  draw() {
    if (this.stockMove && !this.stock.disabled) this.table.make(this.stockMove);
  }

  completeMove() {
    const { complete } = this.table.selection;
    if (!complete) return;
    this.table.clearSelection();
    this.table.make(complete.move);
  }

  onKey(event) {
    const undo = () => this.undo.disabled || this.table.make("undo");
    const Escape = () => this.table.clearSelection();
    actionOf(event, { u: undo, d: () => this.draw(), m: () => this.completeMove(), Escape })?.();
  }
}
