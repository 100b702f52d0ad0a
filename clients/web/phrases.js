// Cards, piles, times and names as text. tests/wording.json holds this module and the CLI to the same wording.

const RANKS = { A: "ace", T: "10", J: "jack", Q: "queen", K: "king" };
const SUITS = { S: "spades", H: "hearts", C: "clubs", D: "diamonds" };
// The variation selector after each suit requests text; without it, phones draw an emoji.
const SUIT_SYMBOLS = { S: "♠\ufe0e", H: "♥\ufe0e", C: "♣\ufe0e", D: "♦\ufe0e" };
export const BACK = "??";
export const SEARCHING = "The computer is looking for a way to solve this deal…";
const MAX_NAMES = 4; // how many racers a sentence names

export const rankOf = (card) => (card[0] === "T" ? "10" : card[0]);

/** A card such as "6 of hearts". */
export function cardName(card) {
  return card === BACK ? "a face-down card" : `${RANKS[card[0]] ?? card[0]} of ${SUITS[card[1]]}`;
}

/** A text from the server, with cards such as JC shown as J♣, or as `name` describes them. */
export function withCards(text, name = shortCard) {
  return text.replace(/\b[A2-9TJQK][SHCD]\b/g, name);
}

/** A refusal without the names of places, which players of the page do not see: "That pile is empty." */
export const withoutPlaces = (text, places) =>
  text.replace(/\b[a-z]\d\b/g, (place, at) => (places.includes(place) ? `${at ? "t" : "T"}hat pile` : place));

/** What a game says about a table: what to do, or why the attempt ended, with its cards as for withCards. */
export const advice = ({ guidance }, name) => withCards(guidance?.instruction || guidance?.ending || "", name);

/** What to do, or how an attempt ended. */
export const statusText = (board) => advice(board) || capitalized(outcomeText(board.outcome));

const MARKS = { home: "home", jammed: "jammed", only: "nothing else can be played" };

/** What the game marks on a pile, at the end of the pile's description. */
export const markText = (mark) => (mark ? `, ${MARKS[mark] ?? mark}` : "");

/** A pile in short: its top card and its size. */
export function topCardSentence(place, pile) {
  if (!pile.length || pile.at(-1) === BACK) return pileSentence(place, pile);
  return `${place}: ${cardName(pile.at(-1))}${pile.length > 1 ? `, ${pile.length} cards` : ""}`;
}

/** A pile from bottom to top, such as "c4: 2 face down, queen of diamonds, jack of clubs". */
export function pileSentence(place, pile) {
  const down = pile.filter((card) => card === BACK).length;
  const cards = [down && `${down} face down`, ...pile.slice(down).map(cardName)].filter(Boolean);
  return `${place}: ${cards.join(", ") || "empty"}`;
}

/** What a move changed: where cards went, what was turned up, and how many cards remain in face-down piles that they left. */
export function changeSentence(before, after) {
  const parts = [];
  const left = [];
  for (const [place, pile] of Object.entries(after)) {
    const added = addedCards(before[place] ?? [], pile);
    if (added.includes(BACK)) parts.push(`${place} ${pile.length} face down`);
    else if (before[place]?.[pile.length - 1] === BACK && added.length) left.push(`${cardName(added[0])} turned up`);
    else if (added.length > 4) parts.push(`${added.length} cards to ${place}`);
    else if (added.length) parts.push(`${listed(added.map(cardName))} to ${place}`);
  }
  for (const [place, pile] of Object.entries(before)) {
    const size = after[place]?.length ?? 0;
    if (pile.at(-1) === BACK && size < pile.length) left.push(`${place} ${size}`);
  }
  return [...parts, ...left].join(", ") || "nothing moved";
}

const shortCard = (card) => rankOf(card) + SUIT_SYMBOLS[card[1]];

/** What a move did, by its cards and without the names of places: "9♠ on 8♠", "3♠ turned", "5♣ and 5♠ cleared". */
export function playedCards(before, after) {
  const left = Object.entries(before).map(([place, pile]) => addedCards(after[place] ?? [], pile).join());
  const parts = [];
  for (const [place, pile] of Object.entries(after)) {
    const added = addedCards(before[place] ?? [], pile);
    if (added.includes(BACK)) return `${counted(added.length, "card")} turned over`;
    const cards = added.length ? listed(added.map(shortCard)) : "";
    const below = pile.at(-added.length - 1);
    const isRun = left.some((cards) => cards.endsWith(added.join()));
    if (added.length && !left.join().includes(added[0])) parts.push(`${cards} turned`);
    else if (added.length > 1 && !isRun) parts.unshift(`${cards} cleared`);
    else if (added.length) parts.unshift(below ? `${cards} on ${shortCard(below)}` : cards);
  }
  return parts.join(", ") || "nothing moved";
}

/** The cards that were added on top of a pile. */
export function addedCards(before, after) {
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  return after.slice(same);
}

/** What a clock shows, such as 1:23.4, or 1:23 without tenths. */
export function formatClock(ms, tenths = true) {
  const all = Math.floor(Math.abs(ms) / 100);
  const seconds = Math.floor(all / 10);
  const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return `${ms < 0 ? "-" : ""}${text}${tenths ? `.${all % 10}` : ""}`;
}

/** How long something took: 52.2 s, or 1:03.5 from a minute on. */
export const duration = (ms) => (ms < 60_000 ? `${(Math.floor(ms / 100) / 10).toFixed(1)} s` : formatClock(ms));

/** A weekday and time in the user's locale, with the date if that is not within six days. */
export function formatTime(ms) {
  const date = Math.abs(ms - Date.now()) < 518_400_000 ? {} : { day: "numeric", month: "long" };
  return new Date(ms).toLocaleString([], /** @type {any} */ ({ weekday: "long", ...date, hour: "numeric", minute: "2-digit" }));
}

/** The name of one of several racers: with the number of the seat if it is not unique, or looks numbered. Joiners make no
 *  difference. */
export function displayName(racer, racers) {
  const visible = ({ name }) => name.replace(/[\u200c\u200d]/g, "");
  const isShared = racers.some((other) => visible(other) === visible(racer) && other !== racer);
  return isShared || racer.name.includes("#") ? `${racer.name} #${racer.seat}` : racer.name;
}

/** The racers' names by seat. */
export const displayNames = (racers) => new Map(racers.map((racer) => [racer.seat, displayName(racer, racers)]));

/** Names as a list in a sentence: "Ada, Bo and Cy", or "Ada, Bo, Cy and 4 more". */
export function listed(names) {
  const hidden = names.length - MAX_NAMES + 1;
  const shown = hidden > 1 ? [...names.slice(0, MAX_NAMES - 1), `${hidden} more`] : names;
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}` : shown[0];
}

const OUTCOMES = { waiting: "not ready", won: "solved", lost: "not solved", over: "finished", timeout: "out of time" };

/** An outcome in words: a deal is solved or not, and only a race is won. */
export const outcomeText = (outcome) => OUTCOMES[outcome] ?? outcome;

/** The progress of a player: "15 of 52", or "15/52" if `short`; "score 81" in a game played for its score. A solved deal
 *  counts as complete, although The Edge can be won with cards left in the stock. */
export function achieved(game, { home, goal, outcome = "" }, { short = false } = {}) {
  const count = outcome === "won" ? goal : home;
  return game?.counted === "left" ? `score ${goal - count}` : short ? `${count}/${goal}` : `${count} of ${goal}`;
}

/** How far the player of a table has come, and whether that is all the way. */
export const boardResult = (game, { home, outcome }, options) => achieved(game, { home, goal: game.goal, outcome }, options);

/** How a racer finished: "solved in 52.2 s", or the outcome. */
export const finishText = ({ outcome, ms }) => (outcome === "won" ? `solved in ${duration(ms)}` : outcomeText(outcome));

/** A racer's result on the deal: "solved in 52.2 s", "15 of 52" or "score 81". */
export const resultText = (game, racer) => (racer.outcome === "won" ? finishText(racer) : achieved(game, racer));

/** Who has a head start in a race, and how much: "Ben starts 10 s ahead"; empty if nobody has. */
export function headStartText({ header, connection }, [own, other] = ["start", "starts"]) {
  const { view, standings } = connection;
  if (!header.head_start || !view.head_start) return "";
  const who = view.head_start === view.seat ? `You ${own}` : `${displayNames(standings).get(view.head_start)} ${other}`;
  return `${who} ${header.head_start.ms / 1000} s ahead`;
}

export const pointsText = (points) => String(Math.round(100 * points) / 100);

/** States which result on a deal of the day counts, and that later ones do not. */
export const countsText = (game, result) =>
  `Only your first race on this deal counts: ${resultText(game, result)}, ${ordinal(result.place)}.`;

/** The title of a game, or the name that a newer server calls it by. */
export const gameTitle = (games, slug) => games.get(slug)?.title ?? slug;

/** Games by deal: "Corners", "3 deals of Corners", "Corners and Gallery". */
export function dealsText(slugs, games) {
  const titles = [...new Set(slugs.map((slug) => gameTitle(games, slug)))];
  return `${slugs.length > 1 && titles.length === 1 ? `${slugs.length} deals of ` : ""}${listed(titles)}`;
}

/** What a player with the name `own` should know about the rematch of a race with the game `before`: who wants it, with
 *  which game if that is another one, and among more than two, who is in and for whom it waits. */
export function rematchText({ by, game, stage = "open", players = [], awaited = [] }, before, games, own) {
  if (stage === "countdown" || stage === "running") return "The rematch has started.";
  const wish = `${by} wants a rematch${game === before ? "" : `: ${gameTitle(games, game)}`}.`;
  if (players.length + awaited.length < 3) return wish;
  const names = awaited.map((name) => (name === own ? "you" : name)).join(", ");
  return [wish, players.length && `In: ${players.join(", ")}.`, names && `Waiting for ${names}…`].filter(Boolean).join(" ");
}

/** When a rematch starts that is open for `left` ms, if that is decided. */
export const rematchStart = (left) => (left === null ? "" : `It starts in ${Math.ceil(left / 1000)} s at the latest.`);

/** What spectators see, by the race's option. */
export const SPECTATORS = { progress: "see scores only", after: "see nothing until the end", open: "see all tables" };

/** How difficult a deal is, by the race's filter. */
export const GRADES = { "easy/1": "easy", "medium/1": "medium", "hard/1": "hard", "brutal/1": "brutal" };

/** A number of things, such as "1 card" or "2 cards". */
export const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

export const capitalized = (text) => text[0].toUpperCase() + text.slice(1);

export const optionText = (value) => (value === true ? "on" : value === false ? "off" : value);

export const ordinal = (n) => `${n}${{ 1: "st", 2: "nd", 3: "rd" }[n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? "th"}`;
