// The deals of a day: the results of each game, and earlier days.

import { attempt, fetchAsGuest, fetchGames, fetchJson } from "./api.js";
import { button, fill, h, list, nameText, refusalText, table, tableRow, tag, waitText } from "./dom.js";
import { createRace, SOLO } from "./opening.js";
import { achieved, counted, countsText, finishText, formatTime, gameTitle } from "./phrases.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const ARCHIVE_DAYS = 14;

const dateOf = (ms) => new Date(ms).toISOString().slice(0, 10);
const longDate = (date) =>
  new Date(date).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

export class DailyPage {
  games = new Map();

  /** Without a date, the page shows the server's day. */
  async open(main, date) {
    fill(main, waitText("Loading the deals of the day…"));
    const [games, today] = await Promise.all([fetchGames(), fetchAsGuest("/daily")]);
    this.today = today.daily[0]?.date ?? dateOf(Date.now());
    this.date = date ?? this.today;
    const isToday = this.date === this.today;
    const fetchDay = (slug) => fetchAsGuest(`/daily/${this.date}/${slug}`);
    const days = isToday ? today.daily : await Promise.all([...games.keys()].map(fetchDay));
    document.title = `Deals of ${this.date} · Same Deal`;
    this.problem = refusalText();
    this.games = games;
    fill(
      main,
      h("h1", {}, isToday ? "Deals of the day" : `Deals of ${longDate(this.date)}`),
      h("p", {}, introduction(days[0])),
      this.problem,
      h("div", { class: "columns daily" }, days.map((day) => this.gameSection(day)), this.archive()),
    );
  }

  gameSection(day) {
    const { game, deal, stage, players, results, yours } = day;
    const title = gameTitle(this.games, game);
    const open = (body) => createRace({ game, options: SOLO, ...body }, this.problem);
    const seed = deal?.slice(deal.indexOf(":") + 1);
    const [text, body] = stage === "today" ? [yours ? "Play again" : "Play", { daily: true }] : ["Play this deal", { seed }];
    const play = stage === "today" || seed ? button(text, () => open(body), { "aria-label": `${text}: ${title}` }) : null;
    const rows = h("tbody", {}, results.map((result) => this.resultRow(result, day)));
    const more = button("More results", () => this.showMore(day, rows, more));
    more.hidden = day.next === null;
    const caption = h("caption", { class: "sr" }, `${title}, ${counted(players, "player")}`);
    const played = table({ class: "results" }, caption, ["Place", "Player", "Cards", "Result"], rows);
    return h("section", { "aria-label": title }, [
      h("div", { class: "split" }, h("h2", {}, title), play),
      yours ? h("p", { class: "counts" }, countsText(this.games.get(game), yours)) : null,
      players ? played : h("p", {}, "Nobody has played it."),
      more,
    ]);
  }

  async showMore(day, rows, more) {
    const path = `/daily/${day.date}/${day.game}?skip=${day.next}`;
    const later = await attempt(() => fetchJson(path), ({ message }) => fill(this.problem, message));
    if (!later) return;
    day.next = later.next;
    more.hidden = later.next === null;
    rows.append(...later.results.map((result) => this.resultRow(result, day)));
  }

  resultRow(result, { game, stage, yours }) {
    const { place, name, bot, race } = result;
    const sameResult = yours && ["place", "name", "ms", "home"].every((key) => result[key] === yours[key]);
    const own = sameResult && (race === null || race === yours.race); // others do not see the ids of unlisted races
    const text = finishText(result);
    const end = race && stage === "revealed" ? h("a", { href: `/replay/${race}` }, text) : text;
    const player = [nameText(name), bot ? tag("bot") : null, own ? " (you)" : null];
    const cells = [`${place}.`, player, achieved(this.games.get(game), result, { short: true }), end];
    return tableRow(cells, { class: own ? "own" : false });
  }

  /** Links to the days around this one. */
  archive() {
    const shown = new Date(this.date).getTime();
    const newest = Math.min(new Date(this.today).getTime(), shown + (ARCHIVE_DAYS / 2) * DAY_MS);
    const days = Array.from({ length: ARCHIVE_DAYS }, (_, back) => dateOf(newest - back * DAY_MS));
    const link = (date) => {
      const [href, text] = date === this.today ? ["/daily", "Today"] : [`/daily/${date}`, longDate(date)];
      return h("li", {}, h("a", { href, "aria-current": date === this.date ? "page" : false }, text));
    };
    return h("nav", { "aria-label": "Archive" }, h("h2", {}, "Archive"), list(days.map(link)));
  }
}

function introduction(day) {
  const rule = "One deal per game, the same for everyone. Your first race on it counts.";
  if (!day || day.stage === "revealed") return rule;
  return `${rule} Deals and replays open on ${formatTime(day.reveals_at)}.`;
}
