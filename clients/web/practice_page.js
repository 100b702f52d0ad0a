// A deal to play alone: with undo, hints and verdicts of the computer, and an address for every position.

import { ApiError, fetchGames, fetchJson, fetchWhenReady, loadOptional } from "./api.js";
import { announce, button, copyText, fill, fillHeader, h } from "./dom.js";
import { MoveButtons } from "./move_buttons.js";
import { advice, capitalized, cardName, changeSentence, counted, outcomeText, withCards } from "./phrases.js";
import { markPiles, practicePath } from "./practice.js";
import { ROOT } from "./root.js";
import { Table } from "./table.js";

const INTRODUCTION =
  "You play alone, and nothing counts. Hints know all cards. The address of this page leads to the position you see.";

export class PracticePage {
  /** `deal` is the deal's code, as it is in the path. */
  constructor(deal) {
    this.path = `/deals/${deal}`;
    this.deal = decode(deal);
    this.variant = Object.fromEntries(new URLSearchParams(location.search));
    this.moves = [];
    this.board = null; // the one that is shown
    this.question = null; // the one that the computer is working on
    this.made = Promise.resolve(null); // settled when no move is on its way
  }

  async open(main) {
    fill(main, h("p", { class: "wait" }, "Dealing the cards…"));
    const moves = linkedMoves();
    const [games, board] = await Promise.all([fetchGames(), this.fetchBoard(moves)]);
    this.game = games.get(this.deal.split(":")[0]);
    this.build(main);
    this.show(moves, board);
    this.table.focus();
    document.addEventListener("keydown", (event) => this.buttons.onKey(event));
    window.addEventListener("hashchange", async () => this.showRefusal(await this.play(linkedMoves)));
  }

  build(main) {
    const { game } = this;
    document.title = `Practise ${game.title} · Same Deal`;
    fillHeader(h("span", { class: "what" }, `${game.title} · practice`));
    this.table = new Table(game, { play: (move) => this.move(move), label: `Your ${game.title} table` });
    this.text = h("p", { class: "practice", role: "status" }, INTRODUCTION);
    this.note = h("p", { class: "note" });
    this.buttons = new MoveButtons(this.table, { question: "Restart this deal?" });
    this.hintButton = button("Hint", () => this.ask((answer) => this.showHint(answer)));
    this.verdictButton = button("", () => this.ask(({ text }) => fill(this.text, withCards(text))));
    const copy = button("Copy link", () => copyText(location.href, "Link copied."));
    const keys = h("div", { class: "keys" }, this.buttons.all);
    const questions = h("div", { class: "keys" }, this.hintButton, this.verdictButton, copy);
    fill(
      main,
      h("h1", { class: "sr" }, `Practise ${game.title}`),
      h(
        "div",
        { class: "race" },
        this.text,
        h("div", { class: "field" }, this.table.element),
        h("div", { class: "beside" }, h("div", { class: "under" }, this.note, keys, questions), this.createDetails()),
      ),
    );
  }

  createDetails() {
    /** @type {[string, () => string][]} */
    const readers = [
      ["Read what to do", () => withCards(advice(this.board), cardName) || "Nothing to do."],
      ["Read board", () => this.table.describe()],
    ];
    return h(
      "details",
      { class: "more" },
      h("summary", {}, "More"),
      h(
        "div",
        { class: "row" },
        readers.map(([name, read]) => button(name, () => announce(read()))),
        h("a", { class: "button", href: `/rules/${this.game.slug}`, target: "_blank" }, "Rules"),
      ),
    );
  }

  // Positions.

  fetchBoard(moves) {
    return fetchJson(`${this.path}/board${location.search}`, { body: { moves } });
  }

  /** Shows a position, and puts it in the address. */
  show(moves, board) {
    const isFirst = !this.board;
    Object.assign(this, { moves, board, question: null });
    this.table.show(board, { animate: !isFirst });
    markPiles(this.table);
    this.buttons.update(board);
    if (!isFirst) fill(this.text, INTRODUCTION);
    this.hintButton.disabled = board.outcome !== "playing";
    this.verdictButton.textContent = moves.length ? "Was that a mistake?" : "Can it be won?";
    fill(this.note, noteContent(board, moves.length));
    history.replaceState(null, "", ROOT + practicePath({ deal: this.deal, variant: this.variant, moves }));
  }

  /** Makes a move, including "undo" and "restart". Returns the reason if it is refused. */
  async move(move) {
    const next = () => ({ undo: this.moves.slice(0, -1), restart: [] })[move] ?? [...this.moves, move];
    const won = this.board.outcome === "won";
    const refusal = await this.play(next);
    if (!refusal && !won && this.board.outcome === "won")
      loadOptional("./celebration.js", ({ celebrate }) => celebrate(() => {}));
    return refusal;
  }

  /** Goes to the position after the moves that `next` returns, one after another. Returns the reason if it cannot. */
  play(next) {
    this.made = this.made.catch(() => null).then(() => this.go(next()));
    return this.made;
  }

  async go(moves) {
    const before = this.board;
    try {
      this.show(moves, await this.fetchBoard(moves));
      const change = changeSentence(before.table, this.board.table);
      const home = this.board.home === before.home ? "" : `; home ${this.board.home}`;
      announce(this.board.outcome === "playing" ? `${change}${home}` : outcomeText(this.board.outcome));
      return null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error.message;
    }
  }

  showRefusal(text) {
    if (text) this.table.refuse(text);
  }

  // The computer's advice.

  /** Asks the computer about the position, and calls `show` with its answer unless another one is shown by then. */
  async ask(show) {
    const question = (this.question = {});
    const isWanted = () => question === this.question;
    const onWait = () => fill(this.text, "The computer is searching…");
    const onProblem = (error) => isWanted() && fill(this.text, `${error.message} Trying again…`);
    const body = { moves: this.moves };
    markPiles(this.table);
    onWait();
    try {
      const answer = await fetchWhenReady(`${this.path}/advice${location.search}`, { body, onWait, onProblem, isWanted });
      if (answer) show(answer);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (isWanted()) fill(this.text, error.message);
    }
  }

  showHint({ text, hint }) {
    if (!hint) return fill(this.text, withCards(text));
    markPiles(this.table, hint.move);
    return fill(this.text, "Hint: ", h("strong", {}, hint.move), ". ", withCards(`${hint.rule} ${hint.reason}`));
  }
}

/** The moves in the address. */
const linkedMoves = () => decode(location.hash.slice(1)).split(",").filter(Boolean);

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // the server says what is wrong with it
  }
}

/** What to do, or how the attempt ended. */
function noteContent(board, count) {
  const { outcome, guidance } = board;
  const facts = h("span", { class: "facts" }, [...(guidance?.facts ?? []), counted(count, "move")].join(" · "));
  const text = withCards(advice(board)) || capitalized(outcomeText(outcome));
  if (outcome === "playing") return [h("strong", {}, text), " ", facts];
  const end = outcome === "won" ? "You solved it!" : `${text}. You can undo or restart.`;
  return [h("strong", { class: `end-${outcome}` }, end), " ", facts];
}
