// Scores, as docs/bots/scores.md describes them: matchpoints, and the tables of an evening and of a challenge.

import { FormatError } from "./encoding.mjs";
import { compare, place, rank } from "./race.mjs";

const MATCHES = [3, 5, 7];
const WITHOUT_CARDS = ["waiting", "ready", "scratched"];

/** The result of a race, with its order and signer: everyone who was dealt cards, best first. */
export function resultOf({ header, entries, standings, digest, signature }) {
  const players = new Map(); // by seat; the last one to join has it
  for (const [, , event] of entries) if (event.t === "joined") players.set(event.seat, event.player);
  const unknown = standings.find(({ seat }) => !players.has(seat));
  if (unknown) throw new FormatError(`nobody took seat ${unknown.seat}, which the standings name`);
  const racers = standings
    .filter(({ outcome }) => !WITHOUT_CARDS.includes(outcome))
    .map((standing) => ({ ...standing, player: players.get(standing.seat) }));
  const dealtAt = entries.findLast(([, , event]) => event.t === "dealt")?.[1] ?? 0;
  const endedAt = entries.at(-1)?.[1] ?? header.opened_at;
  return { race: header.race, header, dealtAt, endedAt, digest, key: signature.key, racers };
}

/** Sorts by opening time and id, but puts each race after the one that it follows. */
function inOrder(results) {
  const earlier = (one, other) => compare([one.header.opened_at, one.race], [other.header.opened_at, other.race]);
  const byId = new Map(results.sort(earlier).map((result) => [result.race, result]));
  const ordered = new Set();
  for (const result of byId.values()) {
    const chain = [];
    let link = result;
    while (link && !ordered.has(link) && !chain.includes(link)) {
      chain.unshift(link);
      link = byId.get(link.header.follows);
    }
    chain.forEach((each) => ordered.add(each));
  }
  return [...ordered];
}

/** Returns why races, in the order of inOrder, do not form complete chains. */
function faultsIn(ordered) {
  const places = new Map(ordered.map(({ race }, place) => [race, place]));
  const faults = [];
  const followers = new Map();
  for (const [place, { race, header }] of ordered.entries()) {
    const { follows } = header;
    if (follows === undefined) continue;
    followers.set(follows, [...(followers.get(follows) ?? []), race]);
    if (!places.has(follows)) faults.push(`${race} follows ${follows}, which is missing`);
    else if (places.get(follows) >= place) faults.push(`${race} follows ${follows}, which comes later`);
  }
  for (const [followed, races] of followers) {
    const all = races.length === 2 ? "both" : "all";
    const others = races.slice(0, -1).join(", ");
    if (others) faults.push(`${others} and ${races.at(-1)} ${all} follow ${followed}`);
  }
  return faults;
}

const greatestDivisor = (one, other) => (other === 0n ? one : greatestDivisor(other, one % other));
const leastMultiple = (one, other) => (one / greatestDivisor(one, other)) * other;

/** Twice the rivals beaten, plus the ties. */
export function halves(place, racers) {
  const beaten = racers.filter((rival) => rival.place > place).length;
  const tied = racers.filter((rival) => rival.place === place).length - 1;
  return 2 * beaten + tied;
}

/** The most that `halves` can return, or 1 if that is nothing. */
const most = (racers) => Math.max(1, 2 * (racers.length - 1));

/** Returns a row for each player in some fields, best first: the sum of the matchpoints, and what `update` returns, given
 *  the row before, a racer and the racers of a field. Equal totals are ordered by what `thenBy` returns, less first. */
function table(fields, update, thenBy) {
  // Totals are exact: sums of fractions could round ties apart.
  const unit = fields.map((racers) => BigInt(most(racers))).reduce(leastMultiple, 1n);
  const rows = new Map();
  for (const racers of fields) {
    for (const racer of racers) {
      const row = rows.get(racer.player) ?? { player: racer.player, total: 0n };
      const total = row.total + BigInt(halves(racer.place, racers)) * (unit / BigInt(most(racers)));
      rows.set(racer.player, { ...row, ...update(row, racer, racers), total });
    }
  }
  const ranked = place([...rows.values()], (row) => [-row.total, ...thenBy(row)]);
  return ranked.map(({ total, ...row }) => ({ ...row, points: Number(total) / Number(unit) }));
}

/** The table over races with the given racers, each with two or more. `update` adds more to the row of a racer. */
export function totals(fields, update = (_counts, _racer) => ({})) {
  const add = ({ races = 0, wins = 0 }, racer, racers) => {
    const counts = { races: races + 1, wins: wins + (halves(racer.place, racers) === most(racers) ? 1 : 0) };
    return { ...counts, ...update(counts, racer) };
  };
  return table(fields, add, () => []);
}

function evening(results) {
  const races = results.filter(({ racers }) => racers.length > 1);
  const bestOf = {};
  const update = ({ wins }, { player, seat, name, bot }) => {
    for (const length of MATCHES) if (wins > length / 2) bestOf[length] ??= player;
    return { seat, name, bot };
  };
  const rows = totals(races.map(({ racers }) => racers), update);
  return { races: races.map(({ race }) => race), table: rows, best_of: bestOf };
}

const tieBreaks = ({ solved, deals, ms }) => [-solved, deals.filter((deal) => deal === null).length, ms];

/** The table over `count` deals, given heats. A player's race that was dealt first counts. */
export function fieldTable(count, heats) {
  const firsts = Array.from({ length: count }, () => new Map());
  for (const { race, dealtAt, header, racers } of heats) {
    const first = firsts[header.heat.deal - 1];
    for (const racer of racers) {
      const counted = { ...racer, race, deal: header.heat.deal, dealt: [dealtAt, race, racer.seat] };
      const before = first.get(racer.player)?.dealt ?? [Infinity];
      if (compare([dealtAt, race], before) <= 0) first.set(racer.player, counted);
    }
  }
  const fields = firsts.map((first) => [...first.values()].sort((one, other) => compare(one.dealt, other.dealt)));
  const update = (row, { name, bot, deal, dealt, place, outcome, home, goal, ms, race }, field) => {
    const { solved = 0, deals = Array(count).fill(null), newest = [-1] } = row;
    const points = halves(place, field) / most(field);
    const result = { place, points, outcome, home, goal, ms, race };
    return {
      ...(compare(newest, dealt) < 0 ? { name, bot, newest: dealt } : {}),
      ...{ solved: solved + (outcome === "won" ? 1 : 0), ms: (row.ms ?? 0) + ms },
      deals: deals.map((other, i) => (i === deal - 1 ? result : other)),
    };
  };
  const rows = table(fields.map((field) => place(field, rank)), update, tieBreaks);
  return rows.map(({ newest: _newest, ...row }) => row);
}

/** What logs prove together: who signed which of them, the faults, and the outcome of their verification. */
export function proofOf(signed, faults, outcome) {
  const keys = {};
  for (const { race, key } of signed) (keys[key] ??= []).push(race);
  const signers = Object.keys(keys).length;
  const several = outcome === "key-unknown" && signers > 1 ? [`signed by ${signers} different keys`] : [];
  const all = [...several, ...faults];
  return { keys, faults: all, outcome: all.length > 0 ? "refused" : outcome };
}

/** The table over verified replays in any order, with what they prove together. */
export function signedEvening(results, outcome) {
  const ordered = inOrder(results);
  const scores = { ...evening(ordered), ...proofOf(ordered, faultsIn(ordered), outcome) };
  return scores.faults.length > 0 ? { ...scores, best_of: {} } : scores;
}
