// How one likes the page: the choices in its head.

import { h } from "./dom.js";
import { applyLikings, like, likings } from "./memory.js";

const CHOICES = [
  [
    "theme",
    "Light",
    [
      ["auto", "as the device"],
      ["light", "light"],
      ["dark", "dark"],
    ],
  ],
  [
    "suits",
    "Suits",
    [
      ["four", "four colours"],
      ["two", "two colours"],
    ],
  ],
  [
    "rivals",
    "Rivals",
    [
      [true, "shown"],
      [false, "hidden"],
    ],
  ],
  [
    "motion",
    "Motion",
    [
      [true, "cards glide"],
      [false, "none"],
    ],
  ],
];

/** A menu of them. What draws by one of them hears of "likings" at the document. */
export function likingsMenu() {
  applyLikings();
  const rows = CHOICES.map(([name, title, values]) => {
    const select = h(
      "select",
      { id: `liking-${name}`, onchange: () => chosen(name, values[select.selectedIndex][0]) },
      values.map(([value, text]) => h("option", { value: String(value), selected: likings()[name] === value }, text)),
    );
    return h("div", { class: "field-of" }, h("label", { for: select.id }, title), select);
  });
  const menu = h("details", { class: "likings" }, h("summary", {}, "View"), h("div", { class: "sheet" }, rows));
  document.addEventListener("pointerdown", (event) => menu.contains(event.target) || (menu.open = false));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.firstChild.focus();
  });
  return menu;
}

function chosen(name, value) {
  like(name, value);
  document.dispatchEvent(new Event("likings"));
}
