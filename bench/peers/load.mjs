// Load generator for both peers: players who move as soon as there is a response.
// node load.mjs KIND ADDRESS PLAYERS SECONDS WARM_SECONDS SERVER_PID [STORE_PID RACE]; prints a line of JSON.
// Without RACE, players are alone in their matches, and the move is trivial. RACE is a file with `racers`, the number in
// each race, `lines`, the moves that they make in turn, and `warm`, how many moves at least are made before measuring.
import { readFileSync } from "node:fs";

const [kind, address, players, seconds, warm, pid, storePid, file] = process.argv.slice(2);
const race = file && JSON.parse(readFileSync(file, "utf8"));
const perMatch = race?.racers ?? 1;
const latencies = [];
let answers = 0;
let moves = 0;
let measuring = false;

// The moves of a player.
function* movesOf(number) {
  if (race) yield* race.lines[number % race.lines.length];
  while (!race) yield undefined;
  throw new Error("a racer ran out of moves: the interval is too long for one race");
}

// One player: `send` sends a move; call `answered` for each response, with the number of moves that it says were made.
function playing(number, send) {
  const line = movesOf(number);
  let sentAt = 0;
  let made = 0;
  const next = () => {
    sentAt = performance.now();
    send(line.next().value);
  };
  const answered = (ply = made + 1) => {
    if (ply <= made) return; // another racer's move
    made++;
    moves++;
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
  const match = `match-${process.pid}-${Math.floor(number / perMatch)}`;
  const seat = `${number % perMatch}`;
  const socket = io(`http://${address}/${race ? "race" : "counting"}`, { transports: ["websocket"], multiplex: false });
  let state = 0;
  const player = playing(number, (move) => {
    const payload = race ? { type: "play", args: [move], playerID: seat } : { type: "add", args: [], playerID: seat };
    socket.emit("update", { type: "MAKE_MOVE", payload }, state, match, seat);
  });
  await new Promise((resolve) => {
    socket.on("sync", resolve);
    socket.on("connect", () => socket.emit("sync", match, seat, undefined, perMatch));
  });
  socket.on("update", (_, { _stateID, G }, log) => {
    if (race && !log?.length) throw new Error("a move was refused");
    state = _stateID;
    player.answered(G.board?.ply);
  });
  return player;
}

const rooms = [];

async function colyseus(number) {
  const { Client } = await import("@colyseus/sdk");
  const client = new Client(`ws://${address}`);
  const match = Math.floor(number / perMatch);
  rooms[match] ??= number % perMatch === 0 && client.create(race ? "race" : "counting", { racers: perMatch });
  const first = await rooms[match];
  const room = number % perMatch === 0 ? first : await client.joinById(first.roomId);
  const player = playing(number, (move) => (race ? room.send("play", move) : room.send("add")));
  if (race) {
    room.onMessage("view", ({ board }) => player.answered(board.ply));
    room.onMessage("refused", (move) => {
      throw new Error(`${move} was refused`);
    });
  } else room.onMessage("added", () => player.answered());
  return player;
}

// The CPU time that a process has used (s).
function cpu(pid) {
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
while (race && moves < race.warm) await sleep(0.01); // until the server is compiled, however slow the machine is
const began = performance.now();
const before = { server: cpu(pid), store: race && cpu(storePid), load: process.cpuUsage() };
measuring = true;
await sleep(Number(seconds));
measuring = false;
const took = (performance.now() - began) / 1000;
const used = process.cpuUsage(before.load);
const server = cpu(pid) - before.server;
const store = race && cpu(storePid) - before.store;
latencies.sort((a, b) => a - b);
const quantile = (share) => latencies[Math.min(answers - 1, Math.floor(share * answers))];
console.log(
  JSON.stringify({
    rate: answers / took,
    "p50-ms": quantile(0.5),
    "p99-ms": quantile(0.99),
    "server-us": (1e6 * server) / answers,
    "server-cpu": server / took,
    ...(race && { "store-us": (1e6 * store) / answers, moves }),
    "load-cpu": (used.user + used.system) / 1e6 / took,
  }),
);
process.exit(0);
