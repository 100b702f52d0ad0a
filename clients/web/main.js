// Routing: opens the page that belongs to the address. The server preloads the module of its route.

import { ApiError, loadModule } from "./api.js";
import { fill, h, homeLink, notice } from "./dom.js";
import { showConnection, startServiceWorker } from "./offline.js";
import { preferencesMenu } from "./preferences.js";
import { pagePath } from "./root.js";

/** @type {[RegExp, (...parts: string[]) => any][]} */
const ROUTES = [
  [/^\/$/, async () => new (await loadModule("./home.js")).HomePage()],
  [/^\/r\/([^/]+)$/, async (raceId) => new (await loadModule("./race.js")).RacePage(raceId)],
  [/^\/w\/([^/]+)$/, async (raceId) => new (await loadModule("./race.js")).RacePage(raceId, { watch: true })],
  [/^\/o\/([^/]+)$/, async (raceId) => new (await loadModule("./overlay.js")).OverlayPage(raceId)],
  [/^\/replay\/([^/]+)$/, async (raceId) => new (await loadModule("./replay.js")).ReplayPage(raceId)],
  [/^\/solution\/([^/]+)$/, async (raceId) => new (await loadModule("./solution.js")).SolutionPage(raceId)],
  [/^\/practice\/(.+)$/, async (deal) => new (await loadModule("./practice_page.js")).PracticePage(deal)],
  [/^\/rules(?:\/([^/]+))?$/, async (slug) => new (await loadModule("./rules.js")).RulesPage(slug)],
  [/^\/fairness$/, async () => new (await loadModule("./rules.js")).FairnessPage()],
  [/^\/daily(?:\/([^/]+))?$/, async (date) => new (await loadModule("./daily.js")).DailyPage(date)],
  [/^\/p\/([^/]+)$/, async (player) => new (await loadModule("./player.js")).PlayerPage(player)],
  [/^\/login$/, async () => new (await loadModule("./login.js")).LoginPage()],
  [/^\/verify$/, async () => new (await loadModule("./verify.js")).VerifyPage()],
];

const FRAME_MS = 100; // the longest wait for the first frame

const TITLES = {
  "not-found": "Not found",
  "replay-sealed": "Not available yet",
  withdrawn: "This replay was withdrawn",
  "deal-sealed": "Not available yet",
  "illegal-move": "This link does not lead to a table",
  unreachable: "Connection failed",
};

async function open() {
  await firstFrame();
  document.getElementById("top").append(preferencesMenu());
  showConnection();
  await openPage();
  document.querySelector("footer").hidden = false; // after the content, so that it does not shift
}

/** Waits until the text in the HTML is visible, if the window is. */
function firstFrame() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, document.visibilityState === "visible" ? FRAME_MS : 0);
  });
}

async function openPage() {
  const main = document.getElementById("main");
  const route = ROUTES.find(([pattern]) => pattern.test(pagePath()));
  try {
    if (!route) throw new ApiError(404, "not-found", "This page does not exist.");
    const [pattern, page] = route;
    await (await page(...pattern.exec(pagePath()).slice(1))).open(main);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const retry = [404, 410].includes(error.status) ? null : h("a", { class: "button", href: location.href }, "Try again");
    const title = TITLES[error.code] ?? "Something went wrong";
    fill(main, notice(title, error.message, retry, homeLink({ class: "button first" })));
  }
}

open().then(startServiceWorker);
