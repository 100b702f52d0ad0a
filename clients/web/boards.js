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
    const { clientWidth, clientHeight, childElementCount: count, style } = this.element;
    const { offsetWidth, offsetHeight } = this.figures.values().next().value?.table.element ?? this.element;
    const downOf = (across) => Math.ceil(count / across);
    const sizeOf = (across) =>
      Math.min(clientWidth / across / offsetWidth, (clientHeight / downOf(across) - CAPTION_PX) / offsetHeight);
    let across = 1;
    for (let more = 2; more <= count; more += 1) if (sizeOf(more) > sizeOf(across)) across = more;
    style.setProperty("--across", String(across));
    style.setProperty("--down", String(downOf(across)));
  }
}

/** The tables of the racers whose boards are visible. */
export function visibleTables(boards, standings) {
  const names = displayNames(standings);
  const visible = standings.filter(({ seat }) => boards[seat]);
  return visible.map(({ seat }) => ({ seat, name: names.get(seat), board: boards[seat] }));
}
