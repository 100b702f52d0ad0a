// Clubs: the fold of a club's log, its tables and ratings, and what they prove together with the replays of its races and
// the scores that a server states.

import { challengeTable, verifyLog } from "./challenge.mjs";
import { canonical, hmac } from "./encoding.mjs";
import { expect } from "./format.mjs";
import { Refusal, compare } from "./race.mjs";
import { halves, proofOf, totals } from "./scores.mjs";

const KEY = "0".repeat(64); // of the digests, which everybody may know
const MAX_MEMBERS = 200;
const MAX_OPEN = 500;
const MAX_RATED = 200;
const ROUNDS = 100;
const DAY = 86_400_000;
const LONGEST = 31 * DAY; // how long a race or a challenge can be open
const WAIT = 60_000; // how long a server can need to enter the end of a race
const PERIODS = { day: "of the day", week: "of the week", season: "of the season", all: "of all time" };
const AFTER_THE_END = ["left", "removed", "erased", "cancelled", "finished"];

/** The digest before the first entry. */
const firstDigest = ({ header }) => hmac(KEY)(`samedeal/1/log|${canonical(header)}`);

class Club {
  secret = KEY;
  invitation = ""; // or its digest
  isDissolved = false;
  races = new Map(); // those that are open: id to the event

  constructor({ founder }) {
    this.members = new Set([founder]);
  }

  apply(at, event) {
    const isDue = !this.isDissolved || AFTER_THE_END.includes(event.t);
    if (!isDue || this[event.t](event) === false) throw new Refusal("order", "not possible now");
  }

  invited = ({ digest }) => (this.invitation = digest);
  revoked = () => (this.invitation = "");
  joined({ player, digest }) {
    const isPossible = digest === this.invitation && !this.members.has(player) && this.members.size < MAX_MEMBERS;
    return isPossible && this.members.add(player);
  }

  left({ t, player }) {
    const wasMember = this.members.delete(player);
    if (t === "removed" || this.members.size === 0) this.invitation = "";
    return wasMember || t === "erased";
  }
  removed = this.left;
  erased = this.left;
  opened = (event) => !this.races.has(event.race) && this.races.size < MAX_OPEN && this.races.set(event.race, event);
  cancelled = ({ race }) => this.races.delete(race);
  finished({ race, places }) {
    const { games } = this.races.get(race) ?? {};
    return (places ?? games)?.length === games?.length && this.races.delete(race);
  }

  dissolved = () => Object.assign(this, { isDissolved: true, invitation: "" });
}

/** Verifies the log of a club, like verifyChallenge. */
export async function verifyClub(log, keys) {
  const last = log.entries.at(-1)?.[3] ?? firstDigest(log);
  expect(last === log.digest, "The last digest of the club does not match its log.");
  return verifyLog(log, new Club(log.header), "club", keys);
}

/** When the period that contains a time began. */
function since(period, at) {
  const day = Math.floor(at / DAY);
  const date = new Date(at);
  if (period === "season") return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - (date.getUTCMonth() % 3));
  return { day: day * DAY, week: (day - ((day + 3) % 7)) * DAY, all: 0 }[period];
}

/** The tables and ratings after entry `n` of the log of a club. */
function scoresAfter({ header, entries }, n) {
  const games = new Map();
  const fields = []; // what counts: deals with two or more players, in the order of their ids
  for (const [, at, event] of entries.slice(0, n)) {
    if (event.t === "opened") games.set(event.race, event.games);
    for (const [i, places] of (event.places ?? []).entries()) {
      const racers = Object.entries(places).map(([player, place]) => ({ player, place }));
      racers.sort((one, other) => compare([one.player], [other.player]));
      if (racers.length > 1) fields.push({ at, game: games.get(event.race)[i], racers });
    }
  }
  const tables = Object.keys(PERIODS).map((period) => {
    const began = fields.length > 0 ? since(period, fields.at(-1).at) : 0;
    return { period, since: began, rows: totals(fields.filter(({ at }) => at >= began).map(({ racers }) => racers)) };
  });
  const rated = fields.filter(({ racers }) => racers.length <= MAX_RATED);
  const slugs = [...new Set(rated.map(({ game }) => game))];
  const ratings = slugs.map((slug) => [slug, ratingsOf(rated.filter(({ game }) => game === slug))]);
  return { club: header.club, n, tables, rated: n, ratings: Object.fromEntries(ratings) };
}

/** The strengths after some rounds of the MM iteration, given the fields of one game. */
function ratingsOf(fields) {
  const players = new Map();
  for (const { player, place, racers } of fields.flatMap(({ racers }) => racers.map((racer) => ({ ...racer, racers })))) {
    if (!players.has(player)) players.set(player, { player, strength: 1, races: 0, score: 1, met: new Map() });
    const row = players.get(player);
    row.races += 1;
    row.score += halves(place, racers);
    for (const rival of racers) row.met.set(rival.player, (row.met.get(rival.player) ?? 0) + 1);
  }
  const rows = [...players.values()].sort((one, other) => compare([one.player], [other.player]));
  const rivalsOf = (row) => rows.filter((rival) => rival !== row && row.met.has(rival.player));
  const rivals = rows.map((row) => rivalsOf(row).map((rival) => [rival, row.met.get(rival.player)]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, row] of rows.entries()) {
      let total = 1 / (row.strength + 1);
      for (const [rival, count] of rivals[i]) total += count / (row.strength + rival.strength);
      row.strength = row.score / 2 / total;
    }
  }
  rows.sort((one, other) => other.strength - one.strength); // it is stable
  return rows.map(({ player, strength, races }) => ({ player, strength, races }));
}

const placesOf = (rows) => Object.fromEntries(rows.map(({ player, place }) => [player, place]));

/** What is given about the races and challenges of a club, by their ids. */
function evidenceOf(challenges, results) {
  const given = new Map();
  for (const { racers, ...found } of results.filter(({ header }) => !("heat" in header))) {
    const { race, header, dealtAt } = found;
    const places = "head_start" in header ? [] : [placesOf(racers)];
    const overBy = (dealtAt || header.opened_at + DAY) + header.options.limit_ms;
    given.set(race, { ...found, games: [header.game], places, overBy, faults: [] });
  }
  for (const log of challenges) {
    const { header, entries, digest, signature } = log;
    const heats = results.filter((result) => result.header.heat?.challenge === header.challenge);
    const { table, faults } = challengeTable(log, heats, "not-checked");
    const games = header.deals.map(({ game }) => game);
    const places = games.map((_, i) =>
      placesOf(table.flatMap(({ player, deals }) => (deals[i] ? [{ player, place: deals[i].place }] : []))),
    );
    const overBy = header.until + Math.max(...header.deals.map(({ options }) => options.limit_ms));
    const times = { dealtAt: table.length > 0 ? entries[0][1] : 0, endedAt: entries.at(-1)[1], overBy };
    given.set(header.challenge, { header, games, digest, places, key: signature.key, ...times, faults });
  }
  return given;
}

/** What contradicts the log in a race or a challenge that it says was over at a time. */
function faultsOf(at, { digest, places = [] }, opened, found) {
  if (!found) return ["is missing"];
  const faults = found.faults.map((fault) => `is a challenge in which ${fault}`);
  const isAnnounced = found.header.commitment === opened.commitment && `${found.games}` === `${opened.games}`;
  const hasPlaces = faults.length > 0 || canonical({ places }) === canonical({ places: found.places });
  if (!isAnnounced) faults.push("does not have the commitment and the games that the log announced");
  else if (found.dealtAt > 0 && found.dealtAt < opened.at) faults.push("was dealt before the log says that it was opened");
  else if (found.digest !== digest || at < found.endedAt) faults.push("does not end as the log says");
  else if (!hasPlaces) faults.push("does not have the places that the log says");
  return faults;
}

/** The number of the last entry that erased each player who had been a member before. */
function erasuresIn({ header, entries }) {
  const members = new Set([header.founder]);
  const erased = new Map();
  for (const [n, , { t, player }] of entries) {
    if (t === "joined") members.add(player);
    if (t === "erased" && members.has(player)) erased.set(player, n);
  }
  return [...erased];
}

/** Whether nothing is wrong except that replays are missing, and erased players may have taken part. */
function isExcused(faults, { places = [] }, found, erased) {
  const isMissing = faults.length > 0 && erased.length > 0 && faults.every((fault) => fault.endsWith("is missing"));
  return isMissing && (found || places.length !== 1 || erased.some((player) => Object.hasOwn(places[0], player)));
}

/** What does not follow from the log in scores that the server states. */
function wrongIn(said, log) {
  const n = Math.max(said.n, said.rated);
  const isOther = said.club !== log.header.club || n > log.entries.length;
  if (isOther) return [`the scores after entry ${n} of ${said.club} are not those of this log`];
  const { tables } = scoresAfter(log, said.n);
  const { ratings } = scoresAfter(log, said.rated);
  const differ = (one, other) => canonical([one ?? null]) !== canonical([other ?? null]);
  const most = tables.length > said.tables.length ? tables : said.tables;
  const wrong = most.flatMap((_, i) => (differ(tables[i], said.tables[i]) ? [(tables[i] ?? said.tables[i]).period] : []));
  const games = Object.keys({ ...ratings, ...said.ratings }).sort();
  return [
    ...wrong.map((period) => `the table ${PERIODS[period]} does not follow from the log`),
    ...games.flatMap((game) => (differ(ratings[game], said.ratings[game]) ? [`the ratings in ${game} do not follow from the log`] : [])),
  ];
}

/** The scores of a club with what is proved about them, given logs of one club that hold, the logs of challenges, the
 *  results of races, and scores that the server states. */
export function clubProof(logs, challenges, results, stated, outcome) {
  const ranked = logs.map((log) => ({ log, rank: [-log.entries.length, log.digest] }));
  const [{ log }, ...others] = ranked.sort((one, other) => compare(one.rank, other.rank));
  const { club } = log.header;
  const given = evidenceOf(challenges, results);
  const erased = erasuresIn(log);
  const faults = /** @type {string[]} */ ([]);
  const unproved = /** @type {string[]} */ ([]);
  const signed = [{ race: club, key: log.signature.key }];
  const opened = new Map();
  for (const { log: other } of others) {
    const index = other.entries.findIndex(([, , , h], i) => h !== log.entries[i][3]);
    const fork = index < 0 ? Number(firstDigest(log) !== firstDigest(other)) : index + 1;
    if (fork > 0) faults.push(`two logs of the club differ from entry ${fork} on`);
  }
  const overBy = new Map(); // the races that are open, and when each must have ended
  let h = firstDigest(log);
  let latest = log.header.opened_at;
  for (const [n, at, event, next] of log.entries) {
    const { t, race } = event;
    const found = given.get(race);
    // If it has the time of the entry before, the clock may have been set back.
    if (t === "opened") opened.set(race, { ...event, n, at: at > latest ? at : 0, club: { club, h } });
    if (t === "opened") overBy.set(race, found?.overBy ?? at + LONGEST);
    else overBy.delete(race);
    h = next;
    latest = at;
    if (t === "cancelled" && found?.dealtAt) faults.push(`${race} was dealt, although the log says that it was cancelled`);
    if (t !== "finished") continue;
    const wrong = faultsOf(at, event, opened.get(race), found);
    const later = erased.flatMap(([player, erasedAs]) => (erasedAs > opened.get(race).n ? [player] : []));
    if (isExcused(wrong, event, found, later)) unproved.push(race);
    else if (wrong.length > 0) faults.push(...wrong.map((fault) => `${race} ${fault}`));
    else signed.push({ race, key: found.key });
  }
  for (const [race, by] of overBy) if (latest > by + WAIT) faults.push(`${race} has no end in the log`);
  for (const race of [...given.keys()].sort()) {
    const isSame = canonical(given.get(race).header.club ?? {}) === canonical(opened.get(race)?.club ?? {});
    if (!opened.has(race)) faults.push(`${race} is not in the log of the club`);
    else if (!isSame) faults.push(`${race} names a different head of the log`);
  }
  faults.push(...stated.flatMap((said) => wrongIn(said, log)));
  return { scores: scoresAfter(log, log.entries.length), unproved, ...proofOf(signed, faults, outcome) };
}
