// The way back to the race in which this browser has a seat, on all other pages.

import { ApiError, fetchGames, fetchJson } from "./api.js";
import { fill, h, sleepUntilAwake } from "./dom.js";
import { pagePath } from "./root.js";
import { dropSeat, guest, seatedRaces } from "./storage.js";

const CHECK_MS = 15_000;
const MARK = "▶ "; // at the start of the title

/** Shows a link to the player's race as long as it is not over, on all pages but its own. */
export async function showWayBack() {
  const bar = h("nav", { class: "way-back", "aria-label": "Your race", hidden: true });
  document.getElementById("status").before(bar);
  for (;;) {
    if (document.visibilityState === "visible") await update(bar).catch(ignoreApiErrors);
    await sleepUntilAwake(CHECK_MS);
  }
}

async function update(bar) {
  const [, first, here] = pagePath().split("/");
  const races = guest() && first !== "o" ? seatedRaces() : [];
  const race = first === "r" && races.includes(here) ? null : await firstLive(races);
  const title = document.title.replace(MARK, "");
  document.title = race ? MARK + title : title;
  bar.hidden = !race;
  if (!race || race.id === bar.dataset.race) return;
  const games = await fetchGames();
  bar.dataset.race = race.id;
  const link = h("a", { class: "button first", href: `/r/${race.id}` }, "Back to your race");
  fill(bar, games.get(race.game)?.title, link);
}

/** Returns the first race in which the player has a seat. Forgets those that are over. */
async function firstLive(races) {
  for (const id of races) {
    const view = await fetchJson(`/races/${id}`).catch(goneOrThrow);
    if (["over", "cancelled"].includes(view.stage)) dropSeat(id);
    // Seats in a lobby are released after a while. A race can hide its racers while it runs.
    else if (view.stage !== "open" || view.standings.some(({ name }) => name === guest()?.name))
      return { id, game: view.header.game };
  }
  return null;
}

/** A race that no longer exists counts as over. */
function goneOrThrow(error) {
  if (![404, 410].includes(error.status)) throw error;
  return { stage: "over" };
}

function ignoreApiErrors(error) {
  if (!(error instanceof ApiError)) throw error;
}
