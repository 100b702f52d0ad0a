// Headlines of finished races and matches. samedeal/share/headlines.py has the same functions with the same results.

import { achieved, capitalized, displayNames, duration, ordinal, pointsText, resultText } from "./phrases.js";

/** The result of a finished race in a sentence, for the racer in a seat or, without one, for a spectator: "You beat Ben
 *  and 2 others!", "2nd of 3, behind Ada", "Ada won, ahead of Ben"; for a racer without rivals, the result on the deal. */
export function resultHeadline(standings, seat, game) {
  const names = displayNames(standings);
  const racers = standings.filter(({ attempts }) => attempts);
  const own = standings.find((each) => each.seat === seat);
  if (own && !own.attempts) return "You did not take part in this race";
  if (!racers.length) return "The race is over";
  if (racers.length === 1) return soloHeadline(racers[0], game, own ? "" : names.get(racers[0].seat));
  const { place } = own ?? racers[0];
  const namesOf = (isMeant) => racers.filter((each) => each !== own && isMeant(each.place)).map((each) => names.get(each.seat));
  const level = namesOf((other) => other === place);
  const ahead = namesOf((other) => other < place);
  const behind = namesOf((other) => other > place);
  const rank = `${ordinal(place)} of ${racers.length}`;
  if (level.length > (own ? 0 : 1)) return `${named(own ? ["You", ...level] : level)} tied for ${rank}`;
  if (!own) return `${level[0]} won, ahead of ${named(behind)}`;
  return ahead.length ? `${rank}, behind ${named(ahead)}` : `You beat ${named(behind)}!`;
}

/** A racer's result on the deal, for below the headline: "Deal: not solved, 15 of 52". */
export function dealLine(standing, game) {
  const isUnsolved = standing.outcome !== "won" && game?.counted !== "left";
  return `Deal: ${isUnsolved ? "not solved, " : ""}${resultText(game, standing)}`;
}

/** How a match stands after a race: "You win the match 2 : 1", "Match: Ada leads 1 : 0"; empty without a match, once it
 *  was won by an earlier race, and while the evening lacks this race. */
export function matchHeadline({ races, table, best_of: winners }, bestOf, race, standings, seat) {
  if (bestOf === 1 || races.at(-1) !== race || table.length < 2) return "";
  const winner = winners[bestOf];
  const isWinner = ({ player }) => Number(player === winner);
  const [leader, ...others] = [...table].sort((one, other) => isWinner(other) - isWinner(one) || other.wins - one.wins);
  const racer = standings.find((each) => each.seat === leader.seat && each.name === leader.name);
  const isReader = Boolean(racer) && racer.seat === seat;
  const name = racer ? displayNames(standings).get(racer.seat) : leader.name;
  const score = others.length === 1 ? ` ${pointsText(leader.points)} : ${pointsText(others[0].points)}` : "";
  if (winner) {
    const first = standings.filter(({ place }) => place === 1);
    const hasWonNow = leader.wins === Math.floor(bestOf / 2) + 1 && first.length === 1 && first[0] === racer;
    return hasWonNow ? `${isReader ? "You win" : `${name} wins`} the match${score}` : "";
  }
  if (leader.wins === others[0].wins) return `Match: tied${score}`;
  return `Match: ${isReader ? "you lead" : `${name} leads`}${score}`;
}

function soloHeadline(racer, game, name) {
  const solved = `solved it in ${duration(racer.ms)}`;
  if (racer.outcome === "won") return name ? `${name} ${solved}` : `You ${solved}!`;
  const result = achieved(game, racer);
  if (game?.counted === "left") return name ? `${name}: ${result}` : capitalized(result);
  return name ? `${name}: not solved, ${result}` : `Not solved: ${result}`;
}

/** Names in a sentence: "Ben", "Ben and Cy", or "Ben and 2 others". */
function named([first, ...others]) {
  if (!others.length) return first;
  return `${first} and ${others.length === 1 ? others[0] : `${others.length} others`}`;
}
