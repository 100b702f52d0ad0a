// Plays games by lines of JSON on standard input, so that another program can compare its rules with these.
//
//   {"game":"corners","seed":"42"}   deals; optional: "variant":{"refill":"waste"}, "options":{"undo":false}
//   {"move":"draw","ms":1200}        makes a move at a time since the deal; also undo and restart

import { createInterface } from "node:readline";

import { GAMES, deal } from "./deals.mjs";
import { printableJson } from "./printing.mjs";
import { Racer } from "./racer.mjs";

let racer;

function answer({ game, seed, variant, options, move, ms }) {
  let cards;
  if (move === undefined) {
    const dealt = deal(GAMES.get(game), seed, variant);
    racer = new Racer(GAMES.get(game), dealt.state, options);
    cards = dealt.cards;
  } else if (!racer.move(move, ms)) return { error: "illegal move" };
  return {
    cards,
    moves: racer.moves,
    view: racer.game.table(racer.state),
    notes: racer.game.notes(racer.state),
    home: racer.game.home(racer.state),
    outcome: racer.outcome,
    reveals: racer.revealed,
    undo: racer.canUndo,
    restart: racer.canRestart,
    attempt: racer.attempt,
    best: racer.best,
    stopped: racer.stopped,
  };
}

function attempt(line) {
  try {
    return answer(JSON.parse(line));
  } catch (error) {
    return { error: String(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(printableJson(JSON.stringify(attempt(line))));
}
