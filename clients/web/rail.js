// The rail: who races and how far they are, always in view unless one would rather not know.

import { fill, h } from "./dom.js";
import { likings } from "./memory.js";
import { clock, namesOf, outcomeWord } from "./words.js";

/** The standings as a list whose elements stay while it changes, so that no tap and no focus is lost. */
export class Rail {
  /** With `choose(seat)` each racer is a button. */
  constructor({ choose = null } = {}) {
    this.choose = choose;
    this.element = h("ol", { class: "rail" });
    this.rows = new Map();
  }

  /** Shows these; `mine` is the own seat, `chosen` are the seats that are shown. Answers with the element. */
  show(standings, { mine = null, chosen = [] } = {}) {
    const names = namesOf(standings);
    const focused = document.activeElement;
    const items = standings.map((one) => {
      if (!this.rows.has(one.seat)) this.rows.set(one.seat, this.row(one.seat));
      const row = this.rows.get(one.seat);
      this.update(row, one, names.get(one.seat), one.seat === mine, chosen.includes(one.seat));
      return row.item;
    });
    if (items.length !== this.element.children.length || items.some((item, at) => item !== this.element.children[at])) {
      fill(this.element, items);
      if (this.element.contains(focused)) focused.focus();
    }
    return this.element;
  }

  row(seat) {
    const parts = {
      place: h("span", { class: "place" }),
      who: h("span", { class: "who" }),
      count: h("span", { class: "count" }),
      bar: h("progress"),
      state: h("span", { class: "state" }),
    };
    const press = this.choose
      ? h("button", { type: "button", onclick: () => this.choose(seat) }, Object.values(parts))
      : null;
    return { ...parts, press, item: h("li", {}, press ?? Object.values(parts)) };
  }

  update(row, one, name, own, chosen) {
    const racing = !["waiting", "ready", "scratched"].includes(one.outcome);
    const told = own || likings().rivals;
    const words = told || !racing ? state(one) : one.done ? "stopped" : "";
    row.place.textContent = racing && told ? `${one.place}.` : "";
    fill(row.who, own ? `${name} (you)` : name, one.bot ? h("small", { class: "tag" }, "bot") : null);
    row.state.textContent = words;
    row.bar.hidden = row.count.hidden = !racing || !told;
    row.bar.max = one.goal;
    row.bar.value = one.home;
    row.bar.setAttribute("aria-label", `${name}: ${one.home} of ${one.goal} home`);
    row.count.textContent = `${one.home}/${one.goal}`;
    row.item.className = [own && "own", one.done && "done", chosen && "chosen"].filter(Boolean).join(" ");
    row.press?.setAttribute("aria-pressed", chosen);
  }
}

/** What there is to say beyond the count. */
function state(one) {
  const said = { won: `won in ${clock(one.ms)}`, playing: "" }[one.outcome] ?? outcomeWord(one.outcome);
  return [said, one.attempts > 1 && `attempt ${one.attempts}`].filter(Boolean).join(", ");
}

/** The first three, as on a podium. */
export function podium(standings, mine) {
  const names = namesOf(standings);
  const first = standings.filter((one) => one.place <= 3 && one.outcome !== "scratched").slice(0, 3);
  const step = (one) =>
    h(
      "li",
      { class: `p${one.place}${one.seat === mine ? " own" : ""}` },
      h("b", {}, names.get(one.seat), one.bot ? h("small", { class: "tag" }, "bot") : null),
      h("span", {}, `${one.home} of ${one.goal}`),
      h("span", {}, one.outcome === "won" ? `won in ${clock(one.ms)}` : outcomeWord(one.outcome)),
    );
  return h("ol", { class: "podium", "aria-label": "The first" }, first.map(step));
}
