// Opening a race, from the front page, from the deals of the day and from a replay. A new player chooses a name before,
// and so is its host.

import { ApiError, attempt, fetchAsGuest, fetchJson } from "./api.js";
import { button, dialog, fill, form, h, nameInput, refusalText } from "./dom.js";
import { goToRace, guest, saveGuest, saveLastGame } from "./storage.js";

/** The options of a race for one. */
export const SOLO = { max_racers: 1, start_delay_ms: 1000 };

/** Creates a race and opens its page. Players with a name join at once. */
export async function createRace(body, problem) {
  const opened = await attempt(() => openRace(body), ({ message }) => fill(problem, message));
  if (!opened) return;
  saveLastGame(body.game);
  goToRace(opened.race);
}

let isOpening = false;

/** Opens a solo race on the deal of a finished race, with its racers as ghosts. Returns what went wrong. */
export async function raceAgainst(raceId) {
  if (isOpening) return "";
  isOpening = true;
  const options = { max_racers: 1, unlisted: true, start_delay_ms: 0 };
  const request = () => fetchJson("/races", { body: { ghosts: [raceId], options } });
  const { race, problem = "" } = await attempt(request, ({ message }) => ({ problem: message }));
  isOpening = false;
  if (race) goToRace(race, { ready: true });
  return problem;
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
  const input = nameInput({ "aria-describedby": "name-hint name-problem", autofocus: true });
  const problem = refusalText({ id: "name-problem" });
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
  const content = [
    h("label", { for: "name", id: "name-label" }, "Your name"),
    input,
    h("p", { class: "hint", id: "name-hint" }, "Your friends see who invites them."),
    problem,
    h("div", { class: "row" }, submit, button("Cancel", () => shown.close())),
  ];
  const shown = dialog("name-label", form(enter, {}, content));
  return new Promise((resolve, reject) => {
    shown.addEventListener("close", () => {
      if (guest()) resolve(undefined);
      else reject(new ApiError(0, "no-name", ""));
    });
  });
}
