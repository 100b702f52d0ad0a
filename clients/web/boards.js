// The tables of several racers, side by side.

import { fill, fillOnce, h, nameText } from "./dom.js";
import { displayNames } from "./phrases.js";
import { Table } from "./table.js";

export class Boards {
  constructor(game, kind = "boards") {
    this.game = game;
    this.figures = new Map(); // by seat
    this.element = h("div", { class: kind });
  }

  /** Shows tables: each has a seat, a name and a board, and perhaps notes next to the name. */
  show(tables, { animate = true, small = true } = {}) {
    const figures = tables.map(({ seat, name, board, notes }) => {
      if (!this.figures.has(seat)) this.figures.set(seat, this.createFigure(name));
      const { table, caption, figure } = this.figures.get(seat);
      table.element.classList.toggle("small", small);
      if (table.board !== board) table.show(board, { animate });
      fill(caption, nameText(name), notes);
      return figure;
    });
    fillOnce(this.element, figures);
  }

  createFigure(name) {
    const table = new Table(this.game, { label: `Table of ${name}` });
    const caption = h("figcaption", {});
    return { table, caption, figure: h("figure", {}, caption, table.element) };
  }
}

/** The tables of the racers whose boards are visible. */
export function visibleTables(boards, standings) {
  const names = displayNames(standings);
  const visible = standings.filter(({ seat }) => boards[seat]);
  return visible.map(({ seat }) => ({ seat, name: names.get(seat), board: boards[seat] }));
}
