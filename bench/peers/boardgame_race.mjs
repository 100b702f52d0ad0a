// boardgame.io with a race of Same Deal: moves are validated, and logged before they are published.
// node boardgame_race.mjs OPENING STORE_URL
import { createRequire } from "node:module";
import { ActivePlayers, INVALID_MOVE } from "boardgame.io/dist/cjs/core.js";
import { Async } from "boardgame.io/dist/cjs/internal.js";
import boardgame from "boardgame.io/dist/cjs/server.js";

import { openLog } from "./log.mjs";
import { Rules } from "./race.mjs";

const { original } = createRequire(import.meta.url)("immer"); // the build that boardgame.io uses
const { Origins, Server, SocketIO } = boardgame;
const [opening, store] = process.argv.slice(2);
const rules = new Rules(JSON.parse(opening));
const append = openLog(store);

const race = {
  name: "race",
  disableUndo: true, // the racers' own undo is a move
  turn: { activePlayers: ActivePlayers.ALL },
  setup: ({ ctx }) => ({ n: 0, dealtAt: Date.now(), racers: ctx.playOrder.map(() => rules.dealt()) }),
  moves: {
    play: {
      client: false, // it knows the hidden cards
      ignoreStaleStateID: true, // all racers move at once
      move: ({ G, playerID }, move) => {
        const { racers, dealtAt } = original(G); // reading the draft would wrap every card
        const racer = rules.after(racers[playerID], move, Date.now() - dealtAt);
        if (racer === null) return INVALID_MOVE;
        G.n++;
        G.racers[playerID] = racer;
      },
    },
  },
  playerView: ({ G, playerID }) => rules.view(G.racers, Number(playerID) + 1, G.n),
};

// boardgame.io publishes a move before it calls the storage. This holds it back until the storage releases it.
class PubSubAfterLog {
  #channels = new Map();
  #held = new Map();

  subscribe(channel, callback) {
    this.#channels.set(channel, callback); // one for each match
  }

  unsubscribeAll(channel) {
    this.#channels.delete(channel);
  }

  publish(channel, payload) {
    const deliver = () => this.#channels.get(channel)?.(payload);
    if (payload.type === "update") this.#held.set(payload.args[0], deliver);
    else deliver();
  }

  release(match) {
    const deliver = this.#held.get(match);
    this.#held.delete(match);
    deliver?.();
  }
}

// Matches are kept in memory, as Same Deal keeps live races, and moves are appended to the log.
class LoggedStorage extends Async {
  #matches = new Map();

  async connect() {}

  async createMatch(match, { initialState, metadata }) {
    this.#matches.set(match, { initialState, state: initialState, metadata, log: [] });
  }

  async fetch(match) {
    return this.#matches.get(match) ?? {};
  }

  async setState(match, state, deltalog = []) {
    const writes = deltalog.map(({ action: { payload } }) =>
      append(match, state.G.n, Number(payload.playerID) + 1, payload.args[0]),
    );
    await Promise.all(writes);
    this.#matches.get(match).state = state;
    pubSub.release(match);
  }

  async setMetadata(match, metadata) {
    this.#matches.get(match).metadata = metadata;
  }

  async wipe(match) {
    this.#matches.delete(match);
  }

  async listMatches() {
    return [...this.#matches.keys()];
  }
}

console.info = () => {}; // disables the welcome message
const pubSub = new PubSubAfterLog();
const transport = new SocketIO({ pubSub });
const server = Server({ games: [race], origins: [Origins.LOCALHOST], db: new LoggedStorage(), transport });
server.run({ port: 0 }).then(({ appServer }) => console.log(`127.0.0.1:${appServer.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
