// boardgame.io with a game of one move and its default in-memory storage.
const { Server, Origins } = require("boardgame.io/dist/cjs/server.js");

const counting = {
  name: "counting",
  setup: () => ({ count: 0 }),
  moves: { add: ({ G }) => void G.count++ },
};

console.info = () => {}; // disables the welcome message
const server = Server({ games: [counting], origins: [Origins.LOCALHOST] });
server.run({ port: 0 }).then(({ appServer }) => console.log(`127.0.0.1:${appServer.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
