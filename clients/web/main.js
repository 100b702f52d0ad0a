// The page's beginning: which address shows what.

import { Problem } from "./api.js";
import { fill, h, notice } from "./dom.js";
import { HomePage } from "./home.js";
import { likingsMenu } from "./likings.js";
import { RacePage } from "./race.js";
import { ReplayPage } from "./replay.js";
import { RulesPage } from "./rules.js";

const ROUTES = [
  [/^\/$/, () => new HomePage()],
  [/^\/r\/([^/]+)$/, (race) => new RacePage(race)],
  [/^\/w\/([^/]+)$/, (race) => new RacePage(race, { watch: true })],
  [/^\/replay\/([^/]+)$/, (race) => new ReplayPage(race)],
  [/^\/rules\/([^/]+)$/, (game) => new RulesPage(game)],
];

const HEADS = {
  "not-found": "Not here",
  "replay-sealed": "Still sealed",
  unreachable: "Out of reach",
};

async function open() {
  document.getElementById("top").append(likingsMenu());
  const main = document.getElementById("main");
  const found = ROUTES.map(([pattern, page]) => [pattern.exec(location.pathname), page]).find(([match]) => match);
  try {
    if (!found) throw new Problem(404, "not-found", "There is nothing at this address.");
    await found[1](...found[0].slice(1)).open(main);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const again = error.status === 404 ? null : h("a", { class: "button", href: location.href }, "Try again");
    const front = h("a", { class: "button first", href: "/" }, "To the front page");
    fill(main, notice(HEADS[error.code] ?? "It did not work", error.message, again, front));
  }
}

open();
