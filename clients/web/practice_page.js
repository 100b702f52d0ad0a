// A deal to play alone: with undo, hints and verdicts of the computer, and an address for every position.

import { attempt, fetchGames, fetchJson, keepTrying } from "./api.js";
import { button, copyText, drawer, fill, fillHeader, h, ROOT, waitText } from "./dom.js";
import { leaving } from "./layout.js";
import { capitalized, changeSentence, counted, listed, statusText, withCards, withoutPlaces } from "./phrases.js";
import { freshDeal, guidedDeal, guidedStep, markPiles, practicePath } from "./practice.js";
import { TablePage } from "./table_page.js";

const INTRODUCTION =
  "You play alone, and nothing counts. Hints are based on all cards, even those face down. The address of this page links to the current position.";
const EMBEDDED = "Nothing counts here. The race opens here when it starts.";

export class PracticePage extends TablePage {
  question; // the one that the computer is working on
  made = Promise.resolve(); // settled when no move is on its way
  isEmbedded = false; // whether the practice is a part of another page, and the address is that page's
  query = "";

  /** `deal` is the deal's code, as it is in the path. */
  async open(main, deal) {
    this.deal = decode(deal);
    this.query = location.search;
    this.variant = Object.fromEntries(new URLSearchParams(this.query));
    fill(main, waitText("Dealing the cards…"));
    const moves = linkedMoves();
    const games = await fetchGames();
    this.game = games.get(this.deal.split(":")[0]);
    const board = await this.fetchBoard(moves);
    document.title = `Practise ${this.game.title} · Same Deal`;
    fillHeader(h("span", { class: "what" }, `${this.game.title} · practice`));
    this.build(main);
    this.show(moves, board);
    this.table.focus();
    document.addEventListener("keydown", (event) => this.onKey(event));
    window.addEventListener("hashchange", async () => this.showRefusal(await this.play(linkedMoves)));
  }

  /** Shows the guided deal of a game in an element of another page, or a new deal if others race on that one. */
  async openIn(element, game) {
    this.isEmbedded = true;
    this.game = game;
    this.deal = guidedDeal(game);
    const another = () => {
      this.deal = freshDeal(game);
      return this.fetchBoard([]);
    };
    const board = await attempt(() => this.fetchBoard([]), another);
    this.build(element);
    this.show([], board);
  }

  build(main) {
    const { game } = this;
    this.createTable(game, { play: (move) => this.move(move), question: "Restart this deal?" });
    this.text = h("p", { class: "practice", role: "status" }, INTRODUCTION);
    this.hintButton = button("Hint", () => this.ask((answer) => this.showHint(answer)));
    this.verdictButton = button("", () => this.ask(({ text }) => fill(this.text, withCards(text))));
    const copy = button("Copy link", () => copyText(location.href, "Link copied."));
    const actions = h("div", { class: "row" }, this.restartButton, this.isEmbedded ? null : copy);
    const tools = h("div", { class: "tools" }, this.rulesDrawer(game), drawer("⋯", "More", actions, this.readers()));
    const keys = h("div", { class: "keys" }, this.moveButtons);
    const questions = this.isEmbedded ? null : h("div", { class: "keys" }, this.hintButton, this.verdictButton);
    const under = h("div", { class: "under" }, this.notes, questions, h("div", { class: "row" }, keys, tools));
    const beside = h("div", { class: "beside" }, under);
    const field = h("div", { class: "field" }, this.table.element);
    const title = this.isEmbedded ? null : h("h1", { class: "sr" }, `Practise ${game.title}`);
    fill(main, title, h("div", { class: "race" }, this.text, field, beside));
  }

  // Positions.

  fetchBoard(moves) {
    return fetchJson(`${this.path}/board${this.query}`, { body: { moves } });
  }

  get path() {
    return `/deals/${encodeURIComponent(this.deal)}`;
  }

  /** Shows a position, and puts it in the address. */
  show(moves, board) {
    this.moves = moves;
    this.question = null;
    this.table.show(board);
    const wasGuided = this.step;
    const step = guidedStep(this.game, this.deal, moves);
    this.step = board.moves?.includes(step?.move) ? step : undefined;
    markPiles(this.table, this.step?.move);
    this.updateButtons(board);
    const introduction = this.isEmbedded ? EMBEDDED : INTRODUCTION;
    const unguided = wasGuided ? "That’s how it works. Keep playing." : introduction;
    const text = this.step ? `Step ${moves.length + 1} of ${this.game.practice.steps.length}. ${withCards(this.step.text)}` : unguided;
    if (this.text.textContent !== text) fill(this.text, text);
    this.hintButton.disabled = board.outcome !== "playing";
    this.verdictButton.textContent = moves.length ? "Was that a mistake?" : "Can it be solved?";
    const facts = [...(board.guidance?.facts ?? []), counted(moves.length, "move")];
    this.showNote(this.note(board, noteText(board), facts));
    if (this.isEmbedded) return;
    history.replaceState(null, "", ROOT + practicePath({ deal: this.deal, variant: this.variant, moves }));
  }

  /** Makes a move, including "undo" and "restart". Returns the reason if it is refused: a step is made before others. */
  move(move) {
    if (this.step && !["undo", "restart", this.step.move].includes(move)) return "Not yet. Make the marked move first.";
    return this.play(() => ({ undo: this.moves.slice(0, -1), restart: [] })[move] ?? [...this.moves, move]);
  }

  /** Goes to the position after the moves that `next` returns, one after another. Returns the reason if it cannot. */
  play(next) {
    this.made = this.made.catch(() => null).then(() => this.go(next()));
    return this.made;
  }

  async go(moves) {
    const before = this.table.board;
    const go = async () => {
      const board = await this.fetchBoard(moves);
      this.show(moves, board);
      this.announceMove(changeSentence(before.table, board.table), before, board);
      return null;
    };
    return attempt(go, ({ message }) => message);
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
    const request = () => fetchJson(`${this.path}/advice${this.query}`, { body });
    const answer = await attempt(
      () => keepTrying(request, onProblem, { onWait, isWanted }),
      ({ message }) => isWanted() && fill(this.text, message),
    );
    if (answer) show(answer);
  }

  showHint({ text, hint }) {
    if (!hint) return fill(this.text, withCards(text));
    markPiles(this.table, hint.move);
    return fill(this.text, h("strong", {}, "Hint: "), withCards(`${this.moveText(hint.move)}. ${withoutPlaces(hint.rule, this.table.order)} ${hint.reason}`));
  }

  /** A move by its cards: "9S on TH", "3D to the marked place", "5C and 5S", or "Draw". */
  moveText(move) {
    const { piles, board } = this.table;
    const { kind, places, number, isWord } = this.table.parse(move);
    if (isWord) return capitalized(move);
    const top = (place) => board.table[place]?.at(-1);
    if (kind === "remove" || (kind === "tap" && !top("hand"))) return listed(places.map(top));
    const [from, to] = kind === "tap" ? ["hand", ...places] : places;
    const cards = leaving(piles.get(from), piles.get(to), number).map(({ dataset }) => dataset.card);
    return `${listed(cards)} ${top(to) ? `on ${top(to)}` : "to the marked place"}`;
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
function noteText(board) {
  const text = statusText(board);
  if (board.outcome === "playing") return text;
  return board.outcome === "won" ? "You solved it!" : `${text}. You can undo or restart.`;
}
