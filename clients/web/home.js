// The front page: what is going on, and a new race.

import { api, gamesBySlug, Problem } from "./api.js";
import { button, fill, h } from "./dom.js";
import { guest } from "./memory.js";
import { clock, namesOf, outcomeWord } from "./words.js";

const AGAIN_MS = 5000;

export class HomePage {
  async open(main) {
    this.games = await gamesBySlug();
    this.problem = h("p", { class: "refusal", role: "alert" });
    this.open_ = h("ul", { class: "list" });
    this.latest = h("ul", { class: "list" });
    this.daily = h("ul", { class: "list" });
    fill(
      main,
      h(
        "div",
        { class: "home" },
        h("section", { class: "hero" }, h("h1", {}, "Race your friends at patience on the same shuffled deck"), h("p", {}, "Everybody gets the same cards at the same moment. Every move is checked and written down, and afterwards anybody can prove who won.")),
        h("section", { class: "start", "aria-label": "A new race" }, this.form(), this.problem),
        h("section", { "aria-label": "Open races" }, h("h2", {}, "Open races"), this.open_),
        h("section", { "aria-label": "Deals of the day" }, h("h2", {}, "Deals of the day"), this.daily),
        h("section", { "aria-label": "Latest results" }, h("h2", {}, "Latest results"), this.latest),
        h("section", { "aria-label": "The five games" }, h("h2", {}, "The games"), h("ul", { class: "list" }, [...this.games.values()].map((game) => h("li", {}, h("b", {}, game.title), ` ${game.goal} cards, ${game.limit_ms / 60000} min `, h("a", { href: `/rules/${game.slug}` }, `rules of ${game.title}`))))),
      ),
    );
    await Promise.all([this.refresh(), this.refreshDaily()]);
    setInterval(() => document.visibilityState === "visible" && this.refresh(), AGAIN_MS);
  }

  form() {
    const game = h("select", { id: "game", name: "game" }, [...this.games.values()].map((one) => h("option", { value: one.slug }, one.title)));
    const deal = h("select", { id: "deal", name: "deal" }, h("option", { value: "" }, "sealed: nobody can know it"), h("option", { value: "daily" }, "the deal of the day"), h("option", { value: "open" }, "open, from a word of mine"));
    const seed = h("input", { id: "seed", name: "seed", maxlength: "128", placeholder: "any word" });
    const seeded = h("div", { hidden: true }, h("label", { for: "seed" }, "The word"), seed);
    const limit = h("input", { id: "limit", type: "number", min: "1", max: "120", placeholder: "usual" });
    const most = h("input", { id: "most", type: "number", min: "1", max: "32", placeholder: "8" });
    const undo = h("input", { id: "undo", type: "checkbox", checked: true });
    const attempts = h("input", { id: "attempts", type: "number", min: "0", max: "1000", placeholder: "any" });
    const onlookers = h("select", { id: "onlookers" }, [["progress", "see counts"], ["after", "see nothing before the end"], ["open", "see tables"]].map(([value, text]) => h("option", { value }, text)));
    const unlisted = h("input", { id: "unlisted", type: "checkbox" });
    const variants = h("div", { class: "variants" });
    const fixed = h("fieldset", { class: "options" }, h("legend", { class: "sr" }, "Rules of the race"), field("limit", "Minutes", limit), field("attempts", "Attempts", attempts), field("onlookers", "Onlookers", onlookers), check("undo", "Undo", undo), variants);
    const chosen = () => {
      const one = this.games.get(game.value);
      limit.placeholder = String(one.limit_ms / 60000);
      fill(variants, Object.entries(one.options ?? {}).map(([name, values]) => field(`variant-${name}`, name, h("select", { id: `variant-${name}`, "data-variant": name }, values.map((value) => h("option", { value: JSON.stringify(value) }, value === true ? "on" : value === false ? "off" : value))))));
      seeded.hidden = deal.value !== "open";
      fixed.disabled = deal.value === "daily";
    };
    game.addEventListener("change", chosen);
    deal.addEventListener("change", chosen);
    const submit = async (alone) => {
      const options = { max_racers: alone ? 1 : Number(most.value || 8), ...(unlisted.checked || alone ? { unlisted: true } : {}), ...(alone ? { start_delay_ms: 1000 } : {}) };
      const wish = { game: game.value, options };
      if (deal.value === "daily") wish.daily = true;
      else {
        if (limit.value) options.limit_ms = Math.round(Number(limit.value) * 60000);
        if (!undo.checked) options.undo = false;
        if (attempts.value) options.attempts = Number(attempts.value);
        if (onlookers.value !== "progress") options.spectators = onlookers.value;
        if (deal.value === "open") wish.seed = seed.value.trim();
        wish.variant = Object.fromEntries([...variants.querySelectorAll("select")].map((select) => [select.dataset.variant, JSON.parse(select.value)]));
      }
      try {
        const opened = await api("/races", { body: wish });
        if (guest()) sessionStorage.setItem(`samedeal.in.${opened.race}`, "1");
        location.href = `/r/${opened.race}`;
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        this.problem.textContent = error.message;
      }
    };
    const form = h(
      "form",
      { onsubmit: (event) => { event.preventDefault(); submit(false); } },
      h("h2", {}, "A new race"),
      h("div", { class: "options" }, field("game", "Game", game), field("deal", "Deal", deal), seeded, field("most", "Racers at most", most)),
      h("details", {}, h("summary", {}, "More"), fixed, check("unlisted", "Leave it out of the lists", unlisted)),
      h("div", { class: "row" }, h("button", { class: "first" }, "Open a race for friends"), button("Play alone", () => submit(true))),
    );
    chosen();
    return form;
  }

  async refresh() {
    try {
      const [{ races }, { replays }] = await Promise.all([api("/races?limit=20"), api("/replays?limit=8")]);
      const live = races.filter((race) => ["open", "countdown", "running"].includes(race.stage));
      fill(this.open_, live.map((race) => this.race(race)), live.length ? null : h("li", {}, "None at the moment. Open one: a friend needs only the link."));
      fill(this.latest, replays.map((ended) => this.result(ended)), replays.length ? null : h("li", {}, "Nobody has raced here yet."));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      fill(this.open_, h("li", {}, error.message));
    }
  }

  async refreshDaily() {
    try {
      const { daily } = await api("/daily");
      fill(this.daily, daily.map((one) => h("li", {}, h("b", {}, this.title(one.game)), ` ${one.date}: ${one.results.length ? `${one.results.length} played, first ${one.results[0].name}, ${one.results[0].home} of ${one.results[0].goal}` : "nobody has played it yet"} `, button("Play", () => this.play(one.game), { "aria-label": `Play the deal of the day of ${this.title(one.game)}` }))));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      fill(this.daily, h("li", {}, "No deals of the day here."));
    }
  }

  async play(game) {
    const opened = await api("/races", { body: { game, daily: true, options: { max_racers: 1, start_delay_ms: 1000 } } });
    if (guest()) sessionStorage.setItem(`samedeal.in.${opened.race}`, "1");
    location.href = `/r/${opened.race}`;
  }

  race(race) {
    const running = race.stage === "running" || race.stage === "countdown";
    return h("li", {}, h("a", { href: `/${running ? "w" : "r"}/${race.race}` }, h("b", {}, this.title(race.game)), ` ${race.race}`), ` ${race.racers} of ${race.max_racers}, ${running ? "running: look on" : "open: take a seat"}`);
  }

  result(ended) {
    const names = namesOf(ended.standings);
    const best = ended.standings[0];
    const told = best ? `${names.get(best.seat)} ${best.outcome === "won" ? `won in ${clock(best.ms)}` : `${best.home} of ${best.goal}, ${outcomeWord(best.outcome)}`}` : "nobody";
    return h("li", {}, h("a", { href: `/replay/${ended.race}` }, h("b", {}, this.title(ended.game)), ` ${ended.race}`), ` ${told}`);
  }

  title(slug) {
    return this.games.get(slug)?.title ?? slug;
  }
}

const field = (id, text, input) => h("div", { class: "field-of" }, h("label", { for: id }, text), input);
const check = (id, text, input) => h("div", { class: "check" }, input, h("label", { for: id }, text));
