// The overlay of a race for video streams: clock, standings and visible tables on a transparent ground, no controls.

import { ApiError, attempt, fetchGames, fetchJson, fetchLines, keepTrying } from "./api.js";
import { Boards, visibleTables } from "./boards.js";
import { fill, h, sleep } from "./dom.js";
import { showClock, showWatching, StandingsList, withLevels } from "./standings.js";

const TICK_MS = 200;
const RETRY_MS = 1000;
const REFUSED_MS = 15_000;
const MAX_RACERS = 8;
const MAX_TABLES = 4;
const THEMES = ["dark", "light", "plain"];
const STATES = { open: "Waiting for racers", over: "Finished", cancelled: "Cancelled" };

export class OverlayPage {
  clock = h("time", { class: "clock" });
  more = h("p", { class: "more" });
  watching = h("p", { class: "more", hidden: true });
  view;
  list;
  boards;

  async open(main, raceId) {
    this.raceId = raceId;
    const theme = new URLSearchParams(location.search).get("theme") ?? "";
    const root = document.documentElement;
    root.classList.add("overlay", THEMES.includes(theme) ? theme : THEMES[0]);
    root.dataset.theme = theme === "light" ? "light" : "dark";
    const view = await fetchJson(`/races/${this.raceId}`);
    this.game = (await fetchGames()).get(view.header.game);
    if (!this.game) throw new ApiError(426, "unsupported-version", "This page does not support the game of this race.");
    document.title = `${this.game.title} · ${this.raceId} · Same Deal`;
    this.list = new StandingsList(this.game);
    this.boards = new Boards(this.game);
    const heading = h("h1", {}, h("span", {}, this.game.title), this.clock);
    const ranking = h("section", { class: "ranking" }, heading, this.list.element, this.more, this.watching);
    fill(main, ranking, this.boards.element);
    setInterval(() => this.tick(), TICK_MS);
    this.receive(view);
    this.follow();
  }

  /** Follows the race to its end, however often the connection is lost. */
  async follow() {
    const request = async () => {
      for await (const message of fetchLines(`/races/${this.raceId}/events`)) this.receive(message);
    };
    while (!["over", "cancelled"].includes(this.view.stage)) {
      await attempt(() => keepTrying(request, () => {}), () => sleep(REFUSED_MS));
      await sleep(RETRY_MS);
    }
  }

  /** Shows a view or progress; other messages are for newer pages. */
  receive(message) {
    const { t, watching } = message;
    if (t !== "view" && t !== "progress") return;
    if (t === "view") this.view = message;
    const standings = withLevels(message.standings ?? [], this.view);
    if (t === "view") {
      this.endsAt = message.clock_ms === undefined ? null : performance.now() + message.clock_ms;
      this.boards.show(visibleTables(message.boards ?? {}, standings).slice(0, MAX_TABLES));
      this.tick();
    }
    showWatching(this.watching, watching);
    this.list.show(standings.slice(0, MAX_RACERS));
    this.more.textContent = standings.length > MAX_RACERS ? `and ${standings.length - MAX_RACERS} more` : "";
  }

  tick() {
    const left = this.endsAt === null ? null : Math.max(0, this.endsAt - performance.now());
    showClock(this.clock, left, this.view.stage);
    if (left === null) this.clock.textContent = STATES[this.view.stage] ?? "";
  }
}
