// Cards, piles, times and standings in words, as one would say them.

const RANKS = { A: "ace", T: "10", J: "jack", Q: "queen", K: "king" };
const SUITS = { S: "spades", H: "hearts", C: "clubs", D: "diamonds" };
// The sign after each suit asks for text: otherwise phones draw a picture of their own.
export const SIGNS = { S: "♠\ufe0e", H: "♥\ufe0e", C: "♣\ufe0e", D: "♦\ufe0e" };
export const BACK = "??";

export const rankOf = (card) => (card[0] === "T" ? "10" : card[0]);

/** A card such as "6 of hearts". */
export function spoken(card) {
  return card === BACK ? "a face-down card" : `${RANKS[card[0]] ?? card[0]} of ${SUITS[card[1]]}`;
}

/** A pile as one looks at it: the top card, and how many there are. */
export function pileSentence(place, pile) {
  if (!pile.length) return `${place}: empty`;
  if (pile.at(-1) === BACK) return `${place}: ${pile.length} face down`;
  return `${place}: ${spoken(pile.at(-1))}${pile.length > 1 ? `, ${pile.length} cards` : ""}`;
}

/** A whole pile, the top card last. */
export const wholePile = (place, pile) => `${place}: ${pile.map(spoken).join(", ") || "empty"}`;

/** What a move did to a table: which cards came to lie where. */
export function changeSentence(before, after) {
  const parts = [];
  for (const [place, pile] of Object.entries(after)) {
    const added = addedTo(before[place] ?? [], pile);
    if (added.includes(BACK)) parts.push(`${place} ${pile.length} face down`);
    else if (added.length > 4) parts.push(`${added.length} cards to ${place}`);
    else if (added.length) parts.push(`${added.map(spoken).join(" and ")} to ${place}`);
  }
  return parts.join(", ") || "nothing moved";
}

/** The cards on top of what lay there before. */
export function addedTo(before, after) {
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  return after.slice(same);
}

/** A time such as 1:23.4, or 1:23 without tenths. */
export function clock(ms, tenths = true) {
  const all = Math.floor(Math.abs(ms) / 100);
  const seconds = Math.floor(all / 10);
  const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return `${ms < 0 ? "-" : ""}${text}${tenths ? `.${all % 10}` : ""}`;
}

/** A moment as one would write it on a note. */
export function moment(ms) {
  return new Date(ms).toLocaleString([], { weekday: "long", hour: "numeric", minute: "2-digit" });
}

/** The names of racers by seat, those that several have with the number of the seat. */
export function namesOf(standings) {
  const shared = (one) => standings.some((other) => other.name === one.name && other.seat !== one.seat);
  return new Map(standings.map((one) => [one.seat, shared(one) ? `${one.name} #${one.seat}` : one.name]));
}

const OUTCOMES = {
  waiting: "not ready",
  ready: "ready",
  playing: "playing",
  won: "won",
  lost: "lost",
  stuck: "stuck",
  over: "finished",
  resigned: "resigned",
  timeout: "out of time",
  scratched: "scratched",
};

export const outcomeWord = (outcome) => OUTCOMES[outcome] ?? outcome;

export const ordinal = (n) => `${n}${{ 1: "st", 2: "nd", 3: "rd" }[n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? "th"}`;
