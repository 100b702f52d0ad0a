// The form with all options of a new race.

import { button, checkbox, fill, form, h, labelled, refusalText, select } from "./dom.js";
import { createRace, SOLO } from "./opening.js";
import { GRADES, SPECTATORS, capitalized, optionText } from "./phrases.js";

const DEALS = { "": "Secret shuffle (provably fair)", daily: "Deal of the day", open: "Choose your own seed" };
const MATCHES = { 1: "Single race", 3: "Best of 3", 5: "Best of 5", 7: "Best of 7" };

export class CustomRace {
  /** @type {Record<string, any>} */
  inputs = {};

  constructor(games) {
    this.games = games;
    this.problem = refusalText();
    this.element = this.createForm();
  }

  createForm() {
    const games = [...this.games.values()].map(({ slug, title }) => [slug, title]);
    this.inputs = {
      game: select({ id: "game" }, games),
      deal: select({ id: "deal" }, Object.entries(DEALS)),
      seed: h("input", { id: "seed", maxlength: "128", placeholder: "any word" }),
      limit: h("input", { id: "limit", type: "number", min: "1", max: "120" }),
      maxRacers: h("input", { id: "most", type: "number", min: "1", max: "32", placeholder: "8" }),
      undo: h("input", { id: "undo", type: "checkbox", checked: true }),
      attempts: h("input", { id: "attempts", type: "number", min: "0", max: "1000", placeholder: "unlimited" }),
      spectators: select(
        { id: "spectators" },
        Object.entries(SPECTATORS).map(([value, text]) => [value, capitalized(text)]),
      ),
      bestOf: select({ id: "best-of" }, Object.entries(MATCHES)),
      unlisted: h("input", { id: "unlisted", type: "checkbox" }),
    };
    const { game, deal, seed, limit, maxRacers, undo, attempts, spectators, bestOf, unlisted } = this.inputs;
    this.variants = h("div", { class: "variants" });
    this.difficulty = h("div", {});
    this.seedField = labelled("Seed", seed);
    this.raceOptions = h("fieldset", { class: "options" }, [
      h("legend", { class: "sr" }, "Race options"),
      labelled("Minutes", limit),
      labelled("Attempts", attempts),
      labelled("Spectators", spectators),
      this.variants,
      checkbox("Undo", undo),
    ]);
    for (const input of [game, deal]) input.addEventListener("change", () => this.updateForm());
    this.updateForm();
    const open = (options = {}) => createRace(this.requestBody(options), this.problem);
    const others = [labelled("Maximum racers", maxRacers), labelled("Match", bestOf), checkbox("Unlisted", unlisted)];
    const create = h("button", { class: "first" }, "Create a race");
    return form(() => open(), {}, [
      h("div", { class: "options" }, labelled("Game", game), labelled("Deal", deal), this.difficulty, this.seedField),
      this.raceOptions,
      h("div", { class: "options" }, others),
      h("div", { class: "row" }, create, button("Play this alone", () => open({ solo: true }))),
      this.problem,
    ]);
  }

  /** Shows the options that apply to the selected game and deal. */
  updateForm() {
    const { game, deal, limit, bestOf } = this.inputs;
    const { options, limit_ms: limitMs, filters = [] } = this.games.get(game.value);
    const choices = (values) => values.map((value) => [JSON.stringify(value), optionText(value)]);
    const variant = ([name, values]) => labelled(name, select({ id: `variant-${name}` }, choices(values)));
    fill(this.variants, Object.entries(options ?? {}).map(variant));
    const [usual, ...others] = filters;
    const names = Object.entries({ ...GRADES, any: "any" }).map(([filter, name]) => [filter, capitalized(name)]);
    const levels = names.filter(([filter]) => others.includes(filter));
    const chosen = this.filter?.value;
    this.filter = levels.length ? select({ id: "filter" }, [["", usual === "any" ? "Any" : "Usual"], ...levels]) : null;
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
}
