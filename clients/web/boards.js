// The tables of several racers at a small size, side by side.

import { fill, fillOnce, h, nameText } from "./dom.js";
import { displayNames } from "./phrases.js";
import { Table } from "./table.js";

export class Boards {
  constructor(game, max = Infinity) {
    this.game = game;
    this.max = max;
    this.figures = new Map(); // by seat
    this.element = h("div", { class: "boards" });
  }

  /** Shows the tables of the first racers whose boards are visible. */
  show(boards, standings) {
    const names = displayNames(standings);
    const shown = standings.filter(({ seat }) => boards[seat]).slice(0, this.max);
    const figures = shown.map(({ seat }) => {
      const name = names.get(seat);
      if (!this.figures.has(seat)) this.figures.set(seat, this.createFigure(name));
      const { table, caption, figure } = this.figures.get(seat);
      if (JSON.stringify(table.board) !== JSON.stringify(boards[seat])) {
        table.show(boards[seat], { animate: Boolean(table.board) });
      }
      fill(caption, nameText(name));
      return figure;
    });
    fillOnce(this.element, figures);
  }

  createFigure(name) {
    const table = new Table(this.game, { label: `Table of ${name}`, small: true });
    const caption = h("figcaption", {});
    return { table, caption, figure: h("figure", {}, caption, table.element) };
  }
}
