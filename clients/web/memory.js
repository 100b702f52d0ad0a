// What this browser remembers: who one is here, one's nonces, and how one likes the page.

const PREFIX = "samedeal.";
const kept = new Map(); // where the browser keeps nothing, as long as the page is open

function read(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name) ?? "null") ?? kept.get(name) ?? null;
  } catch {
    return kept.get(name) ?? null;
  }
}

function write(name, value) {
  kept.set(name, value);
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // private windows and full disks: it is known until the page is closed
  }
}

/** Who one is on this server: `name`, `token`, `player`; null before the first race. */
export const guest = () => read("guest");
export const keepGuest = (value) => write("guest", value);

const LIKINGS = { suits: "four", theme: "auto", rivals: true, motion: true };

export const likings = () => ({ ...LIKINGS, ...read("likings") });

export function like(name, value) {
  write("likings", { ...likings(), [name]: value });
  applyLikings();
}

export function applyLikings() {
  const { suits, theme, motion } = likings();
  Object.assign(document.documentElement.dataset, { suits, theme, motion: motion ? "on" : "off" });
}

/** The nonces of one seat: `next`, to commit to, and `opened`, which others may know. None is used for two deals. */
export const nonces = (race, player) => read(`nonce.${race}.${player}`) ?? { next: fresh(), opened: null };

/** The nonces with one more opened, noted before it is sent. */
export function noteOpened(race, player, known) {
  const noted = { next: fresh(), opened: known.next };
  write(`nonce.${race}.${player}`, noted);
  return noted;
}

export const keepNonces = (race, player, known) => write(`nonce.${race}.${player}`, known);

function fresh() {
  return [...crypto.getRandomValues(new Uint8Array(32))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
