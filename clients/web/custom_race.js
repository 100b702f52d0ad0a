// The form with all options of a new race, of one that replaces a race before its countdown, or of a challenge.

import { fetchJson, keepTrying } from "./api.js";
import { button, checkbox, fill, form, goTo, h, labelled, refusalText, select } from "./dom.js";
import { createRace, enter, postAsHost, SOLO } from "./opening.js";
import { GRADES, SPECTATORS, capitalized, optionText } from "./phrases.js";
import { guest, randomHex } from "./storage.js";

const DEALS = { "": "Secret shuffle (provably fair)", daily: "Deal of the day", open: "Choose your own seed" };
const RESULTS = { after: "Only for those who have played", progress: "For everyone right away" };
const HOUR_MS = 3_600_000;
const EVENING = 20; // the hour at which a challenge ends in the evening
const MATCHES = { 1: "Single race", 3: "Best of 3", 5: "Best of 5", 7: "Best of 7" };

export class CustomRace {
  /** `settings` are values by the ids of fields. With the `header` of a race, the form shows what can change before its
   *  countdown, also a head start for one of `players` (pairs of a seat and a name), and calls `change(request)`. For a
   *  `challenge`, it has more `fields`, and calls `open(request)`.
   *  @param {Map<string, any>} games
   *  @param {{ settings?: any, header?: any, players?: any[], change?: (request: any) => any, challenge?: any }} [race] */
  constructor(games, { settings = {}, header = null, players = [], change, challenge = null } = {}) {
    this.games = games;
    this.header = header;
    this.problem = refusalText();
    this.element = this.createForm(change, [["", "nobody"], ...players], challenge);
    const values = { ...(header && settingsOf(header, games.get(header.game))), ...settings };
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

  createForm(change, players, challenge) {
    const games = [...this.games.values()].map(({ slug, title }) => [slug, title]);
    const spectators = Object.entries(challenge ? RESULTS : SPECTATORS).map(([value, text]) => [value, capitalized(text)]);
    const onchange = () => this.updateForm();
    const number = (text, id, attributes) => labelled(text, h("input", { id, type: "number", ...attributes }));
    const box = (text, id, checked) => checkbox(text, h("input", { id, type: "checkbox", checked }));
    this.variants = h("div", { class: "variants" });
    this.difficulty = h("div", {});
    this.seedField = labelled("Seed", h("input", { id: "seed", maxlength: "128", placeholder: "any word" }));
    const dealField = labelled("Deal", select({ id: "deal", onchange }, Object.entries(DEALS)));
    this.variants.hidden = Boolean(this.header); // they stay, unless the game changes
    dealField.hidden = Boolean(this.header || challenge);
    const deal = [labelled("Game", select({ id: "game", onchange }, games)), dealField, challenge?.fields];
    this.raceOptions = h("fieldset", { class: "options" }, [
      h("legend", { class: "sr" }, "Race options"),
      this.difficulty,
      number("Minutes", "limit", { min: "1", max: "120" }),
      number("Attempts", "attempts", { min: "0", max: "1000" }),
      labelled(challenge ? "Results" : "Spectators", select({ id: "spectators" }, spectators)),
      this.variants,
      box("Undo", "undo", true),
    ]);
    const handicap = [
      labelled("Head start for", select({ id: "ahead" }, players)),
      number("Seconds ahead", "seconds", { min: "1", max: "600" }),
    ];
    const unlisted = box("Unlisted", "unlisted", false);
    const others = [
      number("Maximum racers", "max_racers", { min: "1", max: "32", placeholder: "8" }),
      labelled("Match", select({ id: "best_of" }, Object.entries(MATCHES))),
    ];
    for (const field of others) field.hidden = Boolean(challenge);
    const open = (options = {}) => createRace(this.requestBody(options), this.problem);
    const submit = () => (change ? change(this.changes()) : challenge ? challenge.open(this.requestBody()) : open());
    const verb = challenge ? "Open the challenge" : this.header ? "Change the race" : "Create a race";
    const create = h("button", { class: "first" }, verb);
    const alone = this.header || challenge ? challenge?.cancel : button("Play this alone", () => open({ solo: true }));
    const options = [
      this.raceOptions,
      h("div", { class: "options" }, others, unlisted, this.header && !this.header.daily && handicap),
    ];
    return form(submit, {}, [
      h("div", { class: "options" }, deal, this.seedField),
      challenge ? h("details", {}, h("summary", {}, "Options"), options) : options,
      h("div", { class: "row" }, create, alone),
      this.problem,
    ]);
  }

  /** Shows the options that apply to the selected game and deal. */
  updateForm() {
    const { game, deal, limit, attempts: tries, best_of: bestOf } = this.element.elements;
    if (this.header && game.value !== this.header.game) deal.value = "";
    const { options, limit_ms: limitMs, filters = [], attempts } = this.games.get(game.value);
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
    tries.placeholder = String(attempts || "unlimited");
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
    const { limit_ms: usualMs, filters, attempts: usualAttempts = 0 } = this.games.get(game.value);
    /** @type {Record<string, any>} */
    const options = { ...(solo ? SOLO : { max_racers: Number(most.value || 8) }), unlisted: solo || unlisted.checked };
    if (deal.value === "daily") return { game: game.value, daily: true, options };
    options.limit_ms = limit.value ? Math.round(Number(limit.value) * 60_000) : usualMs;
    options.undo = undo.checked;
    options.attempts = attempts.value ? Number(attempts.value) : usualAttempts;
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

/** The short form that opens a challenge, for a dialog. */
export function challengeForm(games) {
  const evening = (days) => new Date().setHours(24 * days + EVENING, 0, 0, 0);
  const until = select({ id: "until" }, deadlines(Date.now(), evening), evening(1));
  const number = select({ id: "number" }, [1, 3, 5].map((each) => [each, each]));
  const open = (deal) => enter(() => openChallenge(request(deal, Number(number.value), Number(until.value))), form.problem);
  const fields = [labelled("Until", until), labelled("Number of deals", number)];
  const cancel = button("Cancel", () => until.closest("dialog")?.close());
  const form = new CustomRace(games, { settings: { unlisted: true }, challenge: { fields, open, cancel } });
  return form.element;
}

/** Choices of a deadline: times and their names. `evening(days)` is the evening in some days. */
function deadlines(now, evening) {
  const evenings = { Tonight: evening(0), "Tomorrow evening": evening(1), "Sunday evening": evening(7 - new Date(now).getDay()) };
  const all = Object.entries({ "In an hour": now + HOUR_MS, ...evenings, "In a week": evening(7) });
  const choices = all.filter(([, at], index) => at >= now + HOUR_MS && all.findIndex(([, other]) => other === at) === index);
  return choices.map(([name, at]) => [at, `${name}, ${new Date(at).toLocaleTimeString([], { timeStyle: "short" })}`]);
}

/** The request for a challenge with a number of deals of the same kind. */
function request({ options, ...deal }, number, until) {
  const { unlisted, spectators, max_racers: _most, best_of: _match, ...fixed } = options;
  const deals = Array(number).fill({ ...deal, options: fixed });
  return { deals, until_ms: Math.max(HOUR_MS, until - Date.now()), unlisted, spectators };
}

/** Opens a challenge. This browser contributes to the shuffles of its deals. */
export async function openChallenge(body) {
  const { challenge, header } = await postAsHost("/challenges", body);
  const nonce = { method: "PUT", body: { nonce: randomHex(32) }, token: guest().token };
  const opened = await keepTrying(() => fetchJson(`/challenges/${challenge}/nonce`, nonce), () => {});
  const isKept = opened.nonce === nonce.body.nonce && opened.header.commitment === header.commitment;
  if (!isKept) throw new Error("The server has changed the challenge after announcing it.");
  goTo(`/c/${challenge}`);
}

/** The values of the fields that show the options of a race of a game. Those without a value have the default, also if the
 *  game changes. */
const settingsOf = ({ game, seed = "", daily, options, head_start: headStart }, usual) => ({
  ...options,
  attempts: options.attempts === usual?.attempts ? "" : options.attempts,
  filter: options.filter ?? "any",
  game,
  seed,
  deal: daily ? "daily" : seed && "open",
  limit: options.limit_ms === usual?.limit_ms ? "" : options.limit_ms / 60_000,
  seconds: headStart ? headStart.ms / 1000 : "",
});
