// The standings list and the podium.

import { button, fill, fillOnce, h, nameText, playerLink, tag } from "./dom.js";
import { achieved, counted, displayNames, duration, finishText, formatClock, ordinal } from "./phrases.js";
import { preferences } from "./storage.js";

/** A list of racers that keeps its elements across updates, so that taps and focus are not lost. */
export class StandingsList {
  /** A list for a game. With `choose(seat)`, each racer is a button. `action(seat)` returns a button next to a racer, or
   *  null. `symbols` are shown next to the names, by seat.
   *  @param {any} game
   *  @param {{ choose?: (seat: number) => any, action?: (seat: number) => any, symbols?: Map<number, string> }} [options] */
  constructor(game, { choose, action, symbols = new Map() } = {}) {
    this.game = game;
    this.choose = choose;
    this.action = action;
    this.symbols = symbols;
    this.element = h("ol", { class: "standings" });
    this.rows = new Map();
    this.players = new Map(); // public ids by seat, as far as they are known
  }

  /** Shows standings. `mine` is the user's seat; `chosen` are the seats whose tables are shown. Returns the element.
   *  @param {any[]} standings
   *  @param {{ mine?: number | null, chosen?: number[] }} [options] */
  show(standings, { mine = null, chosen = [] } = {}) {
    const names = displayNames(standings);
    const items = standings.map((standing) => {
      const { seat } = standing;
      if (!this.rows.has(seat)) this.rows.set(seat, this.createRow(seat));
      const row = this.rows.get(seat);
      this.updateRow(row, standing, names.get(seat), seat === mine, chosen.includes(seat), standing.done && tieText(standing, standings));
      return row.item;
    });
    fillOnce(this.element, items);
    return this.element;
  }

  createRow(seat) {
    const parts = {
      place: h("span", { class: "place" }),
      name: h("span", { class: "who" }),
      symbol: h("span", { class: "symbol", "aria-hidden": "true" }),
      count: h("span", { class: "count" }),
      bar: h("progress"),
      state: h("span", { class: "state" }),
    };
    const content = Object.values(parts);
    const chooser = this.choose ? button(content, () => this.choose?.(seat), { class: "choose" }) : null;
    return { ...parts, button: chooser, item: h("li", {}, chooser ?? content) };
  }

  updateRow(row, standing, name, own, chosen, tie) {
    const { done, bot, place } = standing;
    const racing = !["waiting", "ready", "scratched"].includes(standing.outcome);
    const visible = own || preferences().rivals;
    row.place.textContent = racing && visible && place ? `${place}.` : "";
    const player = row.button ? undefined : this.players.get(standing.seat);
    const text = h("span", { class: "text" }, player ? playerLink(player, name) : nameText(name));
    const tags = [bot && botTag(standing.level), standing.isGhost && tag("ghost")];
    fill(row.name, text, own ? h("span", { class: "you" }, " (you)") : null, tags);
    row.symbol.textContent = this.symbols.get(standing.seat) ?? "";
    row.state.textContent = visible || !racing ? stateText(standing, tie) : done ? "stopped" : "";
    row.bar.hidden = row.count.hidden = !racing || !visible;
    Object.assign(row.bar, barOf(standing));
    row.bar.setAttribute("aria-label", `${name}: ${achieved(this.game, standing)}`);
    row.count.textContent = achieved(this.game, standing, { short: true });
    row.item.className = [own && "own", done && "done", chosen && "chosen"].filter(Boolean).join(" ");
    row.button?.setAttribute("aria-pressed", chosen);
    const action = this.action?.(standing.seat) ?? null;
    if (action?.ariaLabel === row.action?.ariaLabel) return; // the same button keeps the focus
    row.action?.remove();
    row.action = action;
    if (action) row.item.append(action);
  }
}

/** A list of the ghosts of a race, which is hidden if there are none. They have no place in the standings. */
export class GhostList extends StandingsList {
  constructor(game) {
    super(game);
    this.element = h("ul", { class: "standings ghosts", "aria-label": "Ghosts" });
  }

  show(ghosts) {
    this.element.hidden = !ghosts.length || !preferences().rivals;
    return super.show(ghosts.map((ghost, seat) => ({ ...ghost, seat, place: null, isGhost: true })));
  }
}

/** All racers on one track: a mark for each, with its initial, at how far it has come. It opens the drawer `names`, which has
 *  the list with their names. */
export class Strip {
  constructor(symbols, names) {
    this.symbols = symbols;
    this.place = h("b", {});
    this.track = h("span", { class: "track" });
    const attributes = { type: "button", class: "strip", popovertarget: names };
    this.element = h("button", attributes, this.place, this.track);
  }

  /** Shows standings. `mine` is the user's seat; `label` describes them. */
  show(standings, mine, label) {
    const isVisible = ({ seat, outcome }) => outcome !== "scratched" && (seat === mine || preferences().rivals);
    const racers = standings.filter(isVisible).reverse(); // the last one first
    const own = racers.find(({ seat }) => seat === mine);
    const names = displayNames(standings);
    const mark = ({ seat, done }, index) => {
      const kinds = [seat === mine && "own", done && "done", this.symbols.has(seat) && "symbol"].filter(Boolean);
      const text = this.symbols.get(seat) ?? [...names.get(seat)][0].toUpperCase();
      return h("i", { class: kinds.join(" "), style: `grid-column: ${2 * index + 2}` }, text);
    };
    fill(this.track, racers.map(mark));
    // Each mark is in a column of its own, so that none covers another one. The columns between are as wide as the gaps.
    const at = racers.map(({ progress, outcome }) => (outcome === "won" ? 1 : progress));
    const gaps = [...at, 1].map((each, index) => Math.max(0, each - (at[index - 1] ?? 0)));
    this.track.style.gridTemplateColumns = gaps.map((gap) => `minmax(0, ${100 * gap}fr)`).join(" minmax(0, max-content) ");
    this.place.textContent = own && racers.length > 1 ? ordinal(own.place) : "";
    this.element.setAttribute("aria-label", label);
  }
}

/** Shows in an element how many people are watching a race, and hides it if nobody is. */
export function showWatching(element, watching) {
  element.hidden = !watching;
  element.textContent = watching ? `${watching} watching` : "";
}

/** Shows in an element how much time is left, if a clock is running: in tenths of a second in the last minute. */
export function showClock(element, left, stage) {
  const tenths = left < 60_000 && stage !== "open";
  element.textContent = left === null ? "" : formatClock(tenths ? left : 1000 * Math.ceil(left / 1000), tenths);
  element.classList.toggle("late", left !== null && left < 30_000 && stage === "running");
}

/** A bar is full once the deal is solved, whatever the number of cards. */
const barOf = ({ outcome, home, goal }) => ({ max: goal, value: outcome === "won" ? goal : home });

/** Marks a bot, a server bot with its level, such as "expert bot". */
export const botTag = (level) => tag(level ? h("span", { class: "level" }, `${level} `) : null, "bot");

/** Returns standings with the levels of the server bots, which only views have. */
export const withLevels = (standings, { levels = {} }) =>
  standings.map((standing) => ({ ...standing, level: levels[standing.seat] }));

/** The racer's state, next to the card count. */
function stateText(standing, tie) {
  const { outcome, attempts } = standing;
  const parts = [outcome !== "playing" && finishText(standing), attempts > 1 && `attempt ${attempts}`, tie && `last card ${tie}`];
  return parts.filter(Boolean).join(", ");
}

/** The first three racers on a podium: their results, and the gaps to the winner. */
export function podium(game, standings, mine) {
  const names = displayNames(standings);
  const winners = standings.filter(({ place, attempts }) => place <= 3 && attempts).slice(0, 3);
  const [first] = winners;
  const step = (standing) => {
    const { seat, place, bot, level } = standing;
    const isOwn = seat === mine;
    return h("li", { class: `p${place}${isOwn ? " own" : ""}` }, [
      h("span", { class: "step" }, place),
      h("b", {}, nameText(names.get(seat))),
      isOwn || bot ? h("span", {}, isOwn ? "(you)" : null, bot ? botTag(level) : null) : null,
      h("span", {}, standing.outcome === "won" ? duration(standing.ms) : achieved(game, standing)),
      h("span", { class: "gap" }, tieText(standing, winners) || gap(standing, first)),
      h("span", { class: "symbol", "data-seat": seat, "aria-hidden": "true" }),
    ]);
  };
  return h("ol", { class: "podium", "aria-label": "Podium" }, winners.map(step));
}

/** For a racer who came as far as another one: when, which decides between them. Otherwise empty. */
function tieText({ home, ms, outcome }, racers) {
  const isTied = outcome !== "won" && home && racers.filter((each) => each.outcome !== "won" && each.home === home).length > 1;
  return isTied ? `after ${duration(ms).replace(" ", "\u00a0")}` : "";
}

/** How far a racer is behind the first: in time if the racer has solved the deal, too, otherwise in cards. */
function gap(racer, first) {
  if (racer.outcome === "won") return racer.ms > first.ms ? `+${duration(racer.ms - first.ms)}` : "";
  const cards = barOf(first).value - racer.home;
  return cards ? `${counted(cards, "card")} behind` : "";
}
