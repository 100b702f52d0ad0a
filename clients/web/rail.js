// The rail: who races and how far they are, always in view unless one would rather not know.

import { fill, h } from "./dom.js";
import { likings } from "./memory.js";
import { clock, namesOf, outcomeWord } from "./words.js";

/** The standings as a list; the own one is marked. */
export function rail(standings, mine, { chosen = [], choose = null } = {}) {
  const names = namesOf(standings);
  const hidden = !likings().rivals;
  return h(
    "ol",
    { class: "rail" },
    standings.map((one) => {
      const own = one.seat === mine;
      const name = names.get(one.seat);
      const racing = !["waiting", "ready", "scratched"].includes(one.outcome);
      const inner = [
        h("span", { class: "place" }, racing ? `${one.place}.` : ""),
        h("span", { class: "who" }, own ? `${name} (you)` : name, one.bot ? h("small", { class: "tag" }, "bot") : null),
        h("span", { class: "state" }, state(one)),
        racing && (own || !hidden)
          ? [
              h("progress", { max: one.goal, value: one.home, "aria-label": `${name}: ${one.home} of ${one.goal} home` }),
              h("span", { class: "count" }, `${one.home}/${one.goal}`),
            ]
          : null,
      ];
      if (!own && hidden && racing) inner.splice(2, 1, h("span", { class: "state" }, one.done ? "stopped" : ""));
      const classes = `${own ? "own " : ""}${one.done ? "done " : ""}${chosen.includes(one.seat) ? "chosen" : ""}`;
      if (!choose) return h("li", { class: classes }, inner);
      return h(
        "li",
        { class: classes },
        h("button", { type: "button", "aria-pressed": chosen.includes(one.seat), onclick: () => choose(one.seat) }, inner),
      );
    }),
  );
}

function state(one) {
  const attempt = one.attempts > 1 ? `, attempt ${one.attempts}` : "";
  if (one.outcome === "won") return `won in ${clock(one.ms)}${attempt}`;
  return `${outcomeWord(one.outcome)}${attempt}`;
}

/** The first three, as on a podium. */
export function podium(standings, mine) {
  const names = namesOf(standings);
  return h(
    "ol",
    { class: "podium" },
    standings
      .filter((one) => one.place <= 3 && one.outcome !== "scratched")
      .slice(0, 3)
      .map((one) =>
        h(
          "li",
          { class: `p${one.place}${one.seat === mine ? " own" : ""}` },
          h("b", {}, names.get(one.seat), one.bot ? h("small", { class: "tag" }, "bot") : null),
          h("span", {}, `${one.home} of ${one.goal}`),
          h("span", {}, one.outcome === "won" ? `won in ${clock(one.ms)}` : outcomeWord(one.outcome)),
        ),
      ),
  );
}

/** The computer's plays beside one's own, a square each. */
export function strip(squares) {
  const names = { worse: "worse than you", equal: "as good as you", better: "better than you", solved: "solved it" };
  const counts = Object.keys(names).map((kind) => [kind, squares.filter((square) => square === kind).length]);
  const told = counts.filter(([, n]) => n).map(([kind, n]) => `${n} ${names[kind]}`);
  const element = h("figure", { class: "strip" });
  fill(
    element,
    h("div", { role: "img", "aria-label": told.join(", ") }, squares.map((square) => h("span", { class: square }))),
    h("figcaption", {}, counts.filter(([, n]) => n).map(([kind, n]) => [h("span", { class: kind }), ` ${n} ${names[kind]} `])),
  );
  return element;
}
