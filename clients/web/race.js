// The page of a race: connects, and shows the invitation, lobby, table or results.

import { ApiError, attempt, fetchAsGuest, fetchDaily, fetchGames, fetchJson, isOutdated, keepTrying, loadModule } from "./api.js";
import { Connection } from "./connection.js";
import { announce, button, fill, fillHeader, goTo, h, homeLink, notice, repeatWhileVisible, ROOT, waitText } from "./dom.js";
import { invitation, isFull, LobbyPage, maxRacers, seatsTaken } from "./lobby.js";
import { achieved, countsText, displayNames, duration, ordinal } from "./phrases.js";
import { Caller, Reactions } from "./signals.js";
import { showClock } from "./standings.js";
import { dropSeat, goToRace, guest, saveReceipts, saveSeat, seatIn } from "./storage.js";

const TICK_MS = 200;
const PLACE_NEWS_MS = 5000;
const REFRESH_MS = 5000;
const STATUS = {
  up: "connected",
  lost: "reconnecting",
  connecting: "connecting",
  replaced: "open elsewhere",
  ended: "disconnected",
};
const PANELS = { open: LobbyPage, countdown: null, running: null, over: null, cancelled: null }; // null until loaded
const WATCH_INSTEAD = ["untimely", "race-full", "race-over", "not-seated", "not-allowed"];

export class RacePage {
  connection;
  panel; // one of PANELS, once there is a view

  constructor({ watch = false } = {}) {
    this.watching = watch;
    this.soloStart = null; // a function, in a race for one
    this.hadSeat = false; // before a refusal
    this.isTrying = false; // whether the user practises before the race
    this.counting = false; // whether this is the user's first race on a deal of the day or of a challenge
    this.heatNote = ""; // what the race means for its challenge
    this.isRevealed = false; // whether the replays of the challenge are public
    this.refusal = ""; // why the user can only watch
    this.running = new Set(); // the actions in progress
    this.placeNewsAt = -PLACE_NEWS_MS; // when the user's place was last announced
    this.reactions = new Reactions(this);
    this.caller = new Caller(this);
  }

  async open(main, raceId) {
    this.raceId = raceId;
    this.main = main;
    if (!main.querySelector("h1")) fill(main, waitText("Loading the race…"));
    const [view, games] = await Promise.all([fetchJson(`/races/${this.raceId}`), fetchGames()]);
    this.header = view.header;
    this.games = games;
    this.game = games.get(view.header.game);
    const { rules } = view.header;
    if (!this.game) throw new ApiError(426, "unsupported-version", `This page does not support the rules ${rules}.`);
    if (maxRacers(this.header) === 1) ({ soloStart: this.soloStart } = await loadModule("./solo.js"));
    document.title = `${this.game.title} · ${this.raceId} · Same Deal`;
    document.querySelector("footer a")?.setAttribute("href", `${ROOT}/rules/${this.game.slug}`);
    this.evening = h("section", { class: "evening", "aria-label": "This evening", hidden: !view.header.follows });
    this.clock = h("time", { class: "clock" });
    this.dot = h("span", { class: "dot" });
    fillHeader(h("span", { class: "what" }, this.game.title), this.clock, this.dot);
    setInterval(() => this.tick(), TICK_MS);
    document.addEventListener("keydown", (event) => this.panel?.onKey?.(event));
    document.addEventListener("preferences", () => this.connection?.view && this.update());
    this.counts = h("p", { class: "counts" }, await this.firstResult());
    const { heat } = this.header;
    if (heat && maxRacers(this.header) === 1 && !seatIn(raceId) && view.stage === "open") return goTo(`/c/${heat.challenge}`);
    const asks = maxRacers(this.header) === 1 && this.counting; // before the only race that counts
    if (this.watching) this.start({ watch: true });
    else if (guest() && ((seatIn(this.raceId) && !asks) || view.stage !== "open")) this.start();
    else if (view.stage !== "open") this.start({ watch: true });
    else this.invite(view);
    repeatWhileVisible(REFRESH_MS, () => this.refreshInvitation());
  }

  /** Loads the table and the results in advance, so that invitations do not wait for them and a race ends with the
   *  version of the page that it began with. */
  loadPanels() {
    const isWaiting = () => PANELS[this.connection?.view?.stage] === null;
    const showProblem = ({ message }) => isWaiting() && fill(this.main, waitText(`${message} Trying again…`));
    const load = async (path, panels) => {
      const refused = ({ code }) => {
        this.isOutdated ||= code === "outdated";
        return {};
      };
      const module = await attempt(() => keepTrying(() => loadModule(path), showProblem), refused);
      const wasWaiting = isWaiting();
      Object.assign(PANELS, panels(module));
      if (wasWaiting || (this.isOutdated && this.connection)) this.onChange();
    };
    load("./play.js", ({ PlayPage }) => ({ countdown: PlayPage, running: PlayPage }));
    load("./results.js", ({ ResultsPage }) => ({ over: ResultsPage, cancelled: ResultsPage }));
  }

  /** Shows the score of the evening: at the start of a rematch, and after every race. */
  async loadEvening() {
    if (this.header.heat || (!this.header.follows && !this.connection.over)) return;
    const load = () => Promise.all([fetchJson(`/races/${this.raceId}/evening`), loadModule("./evening.js")]);
    const loaded = await attempt(load);
    if (!loaded) return;
    const [evening, { showEvening }] = loaded;
    showEvening(this.evening, evening, { bestOf: this.header.options.best_of, compact: true });
    this.panel?.showMatch?.(evening);
  }

  /** Returns the result that counts, in words, if the user has already raced this deal of the day; in a challenge, whether
   *  this race counts. */
  async firstResult() {
    const { heat, daily } = this.header;
    if (heat) return attempt(() => this.noteOfHeat(heat), () => "");
    if (!daily) return "";
    const { yours } = await fetchDaily(this.header, 1).catch(() => ({}));
    this.counting = yours === null; // undefined if that is not known
    return yours && yours.race !== this.raceId ? countsText(this.game, yours) : "";
  }

  async noteOfHeat({ challenge: id, deal }) {
    const [challenge, { heatNote }] = await Promise.all([fetchAsGuest(`/challenges/${id}?limit=1`), loadModule("./field.js")]);
    this.isRevealed = challenge.stage === "revealed";
    this.counting = [null, this.raceId].includes(challenge.counts[deal - 1]);
    return (this.heatNote = heatNote(challenge, this.header, this.counting));
  }

  /** Gets ready: always in a solo race; otherwise once, if `goToRace` requested it, with a bot if it did. */
  getReady() {
    const isSolo = maxRacers(this.header) === 1 && this.connection.mine?.outcome === "waiting";
    const { ready, bot } = seatIn(this.raceId) ?? {};
    if (!isSolo && !ready) return;
    saveSeat(this.raceId);
    return this.run("ready", async () => {
      if (bot) await this.connection.addBot(bot);
      await this.connection.ready();
    });
  }

  start({ watch = false, name = null, trying = false } = {}) {
    const isFirst = !this.connection;
    this.isTrying = trying;
    this.connection?.close();
    this.panel = null;
    this.previous = null;
    const onReaction = (message) => this.reactions.receive(message);
    const onChange = () => connection === this.connection && this.onChange();
    const connection = new Connection(this.raceId, { watch, name, header: this.header, onChange, onReaction });
    this.connection = connection;
    if (isFirst) this.loadPanels();
  }

  /** Asks for a name; again with a refused `name`, as for nameField. */
  invite(view, name) {
    this.invited = view;
    const join = (chosen) => this.start({ name: chosen === guest()?.name ? null : chosen }); // null: the known one
    const show = maxRacers(this.header) === 1 ? this.soloStart : invitation;
    const watch = () => this.start({ watch: true });
    const practise = () => this.start({ watch: true, trying: true });
    fill(this.main, show(this, view, { join, practise, watch, name }));
    (document.getElementById("name") ?? this.main.querySelector("button.first")).focus();
  }

  /** Keeps an invitation up to date: the seats taken, whether the race is full, and whether it has started. */
  async refreshInvitation() {
    const find = () => this.main.querySelector("form.invitation .taken");
    const view = find() && (await attempt(() => fetchJson(`/races/${this.raceId}`)));
    const taken = find(); // null once the user has joined
    if (!view || !taken) return;
    if (view.stage !== "open") return location.reload();
    if (isFull(this, view) !== isFull(this, this.invited)) this.invite(view);
    else fill(taken, seatsTaken(this, view));
  }

  onChange() {
    const { connection } = this;
    const { view } = connection;
    if (connection.error && !connection.over) return this.showRefusal(connection.error);
    if (!view) return fill(this.main, waitText(connection.reason || "Connecting…"));
    this.header = connection.header ?? this.header;
    this.checkVersion(connection.status);
    if (!connection.watch && !connection.over && !seatIn(this.raceId)) saveSeat(this.raceId); // a reload returns to it
    // Once: while servers are upgraded one by one, another version of the page can be answered again.
    if (this.isOutdated && !history.state?.reloaded && !(this.isRacing && PANELS[view.stage])) return this.reload();
    // The host has replaced the race: its players have a seat in the new one.
    const isReplaced = view.stage === "cancelled" && view.next && (!this.panel || this.panel instanceof LobbyPage);
    if (isReplaced) return this.followChange(view.next);
    if (connection.status === "replaced" && view.stage === "open") {
      const again = button("Take a seat", () => this.start(), { class: "first" });
      const why = "You have a seat in another window, or you did not get ready in time.";
      return fill(this.main, notice("Your seat was released", why, again, homeLink()));
    }
    if (view.stage === "open" && view.seat) this.getReady();
    this.announceChanges();
    const Panel = PANELS[view.stage];
    if (Panel === null) return; // until it is loaded
    if (!Panel) {
      const reason = `This page does not support races in the stage “${view.stage}”.`;
      return fill(this.main, notice("Reload this page", reason, button("Reload", () => this.reload(), { class: "first" })));
    }
    if (!(this.panel instanceof Panel)) {
      this.panel = new Panel(this);
      // The results say so themselves.
      this.counts.hidden = !this.counts.textContent || connection.over;
      const evening = ["countdown", "running", "over"].includes(view.stage) ? null : this.evening; // it is in the panel
      fill(this.main, this.counts, evening, this.panel.element);
      if (connection.over) scrollTo(0, 0);
      this.loadEvening();
    }
    this.dot.className = `dot ${connection.status}`;
    this.dot.textContent = STATUS[connection.status];
    this.update();
    this.restoreFocus();
    this.caller.update(view);
    this.tick();
  }

  /** Goes to the race with which the host has replaced this one: with a seat if the user has one here. */
  followChange({ race }) {
    const hasSeat = this.connection.mine || seatIn(this.raceId) || this.hadSeat;
    this.connection.close(); // so that nothing else leads to another page
    dropSeat(this.raceId);
    return hasSeat ? goToRace(race) : goTo(`/${this.connection.watch ? "w" : "r"}/${race}`);
  }

  /** Moves the focus to the new content if its element is gone: to the Ready button, or to the main part. */
  restoreFocus() {
    if (document.activeElement && document.activeElement !== document.body) return;
    const ready = this.main.querySelector("#ready:not([hidden])");
    (ready ?? this.main).focus({ preventScroll: true });
  }

  update() {
    if (!this.connection) return; // while a name is asked for
    this.reactions.update();
    this.panel?.update(this.connection.view);
  }

  get isRacing() {
    const { view, mine } = this.connection;
    return ["countdown", "running"].includes(view.stage) && mine !== null && !mine.done;
  }

  /** Checks after an interruption whether the server was updated. If so, the page reloads once its race is over. */
  async checkVersion(status) {
    const wasLost = this.lost;
    this.lost = status !== "up";
    if (!wasLost || this.lost || !(await isOutdated().catch(() => false))) return;
    this.isOutdated = true;
    this.onChange();
  }

  reload() {
    saveReceipts(this.raceId, this.connection.receipts);
    this.connection.close();
    history.replaceState({ reloaded: true }, "");
    location.reload();
  }

  /** The server refused a seat: watch the race if possible, but first tell players that they have lost their seat. */
  showRefusal(error) {
    this.hadSeat ||= Boolean(seatIn(this.raceId)); // the host may have replaced the race
    dropSeat(this.raceId);
    const { refusedName } = this.connection;
    if (refusedName && this.invited) {
      this.connection.close();
      this.connection = null;
      return this.invite(this.invited, { value: refusedName, refused: error.message });
    }
    const released = Boolean(this.connection.view);
    if (!released && WATCH_INSTEAD.includes(error.code)) {
      this.start({ watch: true });
      this.refusal = error.code === "not-allowed" ? `${error.message} ` : "";
      return announce(`${error.message} You are watching.`);
    }
    const watch = button("Watch", () => this.start({ watch: true }), { class: "first" });
    const refused = released ? "Your seat was released" : "Could not join";
    const title = { "bad-token": "Logged out", banned: "Connection closed" }[error.code] ?? refused;
    return fill(this.main, notice(title, error.message, watch, homeLink()));
  }

  /** Shows news in the panel where it has a place for them, and announces them. */
  tell(text) {
    if (this.panel?.flash) this.panel.flash(text, "news");
    else announce(text);
  }

  tick() {
    const { connection } = this;
    if (!connection?.view) return;
    const left = connection.leftMs;
    showClock(this.clock, connection.over ? null : left, connection.view.stage);
    this.panel?.tick?.(left);
    this.announcePlace();
    this.caller.tick(left);
  }

  /** Announces the user's place when it has changed, at most every few seconds and never an old one. */
  announcePlace() {
    const { standings, view, mine } = this.connection;
    if (view.stage !== "running" || !mine) return;
    const isNews = this.place !== undefined && mine.place !== this.place;
    if (isNews && performance.now() < this.placeNewsAt + PLACE_NEWS_MS) return;
    this.place = mine.place;
    if (!isNews) return;
    this.placeNewsAt = performance.now();
    announce(`You are ${ordinal(mine.place)} of ${standings.length}`);
  }

  /** Runs an action unless it is already running, and shows the server's refusal, if any. */
  async run(name, action) {
    if (this.running.has(name)) return;
    this.running.add(name);
    const refused = ({ message }) => {
      announce(message);
      this.panel?.showRefusal?.(message);
    };
    await attempt(action, refused).finally(() => this.running.delete(name));
  }

  /** Announces changes in the standings: arrivals, finishes, and the user's own place. */
  announceChanges() {
    const { standings, view } = this.connection;
    const names = displayNames(standings);
    for (const standing of this.previous ? standings.filter(({ seat }) => seat !== view.seat) : []) {
      const news = changeOf(standing, this.previous?.get(standing.seat), this.game);
      if (news) this.tell(`${names.get(standing.seat)} ${news}`);
    }
    this.previous = new Map(standings.map((standing) => [standing.seat, standing]));
  }
}

function changeOf(now, before, game) {
  if (!before) return "joined";
  if (now.outcome === "ready" && before.outcome !== "ready") return "is ready";
  if (now.outcome === "won" && before.outcome !== "won") return `solved the deal in ${duration(now.ms)}`;
  if (now.outcome === "scratched" && !before.done) return "is not in this race: their share of the shuffle did not arrive in time";
  return now.done && !before.done ? `stopped with ${achieved(game, now)}` : "";
}
