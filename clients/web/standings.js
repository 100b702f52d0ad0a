// The standings list and the podium.

import { fill, h, nameText, playerLink } from "./dom.js";
import { counted, displayNames, finishText, formatClock } from "./phrases.js";
import { preferences } from "./storage.js";

/** A list of racers that keeps its elements across updates, so that taps and focus are not lost. */
export class StandingsList {
  /** With `choose(seat)`, each racer is a button. `action(seat)` returns a button next to a racer, or null. */
  constructor({ choose = null, action = null, symbols = new Map() } = {}) {
    this.choose = choose;
    this.action = action;
    this.symbols = symbols; // the symbols shown next to the names, by seat
    this.element = h("ol", { class: "standings" });
    this.rows = new Map();
    this.players = new Map(); // public ids by seat, as far as they are known
  }

  /** Shows standings. `mine` is the user's seat; `chosen` are the seats whose tables are shown. Returns the element. */
  show(standings, { mine = null, chosen = [] } = {}) {
    const names = displayNames(standings);
    const focused = /** @type {HTMLElement} */ (document.activeElement);
    const items = standings.map((standing) => {
      const { seat } = standing;
      if (!this.rows.has(seat)) this.rows.set(seat, this.createRow(seat));
      const row = this.rows.get(seat);
      this.updateRow(row, standing, names.get(seat), seat === mine, chosen.includes(seat));
      return row.item;
    });
    const { children } = this.element;
    if (items.length !== children.length || items.some((item, index) => item !== children[index])) {
      fill(this.element, items);
      if (this.element.contains(focused)) focused.focus();
    }
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
    const button = this.choose
      ? h("button", { type: "button", class: "choose", onclick: () => this.choose(seat) }, Object.values(parts))
      : null;
    return { ...parts, button, item: h("li", {}, button ?? Object.values(parts)) };
  }

  updateRow(row, standing, name, own, chosen) {
    const { home, goal, done, bot, place } = standing;
    const racing = !["waiting", "ready", "scratched"].includes(standing.outcome);
    const visible = own || preferences().rivals;
    row.place.textContent = racing && visible ? `${place}.` : "";
    const player = row.button ? undefined : this.players.get(standing.seat);
    const text = h("span", { class: "text" }, player ? playerLink(player, name) : nameText(name));
    fill(row.name, text, own ? h("span", { class: "you" }, " (you)") : null, bot ? botTag(standing.level) : null);
    row.symbol.textContent = this.symbols.get(standing.seat) ?? "";
    row.state.textContent = visible || !racing ? stateText(standing) : done ? "stopped" : "";
    row.bar.hidden = row.count.hidden = !racing || !visible;
    row.bar.max = goal;
    row.bar.value = home;
    row.bar.setAttribute("aria-label", `${name}: ${home} of ${goal} home`);
    row.count.textContent = `${home}/${goal}`;
    row.item.className = [own && "own", done && "done", chosen && "chosen"].filter(Boolean).join(" ");
    row.button?.setAttribute("aria-pressed", chosen);
    const action = this.action?.(standing.seat) ?? null;
    if (Boolean(action) === Boolean(row.action)) return; // the same button keeps the focus
    row.action?.remove();
    row.action = action;
    if (action) row.item.append(action);
  }
}

/** Shows in an element how many people are watching a race, and hides it if nobody is. */
export function showWatching(element, watching) {
  element.hidden = !watching;
  element.textContent = watching ? `${watching} watching` : "";
}

/** Fills an element with the ghosts of a race, and hides it if there are none. Ghosts have no place in the standings. */
export function showGhosts(element, ghosts) {
  element.hidden = !ghosts.length || !preferences().rivals;
  if (element.hidden) return;
  const row = ({ name, bot, home, goal, outcome, ms }) =>
    h(
      "li",
      {},
      h("span", { class: "who" }, h("span", { class: "text" }, nameText(name)), bot ? botTag() : null, h("small", { class: "tag" }, "ghost")),
      h("span", { class: "count" }, `${home}/${goal}`),
      h("progress", { max: goal, value: home, "aria-label": `Ghost ${name}: ${home} of ${goal} home` }),
      h("span", { class: "state" }, ["ready", "playing"].includes(outcome) ? "" : finishText({ outcome, ms })),
    );
  fill(element, ghosts.map(row));
}

/** Marks a bot, a server bot with its level, such as "expert bot". */
export const botTag = (level) =>
  h("small", { class: "tag" }, level ? h("span", { class: "level" }, `${level} `) : null, "bot");

/** Returns standings with the levels of the server bots, which only views have. */
export const withLevels = (standings, { levels = {} }) =>
  standings.map((standing) => ({ ...standing, level: levels[standing.seat] }));

/** The racer's state, next to the card count. */
function stateText(standing) {
  const { outcome, attempts } = standing;
  return [outcome !== "playing" && finishText(standing), attempts > 1 && `attempt ${attempts}`]
    .filter(Boolean)
    .join(", ");
}

/** The first three racers on a podium: how far they came, when they finished, and the gap to the winner. */
export function podium(standings, mine) {
  const names = displayNames(standings);
  const winners = standings.filter(({ place, outcome }) => place <= 3 && outcome !== "scratched").slice(0, 3);
  const [first] = winners;
  const gap = ({ home, outcome, ms }) =>
    outcome === "won" ? `+${formatClock(ms - first.ms)}` : first.home > home ? `${counted(first.home - home, "card")} behind` : "";
  const step = (standing) =>
    h(
      "li",
      { class: `p${standing.place}${standing.seat === mine ? " own" : ""}` },
      h("span", { class: "medal", "aria-hidden": "true" }, standing.place),
      h("b", {}, nameText(names.get(standing.seat))),
      standing.seat === mine || standing.bot
        ? h("span", {}, standing.seat === mine ? "(you)" : null, standing.bot ? botTag(standing.level) : null)
        : null,
      h("span", {}, `${standing.home} of ${standing.goal}`),
      h("span", {}, finishText(standing)),
      h("span", { class: "gap" }, standing === first ? "" : gap(standing)),
    );
  return h("ol", { class: "podium", "aria-label": "Podium" }, winners.map(step));
}
