// Before a race: the invitation and the lobby.

import { fetchAwaySeconds, lazyDetails, loadModule } from "./api.js";
import { button, confirmAction, copyText, drawer, fill, form, goTo, h, hint, nameField, nameText, ROOT, terms } from "./dom.js";
import { GRADES, SPECTATORS, capitalized, displayNames, formatClock, headStartText, optionText, withCards } from "./phrases.js";
import { miniature } from "./practice.js";
import { notifyButton } from "./signals.js";
import { showWatching, StandingsList } from "./standings.js";
import { dropSeat, guest } from "./storage.js";

/** A form of some `kind` that calls `submit(name)`. */
export const nameForm = (submit, kind, ...content) =>
  form(({ target }) => submit(target.elements.name?.value.trim() ?? null), { class: `card-form ${kind}` }, content);

/** A form that calls `join(name)`, `practise()` or `watch()`. It contains `name`, as for nameField. */
export function invitation({ game, header, heatNote }, view, { join, practise, watch, name }) {
  const { standings = [], host } = view;
  const ahead = headStartText({ header, connection: { view, standings } });
  const full = isFull({ header }, view);
  return nameForm(
    join,
    "invitation",
    h("h1", {}, host ? [nameText(host.name), ` challenges you to ${game.title}`] : game.title),
    lesson(game),
    h("div", { class: "entry" }, [
      h("p", { class: "counts" }, heatNote),
      full ? h("p", {}, h("b", {}, "This race is full.")) : [nameField({ value: guest()?.name, ...name }), h("button", { class: "first big" }, "Take a seat")],
      h("div", { class: "row" }, button("Try it first", practise), button(full ? "Watch" : "Just watch", watch, { class: full && "first" })),
      ahead ? hint(`${ahead}.`) : null,
      raceOptions({ game, header }, h("span", { class: "taken" }, seatsTaken({ header }, view))),
    ]),
  );
}

/** A moving picture of a game, and its rules in three lines. */
export const lesson = (game) =>
  h("div", { class: "lesson" }, [
    miniature(game, { moves: true }),
    h("ol", { class: "how" }, (game.how ?? []).map((line) => h("li", {}, withCards(line)))),
  ]);

export const maxRacers = (header) => header.options.max_racers ?? 8;

/** Whether nobody else can join, and how many have. */
export const isFull = ({ header }, { standings = [] }) => standings.length >= maxRacers(header);
export const seatsTaken = ({ header }, { standings = [] }) => `${standings.length} of ${maxRacers(header)} seats taken`;

const BOTS = ["beginner", "regular", "expert"];

/** The options of a race, folded: in short, with `more` at the end, and in a list with `others` below it.
 *  @param {any} race
 *  @param {any} [more]
 *  @param {any} [others] */
export function raceOptions({ game, header }, more = "", others = null) {
  const { options, seed, daily, variant } = header;
  const { undo, attempts, limit_ms: limitMs, spectators = "progress", best_of: bestOf = 1 } = options;
  const secret = daily ? "deal of the day; your first race on it counts" : "secret shuffle (provably fair)";
  const grade = GRADES[options.filter] ? `${GRADES[options.filter]}, ` : "";
  const minutes = limitMs % 60_000 ? formatClock(limitMs, false) : `${limitMs / 60_000} min`;
  const short = [
    bestOf > 1 && `best of ${bestOf}`,
    minutes,
    undo === false ? "no undo" : "undo on",
    seed === undefined ? `${grade}${daily ? "deal of the day" : "fair shuffle"}` : "public deal",
  ];
  const rows = [
    ["Deal", seed === undefined ? `${grade}${secret}` : `public deal no. ${seed}`],
    ["Time limit", formatClock(limitMs, false)],
    ["Ranking", `solving time, then ${game.counted === "left" ? "score" : "cards"}`],
    ...(bestOf > 1 ? [["Match", `best of ${bestOf}: the first to win ${(bestOf + 1) / 2} races`]] : []),
    ...(options.end_when_stuck ? [["Early end", "10 s after everyone is stuck"]] : []),
    ["Undo", undo === false ? "no" : "yes, until a card is turned"],
    ["Attempts", attempts ? String(attempts) : "unlimited; the clock keeps running"],
    ["Spectators", SPECTATORS[spectators] ?? spectators],
    ...Object.entries(variant ?? {}).map(([name, value]) => [name, optionText(value)]),
    ["Commitment", h("code", {}, header.commitment)],
  ];
  return h("details", { class: "terms" }, [
    h("summary", {}, short.filter(Boolean).join(" · "), more && [" · ", more]),
    terms(rows),
    others,
    h("p", {}, h("a", { href: `/rules/${game.slug}`, target: "_blank" }, `Rules of ${game.title}`)),
  ]);
}

export class LobbyPage {
  /** @type {any} the PracticePage, while the user practises */
  practice = null;

  constructor(page) {
    this.page = page;
    const { game, raceId } = page;
    this.list = new StandingsList(game, { action: (seat) => this.removeButton(seat), symbols: page.reactions.symbols });
    this.watching = h("p", { class: "watching", hidden: true });
    this.readyButton = button("", () => page.run("ready", () => page.connection.ready(!this.isReady)), { id: "ready", class: "big" });
    this.leaveButton = button("Leave", () => page.run("leave", () => this.leave()));
    this.startButton = button("Start now", () => page.run("start", () => page.connection.startNow()), { class: "big" });
    this.joinButton = button("Take a seat", () => this.join(), { class: "first big" });
    const addBot = (level) => page.run("add-bot", () => page.connection.addBot(level));
    this.botButtons = BOTS.map((level) => button(capitalized(level), () => addBot(level)));
    const levels = h("div", { class: "row", role: "group", "aria-label": "Add a bot" }, this.botButtons);
    this.addBot = h("details", { class: "seat" }, h("summary", {}, "+ bot"), levels);
    this.note = h("p", { class: "note" });
    this.readyClock = h("p", { class: "ready-clock", role: "timer" });
    this.holdTime = "a short time";
    fetchAwaySeconds().then((seconds) => (this.holdTime = seconds === null ? this.holdTime : `${seconds} s`));
    this.hostLine = h("p", { class: "hint" });
    this.notify = h("span", {}, notifyButton());
    const [invite, code] = invitingButtons(`/r/${raceId}`, `/races/${raceId}`, `Race me at ${game.title}`);
    this.invite = invite;
    this.addFriend = button("+ friend", () => this.invite.click(), { class: "seat" });
    this.practiseButton = button("Practise while you wait", () => page.run("practise", () => this.practise()), { class: "back" });
    this.table = h("div");
    this.element = h("div", { class: "lobby" }, [
      h("h1", {}, game.title),
      this.hostLine,
      h("section", { "aria-label": "Players", class: "seats" }, this.list.element, this.addFriend, this.addBot),
      this.watching,
      h("div", { class: "go" }, [
        h("div", {}, this.note, this.readyClock),
        this.joinButton,
        this.readyButton,
        this.startButton,
        h("div", { class: "row share" }, this.invite, code),
        h("div", { class: "row" }, this.practiseButton, this.notify, this.leaveButton),
      ]),
      this.table,
      page.reactions.element,
      raceOptions(page, "", this.changes()),
    ]);
    if (page.isTrying) this.practiseButton.click();
  }

  update({ seat }) {
    const { standings, mine, isHost, view, watching } = this.page.connection;
    const max = maxRacers(this.page.header);
    const isFull = standings.length + (view.awaited ?? []).length >= max;
    const isAlone = standings.length < 2 && max > 1;
    this.list.show(standings, { mine: seat });
    showWatching(this.watching, watching);
    this.isReady = mine?.outcome === "ready";
    this.readyButton.textContent = this.isReady ? "Cancel ready" : "Ready";
    this.readyButton.classList.toggle("first", !this.isReady && !isAlone);
    this.readyButton.hidden = this.leaveButton.hidden = !mine;
    this.invite.classList.toggle("first", Boolean(mine) && isAlone);
    this.element.classList.toggle("alone", isAlone);
    this.startButton.hidden = !isHost || standings.length < 2;
    this.startButton.disabled = !standings.some(({ outcome, seat: other }) => outcome === "ready" && other !== seat);
    this.addFriend.hidden = isFull;
    this.addBot.hidden = !mine || isFull || Boolean(this.page.header.heat);
    const levels = new Set(standings.map(({ level }) => level));
    BOTS.forEach((level, index) => this.botButtons[index].setAttribute("aria-disabled", levels.has(level)));
    this.notify.hidden = !mine;
    const ahead = headStartText(this.page);
    const host = view.host && !isHost ? [nameText(view.host.name), " is the host. "] : "";
    fill(this.hostLine, host, ahead && `${ahead}.`);
    this.joinButton.hidden = Boolean(mine || this.page.refusal) || standings.length >= max;
    fill(this.note, this.noteText(standings, mine));
  }

  /** Shows the guided deal of the game, or hides it again. The race replaces it when it starts. */
  async practise() {
    const isStarting = !this.practice;
    this.page.isTrying = this.element.classList.toggle("practising", isStarting); // at once, so that nothing shifts later
    try {
      const { PracticePage } = await loadModule("./practice_page.js");
      const practice = isStarting ? new PracticePage() : null;
      fill(this.table);
      await practice?.openIn(this.table, this.page.game);
      this.practice = practice;
    } finally {
      this.page.isTrying = this.element.classList.toggle("practising", Boolean(this.practice));
    }
    this.page.update();
    this.practiseButton.textContent = this.practice ? "Back to the lobby" : "Practise while you wait";
  }

  onKey(event) {
    this.practice?.onKey(event);
  }

  /** Shows how long the players who are not ready have. */
  tick(left) {
    const time = `${Math.ceil(left / 1000)} s`;
    const waitsForUser = this.page.connection.mine && !this.isReady;
    const others = `The race starts in ${time}, without players who are missing or not ready.`;
    const text = waitsForUser ? `Get ready within ${time}, or the race starts without you.` : others;
    this.readyClock.textContent = left === null ? "" : text;
  }

  /** For the host, the form that changes the game and the options. */
  changes() {
    const { header, games, connection } = this.page;
    if (!connection.isHost || header.heat) return null;
    const change = (changes) => this.page.run("change", () => connection.change(changes));
    const load = async () => {
      const { CustomRace } = await loadModule("./custom_race.js");
      const players = [...displayNames(connection.standings)];
      const settings = { ahead: connection.view.head_start ?? "" };
      return new CustomRace(games, { settings, header, players, change }).element;
    };
    return lazyDetails("Change the game or the options", load);
  }

  /** A button with which the host removes a player, or null. */
  removeButton(seat) {
    const { page } = this;
    const { connection } = page;
    if (!connection.isHost || seat === connection.view.seat) return null;
    const name = displayNames(connection.standings).get(seat);
    const remove = () => page.run("remove", () => page.connection.remove(seat));
    const ask = () => confirmAction(`Remove ${name}? They cannot join this race again.`, remove, "Remove");
    return button("Remove", ask, { "aria-label": `Remove ${name}`, class: "remove" });
  }

  noteText(standings, mine) {
    const { connection, header } = this.page;
    if (mine && connection.status === "lost") return `Reconnecting… Your seat is held for ${this.holdTime}.`;
    const needsOthers = standings.length < 2 && maxRacers(header) > 1;
    if (!mine) return this.page.isTrying && standings.length ? `${standings[0].name} is waiting.` : `${this.page.refusal}You are watching.`;
    const invites = needsOthers ? `Send the link to a friend${header.heat ? "" : ", or add a bot"}.` : "";
    if (!this.isReady) return invites || "The countdown starts when everyone is ready.";
    const names = displayNames(standings);
    const waiting = standings.filter(({ outcome }) => outcome !== "ready").map(({ seat }) => names.get(seat));
    waiting.push(...(connection.view.awaited ?? []));
    return waiting.length ? `Waiting for ${waiting.join(", ")}…` : invites;
  }

  async leave() {
    await this.page.connection.leave();
    this.page.connection.close();
    dropSeat(this.page.raceId);
    goTo("/");
  }

  join() {
    const { connection } = this.page;
    if (guest()) return this.page.start();
    connection.close();
    return this.page.invite(connection.view);
  }
}

/** A button that shares a link, or copies it. */
export function shareButton(link, text) {
  const share = () => navigator.share({ title: "Same Deal", text, url: link }).catch(() => {});
  const canShare = Boolean(navigator.share);
  return button(canShare ? "Share the link" : "Copy link", canShare ? share : copyLink(link), { class: "big" });
}

const copyLink = (link) => () => copyText(link, "Link copied.");

/** A button that shares the link to a page, and a drawer with the link as a QR code for people in the same room. `resource`
 *  is what the page shows in the API. */
export function invitingButtons(page, resource, text) {
  const link = `${location.origin}${ROOT}${page}`;
  const image = { class: "qr", loading: "lazy", src: `/api/v1${resource}/qr.svg`, width: "224", height: "224" };
  const onfocus = (event) => event.target.select();
  const code = drawer("▦", "QR code", [
    h("img", { ...image, alt: "The link as a QR code" }),
    h("input", { class: "link", readonly: true, value: link, "aria-label": "Invitation link", onfocus }),
    button("Copy link", copyLink(link)),
  ]);
  return [shareButton(link, text), code];
}
