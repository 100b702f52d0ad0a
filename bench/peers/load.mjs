// Load generator for both peers: players alone in their matches, who move as soon as there is a response.
// node load.mjs KIND ADDRESS PLAYERS SECONDS WARM_SECONDS SERVER_PID; prints a line of JSON.
import { readFileSync } from "node:fs";

const [kind, address, players, seconds, warm, pid] = process.argv.slice(2);
const latencies = [];
let answers = 0;
let measuring = false;

// One player: `move` sends a move; call `answered` for each response.
function playing(move) {
  let sentAt = 0;
  const next = () => {
    sentAt = performance.now();
    move();
  };
  const answered = () => {
    if (measuring) {
      answers++;
      latencies.push(performance.now() - sentAt);
    }
    next();
  };
  return { next, answered };
}

async function boardgame(number) {
  const { io } = await import("socket.io-client");
  const match = `match-${process.pid}-${number}`;
  const socket = io(`http://${address}/counting`, { transports: ["websocket"], multiplex: false });
  let state = 0;
  const action = { type: "MAKE_MOVE", payload: { type: "add", args: [], playerID: "0" } };
  const player = playing(() => socket.emit("update", action, state, match, "0"));
  await new Promise((resolve) => {
    socket.on("sync", resolve);
    socket.on("connect", () => socket.emit("sync", match, "0", undefined, 1));
  });
  socket.on("update", (_, { _stateID }) => {
    state = _stateID;
    player.answered();
  });
  return player;
}

async function colyseus() {
  const { Client } = await import("@colyseus/sdk");
  const room = await new Client(`ws://${address}`).create("counting");
  const player = playing(() => room.send("add"));
  room.onMessage("added", player.answered);
  return player;
}

// The CPU time that the server has used (s).
function serverCpu() {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").pop().split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const sleep = (s) => new Promise((resolve) => setTimeout(resolve, 1000 * s));
const joined = [];
while (joined.length < Number(players)) {
  const numbers = Array.from({ length: Math.min(50, Number(players) - joined.length) }, (_, at) => joined.length + at);
  joined.push(...(await Promise.all(numbers.map(kind === "boardgame" ? boardgame : colyseus))));
}
for (const player of joined) player.next();
await sleep(Number(warm));
const began = performance.now();
const before = { server: serverCpu(), load: process.cpuUsage() };
measuring = true;
await sleep(Number(seconds));
measuring = false;
const took = (performance.now() - began) / 1000;
const used = process.cpuUsage(before.load);
latencies.sort((a, b) => a - b);
const quantile = (share) => latencies[Math.min(answers - 1, Math.floor(share * answers))];
console.log(
  JSON.stringify({
    rate: answers / took,
    "p50-ms": quantile(0.5),
    "p99-ms": quantile(0.99),
    "server-us": (1e6 * (serverCpu() - before.server)) / answers,
    "server-cpu": (serverCpu() - before.server) / took,
    "load-cpu": (used.user + used.system) / 1e6 / took,
  }),
);
process.exit(0);
