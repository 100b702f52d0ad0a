// Deal filters: which deal of a root is dealt (docs/bots/bots.md).

import { play } from "./bots.mjs";
import { deal } from "./deals.mjs";
import { visitsToWin } from "./search.mjs";

const MAX_K = 4095;
const PLAYS = 20;
const SPREAD = 6; // between the best and the worst score
/** @param {number[]} range */
const isWithin = ([least, most], number) => number >= least && number <= most;

/** Whether the bot wins so many of its first plays. */
function isWonByBot(game, seed, variant, wins, count) {
  const { state } = deal(game, seed, variant);
  let [fewest, most] = [0, count]; // bounds on the number of wins
  for (let k = 0; most >= wins[0] && fewest <= wins[1] && !(isWithin(wins, fewest) && isWithin(wins, most)); k++) {
    if (game.isWon(play(game, state, seed, k).state)) fewest += 1;
    else most -= 1;
  }
  return isWithin(wins, fewest) && isWithin(wins, most);
}

/** Whether always making the first legal move wins. */
function isWonByFirstMoves(game, seed, variant) {
  let { state } = deal(game, seed, variant);
  while (!game.isWon(state)) {
    const [move] = game.moves(state);
    if (move === undefined) return false;
    state = game.play(state, move);
  }
  return true;
}

const byWins = (...wins) => (game, seed, variant) =>
  isWonByBot(game, seed, variant, wins, PLAYS) && !isWonByFirstMoves(game, seed, variant);

const byVisits = (...visits) => (game, seed, variant) =>
  !isWonByFirstMoves(game, seed, variant) &&
  isWithin(visits, visitsToWin(deal(game, seed, variant).state, visits[1]));

const byScores = (...medians) => (game, seed) => {
  const { state } = deal(game, seed, { cap: false });
  const scoreOf = (k) => game.goal - game.home(play(game, state, seed, k).state);
  const scores = Array.from({ length: PLAYS }, (_, k) => scoreOf(k)).sort((one, other) => one - other);
  return isWithin(medians, scores[PLAYS / 2 - 1]) && scores[PLAYS - 1] - scores[0] >= SPREAD;
};

const friendly = (count, ...wins) => (game, seed, variant) => isWonByBot(game, seed, variant, wins, count);
const onGrid = (test) => ({ "the-edge": test, "kings-in-the-corners": test });

/** The test of each filter in each game. Every deal passes where there is none. */
const TESTS = {
  any: {},
  "friendly/1": { ...onGrid(friendly(60, 18, 48)), corners: friendly(1, 1, 1) },
  "certified/1": { ...onGrid(byWins(5, 12)), corners: byVisits(1, 20_000) },
  "easy/1": { ...onGrid(byWins(12, 20)), corners: byVisits(1, 1000), gallery: byScores(0, 20) },
  "medium/1": { ...onGrid(byWins(6, 11)), corners: byVisits(1001, 4000), gallery: byScores(21, 29) },
  "hard/1": { ...onGrid(byWins(2, 5)), corners: byVisits(4001, 12_000), gallery: byScores(30, 38) },
  "brutal/1": { ...onGrid(byWins(1, 1)), corners: byVisits(12_001, 40_000), gallery: byScores(39, 96) },
};

/** Whether a deal passes a filter. */
export function passes(game, seed, variant, filter) {
  const test = TESTS[filter][game.slug];
  return test === undefined || test(game, seed, variant);
}

/** Whether k is the number of the first deal of a root that passes a filter. Awaits `pause` between the deals. */
export async function isFirst(game, root, k, variant, filter, pause = async () => {}) {
  if (k > MAX_K) return false;
  for (let earlier = 0; earlier < k; earlier++) {
    if (passes(game, `${root}.${earlier}`, variant, filter)) return false;
    await pause();
  }
  return passes(game, `${root}.${k}`, variant, filter);
}
