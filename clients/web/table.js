// A table: draws any game from its layout, and turns taps, drags and keys into moves. One code path for all of them.

import { h, say } from "./dom.js";
import { Hand } from "./hand.js";
import { addedTo, BACK, pileSentence, rankOf, SIGNS, spoken } from "./words.js";

const DRAG_PX = 6;
const DOUBLE_MS = 350;
const DEEPEST = 14;

/** Rows of places; `null` is a gap. A row of places with names of their own, such as stock and waste, stands apart. */
function rowsOf(layout) {
  return layout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map((place) => (place === "." ? null : place)));
}

export class Table {
  /** `play(move)` is called with a legal move; without it the table is only to be looked at. */
  constructor(game, { play = null, label = game.title, small = false } = {}) {
    Object.assign(this, { game, play });
    this.piles = new Map();
    this.board = null;
    this.hand = new Hand();
    this.element = h("div", { class: `table ${game.slug}${small ? " small" : ""}`, role: "group", "aria-label": label });
    this.build();
    if (play) this.listen();
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
    this.element.style.setProperty("--columns", columns);
    this.element.style.setProperty(
      "grid-template-columns",
      wide.map((fan) => (fan ? "minmax(0, 1fr)" : "var(--w)")).join(" "),
    );
    if (wide.some(Boolean)) this.element.classList.add("fans");
    let line = 0;
    for (const row of rows) {
      line += 1;
      if (!grid.includes(row)) {
        this.element.append(h("div", { class: "apart", style: `grid-row:${line}` }, row.map((place) => this.pile(place))));
        continue;
      }
      const hangs = row.every((place) => fanned.has(place));
      for (const [place, first, last] of spans(row, fanned)) {
        const pile = this.pile(place, hangs ? "hangs" : fanned.has(place) ? "fans" : "");
        pile.style.gridArea = `${line} / ${first + 1} / ${line + 1} / ${last + 2}`;
        this.element.append(pile);
      }
    }
    this.order = [...this.element.querySelectorAll(".pile")].map((pile) => pile.dataset.place);
  }

  pile(place, kind = "") {
    const pile = h("button", { type: "button", class: `pile ${kind}`, "data-place": place, tabindex: "-1" });
    if (!this.play) pile.disabled = true;
    this.piles.set(place, pile);
    return pile;
  }

  /** Shows a board; what has moved is seen to move. */
  show(board, { animate = true } = {}) {
    const before = this.board;
    const from = before && animate ? this.movedFrom(before.table, board.table) : [];
    this.board = board;
    this.hand = new Hand(this.play ? (board.moves ?? []) : [], this.game.foundations);
    for (const [place, pile] of this.piles) this.draw(place, pile, board.table[place] ?? []);
    this.element.dataset.ply = board.ply ?? "";
    this.mark();
    for (const { card, box } of from) this.glide(card(), box);
  }

  /** Shows the backs of a table that is not dealt yet. */
  cover() {
    this.board = null;
    this.hand = new Hand();
    for (const [, pile] of this.piles) pile.replaceChildren(h("span", { class: "card back", "aria-hidden": "true" }));
    this.element.inert = true;
  }

  /** The cards are the only spans of a pile: the last of the type is the top card. */
  draw(place, pile, cards) {
    const hidden = cards.at(-1) === BACK;
    const spread = pile.classList.contains("fans") || pile.classList.contains("hangs");
    const shown = spread ? cards.slice(-DEEPEST) : cards.slice(-1);
    pile.style.setProperty("--n", Math.max(1, shown.length));
    const left = cards.length - shown.length;
    const children = shown.map((card, at) => this.card(card, at));
    if (!cards.length) children.push(h("span", { class: "empty", "aria-hidden": "true" }, rankOf(this.game.labels?.[place] ?? " ")));
    if (left > 0) children.push(h("small", { class: "count", "aria-hidden": "true" }, hidden ? cards.length : `+${left}`));
    pile.replaceChildren(...children);
    const meant = this.game.labels?.[place];
    const free = meant && !cards.length ? ` for ${rankOf(meant)}` : "";
    pile.setAttribute("aria-label", pileSentence(place, cards) + free);
    pile.append(h("small", { class: "name", "aria-hidden": "true" }, place));
  }

  card(card, at) {
    if (card === BACK) return h("span", { class: "card back", style: `--i:${at}`, "aria-hidden": "true" });
    const suit = card[1];
    return h(
      "span",
      { class: `card suit-${suit}`, style: `--i:${at}`, "aria-hidden": "true", "data-card": card },
      h("span", { class: "index" }, h("b", {}, rankOf(card)), h("i", {}, SIGNS[suit])),
      h("span", { class: "pip" }, SIGNS[suit]),
    );
  }

  /** Which cards have come to lie elsewhere, with where they were. */
  movedFrom(before, after) {
    const found = [];
    for (const [place, pile] of Object.entries(after)) {
      const added = addedTo(before[place] ?? [], pile);
      if (!added.length || added.length > 4) continue;
      for (const card of added) {
        const source = Object.keys(before).find((one) => one !== place && before[one].at(-1) === card && after[one]?.at(-1) !== card)
          ?? Object.keys(before).find((one) => one !== place && before[one].at(-1) === BACK && (after[one]?.length ?? 0) < before[one].length);
        const box = source && this.piles.get(source)?.querySelector(".card:last-of-type")?.getBoundingClientRect();
        if (box) found.push({ box, card: () => this.piles.get(place)?.querySelector(".card:last-of-type") });
      }
    }
    return found;
  }

  glide(card, from) {
    if (!card || document.documentElement.dataset.motion === "off") return;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const to = card.getBoundingClientRect();
    const move = `translate(${from.left - to.left}px, ${from.top - to.top}px)`;
    card.animate([{ transform: move, zIndex: 9 }, { transform: "none", zIndex: 9 }], { duration: 160, easing: "ease-out" });
  }

  /** Lights what may be tapped and lifts what is picked up. */
  mark() {
    const { lit, picked } = this.hand;
    this.element.inert = false;
    for (const [place, pile] of this.piles) {
      pile.classList.toggle("lit", lit.has(place));
      pile.classList.toggle("picked", picked.includes(place));
      if (this.play) pile.setAttribute("aria-pressed", picked.includes(place));
    }
    if (this.play && !this.order.some((place) => this.piles.get(place).tabIndex === 0)) this.focusable(this.order[0]);
    this.element.dispatchEvent(new CustomEvent("picked", { detail: this.hand, bubbles: true }));
  }

  focusable(place) {
    for (const [one, pile] of this.piles) pile.tabIndex = one === place ? 0 : -1;
  }

  // Taps, drags and keys.

  listen() {
    this.element.addEventListener("pointerdown", (event) => this.pressed(event));
    this.element.addEventListener("keydown", (event) => this.typed(event));
    this.element.addEventListener("focusin", (event) => event.target.dataset.place && this.focusable(event.target.dataset.place));
    // Screen readers and keyboards click without a pointer.
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

  pressed(event) {
    const place = placeOf(event.target);
    if (!place || event.button !== 0 || !this.board) return;
    event.preventDefault();
    const pile = this.piles.get(place);
    pile.focus({ preventScroll: true });
    const start = { x: event.clientX, y: event.clientY };
    const card = pile.querySelector(".card:last-of-type:not(.back)");
    let carried = null;
    const moved = (later) => {
      const [dx, dy] = [later.clientX - start.x, later.clientY - start.y];
      if (!carried && card && Math.hypot(dx, dy) > DRAG_PX) {
        carried = card;
        card.classList.add("carried");
        this.hand = this.hand.empty();
        const next = this.hand.with([place]);
        this.hand = next.candidates.length ? next : this.hand;
        this.mark();
      }
      if (carried) card.style.translate = `${dx}px ${dy}px`;
    };
    const ended = (last) => {
      window.removeEventListener("pointermove", moved);
      window.removeEventListener("pointerup", ended);
      window.removeEventListener("pointercancel", ended);
      if (!carried) return last.type === "pointerup" ? this.tap(place) : undefined;
      card.classList.remove("carried");
      card.style.translate = "";
      this.release();
      if (last.type !== "pointerup") return undefined;
      const under = document.elementsFromPoint(last.clientX, last.clientY).map(placeOf).find((one) => one && one !== place);
      const move = under && this.piles.has(under) ? this.hand.carry(place, under) : null;
      if (move) return this.play(move);
      return say(under ? `${place} cannot go to ${under}` : "let go");
    };
    window.addEventListener("pointermove", moved);
    window.addEventListener("pointerup", ended);
    window.addEventListener("pointercancel", ended);
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
    } else return;
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

/** Each place of a row with its first and last column: a fan takes half of the gaps beside it, all at an end. */
function spans(row, fanned) {
  const placed = row.map((place, column) => [place, column]).filter(([place]) => place);
  return placed.map(([place, column], at) => {
    if (!fanned.has(place)) return [place, column, column];
    const before = at ? placed[at - 1] : null;
    const after = placed[at + 1];
    const first = before ? (fanned.has(before[0]) ? Math.ceil((before[1] + column + 1) / 2) : before[1] + 1) : 0;
    const last = after ? (fanned.has(after[0]) ? Math.ceil((column + after[1] + 1) / 2) - 1 : after[1] - 1) : row.length - 1;
    return [place, Math.min(first, column), Math.max(last, column)];
  });
}

const placeOf = (node) => node?.closest?.(".pile")?.dataset.place ?? null;
