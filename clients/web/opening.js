// Opening a race, from the front page, from the deals of the day and from a replay. A new player chooses a name before,
// and so is its host.

import { ApiError, attempt, fetchAsGuest, fetchJson } from "./api.js";
import { button, dialog, fill, form, h, nameField } from "./dom.js";
import { goToRace, guest, saveGuest, saveLastGame } from "./storage.js";

/** The options of a race for one. */
export const SOLO = { max_racers: 1, start_delay_ms: 1000 };

let isOpening = false;

/** Creates a race and opens its page, with `seat` as for goToRace. Players with a name join at once. */
export async function createRace(body, problem, seat = {}) {
  if (isOpening) return;
  isOpening = true;
  try {
    const opened = await attempt(() => openRace(body), ({ message }) => fill(problem, message));
    if (!opened) return;
    if (body.game) saveLastGame(body.game);
    goToRace(opened.race, seat);
  } finally {
    isOpening = false;
  }
}

/** Opens a race with the user as its host, and returns the response. Before their first race with others, this asks
 *  for a name. Throws ApiError, without a message if the question is dismissed. */
export async function openRace(body) {
  if (body.options?.max_racers === 1) return fetchAsGuest("/races", { body });
  if (!guest()) await askForName();
  try {
    return await fetchJson("/races", { body, token: guest().token });
  } catch (/** @type {any} */ error) {
    if (error.code !== "bad-token") throw error;
    await register(guest().name); // the server has forgotten this player
    return fetchJson("/races", { body, token: guest().token });
  }
}

async function register(name) {
  saveGuest(await fetchJson("/guests", { body: { name } }));
}

/** Asks for a name in a dialog until the server accepts it. */
function askForName() {
  const [label, input, hint, problem] = nameField({ explanation: "Your friends see who invites them." });
  const submit = h("button", { class: "first" }, "Open the race");
  const enter = async () => {
    submit.disabled = true;
    await attempt(
      () => register(input.value.trim()),
      ({ message }) => fill(problem, message),
    );
    submit.disabled = false;
    if (guest()) shown.close();
    else input.focus();
  };
  const row = h("div", { class: "row" }, submit, button("Cancel", () => shown.close()));
  const shown = dialog(label, form(enter, {}, input, hint, problem, row));
  return new Promise((resolve, reject) => {
    shown.addEventListener("close", () => {
      if (guest()) resolve(undefined);
      else reject(new ApiError(0, "no-name", ""));
    });
  });
}
