// The settings: the player of this device, and preferences. The page header loads them when they are opened.

import { attempt, loadModule } from "./api.js";
import { announce, button, checkbox, h, labelled, playerLink, select } from "./dom.js";
import { guest, preferences, setPreference } from "./storage.js";

const CHOICES = {
  theme: ["Theme", { auto: "same as device", light: "light", dark: "dark" }],
  suits: ["Suits", { four: "four colours", two: "two colours" }],
  size: ["Cards", { normal: "normal", large: "large" }],
  hand: ["Buttons", { right: "right hand", left: "left hand" }],
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

/** The content of the settings. A change dispatches "preferences" on the document. */
export function settings() {
  const rows = Object.entries(CHOICES).map(([name, [title, values]]) => {
    const attributes = { id: `preference-${name}`, onchange: ({ target }) => choose(name, target.value) };
    return labelled(title, select(attributes, Object.entries(values), preferences()[name]));
  });
  const switches = Object.entries(SWITCHES).map(([name, title]) => {
    const onchange = ({ target }) => choose(name, target.checked);
    return checkbox(title, h("input", { id: `preference-${name}`, type: "checkbox", checked: preferences()[name], onchange }));
  });
  return [h("div", { class: "labelled" }, playerRows()), switches, rows];
}

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
