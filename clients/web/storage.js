// Data stored in this browser: the player, seats, nonces and preferences. No other module uses its storages.

import { goTo, ROOT } from "./dom.js";

/** The start of all keys. Servers below other paths of the same host share the storage. */
const PREFIX = `samedeal${ROOT}.`;

/** One of the browser's storages. What it does not store, because it is blocked or full, is lost with the page. */
function storage(kind) {
  const unstored = new Map();
  return {
    read(name) {
      if (unstored.has(name)) return unstored.get(name);
      try {
        return JSON.parse(globalThis[kind].getItem(PREFIX + name) ?? "null");
      } catch {
        return null;
      }
    },
    write(name, value) {
      try {
        if (value === null) globalThis[kind].removeItem(PREFIX + name);
        else globalThis[kind].setItem(PREFIX + name, JSON.stringify(value));
        unstored.delete(name);
      } catch {
        unstored.set(name, value);
      }
    },
  };
}

const { read, write } = storage("localStorage");
const tab = storage("sessionStorage");

/** The server's last answer, for use while offline. */
export const stored = (name) => read(`server.${name}`);
export const store = (name, value) => write(`server.${name}`, value);

/** The player on this server: `name`, `token`, `player`; null before the first race. */
export const guest = () => read("guest");
export const saveGuest = (value) => write("guest", value);

const DEFAULTS = {
  theme: "auto",
  suits: "four",
  size: "normal",
  hand: "right",
  rivals: true,
  clock: true,
  reactions: true,
  motion: true,
  effects: true,
  sound: true,
  vibration: true,
};

export const preferences = () => ({ ...DEFAULTS, ...read("likings") });

export function setPreference(name, value) {
  write("likings", { ...preferences(), [name]: value });
  applyPreferences();
}

/** Lets styles depend on the preferences. */
export const applyPreferences = () => Object.assign(document.documentElement.dataset, preferences());

/** Random bytes as hexadecimal digits. */
export const randomHex = (size) =>
  [...crypto.getRandomValues(new Uint8Array(size))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** The nonces of a seat: `next` to commit to, and `opened`, which is public. No nonce is used for two deals. */
export const nonces = (raceId, player) => read(`nonce.${raceId}.${player}`) ?? { next: randomHex(32), opened: null };

/** Moves the next nonce to `opened` and stores it. Call this before sending the nonce. */
export function markOpened(raceId, player, known) {
  const updated = { next: randomHex(32), opened: known.next };
  saveNonces(raceId, player, updated);
  return updated;
}

export const saveNonces = (raceId, player, value) => write(`nonce.${raceId}.${player}`, value);

/** The receipts that this tab has received in a race before it was reloaded. */
export const savedReceipts = (raceId) => tab.read(`receipts.${raceId}`) ?? [];
export const saveReceipts = (raceId, receipts) => tab.write(`receipts.${raceId}`, [...receipts]);

const MAX_SEATS = 8;

/** The player's seats by race, in the order in which they were taken; `ready` means to get ready at once, after adding a
 *  bot of the level `bot` if there is one. */
function seats() {
  const own = ([, { player }]) => player === (guest()?.player ?? null);
  return new Map(Object.entries(read("seats") ?? {}).filter(own));
}

/** The races in which the player has a seat, as far as this browser knows, the newest first. */
export const seatedRaces = () => [...seats().keys()].reverse();
export const seatIn = (raceId) => seats().get(raceId) ?? null;

export function saveSeat(raceId, { ready = false, bot = null } = {}) {
  const others = [...seats()].filter(([race]) => race !== raceId);
  const seat = { player: guest()?.player ?? null, ready, bot };
  write("seats", Object.fromEntries([...others, [raceId, seat]].slice(-MAX_SEATS)));
}

export const dropSeat = (raceId) =>
  seatIn(raceId) && write("seats", Object.fromEntries([...seats()].filter(([race]) => race !== raceId)));

const MAX_CHALLENGES = 5;
const WEEK_MS = 604_800_000; // how long a challenge is remembered after it is revealed

/** The challenges that this browser remembers, the last one first, as saved. */
export const savedChallenges = () => (read("challenges") ?? []).filter(({ revealsAt }) => Date.now() < revealsAt + WEEK_MS);
export const saveChallenge = (saved) =>
  write("challenges", [saved, ...savedChallenges().filter(({ id }) => id !== saved.id)].slice(0, MAX_CHALLENGES));

const REMATCH_MS = 600_000; // how long after its end a race can have a rematch for which this tab stays connected

/** The last race that has ended in this tab, as long as its rematch is likely; otherwise null. */
export function lastRace() {
  const last = tab.read("last");
  return last && last.player === guest()?.player && Date.now() < last.until ? last.race : null;
}

export const saveLastRace = (race) =>
  tab.write("last", { race, player: guest()?.player, until: Date.now() + REMATCH_MS });

/** Goes to a race and takes a seat there without asking, as for saveSeat. */
export function goToRace(raceId, seat = {}) {
  saveSeat(raceId, seat);
  goTo(`/r/${raceId}`);
}
