// The tables of several racers, side by side.

import { fill, fillOnce, h, nameText } from "./dom.js";
import { displayNames } from "./phrases.js";
import { Table } from "./table.js";

const CAPTION_PX = 32;

export class Boards {
  constructor(game) {
    this.game = game;
    this.figures = new Map(); // by seat
    this.element = h("div", { class: "boards" });
    new ResizeObserver(() => this.arrange()).observe(this.element);
  }

  /** Shows tables: each has a seat, a name and a board, and perhaps notes next to the name. */
  show(tables, { animate = true } = {}) {
    const figures = tables.map(({ seat, name, board, notes }) => {
      if (!this.figures.has(seat)) this.figures.set(seat, this.createFigure(name));
      const { table, caption, figure } = this.figures.get(seat);
      if (table.board !== board) table.show(board, { animate });
      fill(caption, nameText(name), notes);
      return figure;
    });
    const isSame = figures.length === this.element.childElementCount;
    fillOnce(this.element, figures);
    if (!isSame) this.arrange();
  }

  createFigure(name) {
    const table = new Table(this.game, { label: `Table of ${name}` });
    const caption = h("figcaption", {});
    return { table, caption, figure: h("figure", {}, caption, h("div", { class: "fit" }, table.element)) };
  }

  /** Chooses how many tables are next to each other, so that they are as large as possible. */
  arrange() {
    const { clientWidth, clientHeight, style } = this.element;
    const count = this.element.childElementCount;
    const [wide, high] = this.figures.values().next().value?.table.extent ?? [1, 1];
    const sizeOf = (across) =>
      Math.min(clientWidth / across / wide, (clientHeight / Math.ceil(count / across) - CAPTION_PX) / high);
    const choices = Array.from({ length: count }, (_, index) => index + 1);
    const across = choices.reduce((best, each) => (sizeOf(each) > sizeOf(best) ? each : best), 1);
    style.setProperty("--across", String(across));
    style.setProperty("--down", String(Math.ceil(count / across) || 1));
  }
}

/** The tables of the racers whose boards are visible. */
export function visibleTables(boards, standings) {
  const names = displayNames(standings);
  const visible = standings.filter(({ seat }) => boards[seat]);
  return visible.map(({ seat }) => ({ seat, name: names.get(seat), board: boards[seat] }));
}
