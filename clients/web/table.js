// A table: draws any game from its layout, and turns taps, drags and keys into moves. One code path for all of them.

import { fill, h, say } from "./dom.js";
import { Hand } from "./hand.js";
import { addedTo, BACK, pileSentence, rankOf, SIGNS, spoken, wholePile } from "./words.js";

const DRAG_PX = 6;
const DOUBLE_MS = 350;
const HOLD_MS = 400;
const GLIDE = { duration: 180, easing: "ease-out" };
const DEEPEST = 14;
const HANGING_ROWS = 2.2; // how many rows a row of hanging piles takes

/** Rows of places; `null` is a gap. A row of places with names of their own, such as stock and waste, stands apart. */
function rowsOf(layout) {
  return layout
    .trim()
    .split("\n")
    .map((line) =>
      line
        .trim()
        .split(/\s+/)
        .map((place) => (place === "." ? null : place)),
    );
}

const still = () =>
  document.documentElement.dataset.motion === "off" || matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Table {
  /** `play(move)` is called with a legal move and may be waited for; without it the table is only to be looked at. */
  constructor(game, { play = null, label = game.title, small = false } = {}) {
    Object.assign(this, { game, play });
    this.piles = new Map();
    this.board = null;
    this.hand = new Hand();
    this.element = h("div", { class: `table${small ? " small" : ""}`, role: "group", "aria-label": label });
    this.build();
    this.listen();
  }

  // Drawing.

  build() {
    const fanned = new Set(this.game.fanned ?? []);
    const rows = rowsOf(this.game.layout);
    const grid = rows.filter((row) => row.every((place) => place === null || place.length === 2));
    const columns = Math.max(...grid.map((row) => row.length));
    const wide = Array.from({ length: columns }, (_, column) =>
      grid.some((row) => fanned.has(row[column]) && row.includes(null)),
    );
    const { style } = this.element;
    style.gridTemplateColumns = wide.map((fan) => (fan ? "minmax(0, 1fr)" : "var(--w)")).join(" ");
    if (wide.some(Boolean)) this.element.classList.add("fans");
    let high = 0;
    for (const [at, row] of rows.entries()) {
      const hangs = row.every((place) => fanned.has(place));
      high += hangs ? HANGING_ROWS : 1;
      if (!grid.includes(row)) {
        this.element.append(
          h(
            "div",
            { class: "apart", style: `grid-row:${at + 1}` },
            row.map((place) => this.pile(place)),
          ),
        );
        continue;
      }
      for (const [place, first, last] of spans(row, fanned)) {
        const pile = this.pile(place, hangs ? "hangs" : fanned.has(place) ? "fans" : "");
        pile.style.gridArea = `${at + 1} / ${first + 1} / ${at + 2} / ${last + 2}`;
        this.element.append(pile);
      }
    }
    style.setProperty("--columns", columns);
    style.setProperty("--rows", high);
    this.order = [...this.piles.keys()];
    this.spread = h("div", { class: "spread", hidden: true, "aria-hidden": "true" });
    this.element.append(this.spread);
  }

  pile(place, kind = "") {
    const attributes = { class: `pile ${kind}`, "data-place": place };
    const pile = this.play
      ? h("button", { type: "button", tabindex: "-1", ...attributes })
      : h("div", { role: "img", ...attributes });
    this.piles.set(place, pile);
    return pile;
  }

  /** Shows a board; what has moved is seen to move, and what has not is left alone. */
  show(board, { animate = true } = {}) {
    const before = this.board?.table;
    const moved = before && animate && !still() ? this.movedFrom(before, board.table) : [];
    this.board = board;
    this.hand = new Hand(this.play ? (board.moves ?? []) : [], this.game.foundations);
    for (const place of this.order) {
      const [old, cards] = [before?.[place], board.table[place] ?? []];
      if (!old || old.join() !== cards.join()) this.draw(place, cards);
    }
    this.element.dataset.ply = board.ply ?? "";
    this.element.inert = false;
    this.mark();
    for (const { place, fromTop, box } of moved) this.glide(place, fromTop, box);
  }

  /** Shows the backs of a table that is not dealt yet. */
  cover() {
    this.board = null;
    this.hand = new Hand();
    for (const pile of this.piles.values()) fill(pile, h("span", { class: "card back", "aria-hidden": "true" }));
    this.element.inert = true;
  }

  /** The cards are the only spans of a pile: the last of the type is the top card. */
  draw(place, cards) {
    const pile = this.piles.get(place);
    const hidden = cards.at(-1) === BACK;
    const deep = pile.classList.contains("fans") || pile.classList.contains("hangs");
    const shown = cards.slice(deep ? -DEEPEST : -1);
    const left = cards.length - shown.length;
    const meant = this.game.labels?.[place];
    pile.style.setProperty("--n", Math.max(1, shown.length));
    pile.setAttribute(
      "aria-label",
      pileSentence(place, cards) + (meant && !cards.length ? ` for ${rankOf(meant)}` : ""),
    );
    fill(
      pile,
      shown.map((card, at) => cardOf(card, at)),
      cards.length ? null : h("span", { class: "empty", "aria-hidden": "true" }, meant ? rankOf(meant) : ""),
      left > 0 ? h("small", { class: "count", "aria-hidden": "true" }, hidden ? cards.length : `+${left}`) : null,
      h("small", { class: "name", "aria-hidden": "true" }, place),
    );
  }

  /** Which cards have come to lie elsewhere, how far from the top there, and where they were. */
  movedFrom(before, after) {
    const used = new Set();
    const found = [];
    const less = (one) => (after[one]?.length ?? 0) < before[one].length;
    for (const [place, pile] of Object.entries(after)) {
      const added = addedTo(before[place] ?? [], pile);
      if (added.length > 4) continue;
      for (const [at, card] of added.entries()) {
        const lies = (top) =>
          Object.keys(before).find((one) => !used.has(one) && one !== place && less(one) && before[one].at(-1) === top);
        const source = lies(card) ?? lies(BACK);
        if (!source) continue;
        used.add(source);
        const box = this.piles.get(source)?.querySelector(".card:last-of-type")?.getBoundingClientRect();
        if (box) found.push({ place, fromTop: added.length - at, box });
      }
    }
    return found;
  }

  glide(place, fromTop, from) {
    const card = [...(this.piles.get(place)?.querySelectorAll(".card") ?? [])].at(-fromTop);
    if (!card) return;
    const to = card.getBoundingClientRect();
    const start = `${from.left - to.left}px ${from.top - to.top}px`;
    const through = { pointerEvents: "none" }; // who taps where it came from means what lies there
    card.animate(
      [
        { translate: start, ...through },
        { translate: "0px 0px", ...through },
      ],
      GLIDE,
    );
    card.parentElement.animate([{ zIndex: 15 }, { zIndex: 15 }], GLIDE); // over the other piles
  }

  /** A small shake of the head. */
  shake() {
    if (still()) return;
    this.element.animate([{ translate: "0" }, { translate: "4px" }, { translate: "-4px" }, { translate: "0" }], 150);
  }

  /** Lights what may be tapped and lifts what is picked up. */
  mark() {
    const { lit, picked } = this.hand;
    this.element.classList.toggle("holding", picked.length > 0);
    for (const [place, pile] of this.piles) {
      pile.classList.toggle("lit", lit.has(place));
      pile.classList.toggle("picked", picked.includes(place));
      if (this.play) pile.setAttribute("aria-pressed", picked.includes(place));
    }
    if (this.play && !this.reached) this.focusable(this.order[0]);
    this.element.dispatchEvent(new CustomEvent("picked", { detail: this.hand, bubbles: true }));
  }

  focus() {
    this.piles.get(this.order[0]).focus({ preventScroll: true });
  }

  /** All piles in words. */
  told() {
    if (!this.board) return "The cards are not dealt yet.";
    return this.order.map((place) => this.piles.get(place).getAttribute("aria-label")).join("; ");
  }

  /** One pile at a time is reached by Tab, the others from there by arrows. */
  focusable(place) {
    if (this.reached) this.piles.get(this.reached).tabIndex = -1;
    this.reached = place;
    this.piles.get(place).tabIndex = 0;
  }

  // Taps, drags and keys.

  listen() {
    this.element.addEventListener("pointerdown", (event) => this.pressed(event));
    this.element.addEventListener("contextmenu", (event) => placeOf(event.target) && event.preventDefault());
    if (!this.play) return;
    this.element.addEventListener("keydown", (event) => this.typed(event));
    this.element.addEventListener(
      "focusin",
      ({ target }) => target.dataset.place && this.focusable(target.dataset.place),
    );
    // Screen readers click without a pointer.
    this.element.addEventListener("click", (event) => event.detail === 0 && this.tap(placeOf(event.target)));
  }

  tap(place) {
    if (!place || !this.board) return;
    const now = performance.now();
    const twice = this.tapped?.place === place && now - this.tapped.at < DOUBLE_MS;
    this.tapped = { place, at: now };
    const home = twice && !this.hand.picked.length ? this.hand.home(place) : null;
    const { hand, play, missed } = home ? { hand: this.hand.empty(), play: home } : this.hand.tap(place);
    const picked = hand.picked.length > this.hand.picked.length;
    this.hand = hand;
    this.mark();
    if (play) {
      this.tapped = null; // what is tapped next begins anew
      this.play(play);
    } else if (picked) {
      const top = (this.board.table[place] ?? []).at(-1);
      say(`${top ? spoken(top) : place} picked up; ${[...hand.lit].join(", ") || "nothing"} can follow`);
    } else if (missed) say("That cannot follow; let go.");
    else if (!hand.picked.length && !hand.lit.has(place)) say(`${place} cannot move now`);
  }

  release() {
    this.hand = this.hand.empty();
    this.mark();
  }

  /** A press is a tap, or becomes a drag by moving, or by lasting a look at all that lies there. */
  pressed(event) {
    const place = placeOf(event.target);
    if (!place || event.button !== 0 || !this.board) return;
    const pile = this.piles.get(place);
    if (this.play) {
      event.preventDefault();
      pile.focus({ preventScroll: true });
    }
    const start = { x: event.clientX, y: event.clientY };
    const card = this.play && pile.querySelector(".card:last-of-type:not(.back)");
    let carried = false;
    let looked = false;
    const held = setTimeout(() => (looked = this.look(place)), HOLD_MS);
    const moved = (later) => {
      const [dx, dy] = [later.clientX - start.x, later.clientY - start.y];
      if (!carried && !looked && Math.hypot(dx, dy) > DRAG_PX) {
        clearTimeout(held);
        if (!card) return;
        carried = true;
        card.classList.add("carried");
        const next = this.hand.empty().with([place]);
        this.hand = next.candidates.length ? next : this.hand.empty();
        this.mark();
      }
      if (carried) card.style.translate = `${dx}px ${dy}px`;
    };
    const ended = async (last) => {
      clearTimeout(held);
      this.spread.hidden = true;
      for (const [kind, listener] of heard) window.removeEventListener(kind, listener);
      if (carried) await this.dropped(place, card, last);
      else if (!looked && this.play && last.type === "pointerup") this.tap(place);
    };
    const heard = [
      ["pointermove", moved],
      ["pointerup", ended],
      ["pointercancel", ended],
    ];
    for (const [kind, listener] of heard) window.addEventListener(kind, listener);
  }

  /** A card is let go: it stays there while the move is asked for, and goes back where there is none. */
  async dropped(place, card, { type, clientX, clientY }) {
    this.release();
    const under = document
      .elementsFromPoint(clientX, clientY)
      .map(placeOf)
      .find((one) => one && one !== place);
    const move = type === "pointerup" && this.piles.has(under) ? this.hand.carry(place, under) : null;
    if (move) await this.play(move);
    else say(under ? `${place} cannot go to ${under}` : "let go");
    if (!card.isConnected) return;
    const there = card.style.translate;
    card.classList.remove("carried");
    card.style.translate = "";
    if (!still()) card.animate([{ translate: there }, { translate: "0px 0px" }], GLIDE);
  }

  /** Shows a whole pile beside each other, the top card last. Answers with whether there is anything to see. */
  look(place) {
    const cards = this.board.table[place] ?? [];
    if (cards.length < 2 || cards.includes(BACK)) return false;
    fill(
      this.spread,
      cards.map((card) => cardOf(card, 0)),
    );
    this.spread.hidden = false;
    return true;
  }

  typed(event) {
    const place = placeOf(event.target);
    if (!place || event.altKey || event.ctrlKey || event.metaKey) return;
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (steps[event.key]) this.step(place, ...steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.tap(place);
    else if (event.key === "Escape" || event.key === "Backspace") this.release();
    else if (event.key === "h") {
      const move = this.hand.home(this.hand.picked[0] ?? place);
      if (move) this.play(move);
      else say("That card cannot go home now.");
    } else if (event.key === "s") say(wholePile(place, this.board?.table[place] ?? []));
    else return;
    event.preventDefault();
  }

  /** The focus goes to the nearest pile in a direction. */
  step(place, dx, dy) {
    const middle = (pile) => {
      const box = pile.getBoundingClientRect();
      return { x: box.left + Math.min(box.width, 60) / 2, y: box.top + Math.min(box.height, 80) / 2 };
    };
    const here = middle(this.piles.get(place));
    let [nearest, least] = [null, Infinity];
    for (const [other, pile] of this.piles) {
      const there = middle(pile);
      const ahead = (there.x - here.x) * dx + (there.y - here.y) * dy;
      const aside = Math.abs((there.x - here.x) * dy) + Math.abs((there.y - here.y) * dx);
      const distance = ahead + 2.5 * aside;
      if (other !== place && ahead > 4 && distance < least) [nearest, least] = [other, distance];
    }
    if (nearest) this.piles.get(nearest).focus();
  }
}

function cardOf(card, at) {
  if (card === BACK) return h("span", { class: "card back", style: `--i:${at}`, "aria-hidden": "true" });
  const [rank, sign] = [rankOf(card), SIGNS[card[1]]];
  return h(
    "span",
    { class: `card suit-${card[1]}`, style: `--i:${at}`, "aria-hidden": "true", "data-card": card },
    h("span", { class: "index" }, h("b", {}, rank), h("i", {}, sign)),
    h("span", { class: "pip" }, sign),
  );
}

/** Each place of a row with its first and last column: a fan takes half of the gaps beside it, all at an end. */
function spans(row, fanned) {
  const placed = row.map((place, column) => [place, column]).filter(([place]) => place);
  return placed.map(([place, column], at) => {
    if (!fanned.has(place)) return [place, column, column];
    const before = at ? placed[at - 1] : null;
    const after = placed[at + 1];
    const first = before ? (fanned.has(before[0]) ? Math.ceil((before[1] + column + 1) / 2) : before[1] + 1) : 0;
    const last = after
      ? fanned.has(after[0])
        ? Math.ceil((column + after[1] + 1) / 2) - 1
        : after[1] - 1
      : row.length - 1;
    return [place, Math.min(first, column), Math.max(last, column)];
  });
}

const placeOf = (node) => node?.closest?.(".pile")?.dataset.place ?? null;
