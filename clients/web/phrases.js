// Cards, piles, times and names as text. tests/wording.json holds this module and the CLI to the same wording.

const RANKS = { A: "ace", T: "10", J: "jack", Q: "queen", K: "king" };
const SUITS = { S: "spades", H: "hearts", C: "clubs", D: "diamonds" };
// The variation selector after each suit requests text; without it, phones draw an emoji.
export const SUIT_SYMBOLS = { S: "♠\ufe0e", H: "♥\ufe0e", C: "♣\ufe0e", D: "♦\ufe0e" };
export const BACK = "??";

export const rankOf = (card) => (card[0] === "T" ? "10" : card[0]);

/** A card such as "6 of hearts". */
export function cardName(card) {
  return card === BACK ? "a face-down card" : `${RANKS[card[0]] ?? card[0]} of ${SUITS[card[1]]}`;
}

/** A text from the server, with cards such as JC shown as J♣, or as `name` describes them. */
export function withCards(text, name = (card) => rankOf(card) + SUIT_SYMBOLS[card[1]]) {
  return text.replace(/\b[A2-9TJQK][SHCD]\b/g, name);
}

/** What a game says about a table: what to do, or why the attempt ended. Older servers do not send it. */
export const advice = ({ guidance }) => guidance?.instruction || guidance?.ending || "";

const MARKS = { home: "home", jammed: "jammed", only: "nothing else can be played" };

/** What the game marks on a pile, at the end of the pile's description. */
export const markText = (mark) => (mark ? `, ${MARKS[mark] ?? mark}` : "");

/** A pile in short: its top card and its size. */
export function topCardSentence(place, pile) {
  if (!pile.length || pile.at(-1) === BACK) return pileSentence(place, pile);
  return `${place}: ${cardName(pile.at(-1))}${pile.length > 1 ? `, ${pile.length} cards` : ""}`;
}

/** A pile from bottom to top, such as "l4: queen of diamonds, 10 of clubs". */
export function pileSentence(place, pile) {
  if (!pile.length) return `${place}: empty`;
  if (pile.every((card) => card === BACK)) return `${place}: ${pile.length} face down`;
  return `${place}: ${pile.map(cardName).join(", ")}`;
}

/** What a move changed: where cards went, and how many face-down cards remain in the piles that they left. */
export function changeSentence(before, after) {
  const parts = [];
  for (const [place, pile] of Object.entries(after)) {
    const added = addedCards(before[place] ?? [], pile);
    if (added.includes(BACK)) parts.push(`${place} ${pile.length} face down`);
    else if (added.length > 4) parts.push(`${added.length} cards to ${place}`);
    else if (added.length) parts.push(`${added.map(cardName).join(" and ")} to ${place}`);
  }
  for (const [place, pile] of Object.entries(before)) {
    const left = after[place]?.length ?? 0;
    if (pile.includes(BACK) && left < pile.length) parts.push(`${place} ${left}`);
  }
  return parts.join(", ") || "nothing moved";
}

/** The cards that were added on top of a pile. */
export function addedCards(before, after) {
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  return after.slice(same);
}

/** A duration such as 1:23.4, or 1:23 without tenths. */
export function formatClock(ms, tenths = true) {
  const all = Math.floor(Math.abs(ms) / 100);
  const seconds = Math.floor(all / 10);
  const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return `${ms < 0 ? "-" : ""}${text}${tenths ? `.${all % 10}` : ""}`;
}

/** A weekday and time in the user's locale. */
export function formatTime(ms) {
  return new Date(ms).toLocaleString([], { weekday: "long", hour: "numeric", minute: "2-digit" });
}

/**
 * The racers' names by seat. Names that are not unique, or that look numbered, get the number of the seat. Joiners make
 * no difference.
 */
export function displayNames(racers) {
  const visible = ({ name }) => name.replace(/[\u200c\u200d]/g, "");
  const isShared = (racer) => racers.some((other) => visible(other) === visible(racer) && other.seat !== racer.seat);
  const label = (racer) => (isShared(racer) || racer.name.includes("#") ? `${racer.name} #${racer.seat}` : racer.name);
  return new Map(racers.map((racer) => [racer.seat, label(racer)]));
}

const OUTCOMES = { waiting: "not ready", over: "finished", timeout: "out of time" };

export const outcomeText = (outcome) => OUTCOMES[outcome] ?? outcome;

/** How a racer finished: "won in 1:23.4", or the outcome. */
export const finishText = ({ outcome, ms }) => (outcome === "won" ? `won in ${formatClock(ms)}` : outcomeText(outcome));

/** States which result on a deal of the day counts, and that later ones do not. */
export function countsText({ place, home, goal, outcome, ms }) {
  const result = outcome === "won" ? formatClock(ms) : `${home} of ${goal}`;
  return `Only your first race on this deal counts: ${result}, ${ordinal(place)}.`;
}

/** How difficult a deal is, by the race's filter. */
export const GRADES = { "easy/1": "easy", "medium/1": "medium", "hard/1": "hard", "brutal/1": "brutal" };

/** A number of things, such as "1 card" or "2 cards". */
export const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

export const capitalized = (text) => text[0].toUpperCase() + text.slice(1);

export const optionText = (value) => (value === true ? "on" : value === false ? "off" : value);

export const ordinal = (n) => `${n}${{ 1: "st", 2: "nd", 3: "rd" }[n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? "th"}`;
