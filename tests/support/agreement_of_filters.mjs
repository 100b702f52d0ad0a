// Plays and tests the deals on standard input, one line of JSON each, for test_verifiers_agree_on_filters.py.

import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";

import { play } from "../../examples/verify/bots.mjs";
import { GAMES, deal } from "../../examples/verify/deals.mjs";
import { isFirst, passes } from "../../examples/verify/filters.mjs";

globalThis.crypto ??= webcrypto;

async function answer({ game: slug, seed, variant, played, plays, root, k, filters }) {
  const game = GAMES.get(slug);
  if (root !== undefined) return isFirst(game, root, k, variant, filters[0]);
  const { state } = plays > 0 ? deal(game, seed, played) : {};
  return {
    plays: Array.from({ length: plays }, (_, number) => play(game, state, seed, number).moves),
    passed: filters.filter((filter) => passes(game, seed, variant, filter)),
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
