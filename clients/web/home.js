// The front page: the games, today's deals, races and results, and the form for a custom race.

import { attempt, fetchAsGuest, fetchGames, fetchJson, keepTrying, loadModule } from "./api.js";
import { button, fill, h, list, nameList, nameText, refusalText, repeatWhileVisible, section } from "./dom.js";
import { createRace, SOLO } from "./opening.js";
import { displayNames, formatTime, gameTitle, ordinal, resultText } from "./phrases.js";
import { lastGame, seatIn } from "./storage.js";
import { Table } from "./table.js";

const REFRESH_MS = 5000;
const MAX_NAMES = 3;

export class HomePage {
  games;
  lists = { open: list([]), running: list([]), results: list([]) };

  async open(main) {
    this.problem = refusalText();
    this.daily = list([]);
    this.dailyNote = h("p", { class: "hint" });
    const element = h("div", { class: "home" }, this.hero());
    fill(main, element);
    // Everything below appears at once, so that nothing shifts.
    const [games] = await Promise.all([fetchGames(), this.refresh()]);
    this.games = games;
    this.show();
    const { open, running, results } = this.lists;
    element.append(
      section("Games", h("ul", { class: "tiles" }, [...games.values()].map((game) => this.tile(game)))),
      h("div", { class: "columns" }, [
        section("Deals of the day", this.daily, this.dailyNote),
        h("div", {}, section("Open races", open), section("Running now", running)),
        section("Latest results", results),
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
      button("Race a friend", () => this.raceFriend(), { class: "first big" }),
      h("p", { class: "hint" }, "You get a link to send. No account, nothing to install."),
      this.problem,
    ]);
  }

  /** Opens a race of the game that was opened last, or else of the first one. */
  async raceFriend() {
    const games = await attempt(fetchGames, ({ message }) => fill(this.problem, message));
    if (games) this.race(games.has(lastGame()) ? lastGame() : games.keys().next().value);
  }

  race(game, options = {}) {
    return createRace({ game, options }, this.problem);
  }

  tile(game) {
    const { slug, title, pitch, example } = game;
    const figure = h("figure");
    setTimeout(() => {
      // Each table is a task of its own, so that the page reacts in between.
      const table = new Table(game, { small: true, simple: true });
      table.show({ table: example });
      figure.append(table.element);
    });
    const playAlone = () => this.race(slug, { ...SOLO, unlisted: true });
    return h("li", {}, [
      h("div", { class: "miniature", "aria-hidden": "true", inert: true }, figure),
      h("h3", {}, title),
      h("p", {}, pitch, " ", h("a", { href: `/rules/${slug}`, "aria-label": `Rules of ${title}` }, "Rules")),
      h("div", { class: "row" }, [
        button("Race", () => this.race(slug), { class: "first", "aria-label": `Race a friend at ${title}` }),
        button("Play alone", playAlone, { "aria-label": `Play alone: ${title}` }),
      ]),
    ]);
  }

  /** The form for a custom race, which is loaded when it is opened. */
  customRace() {
    const loading = h("p", {}, "Loading…");
    const details = h("details", { class: "custom" }, h("summary", {}, "Custom race"), loading);
    const load = async () => {
      const onProblem = ({ message }) => fill(loading, `${message} Trying again…`);
      const { CustomRace } = await keepTrying(() => loadModule("./custom_race.js"), onProblem);
      loading.replaceWith(new CustomRace(this.games).element);
    };
    details.addEventListener("toggle", load, { once: true });
    return details;
  }

  // The lists.

  /** Requests the lists, and today's deals until they are known. */
  async refresh() {
    const requests = [fetchJson("/races?limit=50"), fetchJson("/replays?limit=8"), this.today ?? fetchAsGuest("/daily?limit=3")];
    const [open, over, today] = await attempt(
      () => Promise.all(requests),
      ({ message }) => [{ error: message }, {}, this.today],
    );
    this.found = { ...open, ...over };
    this.today = today;
    if (this.games) this.show();
  }

  show() {
    this.showDaily();
    const { races = [], replays = [], error } = this.found;
    const { open, running, results } = this.lists;
    const at = (...stages) => races.filter(({ stage }) => stages.includes(stage));
    const noRaces = error ?? "Nobody is waiting. Open a race and send a friend the link.";
    updateList(open, at("open").filter(({ racers }) => racers), (race) => this.raceRow(race), noRaces);
    updateList(running, at("countdown", "running"), (race) => this.raceRow(race), error ?? "No race is running.");
    updateList(results, replays, (result) => this.resultRow(result), error ?? "No results yet.");
  }

  raceRow({ race, game, stage, racers, max_racers: most }) {
    const isOpen = stage === "open";
    const text = isOpen ? `${racers} of ${most} seats taken` : `${racers} racing`;
    const action = seatIn(race) ? "Back" : isOpen ? "Join" : "Watch";
    const href = action === "Watch" ? `/w/${race}` : `/r/${race}`;
    const link = h("a", { class: "button", href, "aria-label": `${action} ${gameTitle(this.games, game)}, ${race}` }, action);
    return h("li", { class: "split" }, h("span", {}, h("b", {}, gameTitle(this.games, game)), ` ${race}, ${text}`), link);
  }

  resultRow(result) {
    const [best] = result.standings;
    const title = h("b", {}, gameTitle(this.games, result.game));
    const link = h("a", { href: `/replay/${result.race}` }, title, ` ${result.race}`);
    if (!best) return h("li", {}, link, " no racers");
    const text = resultText(this.games.get(result.game), best);
    return h("li", {}, link, " ", nameText(displayNames(result.standings).get(best.seat)), ` ${text}`);
  }

  showDaily() {
    const { daily = [] } = this.today ?? {};
    updateList(this.daily, daily, (day) => this.dailyRow(day), this.found.error ?? "");
    const sealed = daily.length
      ? `Your first race on each deal counts. Deals and replays open on ${formatTime(daily[0].reveals_at)}. `
      : "";
    fill(this.dailyNote, this.today && [sealed, h("a", { href: "/daily" }, "All results and earlier days")]);
  }

  dailyRow({ game, results, players, yours }) {
    const title = gameTitle(this.games, game);
    const names = results.slice(0, MAX_NAMES).map(({ name }) => name);
    const others = players > names.length ? ` and ${players - names.length} more` : "";
    const result = yours && resultText(this.games.get(game), yours);
    const own = yours && h("span", { class: "own" }, ` You: ${ordinal(yours.place)}, ${result}.`);
    const play = () => createRace({ game, daily: true, options: SOLO }, this.problem);
    const played = names.length ? [" ", nameList(names), others, "."] : " not played yet.";
    return h("li", { class: "split" }, [
      h("span", {}, h("b", {}, title), played, own),
      button(yours ? "Play again" : "Play", play, { "aria-label": `Play today’s ${title}` }),
    ]);
  }
}

/** Rebuilds a list only if its items changed, so that taps and focus are not lost. */
function updateList(element, items, row, placeholder) {
  const content = JSON.stringify([items, placeholder]);
  if (element.dataset.content === content) return;
  element.dataset.content = content;
  fill(element, items.length ? items.map(row) : h("li", {}, placeholder));
}
