// The page of a finished race: its tables move by move, several on one clock, and whether it is true.

import { api, gamesBySlug } from "./api.js";
import { button, copy, facts, fill, h, notice, say } from "./dom.js";
import { showPar, showProof } from "./proof.js";
import { Rail } from "./rail.js";
import { Table } from "./table.js";
import { changeSentence, clock, namesOf, outcomeWord } from "./words.js";

const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const THINK_MS = 2000;
const LONG_MS = 15_000;
const HOLD_MS = 90;
const MOST_TABLES = 4;

export class ReplayPage {
  constructor(race) {
    this.race = race;
  }

  async open(main) {
    fill(main, h("p", { class: "wait" }, "Fetching the race…"));
    const [steps, games] = await Promise.all([api(`/replays/${this.race}/steps`), gamesBySlug()]);
    this.steps = steps;
    this.game = games.get(steps.game);
    document.title = `Replay of ${this.race} · ${this.game.title} · Same Deal`;
    this.names = namesOf(steps.standings);
    if (!steps.racers.length) {
      return fill(main, notice("Nobody raced", "This race was called off before the deal."));
    }
    this.runs = new Map(steps.racers.map((racer) => [racer.seat, positions(steps, racer)]));
    this.chosen = [steps.racers[0].seat];
    this.at = 0;
    this.speed = 4;
    this.skip = true;
    this.playing = false;
    this.draw(main);
    document.addEventListener("keydown", (event) => this.typed(event));
    window.addEventListener("hashchange", () => this.follow());
    this.follow();
    this.opened = true; // from here on the address tells the move
    await showProof(this.checks, this.race);
    const [best] = steps.racers;
    await showPar(this.parSection, this.race, best.seat, this.names.get(best.seat));
    return undefined;
  }

  draw(main) {
    facts(h("span", { class: "what" }, `${this.game.title} · ${this.race}`));
    this.tables = h("div", { class: "tables" });
    this.slider = h("input", {
      type: "range",
      class: "scrubber",
      min: "0",
      max: String(Math.max(1, this.steps.ms)),
      step: "any",
      "aria-label": "Time of the race",
      oninput: () => this.stop() || this.seek(Number(this.slider.value)),
      onkeydown: (event) => event.stopPropagation() || this.typed(event),
    });
    this.marks = h("div", { class: "marks", "aria-hidden": "true" });
    this.time = h("output", { class: "clock" });
    this.now = h("p", { class: "note" });
    this.rail = new Rail({ choose: (seat) => this.runs.has(seat) && this.choose(seat) });
    const several =
      this.runs.size > 1 ? h("p", { class: "hint" }, "Tap a racer to put the tables side by side.") : null;
    this.side = h("nav", { class: "side", "aria-label": "Racers" }, several, this.rail.element);
    this.toggle = button("Play", () => this.toggled(), { class: "first", "aria-keyshortcuts": "Space" });
    this.pace = h(
      "select",
      { "aria-label": "Speed", onchange: () => (this.speed = Number(this.pace.value)) },
      SPEEDS.map((speed) => h("option", { value: speed, selected: speed === this.speed }, `${speed}×`)),
    );
    this.skipping = h("input", {
      type: "checkbox",
      id: "skip",
      checked: true,
      onchange: () => (this.skip = this.skipping.checked),
    });
    this.checks = h("section", { class: "checks", "aria-label": "Verification" });
    this.parSection = h("section", { class: "par", "aria-label": "What the computer makes of this deal" });
    const step = (text, label, by) =>
      holdable(
        button(text, () => {}, { "aria-label": label }),
        () => this.stepped(by),
      );
    const downloads = ["json", "msgpack", "ndjson"].map((form) =>
      h("li", {}, h("a", { href: `/api/v1/replays/${this.race}.${form}`, download: `${this.race}.${form}` }, form)),
    );
    fill(
      main,
      h(
        "div",
        { class: "replay" },
        h("h1", { class: "sr" }, `Replay of ${this.race}`),
        this.tables,
        h(
          "div",
          { class: "under" },
          h("div", { class: "track" }, this.slider, this.marks),
          h(
            "div",
            { class: "row" },
            this.toggle,
            step("◀", "One move back", -1),
            step("▶", "One move on", 1),
            button("Next card home", () => this.jump(1)),
            this.time,
            this.pace,
            h("span", { class: "check" }, this.skipping, h("label", { for: "skip" }, "Skip thinking")),
          ),
          this.now,
          h(
            "details",
            { class: "more" },
            h("summary", {}, "More"),
            h(
              "div",
              { class: "row" },
              button("Copy a link to this move", () => copy(this.link(), "the link is copied")),
              h("ul", { class: "downloads", "aria-label": "Download" }, downloads),
            ),
            h(
              "p",
              { class: "hint" },
              "Keys: space plays, ← → step, ↑ ↓ card home, [ ] marks, < > speed, 0 to 9, Home and End seek.",
            ),
          ),
        ),
        this.side,
        h("div", { class: "columns" }, this.checks, this.parSection),
      ),
    );
    this.tables.addEventListener(
      "wheel",
      (event) => {
        if (event.shiftKey) {
          event.preventDefault();
          this.stepped(event.deltaY > 0 ? 1 : -1);
        }
      },
      { passive: false },
    );
    this.choose(this.chosen[0], true);
  }

  // Who is shown.

  choose(seat, only = false) {
    if (only) this.chosen = [seat];
    else if (this.chosen.includes(seat))
      this.chosen = this.chosen.length > 1 ? this.chosen.filter((one) => one !== seat) : this.chosen;
    else this.chosen = [...this.chosen, seat].slice(-MOST_TABLES);
    this.views = new Map(
      this.chosen.map((one) => [
        one,
        new Table(this.game, { label: `The table of ${this.names.get(one)}`, small: this.chosen.length > 1 }),
      ]),
    );
    fill(
      this.tables,
      this.chosen.map((one) =>
        h(
          "figure",
          {},
          h("figcaption", {}, this.names.get(one), " ", h("span", { class: "count", "data-count": one })),
          this.views.get(one).element,
        ),
      ),
    );
    this.tables.dataset.count = this.chosen.length;
    const { marks, ms } = { marks: this.markers(), ms: Math.max(1, this.steps.ms) };
    fill(
      this.marks,
      marks.map(({ at, kind, text }) => h("span", { class: kind, style: `left:${(100 * at) / ms}%`, title: text })),
    );
    this.seek(this.at);
  }

  get lead() {
    return this.runs.get(this.chosen[0]);
  }

  /** What is worth going to: cards home, long thinks, new attempts, the end of each racer shown. */
  markers() {
    const found = [];
    for (const seat of this.chosen) {
      const run = this.runs.get(seat);
      run.forEach((position, index) => {
        if (!index) return;
        const before = run[index - 1];
        if (position.ms - before.ms > LONG_MS)
          found.push({ at: before.ms, kind: "think", text: `a think of ${clock(position.ms - before.ms, false)}` });
        if (position.attempt !== before.attempt)
          found.push({ at: position.ms, kind: "again", text: `attempt ${position.attempt}` });
        if (position.home > before.home) found.push({ at: position.ms, kind: "home", text: `${position.home} home` });
        if (index === run.length - 1)
          found.push({ at: position.ms, kind: "last", text: `${this.names.get(seat)}: ${position.outcome}` });
      });
    }
    return found.sort((one, other) => one.at - other.at);
  }

  // The clock of the race.

  /** Shows a moment; of the racer in front the position of an index, as two moves may have the same time. */
  seek(ms, { aloud = false, index = null } = {}) {
    this.at = Math.max(0, Math.min(ms, this.steps.ms));
    this.index = index ?? indexAt(this.lead, this.at);
    for (const [seat, view] of this.views) {
      const run = this.runs.get(seat);
      const position = seat === this.chosen[0] ? run[this.index] : run[indexAt(run, this.at)];
      if (view.position !== position) view.show(position.board, { animate: this.playing || aloud });
      view.position = position;
      const count = this.tables.querySelector(`[data-count="${seat}"]`);
      const end = position.outcome === "playing" ? "" : ` ${outcomeWord(position.outcome)}`;
      count.textContent = `${position.home}/${this.game.goal}${end}`;
    }
    const position = this.lead[this.index];
    this.slider.value = String(this.at);
    this.slider.setAttribute("aria-valuetext", `${clock(this.at, false)}, move ${this.index}`);
    this.time.textContent = `${clock(this.at)} of ${clock(this.steps.ms, false)}`;
    const said = this.index
      ? `${this.names.get(this.chosen[0])}, move ${this.index} of ${this.lead.length - 1}: ` +
        `${position.move}, ${position.said}`
      : "The deal";
    this.now.textContent = said;
    if (aloud) say(said);
    const standings = this.steps.standings.map((one) => {
      const run = this.runs.get(one.seat);
      if (!run) return one;
      const there = run[indexAt(run, this.at)];
      return { ...one, home: there.peak, done: false, outcome: there.outcome, attempts: there.attempt, ms: there.ms };
    });
    this.rail.show(standings, { chosen: this.chosen });
    if (!this.playing && this.opened)
      history.replaceState(null, "", this.index ? `#m${this.index}` : location.pathname);
  }

  stepped(by) {
    this.stop();
    const index = Math.max(0, Math.min(this.lead.length - 1, this.index + by));
    this.seek(this.lead[index].ms, { aloud: true, index });
  }

  jump(by, kinds = ["home"]) {
    this.stop();
    const marks = this.markers().filter(({ kind }) => kinds.includes(kind));
    const next = by > 0 ? marks.find(({ at }) => at > this.at) : marks.findLast(({ at }) => at < this.at);
    this.seek(next ? next.at : by > 0 ? this.steps.ms : 0, { aloud: true });
  }

  toggled() {
    if (this.playing) return this.stop();
    if (this.at >= this.steps.ms) this.seek(0);
    this.playing = true;
    this.toggle.textContent = "Pause";
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      let at = this.at + (now - before) * this.speed;
      before = now;
      if (this.skip) {
        const moments = this.chosen.flatMap((seat) => this.runs.get(seat).map(({ ms }) => ms));
        const next = Math.min(...moments.filter((ms) => ms > this.at), this.steps.ms);
        const last = Math.max(0, ...moments.filter((ms) => ms <= this.at));
        if (this.at - last > THINK_MS && next - at > 500) at = next - 500;
      }
      this.seek(at);
      if (this.at >= this.steps.ms) this.stop();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    return undefined;
  }

  stop() {
    this.playing = false;
    this.toggle.textContent = "Play";
  }

  // Addresses, keys.

  link() {
    return `${location.origin}/replay/${this.race}#m${this.index}`;
  }

  follow() {
    const found = /^#m(\d+)$/.exec(location.hash);
    if (!found) return false;
    const index = Math.min(Number(found[1]), this.lead.length - 1);
    this.stop();
    this.seek(this.lead[index].ms, { index });
    return true;
  }

  typed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|TEXTAREA|SUMMARY)$/.test(event.target.tagName))
      return;
    if (event.key === " " && event.target.tagName === "BUTTON") return;
    const keys = {
      " ": () => this.toggled(),
      ArrowLeft: () => this.stepped(-1),
      ",": () => this.stepped(-1),
      ArrowRight: () => this.stepped(1),
      ".": () => this.stepped(1),
      ArrowUp: () => this.jump(-1),
      ArrowDown: () => this.jump(1),
      "[": () => this.jump(-1, ["think", "again", "last"]),
      "]": () => this.jump(1, ["think", "again", "last"]),
      "<": () => this.faster(-1),
      ">": () => this.faster(1),
      Home: () => this.seek(0),
      End: () => this.seek(this.steps.ms),
    };
    const act = /^\d$/.test(event.key) ? () => this.seek((this.steps.ms * Number(event.key)) / 10) : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  faster(by) {
    this.speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(this.speed) + by))];
    this.pace.value = String(this.speed);
    say(`speed ${this.speed}`);
  }
}

/** Every position of one racer, with what led to it. */
function positions(steps, racer) {
  let table = steps.table;
  let peak = 0;
  const found = [
    {
      ms: 0,
      move: "",
      said: "",
      home: 0,
      peak: 0,
      attempt: 1,
      outcome: "playing",
      board: { table, notes: steps.notes, home: 0 },
    },
  ];
  for (const step of racer.steps) {
    const before = table;
    table = { ...table, ...step.changed };
    peak = Math.max(peak, step.home);
    const said = step.move === "resign" ? "stops" : changeSentence(before, table);
    found.push({ ...step, said, peak, board: { table, notes: step.notes, home: step.home } });
  }
  return found;
}

/** The last position at or before a time. */
function indexAt(run, ms) {
  let [low, high] = [0, run.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (run[middle].ms <= ms) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A button that goes on as long as it is held. */
function holdable(element, act) {
  let timer = 0;
  const end = () => {
    clearTimeout(timer);
    clearInterval(timer);
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    act();
    timer = setTimeout(() => (timer = setInterval(act, HOLD_MS)), 4 * HOLD_MS);
  });
  for (const kind of ["pointerup", "pointerleave", "pointercancel"]) element.addEventListener(kind, end);
  element.addEventListener("click", (event) => event.detail === 0 && act());
  return element;
}
