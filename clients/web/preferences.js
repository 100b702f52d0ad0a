// The menu in the page header: the player of this device, and preferences.

import { attempt, loadModule } from "./api.js";
import { announce, button, checkbox, drawer, fill, h, labelled, playerLink, select } from "./dom.js";
import { applyPreferences, guest, preferences, setPreference } from "./storage.js";

const CHOICES = {
  theme: ["Theme", { auto: "same as device", light: "light", dark: "dark" }],
  suits: ["Suits", { four: "four colours", two: "two colours" }],
  size: ["Cards", { normal: "normal", large: "large" }],
  hand: ["Buttons", { right: "for the right hand", left: "for the left hand" }],
};
const SWITCHES = {
  rivals: "Rivals",
  clock: "Clock",
  reactions: "Reactions",
  motion: "Animation",
  effects: "Celebrations",
  sound: "Sound",
  vibration: "Vibration",
};

/** A link to the page of this device's player, or null. */
export const ownPage = () => guest() && h("span", { class: "me" }, playerLink(guest().player, guest().name));

/** Creates the menu. A change dispatches "preferences" on the document. */
export function preferencesMenu() {
  applyPreferences();
  const rows = Object.entries(CHOICES).map(([name, [title, values]]) => {
    const attributes = { id: `preference-${name}`, onchange: ({ target }) => choose(name, target.value) };
    return labelled(title, select(attributes, Object.entries(values), preferences()[name]));
  });
  const switches = Object.entries(SWITCHES).map(([name, title]) => {
    const onchange = ({ target }) => choose(name, target.checked);
    return checkbox(title, h("input", { id: `preference-${name}`, type: "checkbox", checked: preferences()[name], onchange }));
  });
  const player = h("div", { class: "labelled" });
  const menu = drawer("Settings", "Settings", h("div", { class: "settings" }, player, switches, rows));
  menu[1].addEventListener("toggle", () => fill(player, playerRows()));
  return h("div", { class: "preferences" }, menu);
}

/** What the menu offers this device's player, who may have changed since it was last opened. */
function playerRows() {
  const current = guest();
  if (!current) return h("a", { href: "/login" }, "Log in with a code");
  const act = (name) =>
    attempt(async () => (await loadModule("./devices.js"))[name](), ({ message }) => announce(message));
  return [
    h("p", {}, "You are ", playerLink(current.player, current.name)),
    button("Play on another device", () => act("showCode")),
    button("Log out", () => act("confirmLogOut")),
  ];
}

function choose(name, value) {
  setPreference(name, value);
  document.dispatchEvent(new Event("preferences"));
}
