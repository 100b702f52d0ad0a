// Colyseus with a room that has one message and sends its state with default settings.
import { createServer } from "node:http";
import { Room, Server } from "@colyseus/core";
import { schema, t } from "@colyseus/schema";
import { WebSocketTransport } from "@colyseus/ws-transport";

const Counting = schema({ count: t.uint32() });

class CountingRoom extends Room {
  onCreate() {
    this.state = new Counting();
    this.state.count = 0;
    this.onMessage("add", (client) => {
      this.state.count++;
      client.send("added", this.state.count);
    });
  }
}

const http = createServer();
const server = new Server({ greet: false, transport: new WebSocketTransport({ server: http }) });
server.define("counting", CountingRoom);
await server.listen(0);
console.log(`127.0.0.1:${http.address().port}`);
process.stdin.on("end", () => process.exit(0)).resume();
