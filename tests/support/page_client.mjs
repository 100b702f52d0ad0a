// The page's connection, table and selection without a browser, for tests/web/test_web_all_orders.py. Each line of
// standard input is an event. The response is a line with the messages to the server, the moves made, the number of
// moves that were answered and that wait, and the refusals that are shown.

import { createInterface } from "node:readline";

const [directory] = process.argv.slice(2);
const element = {
  addEventListener() {},
  removeEventListener() {},
  setAttribute() {},
  replaceChildren() {},
  classList: { add() {}, remove() {} },
  dataset: {},
  createElement: () => element,
  getElementById: () => element,
};
let socket, connection, table, entry, out;

class Socket {
  static OPEN = 1;
  readyState = Socket.OPEN;

  constructor() {
    socket = this;
  }

  close() {}

  /** Accepts the player and the seat, and passes on everything else. */
  send(text) {
    const message = JSON.parse(text);
    if (message.t === "hello") this.receive({ t: "welcome", player: "ada", name: "ada", server: "test" });
    else if (message.t === "join") this.receive({ ...entry, re: message.id });
    else out.sent.push(message);
  }

  receive(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }
}

const timers = new Map();
const stubs = {
  document: element,
  window: element,
  location: { protocol: "http:", host: "race.test" },
  matchMedia: () => ({ matches: true }),
  performance: { now: () => 0 },
  WebSocket: Socket,
  setTimeout(callback) {
    timers.set(timers.size, callback);
    return timers.size - 1;
  },
  clearTimeout() {},
};
for (const [name, value] of Object.entries(stubs)) Object.defineProperty(globalThis, name, { value, configurable: true });

const { Connection } = await import(`${directory}/connection.js`);
const { Table } = await import(`${directory}/table.js`);

const OWN_REFUSALS = /^(That card cannot|Nothing to move)/; // the table's, of taps that are not sent

/** A table that draws nothing. */
class BlindTable extends Table {
  build() {
    this.order = this.game.layout.split(/\s+/).filter((place) => place && place !== ".");
  }

  redraw() {}

  highlight() {}

  anticipate() {}

  make(move, place) {
    out.made.push(move);
    return super.make(move, place);
  }

  refuse(text) {
    if (!OWN_REFUSALS.test(text)) out.refusals.push(text);
  }
}

async function play(move) {
  try {
    await connection.move(move);
    return null;
  } catch (error) {
    return error.message;
  } finally {
    out.answered += 1;
  }
}

const events = {
  start({ race, game, view }) {
    entry = view;
    table = new BlindTable(game, { play });
    const onChange = () => {
      const board = connection.view?.board;
      if (board && board !== table.board) table.show(board, { animate: false });
    };
    connection = new Connection(race, { name: "ada", onChange });
    socket.onopen();
  },
  touch: (place) => table.tap(place),
  draw() {
    const word = table.selection.all.find(({ isWord }) => isWord);
    if (word) table.make(word.move, null);
  },
  undo: () => table.board.undo && table.make("undo", null),
  clear: () => table.clearSelection(),
  receive: (message) => socket.receive(message),
  lose: () => socket.onclose({ code: 1006, reason: "" }),
  restore(view) {
    entry = view;
    timers.get(connection.retry)();
    socket.onopen();
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name, argument] = JSON.parse(line);
  out = { sent: [], made: [], answered: 0, refusals: [] };
  events[name](argument);
  await new Promise(setImmediate);
  console.log(JSON.stringify({ ...out, waiting: table.queue.moves.length }));
}
