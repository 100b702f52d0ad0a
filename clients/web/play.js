// The table while the countdown and the race run, one's own or one that is looked on at, with its keys.

import { Problem } from "./api.js";
import { button, fill, h, say, sure } from "./dom.js";
import { Rail } from "./rail.js";
import { Table } from "./table.js";
import { changeSentence, clock, namesOf, outcomeWord } from "./words.js";

const REFUSED_MS = 6000;
const FROM_STOCK = /^(draw|deal|redeal)$/;

export class PlayPage {
  constructor(page) {
    this.page = page;
    this.racing = isSeat(page.session.view.seat);
    this.seat = null; // of another racer, whose table is shown
    this.board = null; // what is shown
    this.last = "nothing has happened yet";
    const { game } = page;
    this.table = new Table(game, {
      play: this.racing ? (move) => this.move(move) : null,
      label: this.racing ? `Your table of ${game.title}` : `${game.title}, looked on at`,
    });
    this.table.cover();
    this.table.element.addEventListener("picked", ({ detail }) => (this.whole.hidden = !detail.whole));
    this.rails = { plain: new Rail(), choosing: new Rail({ choose: (seat) => this.choose(seat) }) };
    this.banner = h("div", { class: "banner", hidden: true });
    this.number = h("div", { class: "countdown", "aria-hidden": "true" });
    this.side = h("nav", { class: "side", "aria-label": "Standings" });
    this.note = h("p", { class: "note" });
    this.element = h(
      "div",
      { class: "race" },
      this.banner,
      h("div", { class: "field" }, this.table.element, this.number),
      h("div", { class: "beside" }, this.side, h("div", { class: "under" }, this.note, this.keys()), this.more()),
    );
  }

  keys() {
    const { page } = this;
    const restart = () => sure("Begin the same deal again? The clock runs on.", () => this.move("restart"));
    const resign = () => page.act("resign", () => page.session.resign());
    this.undo = button("Undo", () => this.move("undo"), { "aria-keyshortcuts": "u", class: "big" });
    this.stock = button("Draw", () => this.draw(), { "aria-keyshortcuts": "d", class: "big", hidden: true });
    this.whole = button("Make this move", () => this.makeWhole(), {
      "aria-keyshortcuts": "m",
      class: "first big",
      hidden: true,
    });
    this.restart = button("Restart", restart);
    this.resign = button("Resign", () => sure("Stop for good? Your best attempt counts.", resign));
    const keys = [this.undo, this.stock, this.whole, this.restart, this.resign];
    return h("div", { class: "keys", hidden: !this.racing }, keys);
  }

  more() {
    const { session } = this.page;
    const left = () => (session.leftMs === null ? "the clock does not run" : `${clock(session.leftMs, false)} left`);
    const says = [
      ["Say board", () => this.table.told()],
      ["Say last", () => this.last],
      ["Say clock", left],
      ["Say standings", () => this.ranked()],
    ];
    const keys =
      "Keys: arrows, Enter picks and drops, m makes this move, h home, s what lies there, d draw, u undo, Esc let go. " +
      "Hold a pile to see all of it.";
    return h(
      "details",
      { class: "more" },
      h("summary", {}, "More"),
      h(
        "div",
        { class: "row" },
        says.map(([name, told]) => button(name, () => say(told()))),
        h("a", { class: "button", href: `/rules/${this.page.game.slug}`, target: "_blank" }, "Rules"),
      ),
      h("p", { class: "hint" }, keys),
    );
  }

  // What is shown.

  update(view) {
    const { session, game } = this.page;
    const boards = view.boards ?? {};
    if (!this.racing && !boards[this.seat]) this.seat = Object.keys(boards).map(Number)[0] ?? null;
    const board = boards[this.seat] ?? view.board;
    this.number.hidden = view.stage !== "countdown";
    if (view.stage === "running" && board && board !== this.board) this.show(board, view);
    if (view.stage === "running")
      document.title = `${board ? `${board.home}/${game.goal} ` : ""}${game.title} · Same Deal`;
    const rail = Object.keys(boards).length ? this.rails.choosing : this.rails.plain;
    if (!rail.element.isConnected) fill(this.side, rail.element);
    rail.show(session.standings, { mine: view.seat, chosen: boards[this.seat] ? [this.seat] : [] });
    if (this.racing) this.able(view.board, session.mine);
    if (!(performance.now() < this.refusedUntil)) fill(this.note, this.noted(view, board));
    this.lineTold(session);
  }

  show(board, view) {
    const first = !this.table.board;
    this.table.show(board, { animate: !first && this.shownSeat === this.seat });
    this.table.element.classList.toggle("others", this.racing && board !== view.board);
    this.board = board;
    this.shownSeat = this.seat;
    if (!first || !this.racing) return;
    say("go");
    this.table.focus();
  }

  /** Another racer's table, where the race allows it; the own one again by choosing it, or the same once more. */
  choose(seat) {
    const { view } = this.page.session;
    this.seat = seat === view.seat || (seat === this.seat && this.racing) ? null : seat;
    this.board = null;
    this.update(view);
  }

  able(board, mine) {
    const others = !board || board !== this.board;
    this.drawn = board?.moves?.find((move) => FROM_STOCK.test(move)) ?? null;
    this.undo.disabled = others || !board.undo;
    this.restart.disabled = others || !board.restart;
    this.resign.disabled = !board || Boolean(mine?.done);
    this.stock.hidden = !("stock" in (board?.table ?? {}));
    this.stock.disabled = others || !this.drawn;
    if (this.drawn) this.stock.textContent = this.drawn[0].toUpperCase() + this.drawn.slice(1);
  }

  noted(view, board) {
    const { mine } = this.page.session;
    const { goal } = this.page.game;
    if (mine?.outcome === "scratched") {
      return "You are not in this race: your share of the deal did not reach the server in time.";
    }
    if (view.stage !== "running") return this.racing ? "The cards are dealt when the countdown ends." : "You look on.";
    if (!board) return "You look on. Tables are shown when the race is over.";
    const notes = Object.entries(board.notes ?? {}).map(([name, value]) => `${name} ${value}`);
    const facts = [`home ${board.home} of ${goal}`, ...notes].join(" · ");
    if (board.outcome === "playing") return facts;
    const ways = [board.undo && "undo", board.restart && "restart"].filter(Boolean).join(" or ");
    const look = view.boards ? " Tap a racer to see the table." : "";
    const stopped = mine?.done ? ` You have stopped; the others race on.${look}` : "";
    const what = `${outcomeWord(board.outcome)}${ways ? `: ${ways}` : ""}.${stopped}`;
    return [`${facts} · `, h("strong", { class: `end-${board.outcome}` }, what)];
  }

  lineTold({ line, reason }) {
    this.banner.hidden = line === "up" || this.page.session.over;
    if (this.banner.dataset.line === line) return;
    this.banner.dataset.line = line;
    const back = () => this.page.session.takeBack();
    const words = {
      replaced: ["Continued in another window. ", button("Take it back", back)],
      ended: reason,
    };
    fill(this.banner, words[line] ?? "Reconnecting… your clock runs, your seat is reserved.");
    if (line === "lost") say("The connection is lost; trying again.");
  }

  tick(left) {
    if (this.page.session.view.stage !== "countdown") return;
    const seconds = Math.ceil(left / 1000);
    document.title = `${seconds}… ${this.page.game.title} · Same Deal`;
    this.number.textContent = seconds > 0 ? String(seconds) : "go";
    if (seconds === this.said || seconds <= 0 || seconds > 5) return;
    this.said = seconds;
    say(String(seconds));
  }

  ranked() {
    const { standings } = this.page.session;
    const names = namesOf(standings);
    return standings.map((one) => `${one.place}, ${names.get(one.seat)}, ${one.home} of ${one.goal}`).join("; ");
  }

  // What is done.

  async move(move) {
    const { session } = this.page;
    const before = session.view.board;
    this.table.element.classList.add("waiting");
    try {
      const { board: after } = await session.move(move);
      this.last =
        { undo: "undo", restart: `attempt ${after.attempt}` }[move] ?? changeSentence(before.table, after.table);
      this.refusedUntil = 0;
      const home = after.home === before.home ? "" : `; home ${after.home}`;
      const end = after.outcome === "playing" ? "" : `; ${outcomeWord(after.outcome)}`;
      say(`${this.last}${home}${end}`);
      this.update(session.view);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(error.message);
      this.refused(error.message);
    } finally {
      this.table.element.classList.remove("waiting");
    }
  }

  draw() {
    if (this.drawn && !this.stock.disabled) this.move(this.drawn);
  }

  makeWhole() {
    const { whole } = this.table.hand;
    if (whole) this.move(whole.move);
  }

  /** A refusal stands at the board until the next move, or a while. */
  refused(text) {
    fill(this.note, h("strong", { class: "refusal" }, text));
    this.refusedUntil = performance.now() + REFUSED_MS;
    this.table.shake();
  }

  typed(event) {
    if (!this.racing) return;
    if (event.key === "u" && !this.undo.disabled) this.move("undo");
    else if (event.key === "d") this.draw();
    else if (event.key === "m") this.makeWhole();
    else if (event.key === "Escape") this.table.release();
  }
}

const isSeat = (seat) => seat !== undefined && seat !== null;
