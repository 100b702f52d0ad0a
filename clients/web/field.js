// Fields: all who have raced the deals of a challenge or of a day. The tables of their results, and texts about
// challenges, including those that this browser remembers.

import { attempt, fetchAsGuest } from "./api.js";
import { button, fill, h, hint, list, nameText, refusalText, section, table, tableRow, tag } from "./dom.js";
import { achieved, counted, dealsText, duration, finishText, formatTime, ordinal } from "./phrases.js";
import { guest, saveChallenge, savedChallenges } from "./storage.js";

const HOUR_MS = 3_600_000;
const LATE_MS = 24 * HOUR_MS;

/** A table of results with a button for more of them. `row(result)` returns a row, `fetchMore(skip)` the next page. */
export function resultsTable(title, { results, next }, row, fetchMore, heads = ["Place", "Player", "Cards", "Result"]) {
  const rows = h("tbody", {}, results.map(row));
  const problem = refusalText();
  const more = button("More results", async () => {
    const later = await attempt(() => fetchMore(next), ({ message }) => fill(problem, message));
    if (!later) return;
    next = later.next;
    more.hidden = next === null;
    rows.append(...later.results.map(row));
  });
  more.hidden = next === null;
  return [table({ class: "results" }, h("caption", { class: "sr" }, title), heads, rows), more, problem];
}

/** A row of the results on one deal, with a link to the replay if `isPublic`. */
export function resultRow(game, result, { own = false, isPublic = false }) {
  const { place, race } = result;
  const text = finishText(result);
  const end = race && isPublic ? h("a", { href: `/replay/${race}` }, text) : text;
  const time = result.outcome !== "won" && result.ms > 0 && h("div", { class: "hint" }, duration(result.ms)); // decides ties
  const cells = [`${place}.`, player(result, own), [achieved(game, result, { short: true }), time], end];
  return tableRow(cells, { class: own ? "own" : false });
}

/** The name of a player in a table. */
export const player = ({ name, bot }, own) => [nameText(name), bot ? tag("bot") : null, own ? " (you)" : null];

/** The user's row in the results of a challenge, if they are shown. */
export const ownRow = ({ results }) => results?.find((row) => row.player === guest()?.player);

/** How long a challenge can still be played. */
export function timeLeft({ header }) {
  const hours = Math.floor((header.until - Date.now()) / HOUR_MS);
  if (hours < 1) return "less than an hour left";
  return `${hours < 48 ? counted(hours, "hour") : counted(Math.floor(hours / 24), "day")} left`;
}

const whose = ({ by, header }) => (header.creator === guest()?.player ? "Your" : by ? `${by}’s` : "A");

/** The deals of a challenge in words. */
export const challengeDeals = ({ header }, games) => dealsText(header.deals.map(({ game }) => game), games);

/** What a challenge is called: "Ada’s challenge: Corners", or for those who are invited "Ada challenges you to Corners". */
export function challengeName(challenge, games, isInvited = false) {
  const owner = whose(challenge);
  const name = isInvited && owner.endsWith("s") ? `${challenge.by} challenges you to` : `${owner} challenge:`;
  return `${name} ${challengeDeals(challenge, games)}`;
}

/** What a race means for the challenge that it is a heat of. */
export function heatNote(challenge, { heat }, counts) {
  const { length } = challenge.header.deals;
  const what = counts ? "this race counts, even if you give up" : "you’ve already played this deal, so this race doesn’t count";
  return `${whose(challenge)} challenge${length > 1 ? `, deal ${heat.deal} of ${length}` : ""}: ${what}.`;
}

/** Remembers a challenge, and the user’s place in it. */
export function remember(challenge, games) {
  const { header, reveals_at: revealsAt } = challenge;
  const { place } = ownRow(challenge) ?? {};
  saveChallenge({ id: header.challenge, name: challengeName(challenge, games), until: header.until, revealsAt, place });
}

/** A line for each challenge that this browser remembers, and what is new there as soon as the server has answered. */
export function challengeList() {
  const line = ({ id, name, until, place }) => {
    const news = hint("\u00a0");
    attempt(() => fetchAsGuest(`/challenges/${id}`)).then((challenge) => challenge && fill(news, newsOf(challenge, place)));
    const time = until > Date.now() ? ` · until ${formatTime(until)}` : "";
    return h("li", {}, h("a", { href: `/c/${id}` }, h("b", {}, nameText(name))), time, news);
  };
  return section("Challenges", list(savedChallenges().map(line)));
}

/** How many have played a challenge, or what has changed for the user, whose last known place is `place`. */
function newsOf(challenge, place) {
  const { header, stage, players, counts, results } = challenge;
  const own = ownRow(challenge);
  const isLate = stage === "open" && counts.includes(null) && header.until < Date.now() + LATE_MS;
  const ahead = own && place && own.place > place ? results[results.indexOf(own) - 1] : null;
  const late = isLate && `${counts.some(Boolean) ? "Not all deals played" : "Not played"} yet: ${timeLeft(challenge)}`;
  const news = ahead ? [nameText(ahead.name), ` has passed you: you’re ${ordinal(own.place)} now`] : late;
  const played = `${players} ${players === 1 ? "has" : "have"} played`;
  return [news && [h("b", { class: "caution" }, news), " · "], stage === "revealed" ? "Replays are public" : played];
}
