// The page of a race: one's line to it, and which arrangement stands: the invitation, the lobby, the table, the end.

import { api, gamesBySlug, Problem } from "./api.js";
import { button, facts, fill, h, notice, say } from "./dom.js";
import { EndPage } from "./end.js";
import { invitation, LobbyPage } from "./lobby.js";
import { guest } from "./memory.js";
import { PlayPage } from "./play.js";
import { Session } from "./session.js";
import { clock, namesOf, ordinal } from "./words.js";

const TICK_MS = 200;
const OVERTAKE_MS = 5000;
const LINES = { up: "connected", lost: "reconnecting", connecting: "connecting", replaced: "elsewhere", ended: "over" };
const ARRANGEMENTS = { open: LobbyPage, countdown: PlayPage, running: PlayPage, over: EndPage, cancelled: EndPage };

export class RacePage {
  constructor(race, { watch = false } = {}) {
    this.race = race;
    this.watching = watch;
    this.arrangement = null; // what stands in the page, once there is a view
    this.busy = new Set();
  }

  async open(main) {
    this.main = main;
    fill(main, h("p", { class: "wait" }, "Looking for the race…"));
    const view = await api(`/races/${this.race}`);
    const games = await gamesBySlug();
    this.header = view.header;
    this.game = games.get(view.header.game);
    const { rules } = view.header;
    if (!this.game) throw new Problem(426, "unsupported-version", `This race needs ${rules}, which is unknown here.`);
    document.title = `${this.game.title} · ${this.race} · Same Deal`;
    this.clock = h("time", { class: "clock" });
    this.dot = h("span", { class: "dot" });
    facts(
      h("span", { class: "what" }, this.game.title, h("span", { class: "id" }, ` · ${this.race}`)),
      this.clock,
      this.dot,
    );
    setInterval(() => this.tick(), TICK_MS);
    document.addEventListener("keydown", (event) => this.typed(event));
    document.addEventListener("likings", () => this.session?.view && this.arrangement?.update(this.session.view));
    if (this.watching) this.start({ watch: true });
    else if (guest() && (this.wasIn || view.stage !== "open")) this.start();
    else if (view.stage !== "open") this.start({ watch: true });
    else this.invite(view.standings ?? []);
  }

  /** Whether this window has had a seat here, so that a reload goes straight back to it. */
  get wasIn() {
    return sessionStorage.getItem(`samedeal.in.${this.race}`) !== null;
  }

  set wasIn(is) {
    if (is) sessionStorage.setItem(`samedeal.in.${this.race}`, "1");
    else sessionStorage.removeItem(`samedeal.in.${this.race}`);
  }

  start({ watch = false, name = null } = {}) {
    this.session?.close();
    this.arrangement = null;
    this.known = null;
    this.session = new Session(this.race, { watch, name, changed: () => this.changed() });
  }

  invite(standings) {
    const sit = (name) => this.start({ name: name === guest()?.name ? null : name });
    fill(this.main, invitation(this, standings, { sit, watch: () => this.start({ watch: true }) }));
    document.getElementById("name").focus();
  }

  // Whatever has changed.

  changed() {
    const { session } = this;
    const { view } = session;
    if (session.problem && !view) return this.turnedAway(session.problem);
    if (!view) return fill(this.main, h("p", { class: "wait" }, session.reason || "Connecting…"));
    this.header = session.header ?? this.header;
    if (!session.watch && !session.over) this.wasIn = true;
    this.news();
    const Arrangement = ARRANGEMENTS[view.stage];
    if (!Arrangement) return this.outdated(`This race is at the stage “${view.stage}”, which this page does not know.`);
    if (!(this.arrangement instanceof Arrangement)) {
      this.arrangement = new Arrangement(this);
      fill(this.main, this.arrangement.element);
    }
    this.dot.className = `dot ${session.line}`;
    this.dot.textContent = LINES[session.line];
    this.arrangement.update(view);
    this.tick();
    return undefined;
  }

  /** The server is newer than this page. */
  outdated(why) {
    const reload = button("Reload", () => location.reload(), { class: "first" });
    return fill(this.main, notice("Reload this page", why, reload));
  }

  /** No seat: where there is a race to look on at, one looks on. */
  turnedAway(problem) {
    this.wasIn = false;
    if (["untimely", "race-full", "race-over", "not-seated", "not-allowed"].includes(problem.code)) {
      this.start({ watch: true });
      return say(`${problem.message} You look on.`);
    }
    const front = h("a", { class: "button", href: "/" }, "To the front page");
    const watch = button("Look on instead", () => this.start({ watch: true }), { class: "first" });
    return fill(this.main, notice("No seat", problem.message, watch, front));
  }

  tick() {
    const { session } = this;
    if (!session?.view) return;
    const left = session.leftMs;
    this.clock.textContent = left === null ? "" : clock(left, left < 60_000);
    this.clock.classList.toggle("late", left !== null && left < 30_000 && session.view.stage === "running");
    this.arrangement?.tick?.(left);
  }

  typed(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA|SUMMARY)$/.test(event.target.tagName);
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    this.arrangement?.typed?.(event);
  }

  /** Does something once at a time; what the server has against it is said. */
  async act(name, deed) {
    if (this.busy.has(name)) return;
    this.busy.add(name);
    try {
      await deed();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(error.message);
      this.arrangement?.refused?.(error.message);
    } finally {
      this.busy.delete(name);
    }
  }

  // What is said aloud: one thing at a time; of rivals only that they come, stop, or pass.

  news() {
    const { standings, view } = this.session;
    const names = namesOf(standings);
    for (const one of standings) {
      const before = this.known?.get(one.seat);
      const name = names.get(one.seat);
      if (one.seat === view.seat || !this.known) continue;
      if (!before) say(`${name} is here`);
      else if (one.outcome === "ready" && before.outcome !== "ready") say(`${name} is ready`);
      else if (one.outcome === "won" && before.outcome !== "won") say(`${name} has won in ${clock(one.ms)}`);
      else if (one.outcome === "scratched" && !before.done) say(`${name} is scratched: the nonce did not come`);
      else if (one.done && !before.done) say(`${name} has stopped, ${one.home} of ${one.goal} home`);
    }
    const [was, now] = [this.known?.get(view.seat), this.session.mine];
    const quiet = performance.now() - (this.placedAt ?? -OVERTAKE_MS) > OVERTAKE_MS;
    if (was && now && was.place !== now.place && view.stage === "running" && quiet) {
      this.placedAt = performance.now();
      say(`you are ${ordinal(now.place)} of ${standings.length}`);
    }
    this.known = new Map(standings.map((one) => [one.seat, one]));
  }
}
