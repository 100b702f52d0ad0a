// Opening a race, from the front page and from the deals of the day.

import { ApiError, fetchAsGuest } from "./api.js";
import { guest, saveLastGame } from "./storage.js";

/** The options of a race for one. */
export const SOLO = { max_racers: 1, start_delay_ms: 1000 };

/** Creates a race, with the user as the host, and opens it. Players with a name join at once. */
export async function createRace(body, problem) {
  try {
    const { race } = await fetchAsGuest("/races", { body });
    saveLastGame(body.game);
    if (guest()) sessionStorage.setItem(`samedeal.in.${race}`, "1");
    location.href = `/r/${race}`;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    problem.textContent = error.message;
  }
}
