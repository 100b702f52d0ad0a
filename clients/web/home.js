// The front page: what is going on, and a new race.

import { api, gamesBySlug, Problem } from "./api.js";
import { button, fill, h } from "./dom.js";
import { guest } from "./memory.js";
import { clock, moment, namesOf, outcomeWord } from "./words.js";

const AGAIN_MS = 5000;
const ALONE = { max_racers: 1, start_delay_ms: 1000 };

export class HomePage {
  async open(main) {
    this.games = await gamesBySlug();
    this.problem = h("p", { class: "refusal", role: "alert" });
    this.live = h("ul", { class: "list" });
    this.latest = h("ul", { class: "list" });
    this.daily = h("ul", { class: "list" });
    this.until = h("p", { class: "hint" });
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
          h("p", {}, "Everybody gets the same cards at the same moment, and afterwards anybody can prove who won."),
        ),
        h("section", { class: "start", "aria-label": "A new race" }, this.form(), this.problem),
        list("Open races", this.live),
        list("Deals of the day", this.daily, this.until),
        list("Latest results", this.latest),
        list("The games", h("ul", { class: "list" }, [...this.games.values()].map(gameRow))),
      ),
    );
    await Promise.all([this.refresh(), this.refreshDaily()]);
    setInterval(() => document.visibilityState === "visible" && this.refresh(), AGAIN_MS);
  }

  // A new race.

  form() {
    const games = [...this.games.values()].map((one) => [one.slug, one.title]);
    const deals = [
      ["", "sealed: nobody can know it"],
      ["daily", "the deal of the day"],
      ["open", "open, from a word of mine"],
    ];
    const sights = [
      ["progress", "see counts"],
      ["after", "see nothing before the end"],
      ["open", "see tables"],
    ];
    this.wish = {
      game: choice("game", games),
      deal: choice("deal", deals),
      seed: h("input", { id: "seed", maxlength: "128", placeholder: "any word" }),
      limit: h("input", { id: "limit", type: "number", min: "1", max: "120" }),
      most: h("input", { id: "most", type: "number", min: "1", max: "32", placeholder: "8" }),
      undo: h("input", { id: "undo", type: "checkbox", checked: true }),
      attempts: h("input", { id: "attempts", type: "number", min: "0", max: "1000", placeholder: "any number" }),
      onlookers: choice("onlookers", sights),
      unlisted: h("input", { id: "unlisted", type: "checkbox" }),
    };
    const { game, deal, seed, limit, most, undo, attempts, onlookers, unlisted } = this.wish;
    this.variants = h("div", { class: "variants" });
    this.seeded = field("seed", "The word", seed);
    this.fixed = h(
      "fieldset",
      { class: "options" },
      h("legend", { class: "sr" }, "Rules of the race"),
      field("limit", "Minutes", limit),
      field("attempts", "Attempts", attempts),
      field("onlookers", "Onlookers", onlookers),
      this.variants,
      check("undo", "Undo", undo),
    );
    for (const select of [game, deal]) select.addEventListener("change", () => this.chosen());
    this.chosen();
    const sent = (event) => {
      event.preventDefault();
      this.begin(this.wanted(false));
    };
    return h(
      "form",
      { onsubmit: sent },
      h("h2", {}, "A new race"),
      h("div", { class: "options" }, field("game", "Game", game), field("deal", "Deal", deal), this.seeded),
      h(
        "details",
        {},
        h("summary", {}, "More"),
        this.fixed,
        h(
          "div",
          { class: "options" },
          field("most", "Racers at most", most),
          check("unlisted", "Leave it out of the lists", unlisted),
        ),
      ),
      h(
        "div",
        { class: "row" },
        h("button", { class: "first" }, "Open a race for friends"),
        button("Play alone", () => this.begin(this.wanted(true))),
      ),
    );
  }

  /** What can be chosen depends on the game and the deal. */
  chosen() {
    const { game, deal, limit } = this.wish;
    const one = this.games.get(game.value);
    const told = (value) => (value === true ? "on" : value === false ? "off" : value);
    const select = (name, values) =>
      choice(
        `variant-${name}`,
        values.map((value) => [JSON.stringify(value), told(value)]),
      );
    const variants = Object.entries(one.options ?? {});
    fill(
      this.variants,
      variants.map(([name, values]) => field(`variant-${name}`, name, select(name, values))),
    );
    limit.placeholder = String(one.limit_ms / 60_000);
    this.seeded.hidden = deal.value !== "open";
    this.fixed.disabled = deal.value === "daily";
  }

  /** The body of the request for what the form says. */
  wanted(alone) {
    const { game, deal, seed, limit, most, undo, attempts, onlookers, unlisted } = this.wish;
    const options = alone ? { ...ALONE, unlisted: true } : { max_racers: Number(most.value || 8) };
    if (unlisted.checked) options.unlisted = true;
    if (deal.value === "daily") return { game: game.value, daily: true, options };
    if (limit.value) options.limit_ms = Math.round(Number(limit.value) * 60_000);
    if (!undo.checked) options.undo = false;
    if (attempts.value) options.attempts = Number(attempts.value);
    if (onlookers.value !== "progress") options.spectators = onlookers.value;
    const variant = {};
    for (const select of this.variants.querySelectorAll("select")) {
      variant[select.id.replace("variant-", "")] = JSON.parse(select.value);
    }
    return { game: game.value, variant, options, ...(deal.value === "open" ? { seed: seed.value.trim() } : {}) };
  }

  /** Opens a race and goes there; who is known here has a seat at once. */
  async begin(wish) {
    try {
      const { race } = await api("/races", { body: wish });
      if (guest()) sessionStorage.setItem(`samedeal.in.${race}`, "1");
      location.href = `/r/${race}`;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.problem.textContent = error.message;
    }
  }

  // What is going on.

  async refresh() {
    try {
      const [{ races }, { replays }] = await Promise.all([api("/races?limit=20"), api("/replays?limit=8")]);
      const live = races.filter((race) => ["open", "countdown", "running"].includes(race.stage));
      const none = h("li", {}, "None at the moment. Open one: a friend needs only the link.");
      this.relist(this.live, live, (race) => this.liveRow(race), none);
      this.relist(this.latest, replays, (ended) => this.endedRow(ended), h("li", {}, "Nobody has raced here yet."));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      fill(this.live, h("li", {}, error.message));
    }
  }

  /** Lists anew only what has changed, so that a tap or the focus is not lost. */
  relist(list, items, row, none) {
    const now = JSON.stringify(items);
    if (list.dataset.now === now) return;
    list.dataset.now = now;
    fill(list, items.length ? items.map(row) : none);
  }

  liveRow(race) {
    const running = race.stage !== "open";
    const told = `${race.racers} of ${race.max_racers}, ${running ? "running: look on" : "open: take a seat"}`;
    return h("li", {}, this.linked(`/${running ? "w" : "r"}/${race.race}`, race), ` ${told}`);
  }

  endedRow(ended) {
    const [best] = ended.standings;
    const name = best && namesOf(ended.standings).get(best.seat);
    const result = (one) =>
      one.outcome === "won" ? `won in ${clock(one.ms)}` : `${one.home} of ${one.goal}, ${outcomeWord(one.outcome)}`;
    return h("li", {}, this.linked(`/replay/${ended.race}`, ended), best ? ` ${name} ${result(best)}` : " nobody");
  }

  linked(href, { game, race }) {
    return h("a", { href }, h("b", {}, this.title(game)), ` ${race}`);
  }

  async refreshDaily() {
    try {
      const { daily } = await api("/daily");
      fill(
        this.daily,
        daily.map((one) => this.dailyRow(one)),
      );
      if (daily.length)
        fill(this.until, `The same for all who race today; sealed until ${moment(daily[0].reveals_at)}.`);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      fill(this.daily, h("li", {}, error.message));
    }
  }

  dailyRow({ game, results, players }) {
    const [best] = results;
    const told = best
      ? `${players} played, first ${best.name}, ${best.home} of ${best.goal}`
      : "nobody has played it yet";
    const play = () => this.begin({ game, daily: true, options: ALONE });
    const label = `Play the deal of the day of ${this.title(game)}`;
    return h(
      "li",
      { class: "split" },
      h("span", {}, h("b", {}, this.title(game)), ` ${told}`),
      button("Play", play, { "aria-label": label }),
    );
  }

  title(slug) {
    return this.games.get(slug)?.title ?? slug;
  }
}

const choice = (id, values) =>
  h(
    "select",
    { id },
    values.map(([value, text]) => h("option", { value }, text)),
  );
const field = (id, text, input) => h("div", { class: "field-of" }, h("label", { for: id }, text), input);
const check = (id, text, input) => h("div", { class: "check" }, input, h("label", { for: id }, text));

function gameRow(game) {
  const told = ` ${game.goal} cards, ${game.limit_ms / 60_000} min `;
  return h("li", {}, h("b", {}, game.title), told, h("a", { href: `/rules/${game.slug}` }, `rules of ${game.title}`));
}
