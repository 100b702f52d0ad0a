// A random player for `samedeal bot RACE --exec 'node random_bot.mjs'`. Needs no packages.
import { createInterface } from "node:readline";

const ATTEMPTS = 3;

for await (const line of createInterface({ input: process.stdin })) {
  const state = JSON.parse(line);
  if (state.t !== "state") continue; // a refusal or the end of the race
  if (state.moves.length && state.ply < 400) {
    console.log(state.moves[Math.floor(Math.random() * state.moves.length)]);
  } else {
    console.log(state.restart && state.attempt < ATTEMPTS ? "restart" : "resign");
  }
}
