// The menu in the page header: the player of this device, and preferences.

import { ApiError, loadModule } from "./api.js";
import { announce, button, fill, h, nameText } from "./dom.js";
import { applyPreferences, guest, preferences, setPreference } from "./storage.js";

const CHOICES = {
  theme: ["Theme", { auto: "same as device", light: "light", dark: "dark" }],
  suits: ["Suits", { four: "four colours", two: "two colours" }],
  size: ["Cards", { normal: "normal", large: "large" }],
  hand: ["Buttons", { right: "for the right hand", left: "for the left hand" }],
  rivals: ["Rivals", { true: "shown", false: "hidden" }],
  reactions: ["Reactions", { true: "shown", false: "hidden" }],
  motion: ["Animation", { true: "on", false: "off" }],
  sound: ["Sound", { true: "on", false: "off" }],
  vibration: ["Vibration", { true: "on", false: "off" }],
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
  const player = h("div", { class: "labelled" });
  const menu = h(
    "details",
    { class: "preferences", ontoggle: () => fill(player, playerRows(menu)) },
    h("summary", {}, "Settings"),
    h("div", { class: "sheet" }, rows, player),
  );
  document.addEventListener("pointerdown", (event) => menu.contains(event.target) || (menu.open = false));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.firstChild.focus();
  });
  return menu;
}

/** What the menu offers this device's player, who may have changed since it was last opened. */
function playerRows(menu) {
  const current = guest();
  if (!current) return h("a", { href: "/login" }, "Log in with a code");
  const act = async (name) => {
    menu.open = false;
    try {
      await (await loadModule("./devices.js"))[name]();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      announce(error.message);
    }
  };
  return [
    h("p", {}, "You are ", h("b", {}, nameText(current.name))),
    button("Play on another device", () => act("showCode")),
    button("Log out", () => act("confirmLogOut")),
  ];
}

function choose(name, value) {
  setPreference(name, { true: true, false: false }[value] ?? value);
  document.dispatchEvent(new Event("preferences"));
}
