// Plays a game by lines of JSON on standard input, so that another program can compare its rules with these.
//
//   {"game":"corners","seed":"42"}   deals; also {"game":…,"root":"…","k":0}, and "variant":{…}
//   {"variant":{"refill":"waste"}}   deals again in another variant; likewise "game", "seed" or "root" alone
//   {"move":"draw"}                  makes a move; also undo and restart

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { GAMES, deal } from "./deals.mjs";
import { Racer } from "./racer.mjs";

/** Answers one command after another; each is an object as above, and so is each answer. */
export function player() {
  const chosen = { game: undefined, seed: "1", variant: {} };
  let racer;
  return ({ game, seed, root, k = 0, variant, move }) => {
    if (move === undefined) {
      if (game !== undefined && game !== chosen.game) Object.assign(chosen, { game, variant: {} });
      if (root !== undefined) chosen.seed = `${root}.${k}`;
      if (seed !== undefined) chosen.seed = seed;
      if (variant !== undefined) chosen.variant = variant;
      if (!GAMES.has(chosen.game)) return { error: "unknown game" };
      const rules = GAMES.get(chosen.game);
      racer = new Racer(rules, deal(rules, chosen.seed, chosen.variant).state);
    } else if (!racer?.move(move)) return { error: "illegal move" };
    const { game: rules, state, outcome, moves, revealed, canUndo, canRestart } = racer;
    return {
      moves,
      view: rules.table(state),
      notes: rules.notes(state),
      home: rules.home(state),
      outcome,
      over: outcome !== "playing",
      won: outcome === "won",
      reveals: revealed,
      undo: canUndo,
      restart: canRestart,
    };
  };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const answer = player();
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() !== "") console.log(JSON.stringify(answer(JSON.parse(line))));
  }
}
