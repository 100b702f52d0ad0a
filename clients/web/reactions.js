// Reactions: the buttons that send one, and the symbols shown for a moment next to the racers' standings.

import { announce, button, h } from "./dom.js";
import { displayNames } from "./phrases.js";
import { preferences } from "./storage.js";

const REACTIONS = {
  wave: ["👋", "Wave"],
  "good-luck": ["🍀", "Good luck"],
  "well-played": ["👏", "Well played"],
  wow: ["😮", "Wow"],
  laugh: ["😄", "Laugh"],
  oops: ["🙈", "Oops"],
};
const WORDS = Object.values(REACTIONS).some(([symbol]) => !hasGlyph(symbol)); // words in place of missing emoji
const SHOWN_MS = 4000;
const INTERVAL_MS = 1000; // the server accepts one reaction per second

export class Reactions {
  constructor(page) {
    this.page = page;
    this.symbols = new Map(); // the symbol that is shown, by seat
    this.timers = new Map();
    this.nextAt = 0;
    const closing = { popovertarget: "reactions", popovertargetaction: "hide" }; // the drawer, in a race
    this.buttons = Object.entries(REACTIONS).map(([name, [symbol, text]]) =>
      button(WORDS ? text : symbol, () => this.send(name), { "aria-label": text, title: text, ...closing }),
    );
    const style = `reactions ${WORDS ? "words" : ""}`;
    this.element = h("div", { class: style, role: "group", "aria-label": "Reactions", hidden: true }, this.buttons);
  }

  /** Shows the buttons to racers who have rivals, unless reactions are turned off. */
  update() {
    const { connection, header } = this.page;
    this.element.hidden = !connection.mine || header.options.max_racers === 1 || !preferences().reactions;
  }

  send(name) {
    if (performance.now() < this.nextAt) return;
    this.nextAt = performance.now() + INTERVAL_MS;
    this.page.connection.react(name);
    const disable = (disabled) => this.buttons.forEach((each) => each.setAttribute("aria-disabled", disabled));
    disable(true);
    setTimeout(() => disable(false), INTERVAL_MS);
  }

  /** Shows a racer's reaction. Those of newer servers that this page does not know are ignored. */
  receive({ seat, reaction }) {
    const { standings, view } = this.page.connection;
    if (!preferences().reactions || !Object.hasOwn(REACTIONS, reaction)) return;
    const [symbol, text] = REACTIONS[reaction];
    const name = seat === view?.seat ? "You" : displayNames(standings).get(seat);
    if (!name) return;
    announce(`${name}: ${text.toLowerCase()}`);
    clearTimeout(this.timers.get(seat));
    this.timers.set(seat, setTimeout(() => this.show(seat, null), SHOWN_MS));
    this.show(seat, WORDS ? text : symbol);
  }

  show(seat, symbol) {
    if (symbol) this.symbols.set(seat, symbol);
    else this.symbols.delete(seat);
    this.page.update();
  }
}

/** Whether the device's fonts have a character: a missing one is drawn like a character that no font has. */
function hasGlyph(character) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [20, 20];
  const context = /** @type {any} */ (canvas.getContext("2d", { willReadFrequently: true }));
  const pixels = (text) => {
    context.clearRect(0, 0, 20, 20);
    context.fillText(text, 2, 16);
    return context.getImageData(0, 0, 20, 20).data.join();
  };
  return pixels(character) !== pixels("\u{10ffff}");
}
