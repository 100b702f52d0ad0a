// Data stored in this browser: the player's identity, nonces and preferences.

import { goTo, ROOT } from "./root.js";

/** The start of all keys. Servers below other paths of the same host share the storage. */
export const PREFIX = `samedeal${ROOT}.`;
const fallback = new Map(); // used until the page closes if the browser stores nothing

function read(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name) ?? "null") ?? fallback.get(name) ?? null;
  } catch {
    return fallback.get(name) ?? null;
  }
}

function write(name, value) {
  fallback.set(name, value);
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Private windows and full disks: the value is lost when the page closes.
  }
}

/** The server's last answer, for use while offline. */
export const stored = (name) => read(`server.${name}`);
export const isStored = (name) => stored(name) !== null;
export const store = (name, value) => write(`server.${name}`, value);

/** The player on this server: `name`, `token`, `player`; null before the first race. */
export const guest = () => read("guest");
export const saveGuest = (value) => write("guest", value);

/** The slug of the game of the last race opened here, or null. */
export const lastGame = () => read("game");
export const saveLastGame = (slug) => write("game", slug);

const DEFAULTS = {
  theme: "auto",
  suits: "four",
  size: "normal",
  hand: "right",
  rivals: true,
  reactions: true,
  motion: true,
  sound: true,
  vibration: true,
};

export const preferences = () => ({ ...DEFAULTS, ...read("likings") });

export function setPreference(name, value) {
  write("likings", { ...preferences(), [name]: value });
  applyPreferences();
}

export function applyPreferences() {
  const { suits, theme, size, hand, motion } = preferences();
  Object.assign(document.documentElement.dataset, { suits, theme, size, hand, motion: motion ? "on" : "off" });
}

/** The nonces of a seat: `next` to commit to, and `opened`, which is public. No nonce is used for two deals. */
export const nonces = (raceId, player) => read(`nonce.${raceId}.${player}`) ?? { next: newNonce(), opened: null };

/** Moves the next nonce to `opened` and stores it. Call this before sending the nonce. */
export function markOpened(raceId, player, known) {
  const updated = { next: newNonce(), opened: known.next };
  saveNonces(raceId, player, updated);
  return updated;
}

export const saveNonces = (raceId, player, value) => write(`nonce.${raceId}.${player}`, value);

/** The receipts that this tab has received in a race before it was reloaded. */
export const savedReceipts = (raceId) => JSON.parse(sessionStorage.getItem(`${PREFIX}receipts.${raceId}`) ?? "[]");
export const saveReceipts = (raceId, receipts) =>
  sessionStorage.setItem(`${PREFIX}receipts.${raceId}`, JSON.stringify([...receipts]));

function newNonce() {
  return [...crypto.getRandomValues(new Uint8Array(32))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Goes to a race and takes a seat there without asking; with `ready`, the player is ready at once. */
export function goToRace(raceId, { ready = false } = {}) {
  sessionStorage.setItem(`${PREFIX}in.${raceId}`, ready ? "ready" : "1");
  goTo(`/r/${raceId}`);
}
