// Opening a race, from the front page, from the deals of the day and from a replay. A new player chooses a name before,
// and so is its host.

import { ApiError, fetchAsGuest, fetchJson } from "./api.js";
import { button, h } from "./dom.js";
import { goToRace, guest, saveGuest, saveLastGame } from "./storage.js";

/** The options of a race for one. */
export const SOLO = { max_racers: 1, start_delay_ms: 1000 };

/** Creates a race and opens its page. Players with a name join at once. */
export async function createRace(body, problem) {
  try {
    const { race } = await openRace(body);
    saveLastGame(body.game);
    goToRace(race);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    problem.textContent = error.message;
  }
}

let isOpening = false;

/** Opens a solo race on the deal of a finished race, with its racers as ghosts. Returns what went wrong. */
export async function raceAgainst(raceId) {
  if (isOpening) return "";
  isOpening = true;
  try {
    const options = { max_racers: 1, unlisted: true, start_delay_ms: 0 };
    const { race } = await fetchJson("/races", { body: { ghosts: [raceId], options } });
    goToRace(race, { ready: true });
    return "";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.message;
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
  } catch (error) {
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
  const input = h("input", {
    id: "name",
    dir: "auto",
    "aria-describedby": "name-hint name-problem",
    maxlength: "24",
    required: true,
    autofocus: true,
    autocomplete: "nickname",
    enterkeyhint: "go",
  });
  const problem = h("p", { class: "refusal", id: "name-problem", role: "alert" });
  const submit = h("button", { class: "first" }, "Open the race");
  const onsubmit = async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      await register(input.value.trim());
      dialog.close();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      problem.textContent = error.message;
      input.focus();
    } finally {
      submit.disabled = false;
    }
  };
  const form = h(
    "form",
    { onsubmit },
    h("label", { for: "name", id: "name-label" }, "Your name"),
    input,
    h("p", { class: "hint", id: "name-hint" }, "Your friends see who invites them."),
    problem,
    h("div", { class: "row" }, submit, button("Cancel", () => dialog.close())),
  );
  const dialog = h("dialog", { class: "confirm", "aria-labelledby": "name-label" }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve, reject) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (guest()) resolve(undefined);
      else reject(new ApiError(0, "no-name", ""));
    });
  });
}
