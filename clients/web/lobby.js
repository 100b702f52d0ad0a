// Before a race: the invitation, the terms, and the lobby where one waits for the others.

import { awaySeconds } from "./api.js";
import { button, copy, fill, h } from "./dom.js";
import { guest } from "./memory.js";
import { Rail } from "./rail.js";
import { clock } from "./words.js";

/** A name and a seat: `sit(name)` or `watch()`. */
export function invitation({ race, game, header }, standings, { sit, watch }) {
  const name = h("input", {
    id: "name",
    value: guest()?.name ?? "",
    maxlength: "24",
    required: true,
    autocomplete: "nickname",
    enterkeyhint: "go",
    placeholder: "what the others see",
  });
  const sent = (event) => {
    event.preventDefault();
    sit(name.value.trim());
  };
  const alone = header.options.max_racers === 1;
  const seats = `${standings.length} of ${most(header)} seats are taken.`;
  const invited = `You are invited to race ${race}: everybody gets the same cards. ${seats}`;
  const form = h(
    "form",
    { class: "card-form", onsubmit: sent },
    h("h1", {}, game.title),
    h("p", {}, alone ? `A race of your own, ${race}, against the clock.` : invited),
    h("label", { for: "name" }, "Your name"),
    name,
    h("div", { class: "row" }, h("button", { class: "first" }, "Take a seat"), button("Look on", watch)),
  );
  return [form, terms({ game, header })];
}

const most = (header) => header.options.max_racers ?? 8;

const ONLOOKERS = { progress: "see counts only", after: "see nothing before the end", open: "see tables" };

/** What holds in this race. */
function terms({ game, header }) {
  const { options, seed, daily, variant } = header;
  const open = `open, anybody can know it: ${game.slug}:${seed}`;
  const deal = seed !== undefined ? open : daily ? "the deal of the day" : "sealed: nobody can know or choose it";
  const rows = [
    ["Deal", deal],
    ["Time limit", clock(options.limit_ms, false)],
    ["Counts", `cards home, of ${game.goal}; winners by time`],
    ["Undo", options.undo === false ? "no" : "yes, but never a card that was turned up"],
    ["Attempts", options.attempts ? String(options.attempts) : "as many as you like, the clock runs on"],
    ["Onlookers", ONLOOKERS[options.spectators ?? "progress"] ?? options.spectators],
    ...Object.entries(variant ?? {}).map(([name, value]) => [
      name,
      value === true ? "on" : value === false ? "off" : value,
    ]),
  ];
  return h(
    "section",
    { class: "terms", "aria-label": "This race" },
    h(
      "dl",
      {},
      rows.map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]),
    ),
    h("p", { class: "seal" }, "Sealed with ", h("code", {}, header.commitment)),
    h("p", {}, h("a", { href: `/rules/${game.slug}`, target: "_blank" }, `The rules of ${game.title}`)),
  );
}

export class LobbyPage {
  constructor(page) {
    this.page = page;
    this.rail = new Rail();
    this.nobody = h("p", {}, "Nobody has a seat yet.");
    this.ready = button("", () => page.act("ready", () => page.session.ready(!this.isReady)), { id: "ready" });
    this.leave = button("Leave", () => page.act("leave", () => this.left()));
    this.sit = button("Take a seat", () => this.seat(), { class: "first" });
    this.told = h("p", { class: "note" });
    this.held = "a short time";
    awaySeconds().then((seconds) => (this.held = seconds === null ? this.held : `${seconds} s`));
    const alone = most(page.header) === 1;
    this.element = h(
      "div",
      { class: "lobby" },
      h("h1", {}, page.game.title),
      alone ? null : invite(`${location.origin}/r/${page.race}`, page.game.title),
      h(
        "section",
        { "aria-label": "Players" },
        this.rail.element,
        this.nobody,
        h("div", { class: "row" }, this.ready, this.leave, this.sit),
        this.told,
      ),
      terms(page),
    );
  }

  update({ seat }) {
    const { standings, mine } = this.page.session;
    this.rail.show(standings, { mine: seat });
    this.nobody.hidden = standings.length > 0;
    this.isReady = mine?.outcome === "ready";
    this.ready.textContent = this.isReady ? "Not ready after all" : "I am ready";
    this.ready.classList.toggle("first", !this.isReady);
    this.ready.hidden = this.leave.hidden = !mine;
    this.sit.hidden = Boolean(mine) || standings.length >= most(this.page.header);
    fill(this.told, this.waiting(standings, mine));
  }

  waiting(standings, mine) {
    if (mine && this.page.session.line === "lost") return `Reconnecting… your seat is held for ${this.held}.`;
    if (!mine) return "You look on.";
    if (!this.isReady) return "The countdown begins when all are ready.";
    if (standings.length < 2 && most(this.page.header) > 1) return "It takes two to race: send the link to a friend.";
    const others = standings.filter((one) => one.outcome !== "ready").map((one) => one.name);
    return others.length ? `Waiting for ${others.join(", ")}.` : "";
  }

  async left() {
    await this.page.session.leave();
    this.page.session.close();
    this.page.wasIn = false;
    location.href = "/";
  }

  seat() {
    const { session } = this.page;
    session.close();
    this.page.invite(session.standings);
  }
}

function invite(link, title) {
  const field = h("input", {
    class: "link",
    readonly: true,
    value: link,
    "aria-label": "Invite link",
    onfocus: (event) => event.target.select(),
  });
  const share = () => navigator.share({ title: "Same Deal", text: `Race me at ${title}`, url: link }).catch(() => {});
  return h(
    "section",
    { "aria-label": "Invite" },
    h("p", {}, "Send this link round:"),
    h(
      "div",
      { class: "row" },
      field,
      button("Copy", () => copy(link, "the link is copied")),
      navigator.share ? button("Share", share) : null,
    ),
  );
}
