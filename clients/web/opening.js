// Opening a race, from the front page, from the deals of the day, from a challenge and from a replay. A new player chooses
// a name before, and so is its host.

import { ApiError, attempt, fetchAsGuest, fetchGames, fetchJson, fetchOwn } from "./api.js";
import { button, dialog, fill, form, goTo, h, labelled, nameField, refusalText } from "./dom.js";
import { goToRace, guest, saveGuest } from "./storage.js";

/** The options of a race for one. */
export const SOLO = { max_racers: 1, start_delay_ms: 1000 };

/** The game for a first race. */
export const SHORT = "golf";

let isOpening = false;

/** Creates a race and opens its page, with `seat` as for goToRace. Players with a name join at once. */
export const createRace = (body, problem, seat = {}) =>
  enter(async () => goToRace((await openRace(body)).race, seat), problem);

/** Joins the public race that has been open longest; without one, opens a short race against a bot. */
export const playNow = (problem) =>
  enter(async () => {
    if (!guest()) await askForName("Play");
    const [{ races }, games] = await Promise.all([fetchJson("/races?stage=open&limit=100"), fetchGames()]);
    const isJoinable = ({ game, daily, challenge, follows, racers, max_racers: most }) =>
      !daily && !challenge && !follows && racers && racers < most && games.has(game);
    const waiting = races.filter(isJoinable).at(-1);
    if (waiting) return goToRace(waiting.race, { ready: true });
    const race = shortRace(games);
    const played = (await fetchOwn())?.scores.games.find(({ game }) => game === race.game);
    return goToRace((await openRace(race)).race, { ready: true, bot: suitableBot(played) });
  }, problem);

/** The level of a bot that is neither too strong nor too weak for a player with these scores in a game, if any. */
function suitableBot({ races = 0, solved = 0 } = {}) {
  if (!solved) return "beginner";
  return solved > races / 2 ? "expert" : "regular";
}

/** The request for a race that is short enough for a first one. */
export function shortRace(games, options = {}) {
  const { slug } = games.get(SHORT) ?? games.values().next().value;
  return { game: slug, options };
}

/** Runs an action that opens something, unless one is running. Shows why it is refused. */
export async function enter(action, problem) {
  if (isOpening) return;
  isOpening = true;
  await attempt(action, ({ message }) => fill(problem, message)).finally(() => (isOpening = false));
}

/** Opens a race with the user as its host, and returns the response. Before their first race with others or in a
 *  challenge, this asks for a name. Throws ApiError, without a message if the question is dismissed. */
export async function openRace(request) {
  if (request.options?.max_racers === 1 && !request.challenge) return fetchAsGuest("/races", { body: request });
  // Nobody waits for racers who are stuck. Deals of the day and challenges have no such option, and rematches inherit it.
  const isNew = !request.daily && !request.again && !request.challenge;
  return postAsHost("/races", isNew ? { ...request, options: { end_when_stuck: true, ...request.options } } : request);
}

/** Sends a request that opens something, as openRace does. */
export async function postAsHost(path, body) {
  if (!guest()) await askForName(body.challenge && "Play");
  try {
    return await fetchJson(path, { body, token: guest().token });
  } catch (/** @type {any} */ error) {
    if (error.code !== "bad-token") throw error;
    await register(guest().name); // the server has forgotten this player
    return fetchJson(path, { body, token: guest().token });
  }
}

/** Makes the user a player with a name. Throws ApiError. */
export async function register(name) {
  saveGuest(await fetchJson("/guests", { body: { name } }));
}

/** Asks for the name of a new club, which then opens. */
export const foundClub = (problem) =>
  enter(async () => {
    if (!guest()) await askForName("Next");
    const found = async (name) => goTo(`/g/${(await postAsHost("/clubs", { name })).club}`);
    askForClubName("Start a club", "", found);
  }, problem);

/** Asks in a dialog for the name of a club until `send(name)` succeeds. */
export function askForClubName(title, value, send) {
  const problem = refusalText();
  const input = h("input", { id: "club-name", dir: "auto", maxlength: "24", required: true, value, placeholder: "e.g. Friday patience" });
  const submit = () => enter(async () => (await send(input.value.trim()), shown.close()), problem);
  const row = h("div", { class: "row" }, h("button", { class: "first" }, title), button("Cancel", () => shown.close()));
  const shown = dialog(h("h2", {}, title), form(submit, {}, labelled("Name of the club, up to 24 characters", input), problem, row));
}

/** Asks for a name in a dialog until the server accepts it. Throws ApiError if the dialog is dismissed. */
export async function askForName(verb = "Open the race") {
  const [label, input, hint, problem] = nameField({ explanation: "The other players see it." });
  const submit = h("button", { class: "first" }, verb);
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
  await new Promise((resolve) => shown.addEventListener("close", resolve));
  if (!guest()) throw new ApiError(0, "no-name", "");
}
