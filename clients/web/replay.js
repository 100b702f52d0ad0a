// The replay page: several racers' tables on one clock, move by move, with verification, par and analysis. And the page of
// a winning line.

import { fetchGames, fetchJson, keepTrying } from "./api.js";
import { Boards } from "./boards.js";
import { showAnalysis, showPar } from "./computer.js";
import {
  actionOf,
  announce,
  button,
  checkbox,
  copyText,
  fill,
  fillHeader,
  goTo,
  h,
  hint,
  list,
  notice,
  playerLink,
  refusalText,
  repeatButton,
  select,
  waitText,
} from "./dom.js";
import { createRace } from "./opening.js";
import { boardResult, displayNames, formatClock, outcomeText, SEARCHING } from "./phrases.js";
import { practicePath } from "./practice.js";
import { StandingsList } from "./standings.js";
import { indexAt, lineTo, markersOf, pauseSkipped, positionsOf } from "./timeline.js";
import { showVerification } from "./verification.js";

const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const USUAL_SPEED = 4;
const MAX_TABLES = 4;
const STOPS = ["think", "again", "turn", "last"]; // the markers that a key leads to
const KEYS =
  "Keys: space plays, ← → previous and next move, [ ] markers, < > speed, 0 to 9 seek; on the slider also ↑ ↓ cards " +
  "home, Home and End.";

export class ReplayPage {
  steps;
  boards;
  list;
  names = new Map();
  positions = new Map(); // those of each racer, by seat
  turns = new Map(); // the turning points by seat, once they are known
  /** @type {number[]} the seats whose tables are shown */
  chosen = [];
  index = 0;
  ms = 0;
  playing = false;

  async open(main, raceId) {
    this.raceId = raceId;
    this.main = main;
    fill(main, waitText("Loading the replay…"));
    const [steps, games] = await Promise.all([this.fetchSteps(), fetchGames()]);
    this.steps = steps;
    this.game = games.get(steps.game);
    document.title = `${this.title} · ${this.game.title} · Same Deal`;
    this.names = displayNames(steps.standings);
    if (!steps.racers.length) return fill(main, notice("No racers", "This race was cancelled before the deal."));
    this.positions = new Map(steps.racers.map((racer) => [racer.seat, positionsOf(steps, racer)]));
    this.chosen = [steps.racers[0].seat];
    this.build(main);
    document.addEventListener("keydown", (event) => this.onKey(event));
    window.addEventListener("hashchange", () => this.openLinkedMove());
    this.openLinkedMove();
    this.opened = true; // from now on, the address includes the move
    this.showFacts();
  }

  /** The path of the replay in the API. */
  get path() {
    return `/replays/${this.raceId}`;
  }

  get title() {
    return `Replay of ${this.raceId}`;
  }

  /** @returns {string} */
  get hint() {
    return this.positions.size > 1 ? "Tap racers to compare their tables." : "";
  }

  fetchSteps() {
    return fetchJson(`${this.path}/steps`);
  }

  /** Shows what is known about the race besides its moves. */
  async showFacts() {
    const { racers } = this.steps;
    const players = await showVerification(this.checks, this.path);
    const links = racers
      .filter(({ seat }) => players.has(seat))
      .map(({ seat }) => h("li", {}, playerLink(players.get(seat), this.names.get(seat))));
    if (links.length) fill(this.players, h("h2", {}, "Players"), list(links));
    const [{ seat }] = racers;
    showPar(this.par, this.raceId, seat, this.names.get(seat));
    const analysis = await showAnalysis(this.analysis, this.raceId, { names: this.names, variant: this.steps.variant });
    this.turns = new Map(analysis?.racers.map((racer) => [racer.seat, racer]));
    if (analysis) this.showTables();
  }

  build(main) {
    fillHeader(h("span", { class: "what" }, `${this.game.title} · replay`));
    this.boards = new Boards(this.game);
    this.tables = this.boards.element;
    this.slider = h("input", {
      type: "range",
      class: "scrubber",
      min: "0",
      max: String(Math.max(1, this.steps.ms)),
      step: "any",
      "aria-label": "Race time",
      oninput: () => {
        this.stop();
        this.seek(Number(this.slider.value));
      },
    });
    this.marks = h("div", { class: "marks", "aria-hidden": "true" });
    this.note = h("p", { class: "note" });
    this.list = new StandingsList(this.game, { choose: (seat) => this.positions.has(seat) && this.choose(seat) });
    this.checks = h("section", { class: "checks", "aria-label": "Verification" });
    this.par = h("section", { class: "par", "aria-label": "The computer's results on this deal" });
    this.players = h("section", { "aria-label": "Players" });
    this.analysis = h("section", { "aria-label": "Could it be solved?" });
    const track = h("div", { class: "track" }, this.slider, this.marks);
    const content = [
      h("h1", { class: "sr" }, this.title),
      this.tables,
      h("section", { class: "player", "aria-label": "Player" }, track, this.createControls(), this.note),
      h("nav", { class: "side", "aria-label": "Racers" }, hint(this.hint), this.list.element),
      h("div", { class: "under" }, this.createOptions(), this.createDetails()),
      h("div", { class: "columns" }, this.checks, this.analysis, this.par, this.players),
    ];
    fill(main, h("div", { class: "replay" }, content));
    const onwheel = (event) => {
      if (!event.shiftKey) return;
      event.preventDefault();
      this.step(event.deltaY > 0 ? 1 : -1);
    };
    this.tables.addEventListener("wheel", onwheel, { passive: false });
    this.showTables();
  }

  createControls() {
    this.playButton = button("Play", () => this.togglePlay(), { class: "first", "aria-keyshortcuts": "Space" });
    const steps = [
      repeatButton("◀", () => this.step(-1), { "aria-label": "Previous move" }),
      repeatButton("▶", () => this.step(1), { "aria-label": "Next move" }),
    ];
    this.time = h("output", { class: "clock" });
    const speeds = SPEEDS.map((speed) => [speed, `${speed}×`]);
    this.speed = select({ "aria-label": "Speed" }, speeds, USUAL_SPEED);
    return h("div", { class: "row" }, this.playButton, steps, this.time, this.speed);
  }

  createOptions() {
    this.skip = h("input", { type: "checkbox", id: "skip", checked: true });
    return h("div", { class: "row" }, [
      button("Next card home", () => this.jump(1)),
      checkbox("Skip pauses", this.skip),
      button("Play on from here", () => this.playOn()),
      this.createLinks(),
    ]);
  }

  createLinks() {
    const problem = refusalText();
    const body = { ghosts: [this.raceId], options: { max_racers: 1, unlisted: true, start_delay_ms: 0 } };
    return [button("Race against this", () => createRace(body, problem, { ready: true })), problem];
  }

  createDetails() {
    const address = `/api/v1${this.path}`;
    const downloads = ["json", "msgpack", "ndjson"].map((format) =>
      h("li", {}, h("a", { href: `${address}.${format}`, download: `${this.raceId}.${format}` }, format)),
    );
    const copy = () => copyText(location.origin + this.linkToMove(), "Link copied.");
    return h("details", { class: "more" }, [
      h("summary", {}, "More"),
      h("div", { class: "row" }, [
        button("Copy link to this move", copy),
        h("ul", { class: "downloads", "aria-label": "Download" }, downloads),
      ]),
      h("p", {}, h("a", { href: "/verify" }, "Verify a downloaded replay")),
      hint(KEYS),
    ]);
  }

  // The tables.

  /** Adds or removes a racer's table. */
  choose(seat) {
    const others = this.chosen.filter((other) => other !== seat);
    if (!this.chosen.includes(seat)) this.chosen = [...this.chosen, seat].slice(-MAX_TABLES);
    else if (others.length) this.chosen = others;
    this.showTables();
    scrollTo(0, 0); // on phones, the racers are below the player
  }

  showTables() {
    const style = (ms) => `left:${(100 * ms) / Math.max(1, this.steps.ms)}%`;
    const marks = this.markers().map(({ ms, kind, text }) => h("span", { class: kind, style: style(ms), title: text }));
    fill(this.marks, marks);
    this.seek(this.ms);
  }

  /** The positions of the first racer shown. */
  get lead() {
    return this.positions.get(this.chosen[0]);
  }

  markers() {
    const of = (seat) => markersOf(this.positions.get(seat), this.names.get(seat), this.turns.get(seat));
    const markers = this.chosen.flatMap((seat) => of(seat).map((marker) => ({ ...marker, seat })));
    return markers.sort((one, other) => one.ms - other.ms);
  }

  // Time.

  /** Shows all tables at a point in time. `index` selects among simultaneous moves of the first racer. */
  seek(ms, { spoken = false, index = indexAt(this.lead, ms) } = {}) {
    this.ms = Math.max(0, Math.min(ms, this.steps.ms));
    this.index = index;
    const tables = this.chosen.map((seat) => this.tableOf(seat));
    this.boards.show(tables, { animate: this.playing || spoken });
    this.showTime();
    const text = this.moveText();
    this.note.textContent = text;
    if (spoken) announce(text);
    const standings = this.steps.standings.map((standing) => {
      const positions = this.positions.get(standing.seat);
      if (!positions) return standing;
      const { peak, outcome, attempt, ms: at } = positions[indexAt(positions, this.ms)];
      return { ...standing, home: peak, done: false, outcome, attempts: attempt, ms: at };
    });
    this.list.show(standings, { chosen: this.chosen });
    if (!this.playing && this.opened) history.replaceState(null, "", this.linkToMove());
  }

  /** A racer's table at this time, for Boards. */
  tableOf(seat) {
    const positions = this.positions.get(seat);
    const position = positions[seat === this.chosen[0] ? this.index : indexAt(positions, this.ms)];
    const end = position.outcome === "playing" ? "" : ` ${outcomeText(position.outcome)}`;
    const count = h("span", { class: "count" }, boardResult(this.game, position, { short: true }) + end);
    const turn = this.turns.get(seat);
    return { seat, name: this.names.get(seat), board: position.board, notes: [" ", count, turn && ` · ${turn.text}`] };
  }

  showTime() {
    this.slider.value = String(this.ms);
    this.slider.setAttribute("aria-valuetext", `${formatClock(this.ms, false)}, move ${this.index}`);
    this.time.textContent = `${formatClock(this.ms)} of ${formatClock(this.steps.ms, false)}`;
  }

  moveText() {
    if (!this.index) return "The deal";
    const { text } = this.lead[this.index];
    const [name, turn] = [this.names.get(this.chosen[0]), this.turns.get(this.chosen[0])];
    const end = turn?.step === this.index ? `. ${name} ${turn.text}.` : "";
    return `${name}, move ${this.index} of ${this.lead.length - 1}: ${text}${end}`;
  }

  step(by) {
    this.stop();
    const index = Math.max(0, Math.min(this.lead.length - 1, this.index + by));
    this.seek(this.lead[index].ms, { spoken: true, index });
  }

  /** Jumps to the next or previous marker of some kinds. */
  jump(by, kinds = ["home"]) {
    this.stop();
    const markers = this.markers().filter(({ kind }) => kinds.includes(kind));
    const next = by > 0 ? markers.find(({ ms }) => ms > this.ms) : markers.findLast(({ ms }) => ms < this.ms);
    const index = next?.seat === this.chosen[0] ? next.index : undefined;
    this.seek(next?.ms ?? (by > 0 ? this.steps.ms : 0), { spoken: true, index });
  }

  togglePlay() {
    if (this.playing) return this.stop();
    if (this.ms >= this.steps.ms) this.seek(0);
    this.playing = true;
    this.playButton.textContent = "Pause";
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      const ms = this.ms + (now - before) * Number(this.speed.value);
      before = now;
      const positions = this.chosen.flatMap((seat) => this.positions.get(seat));
      this.seek(this.skip.checked ? pauseSkipped(positions, this.ms, ms, this.steps.ms) : ms);
      if (this.ms >= this.steps.ms) this.stop();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  stop() {
    this.playing = false;
    this.playButton.textContent = "Play";
  }

  /** Opens the first table shown to play on alone. */
  playOn() {
    const { deal, variant } = this.steps;
    goTo(practicePath({ deal, variant, moves: lineTo(this.lead, this.index) }));
  }

  // Links and keys.

  /** The address of this moment: the number of the move, and the seat if it is not that of the best racer. */
  linkToMove() {
    const [seat] = this.chosen;
    const [best] = this.steps.racers;
    return location.pathname + (this.index ? `#${seat === best.seat ? "" : `s${seat}`}m${this.index}` : "");
  }

  openLinkedMove() {
    const match = /^#(?:s(\d+))?m(\d+)$/.exec(location.hash);
    if (!match) return;
    const seat = Number(match[1] ?? this.steps.racers[0].seat);
    if (seat !== this.chosen[0] && this.positions.has(seat)) {
      this.chosen = [seat];
      this.showTables();
    }
    const index = Math.min(Number(match[2]), this.lead.length - 1);
    this.stop();
    this.seek(this.lead[index].ms, { index });
  }

  onKey(event) {
    const { target } = event;
    const seek = (part) => () => this.seek(part * this.steps.ms);
    const jump = (by, kinds) => () => this.jump(by, kinds);
    const action = actionOf(event, {
      ...Object.fromEntries([...Array(10).keys()].map((digit) => [digit, seek(digit / 10)])),
      // Outside the player, these keys scroll the page.
      ...(target.closest(".player") && { Home: seek(0), End: seek(1), ArrowUp: jump(-1), ArrowDown: jump(1) }),
      ...(!target.closest("button, a") && { " ": () => this.togglePlay() }),
      ArrowLeft: () => this.step(-1),
      ",": () => this.step(-1),
      ArrowRight: () => this.step(1),
      ".": () => this.step(1),
      "[": jump(-1, STOPS),
      "]": jump(1, STOPS),
      "<": () => this.changeSpeed(-1),
      ">": () => this.changeSpeed(1),
    });
    if (!action) return;
    event.preventDefault();
    action();
  }

  changeSpeed(by) {
    const index = this.speed.selectedIndex + by;
    this.speed.selectedIndex = Math.max(0, Math.min(SPEEDS.length - 1, index));
    announce(`Speed ${this.speed.value}×`);
  }
}

/** The computer's solution of the deal of a finished race, as a replay. */
export class SolutionPage extends ReplayPage {
  get path() {
    return `/solutions/${this.raceId}`;
  }

  get title() {
    return `How to solve ${this.raceId}`;
  }

  get hint() {
    return "The computer found this solution. Unlike the racers, it knew all cards.";
  }

  fetchSteps() {
    const say = (text) => fill(this.main, waitText(text));
    const onProblem = ({ message }) => say(`${message} Trying again…`);
    return keepTrying(() => fetchJson(`${this.path}/steps`), onProblem, { onWait: () => say(SEARCHING) });
  }

  createLinks() {
    return h("a", { class: "button", href: `/replay/${this.raceId}` }, "Replay of the race");
  }

  async showFacts() {
    await showVerification(this.checks, this.path);
  }
}
