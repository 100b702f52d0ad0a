// Routing: opens the page that belongs to the address.

import { ApiError, loadModule } from "./api.js";
import { fill, h, homeLink, notice } from "./dom.js";
import { HomePage } from "./home.js";
import { preferencesMenu } from "./preferences.js";
import { RacePage } from "./race.js";
import { ReplayPage } from "./replay.js";
import { RulesPage } from "./rules.js";

const ROUTES = [
  [/^\/$/, () => new HomePage()],
  [/^\/r\/([^/]+)$/, (raceId) => new RacePage(raceId)],
  [/^\/w\/([^/]+)$/, (raceId) => new RacePage(raceId, { watch: true })],
  [/^\/o\/([^/]+)$/, async (raceId) => new (await loadModule("./overlay.js")).OverlayPage(raceId)],
  [/^\/replay\/([^/]+)$/, (raceId) => new ReplayPage(raceId)],
  [/^\/rules\/([^/]+)$/, (slug) => new RulesPage(slug)],
  [/^\/p\/([^/]+)$/, async (player) => new (await loadModule("./player.js")).PlayerPage(player)],
  [/^\/login$/, async () => new (await loadModule("./login.js")).LoginPage()],
  [/^\/verify$/, async () => new (await loadModule("./verify.js")).VerifyPage()],
];

const TITLES = {
  "not-found": "Not found",
  "replay-sealed": "Not available yet",
  unreachable: "Connection failed",
};

async function open() {
  document.getElementById("top").append(preferencesMenu());
  const main = document.getElementById("main");
  const route = ROUTES.map(([pattern, page]) => [pattern.exec(location.pathname), page]).find(([match]) => match);
  try {
    if (!route) throw new ApiError(404, "not-found", "This page does not exist.");
    const [match, page] = route;
    await (await page(...match.slice(1))).open(main);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const retry = error.status === 404 ? null : h("a", { class: "button", href: location.href }, "Try again");
    const title = TITLES[error.code] ?? "Something went wrong";
    fill(main, notice(title, error.message, retry, homeLink({ class: "button first" })));
  }
}

open();
