// The home page: current races, results, and the form for a new race.

import { ApiError, fetchGames, fetchJson } from "./api.js";
import { button, fill, h } from "./dom.js";
import { GRADES, capitalized, displayNames, finishText, formatTime, optionText } from "./phrases.js";
import { guest } from "./storage.js";

const REFRESH_MS = 5000;
const SOLO = { max_racers: 1, start_delay_ms: 1000 };
const DEALS = { "": "Secret shuffle (provably fair)", daily: "Deal of the day", open: "Choose your own seed" };
const SPECTATORS = { progress: "See scores only", after: "See nothing until the end", open: "See all tables" };
const MATCHES = { 1: "Single race", 3: "Best of 3", 5: "Best of 5", 7: "Best of 7" };

export class HomePage {
  async open(main) {
    this.games = await fetchGames();
    this.problem = h("p", { class: "refusal", role: "alert" });
    this.races = h("ul", { class: "list" });
    this.results = h("ul", { class: "list" });
    this.daily = h("ul", { class: "list" });
    this.dailyNote = h("p", { class: "hint" });
    const list = (title, ...parts) => h("section", { "aria-label": title }, h("h2", {}, title), parts);
    fill(
      main,
      h(
        "div",
        { class: "home" },
        h(
          "section",
          { class: "hero" },
          h("h1", {}, "Race your friends at patience on the same shuffled deck"),
          h(
            "p",
            {},
            "Everyone gets the same cards at the same moment, and afterwards ",
            h("a", { href: "/verify" }, "anyone can verify"),
            " who won.",
          ),
        ),
        h("section", { class: "start", "aria-label": "New race" }, this.createForm(), this.problem),
        list("Open races", this.races),
        list("Deals of the day", this.daily, this.dailyNote),
        list("Latest results", this.results),
        list("Games", h("ul", { class: "list" }, [...this.games.values()].map(gameRow))),
      ),
    );
    await Promise.all([this.refresh(), this.refreshDaily()]);
    setInterval(() => document.visibilityState === "visible" && this.refresh(), REFRESH_MS);
  }

  // The form.

  createForm() {
    const games = [...this.games.values()].map(({ slug, title }) => [slug, title]);
    this.inputs = {
      game: select("game", games),
      deal: select("deal", Object.entries(DEALS)),
      seed: h("input", { id: "seed", maxlength: "128", placeholder: "any word" }),
      limit: h("input", { id: "limit", type: "number", min: "1", max: "120" }),
      maxRacers: h("input", { id: "most", type: "number", min: "1", max: "32", placeholder: "8" }),
      undo: h("input", { id: "undo", type: "checkbox", checked: true }),
      attempts: h("input", { id: "attempts", type: "number", min: "0", max: "1000", placeholder: "unlimited" }),
      spectators: select("spectators", Object.entries(SPECTATORS)),
      bestOf: select("best-of", Object.entries(MATCHES)),
      unlisted: h("input", { id: "unlisted", type: "checkbox" }),
    };
    const { game, deal, seed, limit, maxRacers, undo, attempts, spectators, bestOf, unlisted } = this.inputs;
    this.variants = h("div", { class: "variants" });
    this.difficulty = h("div", {});
    this.seedField = labelled("Seed", seed);
    this.raceOptions = h(
      "fieldset",
      { class: "options" },
      h("legend", { class: "sr" }, "Race options"),
      labelled("Minutes", limit),
      labelled("Attempts", attempts),
      labelled("Spectators", spectators),
      this.variants,
      checkbox("Undo", undo),
    );
    for (const input of [game, deal]) input.addEventListener("change", () => this.updateForm());
    this.updateForm();
    const onsubmit = (event) => {
      event.preventDefault();
      this.createRace(this.requestBody());
    };
    return h(
      "form",
      { onsubmit },
      h("h2", {}, "New race"),
      h("div", { class: "options" }, labelled("Game", game), labelled("Deal", deal), this.difficulty, this.seedField),
      h(
        "details",
        {},
        h("summary", {}, "More options"),
        this.raceOptions,
        h(
          "div",
          { class: "options" },
          labelled("Maximum racers", maxRacers),
          labelled("Match", bestOf),
          checkbox("Unlisted", unlisted),
        ),
      ),
      h(
        "div",
        { class: "row" },
        h("button", { class: "first" }, "Create a race"),
        button("Play alone", () => this.createRace(this.requestBody({ solo: true }))),
      ),
    );
  }

  /** Shows the options that apply to the selected game and deal. */
  updateForm() {
    const { game, deal, limit, bestOf } = this.inputs;
    const { options, limit_ms: limitMs, filters = [] } = this.games.get(game.value);
    const choices = (values) => values.map((value) => [JSON.stringify(value), optionText(value)]);
    const variants = Object.entries(options ?? {});
    fill(
      this.variants,
      variants.map(([name, values]) => labelled(name, select(`variant-${name}`, choices(values)))),
    );
    const [usual, ...others] = filters;
    const names = Object.entries({ ...GRADES, any: "any" }).map(([filter, name]) => [filter, capitalized(name)]);
    const levels = names.filter(([filter]) => others.includes(filter));
    const chosen = this.filter?.value;
    this.filter = levels.length ? select("filter", [["", usual === "any" ? "Any" : "Usual"], ...levels]) : null;
    if (this.filter && others.includes(chosen)) this.filter.value = chosen;
    fill(this.difficulty, this.filter && labelled("Difficulty", this.filter));
    this.difficulty.hidden = deal.value !== "";
    limit.placeholder = String(limitMs / 60_000);
    this.seedField.hidden = deal.value !== "open";
    this.raceOptions.disabled = bestOf.disabled = deal.value === "daily";
  }

  /** The request body for a new race with the selected options. */
  requestBody({ solo = false } = {}) {
    const { game, deal, seed, limit, maxRacers, undo, attempts, spectators, bestOf, unlisted } = this.inputs;
    /** @type {Record<string, any>} */
    const options = solo ? { ...SOLO, unlisted: true } : { max_racers: Number(maxRacers.value || 8) };
    if (unlisted.checked) options.unlisted = true;
    if (deal.value === "daily") return { game: game.value, daily: true, options };
    if (limit.value) options.limit_ms = Math.round(Number(limit.value) * 60_000);
    if (!undo.checked) options.undo = false;
    if (attempts.value) options.attempts = Number(attempts.value);
    if (spectators.value !== "progress") options.spectators = spectators.value;
    if (deal.value === "" && this.filter?.value) options.filter = this.filter.value;
    if (bestOf.value !== "1" && !solo) options.best_of = Number(bestOf.value);
    const variant = {};
    for (const input of this.variants.querySelectorAll("select")) {
      variant[input.id.replace("variant-", "")] = JSON.parse(input.value);
    }
    return { game: game.value, variant, options, ...(deal.value === "open" ? { seed: seed.value.trim() } : {}) };
  }

  /** Creates a race and opens it. Players with a name join at once. */
  async createRace(body) {
    try {
      const { race } = await this.openRace(body);
      if (guest()) sessionStorage.setItem(`samedeal.in.${race}`, "1");
      location.href = `/r/${race}`;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.problem.textContent = error.message;
    }
  }

  /** Opens a race with the user as the host, unless the server does not know the user's token. */
  async openRace(body) {
    const token = guest()?.token;
    try {
      return await fetchJson("/races", { body, token });
    } catch (error) {
      if (!token || error.code !== "bad-token") throw error;
      return fetchJson("/races", { body });
    }
  }

  // The lists.

  async refresh() {
    try {
      const [{ races }, { replays }] = await Promise.all([fetchJson("/races?limit=20"), fetchJson("/replays?limit=8")]);
      const live = races.filter((race) => ["open", "countdown", "running"].includes(race.stage));
      const noRaces = "No open races. Create one and send a friend the link.";
      updateList(this.races, live, (race) => this.raceRow(race), noRaces);
      updateList(this.results, replays, (result) => this.resultRow(result), "No results yet.");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      fill(this.races, h("li", {}, error.message));
    }
  }

  raceRow(race) {
    const running = race.stage !== "open";
    const text = `${race.racers} of ${race.max_racers}, ${running ? "running: watch" : "open: join"}`;
    return h("li", {}, this.raceLink(`/${running ? "w" : "r"}/${race.race}`, race), ` ${text}`);
  }

  resultRow(result) {
    const [best] = result.standings;
    const link = this.raceLink(`/replay/${result.race}`, result);
    if (!best) return h("li", {}, link, " no racers");
    const count = best.outcome === "won" ? "" : `${best.home} of ${best.goal}, `;
    return h("li", {}, link, ` ${displayNames(result.standings).get(best.seat)} ${count}${finishText(best)}`);
  }

  raceLink(href, { game, race }) {
    return h("a", { href }, h("b", {}, this.titleOf(game)), ` ${race}`);
  }

  async refreshDaily() {
    try {
      const { daily } = await fetchJson("/daily");
      fill(
        this.daily,
        daily.map((day) => this.dailyRow(day)),
      );
      if (daily.length)
        fill(this.dailyNote, `The same deals for everyone. Sealed until ${formatTime(daily[0].reveals_at)}.`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      fill(this.daily, h("li", {}, error.message));
    }
  }

  dailyRow({ game, results, players }) {
    const [best] = results;
    const title = this.titleOf(game);
    const text = best ? `${players} played, first ${best.name} with ${best.home} of ${best.goal}` : "not played yet";
    const play = () => this.createRace({ game, daily: true, options: SOLO });
    return h(
      "li",
      { class: "split" },
      h("span", {}, h("b", {}, title), ` ${text}`),
      button("Play", play, { "aria-label": `Play the ${title} deal of the day` }),
    );
  }

  titleOf(slug) {
    return this.games.get(slug)?.title ?? slug;
  }
}

/** Rebuilds a list only if its items changed, so that taps and focus are not lost. */
function updateList(list, items, row, placeholder) {
  const content = JSON.stringify(items);
  if (list.dataset.content === content) return;
  list.dataset.content = content;
  fill(list, items.length ? items.map(row) : h("li", {}, placeholder));
}

function select(id, choices) {
  const options = choices.map(([value, text]) => h("option", { value }, text));
  return h("select", { id }, options);
}

const labelled = (text, input) => h("div", { class: "labelled" }, h("label", { for: input.id }, text), input);
const checkbox = (text, input) => h("div", { class: "check" }, input, h("label", { for: input.id }, text));

function gameRow({ slug, title, goal, limit_ms: limitMs }) {
  const rules = h("a", { href: `/rules/${slug}` }, `rules of ${title}`);
  return h("li", {}, h("b", {}, title), ` ${goal} cards, ${limitMs / 60_000} min `, rules);
}
