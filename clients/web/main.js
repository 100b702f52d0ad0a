// The page's beginning: which address shows what.

import { Problem } from "./api.js";
import { fill, h } from "./dom.js";
import { HomePage } from "./home.js";
import { applyLikings } from "./memory.js";
import { RacePage } from "./race.js";
import { ReplayPage } from "./replay.js";
import { RulesPage } from "./rules.js";

const ROUTES = [
  [/^\/$/, () => new HomePage()],
  [/^\/r\/([a-z0-9-]+)$/, (race) => new RacePage(race)],
  [/^\/w\/([a-z0-9-]+)$/, (race) => new RacePage(race, { watch: true })],
  [/^\/replay\/([a-z0-9-]+)$/, (race) => new ReplayPage(race)],
  [/^\/rules\/([a-z-]+)$/, (game) => new RulesPage(game)],
];

async function open() {
  applyLikings();
  const main = document.getElementById("main");
  for (const [pattern, page] of ROUTES) {
    const found = pattern.exec(location.pathname);
    if (!found) continue;
    try {
      await page(...found.slice(1)).open(main);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      fill(main, h("div", { class: "card-form" }, h("h1", {}, "Not here"), h("p", {}, error.message), h("a", { class: "button first", href: "/" }, "To the front page")));
    }
    return;
  }
}

open();
