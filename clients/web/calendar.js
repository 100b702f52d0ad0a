// The calendar of the deals of the day.

import { h, hint } from "./dom.js";

export const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS = 14;

export const dateOf = (ms) => new Date(ms).toISOString().slice(0, 10);
export const longDate = (date) =>
  new Date(date).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/** The deal of a day that the page shows first: another game each day. Undefined without deals. */
export const featured = (daily) => daily[(Date.parse(daily[0]?.date) / DAY_MS) % daily.length];

/** The days on which a player raced a deal of the day, from the player's races. */
export const daysPlayed = (races) => races.filter(({ daily }) => daily).map(({ opened_at: openedAt }) => dateOf(openedAt));

/** Links to the two weeks up to the day `last`, with the days in `played` marked. `shown` is the page's own day.
 *  @param {string} last
 *  @param {{ played?: string[], shown?: string | null }} [options] */
export function calendar(last, { played = [], shown = null } = {}) {
  const days = Array.from({ length: DAYS }, (_, index) => dateOf(Date.parse(last) - (DAYS - 1 - index) * DAY_MS));
  const link = (date) => {
    const isPlayed = played.includes(date);
    const attributes = {
      href: `/daily/${date}`,
      class: isPlayed ? "played" : false,
      "aria-current": date === shown ? "page" : false,
      "aria-label": `${longDate(date)}${isPlayed ? ", played" : ""}`,
    };
    return h("li", {}, h("a", attributes, Number(date.slice(-2))));
  };
  const range = new Intl.DateTimeFormat([], { day: "numeric", month: "long", timeZone: "UTC" });
  const months = range.formatRange(Date.parse(days[0]), Date.parse(last));
  return h("nav", { "aria-label": "Calendar" }, hint(months), h("ol", { class: "calendar" }, days.map(link)));
}
