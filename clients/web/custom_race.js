// The form with all options of a new race, or of one that replaces a race before its countdown.

import { button, checkbox, fill, form, h, labelled, refusalText, select } from "./dom.js";
import { createRace, SOLO } from "./opening.js";
import { GRADES, SPECTATORS, capitalized, optionText } from "./phrases.js";

const DEALS = { "": "Secret shuffle (provably fair)", daily: "Deal of the day", open: "Choose your own seed" };
const MATCHES = { 1: "Single race", 3: "Best of 3", 5: "Best of 5", 7: "Best of 7" };

export class CustomRace {
  /** `settings` are values by the ids of fields. With the `header` of a race, the form shows what can change before its
   *  countdown, also a head start for one of `players` (pairs of a seat and a name), and calls `change(request)`.
   *  @param {Map<string, any>} games
   *  @param {{ settings?: any, header?: any, players?: any[], change?: (request: any) => any }} [race] */
  constructor(games, { settings = {}, header = null, players = [], change } = {}) {
    this.games = games;
    this.header = header;
    this.problem = refusalText();
    this.element = this.createForm(change, [["", "nobody"], ...players]);
    const values = { ...(header && settingsOf(header)), ...settings };
    this.setFields(values);
    this.updateForm();
    this.setFields(values); // those of the game, too
  }

  setFields(settings) {
    for (const [name, value] of Object.entries(settings)) {
      const field = this.element.elements[name];
      if (field?.type === "checkbox") field.checked = String(value) === "true";
      else if (field) field.value = value;
      if (field?.selectedIndex < 0) field.selectedIndex = 0; // such as for the usual filter, which is not listed
    }
  }

  createForm(change, players) {
    const games = [...this.games.values()].map(({ slug, title }) => [slug, title]);
    const spectators = Object.entries(SPECTATORS).map(([value, text]) => [value, capitalized(text)]);
    const onchange = () => this.updateForm();
    const number = (text, id, attributes) => labelled(text, h("input", { id, type: "number", ...attributes }));
    const box = (text, id, checked) => checkbox(text, h("input", { id, type: "checkbox", checked }));
    this.variants = h("div", { class: "variants" });
    this.difficulty = h("div", {});
    this.seedField = labelled("Seed", h("input", { id: "seed", maxlength: "128", placeholder: "any word" }));
    const dealField = labelled("Deal", select({ id: "deal", onchange }, Object.entries(DEALS)));
    dealField.hidden = this.variants.hidden = Boolean(this.header); // they stay, unless the game changes
    const deal = [labelled("Game", select({ id: "game", onchange }, games)), dealField];
    this.raceOptions = h("fieldset", { class: "options" }, [
      h("legend", { class: "sr" }, "Race options"),
      number("Minutes", "limit", { min: "1", max: "120" }),
      number("Attempts", "attempts", { min: "0", max: "1000", placeholder: "unlimited" }),
      labelled("Spectators", select({ id: "spectators" }, spectators)),
      this.variants,
      box("Undo", "undo", true),
    ]);
    const handicap = [
      labelled("Head start for", select({ id: "ahead" }, players)),
      number("Seconds ahead", "seconds", { min: "1", max: "600" }),
    ];
    const others = [
      number("Maximum racers", "max_racers", { min: "1", max: "32", placeholder: "8" }),
      labelled("Match", select({ id: "best_of" }, Object.entries(MATCHES))),
      box("Unlisted", "unlisted", false),
    ];
    const open = (options = {}) => createRace(this.requestBody(options), this.problem);
    const submit = () => (change ? change(this.changes()) : open());
    const create = h("button", { class: "first" }, this.header ? "Change the race" : "Create a race");
    const alone = this.header ? null : button("Play this alone", () => open({ solo: true }));
    return form(submit, {}, [
      h("div", { class: "options" }, deal, this.difficulty, this.seedField),
      this.raceOptions,
      h("div", { class: "options" }, others, this.header && !this.header.daily && handicap),
      h("div", { class: "row" }, create, alone),
      this.problem,
    ]);
  }

  /** Shows the options that apply to the selected game and deal. */
  updateForm() {
    const { game, deal, limit, best_of: bestOf } = this.element.elements;
    if (this.header && game.value !== this.header.game) deal.value = "";
    const { options, limit_ms: limitMs, filters = [] } = this.games.get(game.value);
    const texts = (values) => values.map((value) => [JSON.stringify(value), optionText(value)]);
    const variant = ([name, values]) => labelled(name, select({ id: `variant-${name}` }, texts(values)));
    fill(this.variants, Object.entries(options ?? {}).map(variant));
    const [usual, ...others] = filters;
    const names = Object.entries({ ...GRADES, any: "any" }).map(([filter, name]) => [filter, capitalized(name)]);
    const levels = names.filter(([filter]) => others.includes(filter));
    const choices = [["", usual === "any" ? "Any" : "Usual"], ...levels];
    this.filter = levels.length ? select({ id: "filter" }, choices, this.filter?.value) : null;
    fill(this.difficulty, this.filter && labelled("Difficulty", this.filter));
    this.difficulty.hidden = deal.value !== "";
    limit.placeholder = String(limitMs / 60_000);
    this.seedField.hidden = deal.value !== "open" || Boolean(this.header);
    this.raceOptions.disabled = bestOf.disabled = deal.value === "daily";
  }

  /** The request that changes the race: the selected game and options, and the head start. */
  changes() {
    const { game, options } = this.requestBody();
    const { ahead, seconds } = this.element.elements;
    const isGiven = ahead?.value && seconds.value;
    if (!isGiven && !this.header.head_start) return { game, options };
    return { game, options, head_start: { seat: Number(ahead.value || 1), ms: isGiven ? 1000 * Number(seconds.value) : 0 } };
  }

  /** The request body for a new race with the selected options. */
  requestBody({ solo = false } = {}) {
    const { game, deal, seed, limit, max_racers: most, undo, attempts, spectators, best_of: bestOf, unlisted } = this.element.elements;
    const { limit_ms: usualMs, filters } = this.games.get(game.value);
    /** @type {Record<string, any>} */
    const options = { ...(solo ? SOLO : { max_racers: Number(most.value || 8) }), unlisted: solo || unlisted.checked };
    if (deal.value === "daily") return { game: game.value, daily: true, options };
    options.limit_ms = limit.value ? Math.round(Number(limit.value) * 60_000) : usualMs;
    options.undo = undo.checked;
    options.attempts = Number(attempts.value);
    options.spectators = spectators.value;
    options.best_of = solo ? 1 : Number(bestOf.value);
    if (deal.value === "" && this.filter) options.filter = this.filter.value || filters[0];
    const variant = {};
    for (const input of this.variants.querySelectorAll("select")) {
      variant[input.id.replace("variant-", "")] = JSON.parse(input.value);
    }
    return { game: game.value, variant, options, ...(deal.value === "open" ? { seed: seed.value.trim() } : {}) };
  }
}

/** The values of the fields that show the options of a race. Those without a value have the default. */
const settingsOf = ({ game, seed = "", daily, options, head_start: headStart }) => ({
  ...options,
  filter: options.filter ?? "any",
  game,
  seed,
  deal: daily ? "daily" : seed && "open",
  limit: options.limit_ms / 60_000,
  seconds: headStart ? headStart.ms / 1000 : "",
});
