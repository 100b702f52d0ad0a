// Routing: opens the page that belongs to the address. The server preloads the module of its route. And what all pages
// share: errors, whether the server can be reached, and the service worker.

import { ApiError, attempt, fetchGames, fetchKeys, keepTrying, loadModule } from "./api.js";
import { announce, button, byId, drawer, fill, h, homeLink, notice, pagePath, playerLink, ROOT } from "./dom.js";
import { applyPreferences, guest, lastRace, seatedRaces, stored } from "./storage.js";

/** @type {[RegExp, () => any][]} */
const ROUTES = [
  [/^\/$/, async () => new (await loadModule("./home.js")).HomePage()],
  [/^\/r\/([^/]+)$/, async () => new (await loadModule("./race.js")).RacePage()],
  [/^\/w\/([^/]+)$/, async () => new (await loadModule("./race.js")).RacePage({ watch: true })],
  [/^\/o\/([^/]+)$/, async () => new (await loadModule("./overlay.js")).OverlayPage()],
  [/^\/replay\/([^/]+)$/, async () => new (await loadModule("./replay.js")).ReplayPage()],
  [/^\/solution\/([^/]+)$/, async () => new (await loadModule("./replay.js")).SolutionPage()],
  [/^\/practice\/(.+)$/, async () => new (await loadModule("./practice_page.js")).PracticePage()],
  [/^\/rules(?:\/([^/]+))?$/, async () => new (await loadModule("./rules.js")).RulesPage()],
  [/^\/fairness$/, async () => new (await loadModule("./rules.js")).FairnessPage()],
  [/^\/daily(?:\/([^/]+))?$/, async () => new (await loadModule("./daily.js")).DailyPage()],
  [/^\/c\/([^/]+)$/, async () => new (await loadModule("./challenge.js")).ChallengeView()],
  [/^\/g\/([^/]+)$/, async () => new (await loadModule("./club.js")).ClubView()],
  [/^\/p\/([^/]+)$/, async () => new (await loadModule("./player.js")).PlayerPage()],
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
  outdated: "Reload this page",
  "too-many": "Please wait",
  "store-unavailable": "Please wait",
};

/** The button for the settings, and the drawer that loads them. */
function settingsMenu() {
  const content = h("div", { class: "settings" });
  const [opens, sheet] = drawer("Settings", "Settings", content);
  const onProblem = ({ message }) => fill(content, `${message} Trying again…`);
  sheet.addEventListener("toggle", async ({ newState }) => {
    if (newState !== "open") return;
    const { settings } = await keepTrying(() => loadModule("./preferences.js"), onProblem);
    fill(content, settings());
  });
  return h("div", { class: "preferences" }, opens, sheet);
}

async function open() {
  await firstFrame();
  applyPreferences();
  const me = guest() ? h("span", { class: "me" }, playerLink(guest().player, guest().name)) : "";
  byId("top").append(me, settingsMenu());
  showConnection();
  if (seatedRaces().length || lastRace()) attempt(async () => (await loadModule("./way_back.js")).showWayBack());
  await openPage(byId("main"));
  document.querySelector("footer")?.removeAttribute("hidden"); // after the content, so that it does not shift
}

/** Waits until the text in the HTML is visible, if the window is. */
function firstFrame() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, document.visibilityState === "visible" ? FRAME_MS : 0);
  });
}

async function openPage(main) {
  const [pattern, page] = ROUTES.find(([path]) => path.test(pagePath())) ?? [/()/];
  const show = (error) => fill(main, failure(error));
  if (!page) return show(new ApiError(404, "not-found", "This page does not exist."));
  const parts = (pattern.exec(pagePath()) ?? []).slice(1);
  const openOnce = async () => (await page()).open(main, ...parts);
  return attempt(() => keepTrying(openOnce, show), show);
}

function failure(error) {
  const title = TITLES[error.code] ?? "Something went wrong";
  const isRace = error.code === "not-found" && /^\/[rwo]\//.test(pagePath());
  const more = isRace ? " The link may be cut off, or the race was deleted. Ask for it again, or start a race of your own." : "";
  const text = error.isTemporary ? `${error.message} Trying again…` : error.message + more;
  const verb = error.code === "outdated" ? "Reload" : "Try again";
  const again = [404, 410].includes(error.status) ? null : button(verb, () => location.reload());
  return notice(title, text, again, homeLink({ class: "button first" }));
}

/** Shows errors that nothing else handles: otherwise a button that fails would seem to do nothing.
 *  @param {any} event */
function showError({ message, error, reason = error }) {
  const what = reason?.message ?? reason ?? message;
  const text = reason?.code === "outdated" ? what : `Something went wrong: ${what}`;
  const reload = button("Reload", () => location.reload());
  document.querySelector("body > .banner")?.remove();
  byId("top").after(h("p", { class: "banner", role: "alert" }, text, reload));
}

// Offline use.

/** Starts the service worker where browsers allow it: over HTTPS, and from this computer. */
async function startServiceWorker() {
  if (!navigator.serviceWorker) return;
  try {
    await navigator.serviceWorker.register(`${ROOT}/sw.js`);
    if (!stored("keys")) await Promise.all([fetchGames(), fetchKeys()]); // to verify files later
  } catch {
    // For example in private windows: the page needs a connection.
  }
}

/** Shows in the header whether the server can be reached. A race shows its connection there itself. */
function showConnection() {
  const note = h("span", { class: "offline" }, "Offline. ", h("a", { href: "/verify" }, "Verify a file"));
  const facts = byId("facts");
  document.addEventListener("connection", (/** @type {any} */ { detail }) => {
    if (detail.up) note.remove();
    else if (facts.childElementCount === 0) {
      facts.append(note);
      announce("Offline: races need a connection, but you can verify a file.");
    }
  });
}

window.addEventListener("error", showError);
window.addEventListener("unhandledrejection", showError);
open().then(startServiceWorker);
