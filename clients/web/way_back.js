// The way back to the player's race, or else on to the rematch of the last one, on all other pages.

import { attempt, fetchGames, fetchJson, loadModule } from "./api.js";
import { button, byId, fill, goTo, h, pagePath, repeatWhileVisible } from "./dom.js";
import { rematchStart, rematchText } from "./phrases.js";
import { dropSeat, goToRace, guest, lastRace, saveSeat, seatedRaces } from "./storage.js";

const CHECK_MS = 15_000;
const TICK_MS = 500;
const MARK = "▶ "; // at the start of the title

/** Shows a link to the player's race as long as it is not over, on all pages but its own. Without such a race, shows the
 *  rematch that waits for the player. */
export async function showWayBack() {
  const bar = h("nav", { class: "way-back", "aria-label": "Your race", hidden: true });
  byId("status").before(bar);
  let rematch = null;
  const check = async () => {
    rematch = await attempt(
      () => update(bar, rematch),
      () => rematch,
    );
  };
  if (document.visibilityState === "visible") await check();
  await repeatWhileVisible(CHECK_MS, check);
}

/** Returns the connection through which a rematch waits for the player, if any. */
async function update(bar, rematch) {
  const [, first, here] = pagePath().split("/");
  const races = guest() && first !== "o" ? seatedRaces() : [];
  const race = first === "r" && races.includes(here) ? null : await firstLive(races);
  const last = lastRace();
  const isElsewhere = !["r", "o"].includes(first) && !(first === "w" && here === last);
  if (!race && last && isElsewhere) return rematch?.raceId === last ? rematch : followLastRace(last, bar);
  const games = race ? await fetchGames() : new Map();
  rematch?.close();
  const href = race && `/r/${race.id}`;
  show(bar, href, () => [games.get(race?.game)?.title, h("a", { class: "button first", href }, "Back to your race")]);
  return null;
}

/** Shows content in the bar, or hides the bar if `key` is empty. Does nothing if the bar already shows this key. */
function show(bar, key, content = () => /** @type {any[]} */ ([])) {
  const title = (key ? MARK : "") + document.title.replace(MARK, "");
  if (document.title !== title) document.title = title;
  bar.hidden = !key;
  if (!key || key === bar.dataset.shown) return;
  bar.dataset.shown = key;
  fill(bar, content());
}

/** Stays connected to a race that is over, so that its rematch waits for the player, and shows it in the bar. */
async function followLastRace(raceId, bar) {
  const [{ Connection }, games] = await Promise.all([loadModule("./connection.js"), fetchGames()]);
  const [text, clock] = [h("span", { role: "alert" }), h("span", { role: "timer" })];
  let wanted = null; // the rematch that has waited for the player
  const refresh = () => {
    if (lastRace() !== raceId) connection.close();
    const { next } = connection.view ?? {};
    const { race, stage = "open", awaited = [] } = next ?? {};
    const waits = stage === "open" && awaited.includes(guest()?.name);
    const hasStarted = race && race === wanted && ["countdown", "running"].includes(stage);
    if (connection.ended || !(waits || hasStarted)) return show(bar, null);
    const wish = rematchText(next, connection.header.game, games, guest()?.name);
    if (text.textContent !== wish) text.textContent = wish; // it is read aloud
    clock.textContent = rematchStart(connection.leftMs);
    const act = hasStarted ? () => goTo(`/w/${race}`) : () => goToRace(race, { ready: true });
    const verb = hasStarted ? "Watch" : "Join";
    show(bar, `${verb} ${race}`, () => [h("span", {}, text, " ", clock), button(verb, act, { class: "first" })]);
    wanted = race;
  };
  const connection = new Connection(raceId, { watch: true, onChange: refresh, onReaction: () => {} });
  const timer = setInterval(() => (connection.ended ? clearInterval(timer) : refresh()), TICK_MS);
  return connection;
}

/** Returns the first race in which the player has a seat. Forgets those that are over. */
async function firstLive(races) {
  for (const [index, id] of races.entries()) {
    const view = await attempt(() => fetchJson(`/races/${id}`), (error) => {
      if ([404, 410].includes(error.status)) return { stage: "over" };
      throw error;
    });
    if (["over", "cancelled"].includes(view.stage)) dropSeat(id);
    if (view.stage === "cancelled" && view.next) {
      saveSeat(view.next.race); // the host has replaced the race
      return firstLive([view.next.race, ...races.slice(index + 1)]);
    }
    // Seats in a lobby are released after a while. A race can hide its racers while it runs.
    const names = [...(view.standings ?? []).map(({ name }) => name), ...(view.awaited ?? [])];
    const isWaiting = view.stage === "open" && names.includes(guest()?.name);
    if (isWaiting || ["countdown", "running"].includes(view.stage)) return { id, game: view.header.game };
  }
  return null;
}
