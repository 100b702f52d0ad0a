// The page of a race: waiting, counting down, racing, looking on, and how it ended.

import { api, asked, gamesBySlug, Problem } from "./api.js";
import { button, copy, facts, fill, h, say } from "./dom.js";
import { guest, like, likings } from "./memory.js";
import { podium, rail, strip } from "./rail.js";
import { Session } from "./session.js";
import { Table } from "./table.js";
import { changeSentence, clock, namesOf, ordinal } from "./words.js";

const TICK_MS = 200;
const OVERTAKE_MS = 5000;

export class RacePage {
  constructor(race, { watch = false } = {}) {
    this.race = race;
    this.watching = watch;
    this.shown = null; // which arrangement of the page stands
    this.busy = new Set();
    this.optimistic = 0;
  }

  async open(main) {
    this.main = main;
    fill(main, h("p", { class: "wait" }, "Looking for the race…"));
    const view = await api(`/races/${this.race}`);
    this.games = await gamesBySlug();
    this.game = this.games.get(view.header.game);
    this.header = view.header;
    this.preview = view;
    document.title = `${this.game.title} · ${this.race} · Same Deal`;
    this.timer = setInterval(() => this.tick(), TICK_MS);
    this.keys = (event) => this.typed(event);
    document.addEventListener("keydown", this.keys);
    if (this.watching || (view.stage !== "open" && !guest())) this.start(true);
    else if (guest() && this.wasHere()) this.start(false);
    else this.invite();
  }

  close() {
    clearInterval(this.timer);
    document.removeEventListener("keydown", this.keys);
    this.session?.close();
    facts();
  }

  wasHere() {
    return sessionStorage.getItem(`samedeal.in.${this.race}`) !== null || this.preview.stage !== "open";
  }

  start(watch, name = null) {
    if (!watch) sessionStorage.setItem(`samedeal.in.${this.race}`, "1");
    this.session = new Session(this.race, { watch, name, changed: () => this.changed() });
  }

  // Before one is in: a name and a seat.

  invite() {
    this.shown = "invite";
    const name = h("input", {
      id: "name",
      name: "name",
      value: guest()?.name ?? "",
      maxlength: "24",
      required: true,
      autocomplete: "nickname",
      enterkeyhint: "go",
      placeholder: "what the others see",
    });
    const form = h(
      "form",
      {
        class: "card-form",
        onsubmit: (event) => {
          event.preventDefault();
          this.start(false, name.value.trim() === guest()?.name ? null : name.value.trim());
        },
      },
      h("h1", {}, this.game.title),
      h("p", {}, `You are invited to race ${this.race}: everybody gets the same cards. ${this.seated(this.preview)}`),
      h("label", { for: "name" }, "Your name"),
      name,
      h(
        "div",
        { class: "row" },
        h("button", { class: "first" }, "Take a seat"),
        button("Look on", () => this.start(true)),
      ),
    );
    fill(this.main, form, this.terms());
    name.focus();
  }

  seated(view) {
    const seats = (view.standings ?? []).length;
    return `${seats} of ${this.header.options.max_racers ?? 8} seats are taken.`;
  }

  terms() {
    const { options, seed, daily, variant } = this.header;
    const deal = seed !== undefined ? `open: ${this.game.slug}:${seed}` : daily ? "the deal of the day" : "sealed: nobody can know or choose it";
    const rows = [
      ["Deal", deal],
      ["Time limit", clock(options.limit_ms, false)],
      ["Counts", `cards home, of ${this.game.goal}; winners by time`],
      ["Undo", options.undo === false ? "no" : "yes, but never a card that was turned up"],
      ["Attempts", options.attempts ? String(options.attempts) : "as many as you like, the clock runs on"],
      ["Onlookers", { after: "see nothing before the end", open: "see tables" }[options.spectators] ?? "see counts only"],
      ...Object.entries(variant ?? {}).map(([name, value]) => [name, value === true ? "on" : value === false ? "off" : value]),
    ];
    return h(
      "section",
      { class: "terms", "aria-label": "This race" },
      h("dl", {}, rows.map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)])),
      h("p", { class: "seal" }, "Sealed with ", h("code", {}, this.header.commitment)),
      h("p", {}, h("a", { href: `/rules/${this.game.slug}` }, `The rules of ${this.game.title}`)),
    );
  }

  // Whatever has changed.

  changed() {
    const { session } = this;
    if (session.problem && !session.view) return this.turnedAway(session.problem);
    if (!session.view) return fill(this.main, h("p", { class: "wait" }, session.reason || "Connecting…"));
    this.header = session.header ?? this.header;
    const stage = session.view.stage;
    const arrangement = stage === "over" || stage === "cancelled" ? "end" : stage === "open" ? "lobby" : "race";
    if (this.shown !== arrangement) {
      this.shown = arrangement;
      if (arrangement === "lobby") this.lobby();
      else if (arrangement === "race") this.table();
      else this.end();
    }
    this.news();
    this.head();
    this.update(stage);
    return undefined;
  }

  turnedAway(problem) {
    sessionStorage.removeItem(`samedeal.in.${this.race}`);
    const ways = [
      button("Look on instead", () => this.start(true), { class: "first" }),
      h("a", { class: "button", href: "/" }, "To the front page"),
    ];
    fill(this.main, h("div", { class: "card-form" }, h("h1", {}, "No seat"), h("p", {}, problem.message), h("div", { class: "row" }, ways)));
  }

  head() {
    const { session } = this;
    const words = { up: "connected", lost: "reconnecting", connecting: "connecting", replaced: "elsewhere", ended: "over" };
    this.dot = h("span", { class: `dot ${session.line}` }, words[session.line]);
    this.clock = h("time", { class: "clock" });
    facts(h("span", { class: "what" }, `${this.game.title} · ${this.race}`), this.clock, this.dot);
    this.tick();
  }

  tick() {
    const { session } = this;
    if (!session?.view || !this.clock) return;
    const left = session.leftMs;
    this.clock.textContent = left === null ? "" : clock(left, left < 60_000);
    this.clock.classList.toggle("late", left !== null && left < 30_000 && session.view.stage === "running");
    if (session.view.stage === "countdown") {
      const seconds = Math.ceil(left / 1000);
      document.title = `${seconds}… ${this.game.title} · Same Deal`;
      if (this.countdown) this.countdown.textContent = seconds > 0 ? String(seconds) : "go";
      if (seconds !== this.said && seconds > 0 && seconds <= 5) say(String((this.said = seconds)));
    }
  }

  // The room before the race.

  lobby() {
    const link = `${location.origin}/r/${this.race}`;
    this.people = h("div", {});
    this.readiness = h("div", { class: "row" });
    fill(
      this.main,
      h(
        "div",
        { class: "lobby" },
        h("h1", {}, this.game.title),
        h("section", { "aria-label": "Invite" }, h("p", {}, "Send this link round:"), h("div", { class: "row" }, h("input", { class: "link", readonly: true, value: link, "aria-label": "Invite link", onfocus: (event) => event.target.select() }), button("Copy", () => copy(link, "the link is copied")), navigator.share ? button("Share", () => navigator.share({ title: "Same Deal", text: `Race me at ${this.game.title}`, url: link }).catch(() => {})) : null)),
        h("section", { "aria-label": "Players" }, this.people, this.readiness),
        this.terms(),
      ),
    );
  }

  // The table while the race runs.

  table() {
    const { session } = this;
    const racing = session.view.seat !== undefined && session.view.seat !== null;
    this.boardOf = null;
    this.view = new Table(this.game, {
      play: racing ? (move) => this.move(move) : null,
      label: racing ? `Your table of ${this.game.title}` : `${this.game.title}, looked on`,
    });
    this.view.cover();
    this.countdown = h("div", { class: "countdown", "aria-hidden": "true" });
    this.side = h("nav", { class: "side", "aria-label": "Standings" });
    this.banner = h("div", { class: "banner", hidden: true });
    this.note = h("p", { class: "note" });
    this.whole = button("Make this move", () => this.view.hand.whole && this.move(this.view.hand.whole.move), { class: "first", hidden: true });
    this.view.element.addEventListener("picked", ({ detail }) => (this.whole.hidden = !detail.whole));
    this.undo = button("Undo", () => this.move("undo"), { "aria-keyshortcuts": "u", class: "big" });
    this.stock = button("Draw", () => this.drawn && this.move(this.drawn), { "aria-keyshortcuts": "d", class: "big" });
    this.restart = button("Restart", () => this.sure("Begin the same deal again? The clock runs on.", () => this.move("restart")));
    this.resign = button("Resign", () => this.sure("Stop for good? Your best attempt counts.", () => this.act("resign", () => session.resign())));
    const says = [
      ["Board", () => this.sayBoard()],
      ["Last", () => say(this.last ?? "nothing has happened yet")],
      ["Clock", () => say(session.leftMs === null ? "the clock does not run" : `${clock(session.leftMs, false)} left`)],
      ["Standings", () => say(this.sayStandings())],
    ];
    const keys = racing
      ? h("div", { class: "keys" }, this.undo, this.stock, this.whole, this.restart, this.resign)
      : h("div", { class: "keys" }, session.view.stage === "open" ? null : h("span", {}, "You look on."));
    fill(
      this.main,
      h(
        "div",
        { class: "race" },
        this.banner,
        h("div", { class: "field" }, this.view.element, this.countdown),
        this.side,
        h("div", { class: "under" }, this.note, keys, h("details", { class: "more" }, h("summary", {}, "More"), h("div", { class: "row" }, says.map(([name, act]) => button(`Say ${name.toLowerCase()}`, act)), this.choices(), h("a", { class: "button", href: `/rules/${this.game.slug}`, target: "_blank" }, "Rules")), h("p", { class: "hint" }, "Keys: arrows, Enter to pick and drop, h home, d draw, u undo, Esc let go."))),
      ),
    );
    this.table1 = null;
  }

  choices() {
    const choice = (name, value, text) => {
      const on = () => likings()[name] === value;
      const key = button(text, () => {
        like(name, on() ? { suits: "four", rivals: true, motion: true }[name] : value);
        key.setAttribute("aria-pressed", on());
        this.update(this.session.view.stage);
      }, { "aria-pressed": on() });
      return key;
    };
    return [choice("suits", "two", "Two colours"), choice("rivals", false, "Hide rivals"), choice("motion", false, "No motion")];
  }

  update(stage) {
    const { session } = this;
    const { view } = session;
    if (this.shown === "lobby") return this.updateLobby();
    if (this.shown !== "race") return undefined;
    const racing = view.seat !== undefined && view.seat !== null;
    const boards = Object.entries(view.boards ?? {});
    let board = view.board;
    if (boards.length && (!racing || this.boardOf !== null)) {
      const seat = this.boardOf ?? Number(boards[0][0]);
      board = view.boards[seat] ?? board;
    }
    this.countdown.hidden = stage !== "countdown";
    if (stage === "running" && board && board !== this.table1) {
      if (!this.view.board && racing) say("go");
      const first = !this.view.board;
      if (!this.optimistic) this.view.show(board, { animate: !first });
      this.table1 = board;
      if (first && racing) this.view.piles.get(this.view.order[0])?.focus({ preventScroll: true });
    }
    if (stage === "running") document.title = `${board ? `${board.home}/${this.game.goal} ` : ""}${this.game.title} · Same Deal`;
    const choose = boards.length ? (seat) => { this.boardOf = seat === view.seat ? null : seat; this.table1 = null; this.update(stage); } : null;
    fill(this.side, rail(session.standings, view.seat, { choose, chosen: this.boardOf === null ? [] : [this.boardOf] }));
    if (racing && board) this.buttons(view.board);
    if (!racing && !boards.length) fill(this.note, stage === "running" ? "Tables are shown when the race is over." : "");
    this.banner.hidden = !["lost", "replaced", "connecting"].includes(session.line);
    if (session.line === "replaced") fill(this.banner, "Continued in another window. ", button("Take it back", () => session.takeBack()));
    else fill(this.banner, "Reconnecting… your clock runs, your seat is kept.");
    const scratched = session.mine?.outcome === "scratched";
    if (scratched) fill(this.note, "You are not in this race: your share of the deal did not reach the server in time.");
    return undefined;
  }

  buttons(board) {
    this.drawn = (board.moves ?? []).find((move) => /^(draw|deal|redeal)$/.test(move)) ?? null;
    const running = !this.session.mine?.done;
    this.undo.disabled = !board.undo;
    this.restart.disabled = !board.restart;
    this.resign.disabled = !running;
    const stocked = "stock" in board.table && (board.moves === undefined || board.moves !== null);
    this.stock.hidden = !stocked;
    this.stock.disabled = !this.drawn;
    if (this.drawn) this.stock.textContent = this.drawn[0].toUpperCase() + this.drawn.slice(1);
    const notes = Object.entries(board.notes ?? {}).map(([name, value]) => `${name} ${value}`);
    const end = board.outcome !== "playing" ? ` · ${board.outcome}${board.outcome === "stuck" && board.undo ? ": undo or restart" : ""}` : "";
    const said = [`home ${board.home} of ${this.game.goal}`, ...notes].join(" · ") + end;
    if (!this.refusedUntil || performance.now() > this.refusedUntil) fill(this.note, said);
  }

  updateLobby() {
    const { session } = this;
    const { view } = session;
    const mine = session.standings.find((one) => one.seat === view.seat);
    const count = session.standings.length;
    fill(this.people, count ? rail(session.standings, view.seat) : h("p", {}, "Nobody has a seat yet."));
    const keys = [];
    if (mine) {
      const ready = mine.outcome === "ready";
      keys.push(button(ready ? "Not ready after all" : "I am ready", () => this.act("ready", () => session.ready(!ready)), { class: ready ? "" : "first", id: "ready" }));
      keys.push(button("Leave", () => this.act("leave", async () => { await session.leave(); sessionStorage.removeItem(`samedeal.in.${this.race}`); location.href = "/"; })));
      const waits = session.standings.filter((one) => one.outcome !== "ready").length;
      const most = this.header.options.max_racers ?? 8;
      const told = ready ? (count < 2 && most > 1 ? "It takes two to race: send the link to a friend." : `Waiting for ${waits}.`) : "The countdown begins when all are ready.";
      keys.push(h("p", {}, told));
    } else keys.push(button("Take a seat", () => { this.session.close(); this.invite(); }, { class: "first" }));
    const focused = document.activeElement?.id;
    fill(this.readiness, keys);
    if (focused) document.getElementById(focused)?.focus();
  }

  // What is done.

  async move(move) {
    const { session } = this;
    const before = session.view.board;
    this.view.element.classList.add("waiting");
    try {
      const view = await session.move(move);
      const after = view.board;
      this.last = move === "undo" ? "undo" : move === "restart" ? `attempt ${after.attempt}` : changeSentence(before.table, after.table);
      this.refusedUntil = 0;
      const end = after.outcome === "playing" ? "" : `; ${after.outcome}`;
      say(`${this.last}${after.home !== before.home ? `; home ${after.home}` : ""}${end}`);
      this.buttons(session.view.board);
    } catch (error) {
      this.refused(error);
    } finally {
      this.view.element.classList.remove("waiting");
    }
  }

  async act(name, deed) {
    if (this.busy.has(name)) return;
    this.busy.add(name);
    try {
      await deed();
    } catch (error) {
      this.refused(error);
    } finally {
      this.busy.delete(name);
    }
  }

  refused(error) {
    if (!(error instanceof Problem)) throw error;
    say(error.message);
    if (this.note) {
      fill(this.note, h("strong", { class: "refusal" }, error.message));
      this.refusedUntil = performance.now() + 6000;
      this.view?.element.animate?.([{ translate: "0" }, { translate: "4px" }, { translate: "-4px" }, { translate: "0" }], { duration: 150 });
    }
  }

  sure(question, deed) {
    const dialog = h("dialog", { class: "sure" }, h("p", {}, question), h("form", { method: "dialog", class: "row" }, h("button", { value: "no", autofocus: true }, "No"), h("button", { value: "yes", class: "first" }, "Yes")));
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "yes") deed();
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  }

  typed(event) {
    if (this.shown !== "race" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "u" && this.undo && !this.undo.disabled) this.move("undo");
    else if (event.key === "d" && this.drawn && this.stock && !this.stock.disabled) this.move(this.drawn);
    else if (event.key === "Enter" && this.view?.hand.whole && event.target === document.body) this.move(this.view.hand.whole.move);
    else if (event.key === "Escape") this.view?.release();
  }

  // What is said aloud: one thing at a time, rivals only when they pass, or stop.

  news() {
    const { session } = this;
    const known = this.known ?? new Map();
    const names = namesOf(session.standings);
    const mine = session.view.seat;
    for (const one of session.standings) {
      const before = known.get(one.seat);
      const name = names.get(one.seat);
      if (one.seat === mine || !before) {
        if (!before && this.known && one.seat !== mine) say(`${name} is here`);
        continue;
      }
      if (one.outcome !== before.outcome && one.outcome === "ready") say(`${name} is ready`);
      else if (one.outcome === "won" && before.outcome !== "won") say(`${name} has won in ${clock(one.ms)}`);
      else if (one.done && !before.done) say(`${name} has stopped, ${one.home} of ${one.goal} home`);
    }
    const [was, now] = [known.get(mine), session.standings.find((one) => one.seat === mine)];
    if (was && now && was.place !== now.place && session.view.stage === "running" && performance.now() - (this.placed ?? -OVERTAKE_MS) > OVERTAKE_MS) {
      this.placed = performance.now();
      say(`you are ${ordinal(now.place)} of ${session.standings.length}`);
    }
    this.known = new Map(session.standings.map((one) => [one.seat, one]));
  }

  sayBoard() {
    if (!this.view.board) return say("The cards are not dealt yet.");
    return say(this.view.order.map((place) => this.view.piles.get(place).getAttribute("aria-label")).join("; "));
  }

  sayStandings() {
    const names = namesOf(this.session.standings);
    return this.session.standings.map((one) => `${one.place}, ${names.get(one.seat)}, ${one.home} of ${one.goal}`).join("; ");
  }

  // The end.

  async end() {
    const { session } = this;
    const { view } = session;
    const cancelled = view.stage === "cancelled";
    document.title = `${cancelled ? "Called off" : "Over"} · ${this.game.title} · Same Deal`;
    sessionStorage.removeItem(`samedeal.in.${this.race}`);
    if (cancelled) {
      return fill(this.main, h("div", { class: "card-form" }, h("h1", {}, "The race was called off"), h("p", {}, "Nobody was dealt to."), h("a", { class: "button first", href: "/" }, "To the front page")));
    }
    const mine = session.standings.find((one) => one.seat === view.seat) ?? null;
    const places = session.standings.length;
    const headline = mine ? (mine.outcome === "won" ? `Won in ${clock(mine.ms)}: ${ordinal(mine.place)} of ${places}` : `${ordinal(mine.place)} of ${places}, ${mine.home} of ${mine.goal} home`) : "The race is over";
    const checks = h("section", { class: "checks", "aria-label": "Verification" }, h("p", {}, "Checking the race…"));
    const par = h("section", { class: "par", "aria-label": "What the computer makes of this deal" });
    const differed = h("p", { class: "differed" });
    const share = mine ? `Same Deal ${this.race} · ${this.game.title} ${mine.home}/${mine.goal} ${clock(mine.ms)} · ${ordinal(mine.place)} of ${places}` : `Same Deal ${this.race} · ${this.game.title}`;
    fill(
      this.main,
      h(
        "div",
        { class: "end" },
        h("h1", {}, headline),
        podium(session.standings, view.seat),
        h("div", { class: "row" }, h("a", { class: "button first", href: `/replay/${this.race}` }, "Replay"), button("Rematch", () => this.act("rematch", () => this.rematch())), button("Copy the result", () => copy(share, "the result is copied")), h("a", { class: "button", href: "/" }, "Front page")),
        differed,
        h("div", { class: "columns" }, h("section", { "aria-label": "Standings" }, h("h2", {}, "Standings"), rail(session.standings, view.seat)), h("div", {}, h("h2", {}, "Is it true?"), checks)),
        par,
      ),
    );
    say(headline);
    this.check(checks, differed, mine);
    this.fetchPar(par, mine);
    return undefined;
  }

  async check(checks, differed, mine) {
    try {
      const replay = await this.patiently(() => fetchText(`/api/v1/replays/${this.race}.json`));
      const facts = await api("/verify", { body: replay });
      const entries = JSON.parse(replay).entries;
      const receipts = [...this.session.receipts].filter(([n]) => n > 0 && n <= entries.length);
      const wrong = receipts.find(([n, digest]) => entries[n - 1][3] !== digest);
      fill(checks, factsList(facts, receipts.length, wrong));
      if (mine) differed.textContent = differs(await api(`/replays/${this.race}/steps`), mine.seat);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      fill(checks, h("p", {}, error.message));
    }
  }

  async fetchPar(section, mine) {
    try {
      for (let tries = 0; tries < 300; tries++) {
        const { status, data } = await asked(`/races/${this.race}/par`);
        if (status === 200) return fill(section, parOf(data, mine, this.game));
        const { done, of } = data;
        fill(section, h("h2", {}, "Par"), h("p", {}, "The computer plays this deal: ", h("progress", { max: of, value: done, "aria-label": "plays of the computer" }), ` ${done} of ${of}`));
        await new Promise((resolve) => setTimeout(resolve, 700));
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      fill(section);
    }
    return undefined;
  }

  /** The replay is put away a moment after the end. */
  async patiently(deed) {
    for (let tries = 0; ; tries++) {
      try {
        return await deed();
      } catch (error) {
        if (tries > 20 || error.code === "replay-sealed") throw error;
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  }

  async rematch() {
    const { header } = this;
    const wish = header.daily ? { game: header.game, options: { max_racers: header.options.max_racers ?? 8 } } : { game: header.game, variant: header.variant ?? {}, options: header.options };
    const opened = await api("/races", { body: wish });
    const link = `${location.origin}/r/${opened.race}`;
    await copy(link, "the link to the rematch is copied: send it round");
    location.href = link;
  }
}

async function fetchText(path) {
  const response = await fetch(path);
  if (response.ok) return response.text();
  const problem = await response.json().catch(() => ({}));
  throw new Problem(response.status, problem.code ?? "", problem.detail ?? "The replay is not there.");
}

/** Each fact with a tick. */
export function factsList({ ok, facts: found }, receipts = 0, wrong = undefined) {
  const rows = found.map((fact) => [fact.holds, fact.name, fact.entry ? `entry ${fact.entry}: ${fact.note}` : fact.note]);
  if (receipts) rows.push([!wrong, "receipts", wrong ? `entry ${wrong[0]} is not what you were told` : `${receipts} digests that you were told agree`]);
  const good = ok && !wrong;
  return [
    h("p", { class: good ? "verdict good" : "verdict bad" }, good ? "✔ Verified: every move, the deal and the standings." : "✘ Not verified."),
    h("details", { open: !good }, h("summary", {}, "Each fact"), h("ul", { class: "facts" }, rows.map(([holds, name, note]) => h("li", { class: holds ? "good" : "bad" }, h("b", {}, `${holds ? "✔" : "✘"} ${name}`), ` ${note}`)))),
  ];
}

/** Where one's way first parted from that of the best other racer. */
function differs(steps, seat) {
  const own = steps.racers.find((racer) => racer.seat === seat);
  const other = steps.racers.find((racer) => racer.seat !== seat);
  if (!own || !other) return "";
  const at = own.steps.findIndex((step, index) => other.steps[index]?.move !== step.move);
  const which = at < 0 ? own.steps.length : at;
  if (!own.steps[which] || !other.steps[which]) return `You and ${other.name} played the same ${which} moves from the start.`;
  return `The same deal: you and ${other.name} first differed at move ${which + 1}, where you played ${own.steps[which].move} and ${other.name} ${other.steps[which].move}.`;
}

/** Par in words and squares. */
export function parOf(par, mine, game) {
  const placing = mine && (par.racers ?? par.placings ?? []).find((one) => one.seat === mine.seat);
  const share = (part) => `${Math.round(100 * part)} %`;
  return [
    h("h2", {}, "Par"),
    h("p", {}, `The computer played this deal ${par.plays} times: median ${par.median}, mean ${Math.round(10 * par.mean) / 10}, from ${par.minimum} to ${par.maximum}; it won ${par.solved}.`),
    placing ? h("p", {}, `You did better than ${share(placing.worse)} of its plays, as well as ${share(placing.equal)}, worse than ${share(placing.better)}.`) : null,
    placing ? strip(placing.squares) : null,
  ];
}
