// Opening a race, from the front page, from the deals of the day and from a replay.

import { ApiError, fetchJson } from "./api.js";
import { openRace } from "./naming.js";
import { goToRace, saveLastGame } from "./storage.js";

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
