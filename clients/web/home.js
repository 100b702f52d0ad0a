// The front page: play now, race a friend, the deal of the day, the games, and open, running and finished races.

import { attempt, fetchAsGuest, fetchGames, fetchJson, fetchOwn, lazyDetails, loadModule } from "./api.js";
import { calendar, daysPlayed, featured } from "./calendar.js";
import {
  button,
  dialog,
  fill,
  form,
  goTo,
  h,
  hint,
  labelled,
  list,
  nameList,
  nameText,
  playerLink,
  refusalText,
  repeatWhileVisible,
  section,
  updateContent,
} from "./dom.js";
import { askForName, createRace, enter, foundClub, playNow, SHORT, shortRace, SOLO } from "./opening.js";
import { counted, dealsText, displayNames, formatTime, gameTitle, ordinal, resultText } from "./phrases.js";
import { guidedDeal, miniature, practicePath } from "./practice.js";
import { guest, savedChallenges, seatIn } from "./storage.js";

const REFRESH_MS = 5000;
const MAX_NAMES = 3;

export class HomePage {
  games;
  custom; // the form for a custom race, once it is opened
  lists = { open: list([]), running: list([]), results: list([]) };

  async open(main) {
    this.problem = refusalText();
    this.daily = h("section", { class: "panel today", "aria-label": "Deal of the day" });
    this.element = h("div", { class: "home" }, this.hero());
    fill(main, this.element);
    // Everything below appears at once, so that nothing shifts.
    const remembered = savedChallenges().length && attempt(async () => (await loadModule("./field.js")).challengeList());
    const clubs = guest() && attempt(() => fetchAsGuest("/clubs"));
    const [games, scores, challenges, own] = await Promise.all([fetchGames(), fetchOwn(), remembered, clubs, this.refresh()]);
    this.games = games;
    this.scores = scores;
    this.show();
    const { open, running, results } = this.lists;
    const scoresLink = guest() && h("p", {}, playerLink(guest().player, "Your races and best results"));
    this.element.append(
      this.daily,
      challenges || "",
      own?.clubs.length ? this.clubs(own.clubs) : "",
      ...this.gameLists([...games.values()]),
      h("div", { class: "columns" }, [
        h("div", {}, section("Friends", this.joinByName(), this.foundClub()), section("Open races", open), section("Running now", running)),
        section("Results", scoresLink, results),
      ]),
      this.customRace(),
    );
    repeatWhileVisible(REFRESH_MS, () => this.refresh());
  }

  hero() {
    const verify = h("a", { href: "/verify" }, "anyone can verify");
    return h("section", { class: "hero" }, [
      h("h1", {}, "Race your friends at patience on the same shuffled deck"),
      h("p", {}, "Everyone gets the same cards at the same moment, and afterwards ", verify, " who won."),
      h("div", { class: "actions" }, [
        button("Play now", () => playNow(this.problem), { class: "first big" }),
        h("p", { class: "hint" }, "Joins an open race, or starts a two-minute one against a bot."),
        button("Race a friend", () => this.raceFriend(), { class: "big" }),
        h("p", { class: "hint" }, "You get a link to a race at Golf. No account, nothing to install."),
        button("Challenge friends", this.challengeFriends, { class: "big" }),
        h("p", { class: "hint" }, "Everyone plays the same deal in their own time, before a deadline."),
        this.problem,
      ]),
    ]);
  }

  async raceFriend() {
    const games = await attempt(fetchGames, ({ message }) => fill(this.problem, message));
    if (games) createRace(shortRace(games, { unlisted: true }), this.problem);
  }

  challengeFriends = () =>
    enter(async () => {
      if (!guest()) await askForName("Next");
      const [games, { challengeForm }] = await Promise.all([fetchGames(), loadModule("./custom_race.js")]);
      this.element.querySelector("details.custom")?.removeAttribute("open"); // it has the same fields
      dialog(h("h2", {}, "Challenge friends"), challengeForm(games));
    }, this.problem);

  /** The games, the quickest ones first, those of each collection apart. */
  gameLists(games) {
    const tiles = (name) => games.filter(({ collection = "" }) => collection === name).sort(byTime).map((game) => this.tile(game));
    const title = (name) => (name ? `The ${name} collection` : "Games");
    const names = new Set(["", ...games.map(({ collection = "" }) => collection)]);
    return [...names].map((name) => section(title(name), h("ul", { class: "tiles" }, tiles(name))));
  }

  tile(game) {
    const { slug, title, pitch, limit_ms: limitMs } = game;
    const race = (options) => createRace({ game: slug, options: { ...options, unlisted: true } }, this.problem);
    const guided = h("a", { href: practicePath({ deal: guidedDeal(game) }), "aria-label": `Learn ${title}` }, "Learn it");
    const rules = h("a", { href: `/rules/${slug}`, "aria-label": `Rules of ${title}` }, "Rules");
    return h("li", {}, [
      miniature(game),
      h("h3", {}, title),
      h("div", { class: "hint" }, `${limitMs / 60_000} min`, slug === SHORT ? h("span", { class: "tag" }, "a good first race") : null),
      h("p", {}, pitch, " ", guided, " · ", rules),
      h("div", { class: "row" }, [
        button("Race", () => race({}), { "aria-label": `Race a friend at ${title}` }),
        button("Play alone", () => race(SOLO), { "aria-label": `Play alone: ${title}` }),
      ]),
    ]);
  }

  /** A form that opens a race by its name or link. */
  joinByName() {
    const name = h("input", { id: "race", required: true, maxlength: "200", placeholder: "calm-otter-4217", autocapitalize: "none", spellcheck: "false" });
    const join = () => {
      const [club] = name.value.trim().match(/\/g\/[^/]+$/) ?? [];
      if (club) return goTo(club); // its fragment is the invitation
      const [id = "", kind] = name.value.trim().replace(/[?#].*$|\/+$/g, "").split("/").reverse();
      goTo(`/${kind === "c" ? "c" : "r"}/${encodeURIComponent(id)}`);
    };
    return form(join, { class: "beside-button" }, labelled("Name or link of a race", name), h("button", {}, "Join"));
  }

  clubs(clubs) {
    return h("p", {}, clubs.map(({ club, name }, index) => [index ? " · " : "Your clubs: ", h("a", { href: `/g/${club}` }, nameText(name))]));
  }

  foundClub() {
    const found = button("Start a club", () => foundClub(this.problem));
    return h("div", { class: "row" }, found, hint("Races, tables and ratings for a group of friends."));
  }

  customRace() {
    const settings = Object.fromEntries(new URLSearchParams(location.search)); // such as ?game=corners&limit=5
    const load = async () => {
      const { CustomRace } = await loadModule("./custom_race.js");
      this.custom ??= new CustomRace(this.games, { settings });
      return this.custom.element;
    };
    return lazyDetails("Custom race", load, { class: "panel custom", open: "game" in settings });
  }

  // The lists.

  /** Requests the lists, and today's deals until they are known. */
  async refresh() {
    const lists = ["/races?limit=50", "/challenges?limit=10", "/replays?limit=8"].map((path) => fetchJson(path));
    const requests = [this.today ?? fetchAsGuest("/daily?limit=3"), ...lists];
    const [today, open, listed, over] = await attempt(
      () => Promise.all(requests),
      ({ message }) => [this.today, { error: message }],
    );
    this.found = { ...open, ...listed, ...over };
    this.today = today;
    if (this.games) this.show();
  }

  show() {
    const { races = [], challenges = [], replays = [], error } = this.found;
    const { open, running, results } = this.lists;
    const at = (...stages) => races.filter(({ stage }) => stages.includes(stage));
    updateContent(this.daily, [this.today, this.today ? "" : error], () => this.todaysDeal(error));
    const noRaces = error ?? "Nobody is waiting. Race a friend, or play now against a bot.";
    const row = (each) => (each.games ? this.challengeRow(each) : raceRow(each, this.games));
    updateList(open, [...at("open").filter(({ racers }) => racers), ...challenges], row, noRaces);
    updateList(running, at("countdown", "running"), (race) => raceRow(race, this.games), error ?? "No race is running.");
    updateList(results, replays, (result) => this.resultRow(result), error ?? "No results yet.");
  }

  challengeRow({ challenge, by, games, until }) {
    const name = h("b", {}, by ? [nameText(by), "’s challenge: "] : "A challenge: ", dealsText(games, this.games));
    const link = h("a", { class: "button", href: `/c/${challenge}`, "aria-label": `Open ${challenge}` }, "Open");
    return h("li", { class: "split" }, h("span", {}, name, ` until ${formatTime(until)}`), link);
  }

  resultRow(result) {
    const [best] = result.standings;
    const title = h("b", {}, gameTitle(this.games, result.game));
    const link = h("a", { href: `/replay/${result.race}` }, title, ` ${result.race}`);
    if (!best) return h("li", {}, link, " no racers");
    const text = resultText(this.games.get(result.game), best);
    return h("li", {}, link, " ", nameText(displayNames(result.standings).get(best.seat)), ` ${text}`);
  }

  /** The day's featured deal, with the user's result and streak, and the last days. */
  todaysDeal(error) {
    const day = this.today && featured(this.today.daily);
    if (!day) return error;
    const { game: slug, date, results, players, yours } = day;
    const game = this.games.get(slug);
    const names = results.slice(0, MAX_NAMES).map(({ name }) => name);
    const others = players > names.length ? ` and ${players - names.length} more` : "";
    const played = names.length ? ["Played by ", nameList(names), others, "."] : "Be the first to play it.";
    const own = yours && h("p", { class: "own" }, `You: ${ordinal(yours.place)}, ${resultText(game, yours)}.`);
    const rule = yours
      ? `The deal and its replays become public on ${formatTime(day.reveals_at)}.`
      : "The same deal for everyone. Only your first race on it counts.";
    const play = () => createRace({ game: slug, daily: true, options: SOLO }, this.problem);
    const { streak = 0 } = this.scores?.scores ?? {};
    return [
      h("h2", {}, `Deal of the day: ${game.title}`),
      miniature(game),
      h("div", { class: "about" }, [
        h("p", {}, played),
        own ?? null,
        h("p", { class: "hint" }, rule),
        button(yours ? "Play again" : "Play", play, { class: yours ? "" : "big", "aria-label": `Play today’s ${game.title}` }),
      ]),
      h("div", {}, [
        streak ? h("p", { class: "streak" }, h("b", {}, counted(streak, "day")), streak > 1 ? " in a row" : " so far") : null,
        calendar(date, { played: daysPlayed(this.scores?.races ?? []) }),
        h("p", {}, h("a", { href: "/daily" }, "All deals of the day")),
      ]),
    ];
  }
}

/** A race that is not over in a list, by its `name`, with a link to it. */
export function raceRow({ race, game, stage, racers, max_racers: most, host }, games, name = ` ${race}`) {
  const isOpen = stage === "open";
  const waiting = host ? `, ${host} is waiting` : "";
  const text = isOpen ? `${racers} of ${most} seats taken${waiting}` : `${racers} racing`;
  const action = seatIn(race) ? "Back" : isOpen ? "Join" : "Watch";
  const href = action === "Watch" ? `/w/${race}` : `/r/${race}`;
  const link = h("a", { class: "button", href, "aria-label": `${action} ${gameTitle(games, game)}, ${race}` }, action);
  return h("li", { class: "split" }, h("span", {}, h("b", {}, gameTitle(games, game)), `${name}, ${text}`), link);
}

const byTime = (one, other) => one.limit_ms - other.limit_ms;

const updateList = (element, items, row, placeholder) =>
  updateContent(element, [items, placeholder], () => (items.length ? items.map(row) : h("li", {}, placeholder)));
