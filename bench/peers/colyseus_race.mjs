// Colyseus with a race of Same Deal: moves are validated, and logged before they are answered with the racer's view.
// node colyseus_race.mjs OPENING STORE_URL
import { createServer } from "node:http";
import { Room, Server } from "@colyseus/core";
import { schema, t } from "@colyseus/schema";
import { WebSocketTransport } from "@colyseus/ws-transport";

import { openLog } from "./log.mjs";
import { Rules } from "./race.mjs";

const [opening, store] = process.argv.slice(2);
const rules = new Rules(JSON.parse(opening));
const append = openLog(store);

const Standing = schema({ outcome: t.string(), home: t.uint8(), attempts: t.uint16(), ms: t.uint32() });
const Standings = schema({ racers: t.array(Standing) });

class RaceRoom extends Room {
  patchRate = 250; // the standings that the others see, at most four times per second

  onCreate({ racers }) {
    this.maxClients = racers;
    this.dealtAt = Date.now();
    this.n = 0;
    this.racers = [];
    this.seats = new Map();
    this.state = new Standings();
    this.onMessage("play", (client, move) => this.play(client, move));
  }

  onJoin(client) {
    this.seats.set(client.sessionId, this.racers.length);
    this.racers.push(rules.dealt());
    this.state.racers.push(new Standing());
  }

  async play(client, move) {
    const at = this.seats.get(client.sessionId);
    const racer = rules.after(this.racers[at], move, Date.now() - this.dealtAt);
    if (racer === null) return client.send("refused", move);
    this.racers[at] = racer;
    const n = ++this.n;
    await append(this.roomId, n, at + 1, move);
    const { outcome, best, attempt } = racer;
    Object.assign(this.state.racers[at], { outcome, home: best.home, attempts: attempt, ms: best.ms });
    client.send("view", rules.view(this.racers, at + 1, n));
  }
}

const http = createServer();
const server = new Server({ greet: false, transport: new WebSocketTransport({ server: http }) });
server.define("race", RaceRoom);
await server.listen(0);
console.log(`127.0.0.1:${http.address().port}`);
process.stdin.on("end", () => process.exit(0)).resume();
