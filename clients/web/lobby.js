// Before a race: the invitation and the lobby.

import { fetchAwaySeconds } from "./api.js";
import { notifyButton } from "./calling.js";
import { button, confirmAction, copyText, fill, form, h, nameField, nameText, terms } from "./dom.js";
import { GRADES, SPECTATORS, capitalized, displayNames, formatClock, optionText } from "./phrases.js";
import { goTo, ROOT } from "./root.js";
import { showWatching, StandingsList } from "./standings.js";
import { dropSeat, guest } from "./storage.js";

/** A form that calls `submit(name)`. */
export const nameForm = (submit, ...content) =>
  form(({ target }) => submit(target.elements.name?.value.trim() ?? null), { class: "card-form" }, content);

/** A form that calls `join(name)` or `watch()`. It contains `name`, as for nameField. */
export function invitation({ game, header }, { standings = [], host }, { join, watch, name }) {
  const form = nameForm(
    join,
    h("h1", {}, host ? [nameText(host.name), ` invites you to ${game.title}`] : game.title),
    h("p", {}, `Everyone gets the same cards. ${standings.length} of ${maxRacers(header)} seats taken.`),
    nameField({ value: guest()?.name, ...name }),
    h("div", { class: "row" }, h("button", { class: "first" }, "Join"), button("Watch", watch)),
  );
  return [form, raceOptions({ game, header })];
}

export const maxRacers = (header) => header.options.max_racers ?? 8;

const BOTS = ["beginner", "regular", "expert"];

export function raceOptions({ game, header }) {
  const { options, seed, daily, variant } = header;
  const { undo, attempts, limit_ms: limitMs, spectators = "progress", best_of: bestOf = 1 } = options;
  const secret = daily ? "deal of the day; your first race on it counts" : "secret shuffle (provably fair)";
  const grade = GRADES[options.filter] ? `${GRADES[options.filter]}, ` : "";
  const rows = [
    ["Deal", seed === undefined ? `${grade}${secret}` : `public deal ${game.slug}:${seed}`],
    ["Time limit", formatClock(limitMs, false)],
    ["Ranking", `solving time, then ${game.counted === "left" ? "score" : "cards"}`],
    ...(bestOf > 1 ? [["Match", `best of ${bestOf}: the first to win ${(bestOf + 1) / 2} races`]] : []),
    ["Undo", undo === false ? "no" : "yes, until a card is turned"],
    ["Attempts", attempts ? String(attempts) : "unlimited; the clock keeps running"],
    ["Spectators", SPECTATORS[spectators] ?? spectators],
    ...Object.entries(variant ?? {}).map(([name, value]) => [name, optionText(value)]),
  ];
  return h("section", { class: "terms", "aria-label": "Race options" }, [
    terms(rows),
    h("details", { class: "seal" }, h("summary", {}, "Commitment"), h("code", {}, header.commitment)),
    h("p", {}, h("a", { href: `/rules/${game.slug}`, target: "_blank" }, `Rules of ${game.title}`)),
  ]);
}

export class LobbyPage {
  constructor(page) {
    this.page = page;
    this.list = new StandingsList(page.game, { action: (seat) => this.removeButton(seat), symbols: page.reactions.symbols });
    this.empty = h("p", {}, "No players yet.");
    this.watching = h("p", { class: "watching", hidden: true });
    this.readyButton = button("", () => page.run("ready", () => page.connection.ready(!this.isReady)), { id: "ready" });
    this.leaveButton = button("Leave", () => page.run("leave", () => this.leave()));
    this.startButton = button("Start now", () => page.run("start", () => page.connection.startNow()));
    const addBot = (level) => page.run("add-bot", () => page.connection.addBot(level));
    this.botButtons = BOTS.map((level) => button(capitalized(level), () => addBot(level)));
    const title = h("span", { id: "add-bot" }, "Add a bot:");
    this.addBot = h("div", { class: "row", role: "group", "aria-labelledby": "add-bot" }, title, this.botButtons);
    this.joinButton = button("Join", () => this.join(), { class: "first" });
    this.note = h("p", { class: "note" });
    this.readyClock = h("p", { class: "ready-clock", role: "timer" });
    this.holdTime = "a short time";
    fetchAwaySeconds().then((seconds) => (this.holdTime = seconds === null ? this.holdTime : `${seconds} s`));
    this.hostLine = h("p", {});
    this.notify = h("div", {}, notifyButton());
    const { game, raceId, header } = page;
    const invite = maxRacers(header) === 1 ? null : inviteSection(raceId, game.title);
    const isGuest = page.connection.view.host && !page.connection.isHost; // guests only need to get ready
    const players = h("section", { "aria-label": "Players" }, [
      this.list.element,
      this.empty,
      this.watching,
      this.addBot,
      h("div", { class: "row" }, this.readyButton, this.startButton, this.leaveButton, this.joinButton),
      this.note,
      this.readyClock,
      this.notify,
      page.reactions.element,
    ]);
    this.element = h("div", { class: "lobby" }, [
      h("h1", {}, game.title),
      this.hostLine,
      isGuest ? [players, invite] : [invite, players],
      raceOptions(page),
    ]);
  }

  update({ seat }) {
    const { standings, mine, isHost, view, watching } = this.page.connection;
    this.list.show(standings, { mine: seat });
    showWatching(this.watching, watching);
    this.empty.hidden = standings.length > 0;
    this.isReady = mine?.outcome === "ready";
    this.readyButton.textContent = this.isReady ? "Not ready" : "Ready";
    this.readyButton.classList.toggle("first", !this.isReady);
    this.readyButton.hidden = this.leaveButton.hidden = !mine;
    this.startButton.hidden = !isHost || standings.length < 2;
    this.startButton.disabled = !standings.some(({ outcome, seat: other }) => outcome === "ready" && other !== seat);
    const max = maxRacers(this.page.header);
    this.addBot.hidden = !mine || standings.length + (view.awaited ?? []).length >= max;
    const levels = new Set(standings.map(({ level }) => level));
    BOTS.forEach((level, index) => this.botButtons[index].setAttribute("aria-disabled", levels.has(level)));
    this.notify.hidden = !mine;
    this.hostLine.hidden = !view.host || isHost;
    fill(this.hostLine, view.host && [nameText(view.host.name), " is the host."]);
    this.joinButton.hidden = Boolean(mine) || standings.length >= max;
    fill(this.note, this.noteText(standings, mine));
  }

  /** Shows how long the players who are not ready have. */
  tick(left) {
    const time = `${Math.ceil(left / 1000)} s`;
    const waitsForUser = this.page.connection.mine && !this.isReady;
    const others = `The race starts in ${time}, without players who are missing or not ready.`;
    const text = waitsForUser ? `Get ready within ${time}, or the race starts without you.` : others;
    this.readyClock.textContent = left === null ? "" : text;
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
    if (!mine) return "You are watching.";
    if (!this.isReady) return "The countdown starts when everyone is ready.";
    const names = displayNames(standings);
    const waiting = standings.filter(({ outcome }) => outcome !== "ready").map(({ seat }) => names.get(seat));
    waiting.push(...(connection.view.awaited ?? []));
    if (waiting.length) return `Waiting for ${waiting.join(", ")}…`;
    const needsOthers = standings.length < 2 && maxRacers(header) > 1;
    return needsOthers ? "A race needs two players. Send the link to a friend, or add a bot." : "";
  }

  async leave() {
    await this.page.connection.leave();
    this.page.connection.close();
    dropSeat(this.page.raceId);
    goTo("/");
  }

  join() {
    const { connection } = this.page;
    connection.close();
    this.page.invite(connection.view);
  }
}

/** Sharing comes first, then the QR code for people in the same room, then the link. */
function inviteSection(raceId, title) {
  const link = `${location.origin}${ROOT}/r/${raceId}`;
  const share = () => navigator.share({ title: "Same Deal", text: `Race me at ${title}`, url: link }).catch(() => {});
  const canShare = Boolean(navigator.share);
  const copy = button("Copy link", () => copyText(link, "Link copied."), { class: canShare ? "" : "first" });
  const onfocus = (event) => event.target.select();
  const field = h("input", { class: "link", readonly: true, value: link, "aria-label": "Invitation link", onfocus });
  const src = `/api/v1/races/${raceId}/qr.svg`;
  return h("section", { class: "invite", "aria-label": "Invite friends" }, [
    h("h2", {}, "Invite friends"),
    canShare ? button("Share the link", share, { class: "first big" }) : null,
    h("img", { class: "qr", src, alt: "The link as a QR code", width: "176", height: "176" }),
    h("div", { class: "row" }, copy, field),
  ]);
}
