// The table during the countdown and the race: the user's own, or another racer's to watch.

import { attempt } from "./api.js";
import { Boards, visibleTables } from "./boards.js";
import { announce, button, confirmAction, drawer, fill, h, hint, motionIsOff } from "./dom.js";
import {
  achieved,
  advice,
  boardResult,
  capitalized,
  cardName,
  changeSentence,
  displayNames,
  finishText,
  formatClock,
  headStartText,
  ordinal,
  statusText,
} from "./phrases.js";
import { GhostList, showWatching, StandingsList, Strip } from "./standings.js";
import { preferences } from "./storage.js";
import { TablePage } from "./table_page.js";

const SIGNS = "Double frame: the card is home. Red bar: it is jammed. Disc on the stock: nothing else can be played.";
const KEYS =
  "Keys: arrows move, Enter selects, m makes this move, h sends a card home, s reads a pile, d draws, u undoes, " +
  "Esc clears the selection. Hold a pile to see all its cards.";
const SEARCH_MS = 500; // after the countdown, until the page says that the deal is still being searched for
const LEAD_HZ = [660, 990];
const LEAD_FLASH = { duration: 700, easing: "ease-out" };

export class PlayPage extends TablePage {
  shownSeat; // the other racer whose table is shown
  isCounting = false; // whether a clock runs in the note

  constructor(page) {
    super();
    this.page = page;
    this.racing = Boolean(page.connection.view.seat);
    this.lastMove = "no moves yet";
    this.playTones = (tones) => page.caller.play(tones);
    const { game } = page;
    const { symbols } = page.reactions;
    const play = this.racing ? (move) => this.move(move) : null;
    this.createTable(game, { play, question: "Restart this deal? The clock keeps running." });
    this.boards = new Boards(game);
    this.table.cover();
    this.lists = {
      plain: new StandingsList(game, { symbols }),
      choosing: new StandingsList(game, { choose: (seat) => this.chooseTable(seat), symbols }),
    };
    this.ghosts = new GhostList(game);
    this.watching = h("p", { class: "watching", hidden: true });
    this.banner = h("div", { class: "banner", hidden: true });
    this.countdown = h("div", { class: "countdown", "aria-hidden": "true" });
    this.side = h("nav", { class: "side drawer", id: "standings", popover: "", "aria-label": "Standings" });
    this.strip = new Strip(symbols, "standings");
    const resign = () => page.run("resign", () => page.connection.resign());
    this.resignButton = button("Resign…", () => confirmAction("Resign? Your best attempt counts.", resign, "Resign"));
    this.keys = h("div", { class: "keys" }, this.moveButtons);
    const under = h("div", { class: "under" }, this.notes, h("div", { class: "row" }, this.keys, this.createTools()));
    this.element = h("div", { class: "race" }, [
      h("h1", { class: "sr" }, `${game.title} race`),
      this.banner,
      h("div", { class: "field" }, this.table.element, this.boards.element, this.countdown),
      h("div", { class: "beside" }, this.strip.element, this.side, under),
    ]);
  }

  createTools() {
    const { connection, game, reactions } = this.page;
    const timeLeft = () =>
      connection.leftMs === null ? "The clock is not running." : `${formatClock(connection.leftMs, false)} left`;
    const readers = this.readers({
      "Last move": () => this.lastMove,
      Clock: timeLeft,
      Standings: () => this.describeStandings(),
    });
    const actions = this.racing ? [this.restartButton, this.resignButton] : null;
    return h("div", { class: "tools" }, [
      drawer("☺\ufe0e", "Reactions", reactions.element),
      this.rulesDrawer(game),
      drawer("⋯", "More", h("div", { class: "row" }, actions), readers, hint(SIGNS), hint(KEYS)),
    ]);
  }

  // Showing the race.

  update(view) {
    const { connection, game } = this.page;
    const boards = view.boards ?? {};
    const seats = Object.keys(boards).map(Number);
    if (!this.racing && !boards[this.shownSeat]) this.shownSeat = seats.length === 1 ? seats[0] : null;
    const showsAll = !this.racing && seats.length > 1 && !this.shownSeat;
    this.table.element.hidden = showsAll;
    this.boards.element.hidden = !showsAll;
    if (showsAll) this.boards.show(visibleTables(boards, connection.standings));
    const board = boards[this.shownSeat] ?? view.board;
    this.countdown.hidden = view.stage !== "countdown";
    if (view.stage === "running" && board && board !== this.table.board) this.showBoard(board, view);
    if (view.stage === "running")
      document.title = `${board ? `${boardResult(game, board, { short: true })} ` : ""}${game.title} · Same Deal`;
    const isPlaying = this.racing && !connection.mine?.done;
    const list = seats.length ? this.lists.choosing : this.lists.plain;
    if (!list.element.isConnected) fill(this.side, this.page.evening, list.element, this.ghosts.element, this.watching);
    this.element.classList.toggle("playing", isPlaying);
    this.keys.hidden = !isPlaying;
    this.element.classList.toggle("blind", view.stage === "running" && !this.racing && !board && !showsAll); // the standings are all there is to see
    this.ghosts.show(connection.ghosts);
    showWatching(this.watching, connection.watching);
    list.show(connection.standings, { mine: view.seat, chosen: boards[this.shownSeat] ? [this.shownSeat] : [] });
    this.strip.show(connection.standings, view.seat, `Standings: ${this.describeStandings()}`);
    this.showLead(connection.standings, view);
    if (this.racing) this.updateButtons(view.board, view.board === this.table.board);
    this.resignButton.disabled = !view.board || !isPlaying;
    this.showNote(this.noteContent(view, board));
    this.updateBanner(connection);
  }

  showBoard(board, view) {
    const first = !this.table.board;
    this.table.show(board, { animate: this.boardSeat === this.shownSeat });
    this.table.element.classList.toggle("others", this.racing && board !== view.board);
    this.boardSeat = this.shownSeat;
    if (!first || !this.racing) return;
    announce(`Go! ${advice(board, cardName)}`);
    this.table.focus();
  }

  /** Flashes the standings, with a sound, when another racer takes the lead. */
  showLead(standings, { seat, stage }) {
    const first = standings.filter(({ place, home }) => place === 1 && home > 0);
    const leader = first.length === 1 ? first[0].seat : this.leader;
    const before = this.leader;
    this.leader = leader;
    const { effects, rivals, sound } = preferences();
    if (before === undefined || leader === before || stage !== "running" || !effects || !rivals) return;
    if (sound) this.playTones(LEAD_HZ);
    if (leader === seat) announce("You take the lead");
    const frames = [{ backgroundColor: "var(--lit)" }, {}];
    for (const element of motionIsOff() ? [] : [this.strip.element, this.side]) element.animate(frames, LEAD_FLASH);
  }

  /** Shows one racer's table. Choosing it again, or your own seat, returns to your own table, or to all tables. */
  chooseTable(seat) {
    const { view } = this.page.connection;
    this.shownSeat = seat === view.seat || seat === this.shownSeat ? null : seat;
    this.side.hidePopover();
    this.update(view);
  }

  noteContent(view, board) {
    const { mine, standings } = this.page.connection;
    if (mine?.outcome === "scratched")
      return "You are not in this race: your share of the shuffle did not reach the server in time.";
    const ahead = headStartText(this.page);
    if (view.stage !== "running") {
      const text = this.racing ? "The cards are dealt when the countdown ends." : "You are watching.";
      return [text, ahead && ` ${ahead}.`];
    }
    const { waitsMs, closingMs } = this.page.connection;
    if (waitsMs !== null) return h("strong", {}, `${ahead}. You get your cards in ${secondsText(waitsMs)}.`);
    if (closingMs !== null) return this.closingNote(view.board, secondsText(closingMs));
    if (!this.boards.element.hidden) return "You are watching. Tap a racer to see only their table.";
    if (!board) return "You are watching. Tables are shown when the race is over.";
    const isOwn = board === view.board; // of others, counts are shown instead of instructions
    const facts = new Set([...(isOwn ? [] : [boardResult(this.page.game, board)]), ...(board.guidance.facts ?? [])]);
    const end = () => endText(board, mine, standings.length, Boolean(view.boards));
    return this.note(board, board.outcome === "playing" ? isOwn && advice(board) : end(), [...facts]);
  }

  /** Everyone is stuck: says when the race ends, and what the user can do to prevent that. */
  closingNote(board, time) {
    const actions = this.keys.hidden ? "" : actionsText(board);
    return h("strong", { class: "end-stuck" }, `Everyone is stuck. The race ends in ${time}${actions && `, unless you ${actions}`}.`);
  }

  updateBanner({ status, reason, over }) {
    this.banner.hidden = status === "up" || over;
    if (this.banner.dataset.status === status) return;
    this.banner.dataset.status = status;
    const resume = () => this.page.connection.reopen();
    const texts = {
      replaced: ["This race is open in another window. ", button("Use this window", resume)],
      ended: reason,
    };
    fill(this.banner, texts[status] ?? "Reconnecting… The clock keeps running. Your seat is reserved.");
    if (status === "lost") announce("Connection lost. Reconnecting…");
  }

  tick(left) {
    const { connection } = this.page;
    const { view, waitsMs, closingMs } = connection;
    const wasCounting = this.isCounting;
    this.isCounting = (waitsMs ?? closingMs) !== null;
    if (this.isCounting || wasCounting) this.showNote(this.noteContent(view, this.table.board));
    if (this.isCounting && !wasCounting) announce(this.usualNote.textContent ?? "");
    if (view.stage === "running") {
      this.countdown.hidden = waitsMs === null;
      if (waitsMs !== null) this.countdown.textContent = String(Math.ceil(waitsMs / 1000));
    }
    if (view.stage !== "countdown") return;
    const seconds = Math.ceil(left / 1000);
    document.title = `${seconds}… ${this.page.game.title} · Same Deal`;
    if (seconds > 0) this.countedDownAt = null;
    else this.countedDownAt ??= performance.now();
    const waits = seconds <= 0 && performance.now() - this.countedDownAt > SEARCH_MS;
    this.countdown.classList.toggle("waiting", waits);
    this.countdown.textContent = waits ? (this.page.connection.status === "up" ? "Finding a deal…" : "Reconnecting…") : seconds > 0 ? String(seconds) : "Go!";
    if (waits && this.announcedSeconds !== 0) announce("Finding a deal. The clock starts when the cards are dealt.");
    if (waits) this.announcedSeconds = 0;
    if (seconds === this.announcedSeconds || seconds <= 0 || seconds > 5) return;
    this.announcedSeconds = seconds;
    announce(String(seconds));
  }

  describeStandings() {
    const { standings, ghosts, watching } = this.page.connection;
    const names = displayNames(standings);
    const { game } = this.page;
    const describe = (racer) => `${racer.place}, ${names.get(racer.seat)}, ${achieved(game, racer)}`;
    const describeGhost = (ghost) => `ghost ${ghost.name}, ${achieved(game, ghost)}`;
    const spectators = watching ? [`${watching} watching`] : [];
    return [...standings.map(describe), ...ghosts.map(describeGhost), ...spectators].join("; ");
  }

  // Moves.

  /** Sends a move. Returns the reason if it is refused. */
  async move(move) {
    const { connection } = this.page;
    const before = connection.view.board;
    const play = async () => {
      const { board: after } = await connection.move(move);
      const change = { undo: "undo", restart: `attempt ${after.attempt}` }[move];
      this.lastMove = change ?? changeSentence(before.table, after.table);
      this.announceMove(this.lastMove, before, after);
      this.update(connection.view);
      return null;
    };
    return attempt(play, ({ message }) => message);
  }

  onKey(event) {
    if (this.racing) super.onKey(event);
  }
}

const actionsText = ({ undo, restart }) => [undo && "undo", restart && "restart"].filter(Boolean).join(" or ");

const secondsText = (ms) => `${Math.ceil(ms / 1000)}\u00a0s`;

/** Describes the end of an attempt and what the racer can do now. */
function endText(board, mine, racers, canWatch) {
  const { outcome } = board;
  const cause = statusText(board);
  const actions = actionsText(board);
  if (!mine?.done) return `${cause}.${actions ? ` You can ${actions}.` : ""}`;
  const watch = canWatch ? " Tap a racer to watch." : "";
  const rank = racers > 1 ? `, ${ordinal(mine.place)} of ${racers}` : "";
  const end = outcome === "won" ? `${capitalized(finishText(mine))}${rank}!` : `${cause}.`;
  return `${end} Waiting for the others…${watch}`;
}
