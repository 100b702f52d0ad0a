// The preferences menu in the page header.

import { h } from "./dom.js";
import { applyPreferences, preferences, setPreference } from "./storage.js";

const CHOICES = {
  theme: ["Theme", { auto: "same as device", light: "light", dark: "dark" }],
  suits: ["Suits", { four: "four colours", two: "two colours" }],
  rivals: ["Rivals", { true: "shown", false: "hidden" }],
  motion: ["Animation", { true: "on", false: "off" }],
};

/** Creates the menu. A change dispatches "preferences" on the document. */
export function preferencesMenu() {
  applyPreferences();
  const rows = Object.entries(CHOICES).map(([name, [title, values]]) => {
    const select = h(
      "select",
      { id: `preference-${name}`, onchange: () => choose(name, select.value) },
      Object.entries(values).map(([value, text]) =>
        h("option", { value, selected: String(preferences()[name]) === value }, text),
      ),
    );
    return h("div", { class: "labelled" }, h("label", { for: select.id }, title), select);
  });
  const menu = h("details", { class: "preferences" }, h("summary", {}, "View"), h("div", { class: "sheet" }, rows));
  document.addEventListener("pointerdown", (event) => menu.contains(event.target) || (menu.open = false));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.firstChild.focus();
  });
  return menu;
}

function choose(name, value) {
  setPreference(name, { true: true, false: false }[value] ?? value);
  document.dispatchEvent(new Event("preferences"));
}
