// The deals of a day: the results of each game, and earlier days.

import { fetchAsGuest, fetchGames, fetchJson, fetchOwn } from "./api.js";
import { calendar, dateOf, DAY_MS, daysPlayed, featured, longDate } from "./calendar.js";
import { button, fill, h, refusalText, waitText } from "./dom.js";
import { resultRow, resultsTable } from "./field.js";
import { createRace, SOLO } from "./opening.js";
import { counted, countsText, formatTime, gameTitle } from "./phrases.js";

const WEEK_MS = 7 * DAY_MS;

export class DailyPage {
  games = new Map();

  /** Without a date, the page shows the server's day. */
  async open(main, date) {
    fill(main, waitText("Loading the deals of the day…"));
    const [games, today, own] = await Promise.all([fetchGames(), fetchAsGuest("/daily"), fetchOwn()]);
    this.today = today.daily[0]?.date ?? dateOf(Date.now());
    this.date = date ?? this.today;
    const isToday = this.date === this.today;
    const fetchDay = (slug) => fetchAsGuest(`/daily/${this.date}/${slug}`);
    const days = isToday ? today.daily : await Promise.all([...games.keys()].map(fetchDay));
    document.title = `Deals for ${this.date} · Same Deal`;
    this.problem = refusalText();
    this.games = games;
    const first = featured(days);
    const sections = [first, ...days.filter((day) => day !== first)].map((day) => this.gameSection(day));
    fill(
      main,
      h("h1", {}, isToday ? "Deals of the day" : `Deals for ${longDate(this.date)}`),
      h("p", {}, introduction(days[0])),
      this.problem,
      h("div", { class: "columns daily" }, sections, this.archive(own)),
    );
  }

  gameSection(day) {
    const { game, deal, stage, players, yours } = day;
    const title = gameTitle(this.games, game);
    const open = (body) => createRace({ game, options: SOLO, ...body }, this.problem);
    const seed = deal?.slice(deal.indexOf(":") + 1);
    const [text, body] = stage === "today" ? [yours ? "Play again" : "Play", { daily: true }] : ["Play this deal", { seed }];
    const play = stage === "today" || seed ? button(text, () => open(body), { "aria-label": `${text}: ${title}` }) : null;
    const fetchMore = (skip) => fetchJson(`/daily/${day.date}/${game}?skip=${skip}`);
    const row = (result) =>
      resultRow(this.games.get(game), result, { own: isOwn(result, yours), isPublic: stage === "revealed" });
    const caption = `${title}, ${counted(players, "player")}`;
    return h("section", { class: "panel", "aria-label": title }, [
      h("div", { class: "split" }, h("h2", {}, title), play),
      yours ? h("p", { class: "counts" }, countsText(this.games.get(game), yours)) : null,
      players ? resultsTable(caption, day, row, fetchMore) : h("p", {}, "Not played yet."),
    ]);
  }

  /** Links to the days around this one. */
  archive(own) {
    const newest = Math.min(Date.parse(this.today), Date.parse(this.date) + WEEK_MS);
    const days = calendar(dateOf(newest), { played: daysPlayed(own?.races ?? []), shown: this.date });
    const today = this.date === this.today ? null : h("p", {}, h("a", { href: "/daily" }, "Today’s deals"));
    return h("section", { class: "panel", "aria-label": "Earlier days" }, h("h2", {}, "Earlier days"), days, today);
  }
}

/** Whether a result is that of the user. Others do not see the ids of unlisted races. */
const isOwn = (result, yours) =>
  yours && ["place", "name", "ms", "home"].every((key) => result[key] === yours[key]) && [null, yours.race].includes(result.race);

function introduction(day) {
  const rule = "One deal per game, the same for everyone. Your first race on it counts.";
  if (!day || day.stage === "revealed") return "One deal per game, the same for everyone.";
  return `${rule} Deals and replays become public on ${formatTime(day.reveals_at)}.`;
}
