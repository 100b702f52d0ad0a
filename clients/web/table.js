// A table: draws any game from its layout, and turns taps, drags and keys into moves.

import { cardElement } from "./cards.js";
import { actionOf, announce, button, fill, h, motionIsOff } from "./dom.js";
import { draggable, landing, layOut, leaving, MOVABLE, nearestPile } from "./layout.js";
import { addedCards, BACK, cardName, markText, pileSentence, rankOf, topCardSentence, withCards, withoutPlaces } from "./phrases.js";
import { MoveQueue, parseMove, Selection } from "./selection.js";

const DRAG_PX = 6;
const HOLD_MS = 400;
const GLIDE = { duration: 180, easing: "ease-out" };
const MAX_CARDS = 14; // in a fan
const MAX_CARDS_TALL = 19; // of columns with room below them
const MAX_CARDS_PHONE = 10; // so that their indices are readable
const MAX_CARDS_APART = 3; // of the waste
const FACE_DOWN = 0.4; // how much of a face-down card in a column is seen, compared with others
const phone = matchMedia("(max-width: 559px)");

export class Table {
  /** @type {string[]} the places, in the order of the layout */
  order = [];

  /** `play(move)` sends a move, and resolves to the reason if it is refused. Without it, the table is read-only. */
  constructor(game, { play = null, label = game.title, small = false, simple = false } = {}) {
    this.game = game;
    this.simple = simple;
    this.play = play;
    this.piles = new Map();
    this.board = null;
    this.selection = new Selection();
    this.queue = new MoveQueue(this);
    this.element = h("div", { class: `table${small ? " small" : ""}`, role: "group", "aria-label": label });
    this.build();
    this.listen();
  }

  // Drawing.

  build() {
    layOut(this.game, this.element, (place, kind) => this.pile(place, kind));
    this.order = [...this.piles.keys()];
    this.spread = h("div", { class: "spread", hidden: true, "aria-hidden": "true" });
    this.numbers = h("div", { class: "numbers", hidden: true, role: "group", "aria-label": "How many cards?" });
    this.element.append(this.spread, this.numbers);
  }

  pile(place, kind = "") {
    const attributes = { class: `pile ${kind}`, "data-place": place };
    const pile = this.play
      ? h("button", { type: "button", tabindex: "-1", ...attributes })
      : h("div", { role: "img", ...attributes });
    this.piles.set(place, pile);
    return pile;
  }

  /** Shows a board. Redraws the piles that changed and animates the cards that moved. */
  show(board, { animate = true } = {}) {
    const before = this.board?.table;
    const [oldMarks, marks] = [this.board, board].map((each) => each?.guidance?.marks ?? {});
    const moved = before && animate && !motionIsOff() ? this.findMoves(before, board.table) : [];
    this.board = board;
    const moves = this.play ? (board.moves ?? []) : [];
    const { picked } = this.selection;
    this.selection = new Selection(
      moves.map((move) => this.parse(move)),
      this.game.foundations,
    );
    const isChanged = (place) => before?.[place]?.join() !== (board.table[place] ?? []).join();
    const kept = this.selection.withPicked(picked);
    if (!picked.some(isChanged) && kept.candidates.length) this.selection = kept;
    for (const place of this.order)
      if (isChanged(place) || marks[place] !== oldMarks[place]) this.redraw(place);
    this.element.dataset.ply = board.ply ?? "";
    this.element.inert = false;
    this.highlight();
    for (const { place, fromTop, box } of moved) this.glide(place, fromTop, box);
  }

  parse(move) {
    return parseMove(move, this.order, this.game.hidden);
  }

  /** Shows face-down cards before the deal, except on foundations that start empty. */
  cover() {
    this.board = null;
    this.selection = new Selection();
    const kind = (place) => (this.game.foundations?.includes(place) && this.game.labels?.[place] ? "empty" : "card back");
    for (const [place, pile] of this.piles) fill(pile, h("span", { class: kind(place), "aria-hidden": "true" }));
    this.element.inert = true;
  }

  /** Draws a pile of the board; if its top cards are `lifted`, also what lies below. Cards are the last spans, so that
   *  :last-of-type is the top card. */
  redraw(place, { lifted = 0 } = {}) {
    const pile = this.piles.get(place);
    const cards = this.board.table[place] ?? [];
    const mark = this.board.guidance?.marks?.[place] ?? "";
    const open = lifted + 1; // how many cards have a face
    const hidden = cards.at(-1) === BACK;
    const deep = pile.classList.contains("fans") || pile.classList.contains("hangs");
    const usual = this.element.classList.contains("tall") ? MAX_CARDS_TALL : phone.matches ? MAX_CARDS_PHONE : MAX_CARDS;
    const most = pile.closest(".apart") ? MAX_CARDS_APART : usual;
    const shown = cards.slice(deep ? -most : -open);
    const covered = cards.length - shown.length;
    const reserved = this.game.labels?.[place]; // the card that belongs here
    const down = shown.filter((card) => card === BACK).length;
    const at = (index) => index - (1 - FACE_DOWN) * Math.min(index, down);
    pile.style.setProperty("--n", Math.max(1, at(shown.length)));
    pile.setAttribute(
      "aria-label",
      topCardSentence(place, cards) + (reserved && !cards.length ? ` for ${rankOf(reserved)}` : "") + markText(mark),
    );
    pile.dataset.mark = mark;
    fill(
      pile,
      cards.length >= open ? null : h("span", { class: "empty", "aria-hidden": "true" }, reserved ? rankOf(reserved) : ""),
      shown.map((card, index) => cardElement(card, { position: at(index), open: index >= shown.length - open, simple: this.simple })),
      covered > 0 ? h("small", { class: "count", "aria-hidden": "true" }, hidden ? cards.length : `+${covered}`) : null,
    );
  }

  /** The cards that moved: the new place, the position from the top, and the previous box on the screen. */
  findMoves(before, after) {
    const used = new Set();
    const moves = [];
    const shrank = (place) => (after[place]?.length ?? 0) < before[place].length;
    for (const [place, pile] of Object.entries(after)) {
      const added = addedCards(before[place] ?? [], pile);
      const leaves = (from) => shrank(from) && before[from].slice(after[from].length).join() === added.join();
      const run = added.length && Object.keys(before).find((from) => from !== place && leaves(from));
      if (run) {
        const cards = [...this.piles.get(run).querySelectorAll(".card")].slice(-added.length);
        for (const [index, card] of cards.entries())
          moves.push({ place, fromTop: cards.length - index, box: card.getBoundingClientRect() });
        continue;
      }
      if (added.length > 4) continue;
      for (const [index, card] of added.entries()) {
        const isSource = (from, top) =>
          !used.has(from) && from !== place && shrank(from) && before[from].at(-1) === top;
        const sourceOf = (top) => Object.keys(before).find((from) => isSource(from, top));
        const source = sourceOf(card) ?? sourceOf(BACK);
        if (!source) continue;
        if (before[source].at(-1) !== BACK) used.add(source);
        const box = this.piles.get(source)?.querySelector(".card:last-of-type")?.getBoundingClientRect();
        if (box) moves.push({ place, fromTop: added.length - index, box });
      }
    }
    return moves;
  }

  glide(place, fromTop, from) {
    const card = [...(this.piles.get(place)?.querySelectorAll(".card") ?? [])].at(-fromTop);
    if (!card) return;
    const to = card.getBoundingClientRect();
    const scale = to.width / card.offsetWidth || 1; // of a miniature
    const start = `${(from.left - to.left) / scale}px ${(from.top - to.top) / scale}px`;
    const through = { pointerEvents: "none" }; // taps reach the pile below
    card.animate(
      [
        { translate: start, ...through },
        { translate: "0px 0px", ...through },
      ],
      GLIDE,
    );
    card.parentElement.animate([{ zIndex: 15 }, { zIndex: 15 }], GLIDE); // over the other piles
  }

  /** Shakes a pile's top card, and tells the page why nothing happened. */
  refuse(text, place = null) {
    const pile = this.piles.get(place) ?? this.element;
    const shaken = pile.querySelector(".card:last-of-type, .empty");
    if (shaken && !motionIsOff()) shaken.animate([0, 5, -5, 3, 0].map((x) => ({ translate: `${x}px` })), 250);
    this.element.dispatchEvent(new CustomEvent("refused", { detail: withCards(withoutPlaces(text, this.order)) }));
  }

  /** Highlights the piles that can be tapped and the selected ones. */
  highlight() {
    const { targets, picked } = this.selection;
    this.element.classList.toggle("holding", picked.length > 0);
    for (const [place, pile] of this.piles) {
      pile.classList.toggle("lit", targets.has(place));
      pile.classList.toggle("picked", picked.includes(place));
      if (this.play) pile.setAttribute("aria-pressed", picked.includes(place));
    }
    const { numbered } = this.selection;
    this.numbers.hidden = !numbered.length;
    const choose = (move) => (this.clearSelection(), this.make(move));
    fill(this.numbers, "How many cards?", numbered.map(({ move, number = 1 }) => button(String(number), () => choose(move))));
    if (this.play && !this.tabStop) this.setTabStop(this.order[0]);
    this.element.dispatchEvent(new CustomEvent("picked", { detail: this.selection, bubbles: true }));
  }

  focus() {
    this.piles.get(this.order[0]).focus({ preventScroll: true });
  }

  /** Describes all piles. */
  describe() {
    if (!this.board) return "The cards have not been dealt.";
    return this.order.map((place) => this.piles.get(place).getAttribute("aria-label")).join("; ");
  }

  /** Only one pile can be reached with Tab; the arrow keys lead to the others. */
  setTabStop(place) {
    if (this.tabStop) this.piles.get(this.tabStop).tabIndex = -1;
    this.tabStop = place;
    this.piles.get(place).tabIndex = 0;
  }

  // Taps, drags and keys.

  listen() {
    this.element.addEventListener("pointerdown", (event) => this.onPress(event));
    this.element.addEventListener("contextmenu", (event) => placeOf(event.target) && event.preventDefault());
    if (!this.play) return;
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.element.addEventListener(
      "focusin",
      ({ target }) => target.dataset.place && this.setTabStop(target.dataset.place),
    );
    // Screen readers click without a pointer.
    this.element.addEventListener("click", (event) => event.detail === 0 && this.tap(placeOf(event.target)));
  }

  tap(place) {
    if (!place || !this.board) return;
    const before = this.selection.picked;
    const { selection, move, missed } = this.selection.tap(place);
    const picked = selection.picked.length > before.length;
    const possible = picked || before.includes(place) || selection.picked.length > 0;
    const attempt = move || possible ? null : selection.attempt([...before, place]);
    this.selection = selection;
    this.highlight();
    if (move ?? attempt) this.make(move ?? attempt, place);
    else if (picked) {
      const top = (this.board.table[place] ?? []).at(-1);
      announce(`${top ? cardName(top) : place} selected. Next: ${[...selection.targets].join(", ")}`);
    } else if (missed) announce("That is not possible. Selection cleared.");
    else if (!possible) this.refuse(this.board.table[place]?.length ? "That card cannot move now." : "Nothing to move here.", place);
  }

  /** Makes a move, or attempts an illegal one, to show why it is refused next to a pile; `cards` were dragged there. */
  make(move, place = null, cards = []) {
    return this.queue.add(move, place, cards[1] ? cards : (this.anticipate(move) ?? cards));
  }

  /** Lets the cards of a legal move glide to their target before the server responds. Returns them, if any. */
  anticipate(move) {
    const legal = this.selection.all.find((each) => each.move === move);
    const { kind, places, number } = legal ?? {};
    const [from, to] = kind === "carry" ? places : kind === "tap" ? ["hand", places[0]] : [];
    if (from === to || !this.piles.get(from)?.querySelector(MOVABLE)) return null;
    const cards = leaving(this.piles.get(from), this.piles.get(to), number);
    const boxes = cards.map((card) => card.getBoundingClientRect());
    const target = landing(this.piles.get(to));
    this.uncover(from, cards);
    for (const [index, card] of cards.entries()) {
      const [x, y = 0] = (card.style.translate || "0px").split(" ").map(parseFloat);
      const [left, top] = target(index);
      this.place(card, `${x + left - boxes[index].left}px ${y + top - boxes[index].top}px`);
      card.classList.add("moving");
    }
    return cards;
  }

  /** Returns a card that was dragged or sent ahead to its pile, unless the pile has been redrawn. */
  async release(card) {
    if (!card?.isConnected) return;
    card.classList.remove("dragged", "moving");
    await this.place(card, "")?.finished.catch(() => null);
    if (card.isConnected && !card.matches(".dragged, .moving")) this.redraw(placeOf(card)); // covers what lay below it
  }

  /** Moves a card by an offset. Returns the animation, if any. */
  place(card, offset) {
    const before = card.style.translate || "0px 0px";
    card.style.translate = offset;
    return motionIsOff() ? null : card.animate([{ translate: before }, { translate: offset || "0px 0px" }], GLIDE);
  }

  /** Draws what lies below the top cards of a pile, which are about to leave it. */
  uncover(place, cards) {
    this.redraw(place, { lifted: cards.length });
    const drawn = [...this.piles.get(place).querySelectorAll(".card")].slice(-cards.length);
    drawn.forEach((card, index) => card.replaceWith(cards[index]));
  }

  clearSelection() {
    this.selection = this.selection.clear();
    this.highlight();
  }

  /**
   * A short press is a tap, a press that moves is a drag, and a long press shows the whole pile. Every finger has its
   * own press, and its pointer is captured, so that no finger ends another one's press.
   */
  onPress(event) {
    const { pointerId } = event;
    const place = placeOf(event.target);
    if (!place || event.button !== 0 || !this.board) return;
    const pile = this.piles.get(place);
    if (this.play) {
      event.preventDefault();
      pile.focus({ preventScroll: true });
    }
    const start = { x: event.clientX, y: event.clientY };
    const cards = this.play ? draggable(pile, event.target) : [];
    const pressed = new AbortController();
    let dragged = false;
    let shown = false;
    const held = setTimeout(() => (shown = this.showPile(place)), HOLD_MS);
    const onMove = (later) => {
      if (later.pointerId !== pointerId) return;
      const [dx, dy] = [later.clientX - start.x, later.clientY - start.y];
      if (!dragged && !shown && Math.hypot(dx, dy) > DRAG_PX) {
        clearTimeout(held);
        if (!cards[0]?.isConnected || this.element.querySelector(".dragged")) return; // one drag at a time
        dragged = true;
        for (const card of cards) card.classList.add("dragged");
        this.uncover(place, cards);
        const next = this.selection.clear().withPicked([place]);
        this.selection = next.candidates.length ? next : this.selection.clear();
        this.highlight();
      }
      if (dragged) for (const card of cards) card.style.translate = `${dx}px ${dy}px`;
    };
    const onEnd = (last) => {
      if (last.pointerId !== pointerId) return;
      clearTimeout(held);
      this.spread.hidden = true;
      pressed.abort();
      if (dragged) this.drop(place, cards, last);
      else if (!shown && this.play && last.type === "pointerup") this.tap(place);
    };
    pile.addEventListener("pointermove", onMove, { signal: pressed.signal });
    for (const kind of ["pointerup", "pointercancel"]) pile.addEventListener(kind, onEnd, { signal: pressed.signal });
    pile.setPointerCapture(pointerId);
  }

  /** Ends a drag: makes the move, or attempts it, and releases the cards. */
  drop(place, cards, { type, clientX, clientY }) {
    this.clearSelection();
    const under = document
      .elementsFromPoint(clientX, clientY)
      .map(placeOf)
      .find((other) => other && other !== place);
    const target = type === "pointerup" && this.piles.has(under) ? under : null;
    const move = target && this.selection.dragMove(place, target, cards.length);
    const attempt = target && !move && this.selection.attempt([place, target]);
    if (move) return void this.make(move, target, cards);
    if (attempt) this.make(attempt, target);
    else if (target) this.refuse("That card cannot go there.", target);
    else announce("Card returned.");
    for (const card of cards) this.release(card);
  }

  /** Shows the face-up cards of a pile side by side, the top card last. Returns whether there are cards to show. */
  showPile(place) {
    const cards = (this.board.table[place] ?? []).filter((card) => card !== BACK);
    if (cards.length < 2) return false;
    fill(
      this.spread,
      cards.map((card) => cardElement(card)),
    );
    this.spread.hidden = false;
    return true;
  }

  onKey(event) {
    const place = placeOf(event.target);
    const action = actionOf(event, {
      ArrowLeft: () => this.moveFocus(place, -1, 0),
      ArrowRight: () => this.moveFocus(place, 1, 0),
      ArrowUp: () => this.moveFocus(place, 0, -1),
      ArrowDown: () => this.moveFocus(place, 0, 1),
      Enter: () => this.tap(place),
      " ": () => this.tap(place),
      Backspace: () => this.clearSelection(),
      h: () => this.sendHome(this.selection.picked[0] ?? place),
      s: () => announce(pileSentence(place, this.board?.table[place] ?? [])),
    });
    if (!place || !action) return;
    event.preventDefault();
    action();
  }

  sendHome(place) {
    const move = this.selection.homeMove(place);
    if (move) this.make(move, place);
    else announce("That card cannot go home now.");
  }

  /** Moves the focus to the nearest pile in a direction. */
  moveFocus(place, dx, dy) {
    this.piles.get(nearestPile(this.piles, place, dx, dy))?.focus();
  }
}

const placeOf = (node) => node?.closest?.(".pile")?.dataset.place ?? null;
