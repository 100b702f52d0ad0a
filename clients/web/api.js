// Requests to the server's HTTP API.

import { fill, h, ROOT, sleep, sleepUntilAwake } from "./dom.js";
import { guest, store, stored } from "./storage.js";

/** A failed request, with the HTTP status (0 without a response), the server's error code and its message. */
export class ApiError extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
    /** When the server asks to try again, in ms. */
    this.retryMs = 0;
    /** @type {any} How far the server has come with a result that is not ready yet (202). */
    this.progress = null;
  }

  /** Whether the same request may succeed later. */
  get isTemporary() {
    return this.code === "unreachable" || TEMPORARY.includes(this.status);
  }
}

const TEMPORARY = [202, 429, 502, 503, 504];
const BACKOFF_MS = [1000, 2000, 4000, 8000, 15_000];
const MAX_WAITS = 300;

/** Returns what an action returns, or what `refused` returns for the server's refusal. Other errors are faults.
 *  @param {() => any} action
 *  @param {(error: ApiError) => any} [refused] */
export async function attempt(action, refused = () => null) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return refused(error);
  }
}

/** Repeats a request until it succeeds or is refused for good: less and less often, and at once when the device is back
 *  online or the page is visible again; while its result is not ready, as often as the server says. `onProblem(error)` is
 *  called after each failure, and `onWait(progress)` while the result is not ready. Returns null as soon as `isWanted`
 *  says no. Throws ApiError.
 *  @param {() => Promise<any>} request
 *  @param {(error: ApiError) => void} onProblem
 *  @param {{ onWait?: (progress: any) => void, isWanted?: () => boolean }} [options] */
export async function keepTrying(request, onProblem, { onWait = () => {}, isWanted = () => true } = {}) {
  let [failures, waits] = [0, 0];
  while (isWanted()) {
    try {
      const result = await request();
      return isWanted() ? result : null;
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isTemporary) throw error;
      if (error.status === 202) {
        [failures, waits] = [0, waits + 1];
        if (waits === MAX_WAITS) throw new ApiError(0, "", "The computer is still searching. Try again later.");
        if (isWanted()) onWait(error.progress);
        await sleep(error.retryMs || BACKOFF_MS[0]);
      } else {
        onProblem(error);
        await sleepUntilAwake(Math.max(error.retryMs, BACKOFF_MS[failures] ?? BACKOFF_MS.at(-1)));
        failures += 1;
      }
    }
  }
  return null;
}

/** Returns the JSON response to a GET, or to a POST if there is a body, authenticated with `token`; null if it has no
 *  content. Throws ApiError.
 *  @param {string} path
 *  @param {{ body?: any, token?: string, method?: string }} [options] */
export async function fetchJson(path, { body, token, method = body === undefined ? "GET" : "POST" } = {}) {
  const response = await send(`/api/v1${path}`, {
    method,
    headers: bearer(token),
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  });
  if (response.status === 204) return null;
  const data = await response.json().catch(() => null);
  if (data === null) throw new ApiError(response.status, "", `The server sent status ${response.status} without JSON.`);
  return data;
}

/** Like fetchJson, but authenticated as this browser's guest, unless it has none or the server no longer knows it. */
export async function fetchAsGuest(path, options = {}) {
  const token = guest()?.token;
  try {
    return await fetchJson(path, { ...options, token });
  } catch (/** @type {any} */ error) {
    if (!token || error.code !== "bad-token") throw error;
    return fetchJson(path, options);
  }
}

/** Returns the user's scores and newest races, or null before the first one. */
export const fetchOwn = async () => guest()?.player && attempt(() => fetchAsGuest(`/players/${guest().player}?limit=100`));

/** Returns the deal of the day of a race with at most `limit` results, and with that of the user. Throws ApiError. */
export function fetchDaily({ game, opened_at: openedAt }, limit = 100) {
  const date = new Date(openedAt).toISOString().slice(0, 10);
  return fetchAsGuest(`/daily/${date}/${game}?limit=${limit}`);
}

/** Revokes a token. Throws ApiError. */
export const logOut = (token) => fetchJson("/guests/logout", { method: "POST", token });

/** Returns a file on the server as text, authenticated with `token`. Throws ApiError. */
export const fetchText = async (path, token = "") => (await send(path, { headers: bearer(token) })).text();

const bearer = (token) => (token ? { Authorization: `Bearer ${token}` } : {});

const SILENT_MS = 40_000; // the server sends an empty line at least every 15 s
const ANSWER_MS = 10_000; // an idle connection that died silently is only noticed by the request that uses it

/** Yields the objects of a stream of JSON lines. Ends early if the server is silent. Throws ApiError. */
export async function* fetchLines(path) {
  const silence = new AbortController();
  const abortIn = (ms) => setTimeout(() => silence.abort(), ms);
  let timer = abortIn(ANSWER_MS);
  try {
    const response = await send(`/api/v1${path}`, { signal: silence.signal });
    const body = /** @type {ReadableStream} */ (response.body);
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      clearTimeout(timer);
      timer = abortIn(SILENT_MS);
      const { done, value } = await reader.read().catch(() => ({ done: true, value: "" }));
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      yield* lines.filter(Boolean).map((line) => JSON.parse(line));
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the response to a request. Throws ApiError if it is not the result: also while that is not ready (202). */
async function send(path, options = {}) {
  const response = await fetch(ROOT + path, options).catch(() => null);
  document.dispatchEvent(new CustomEvent("connection", { detail: { up: response !== null } }));
  if (!response) throw new ApiError(0, "unreachable", "Cannot connect to the server.");
  if (response.ok && response.status !== 202) return response;
  const body = await response.json().catch(() => null);
  const detail = body?.detail ?? `The server sent status ${response.status}.`;
  const retryMs = 1000 * Number(response.headers.get("Retry-After") ?? 0);
  throw Object.assign(new ApiError(response.status, body?.code ?? "", detail), { retryMs, progress: body });
}

const fetchDescription = async () => JSON.parse(await fetchText("/.well-known/samedeal"));

/** Returns how long the lobby holds the seat of a disconnected player, in seconds, or null if unknown. */
export const fetchAwaySeconds = () =>
  fetchDescription().then(({ limits }) => limits?.away_seconds ?? null).catch(() => null);

/** Returns the public keys that the server has signed replays with. Throws ApiError. */
export const fetchKeys = () => orStored("keys", async () => (await fetchDescription()).keys.map(({ key }) => key));

/** Returns the result of `request`, or while offline, its last result. Only for data that hardly ever changes. */
async function orStored(name, request) {
  try {
    const value = await request();
    store(name, value);
    return value;
  } catch (/** @type {any} */ error) {
    if (error.code !== "unreachable" || stored(name) === null) throw error;
    return stored(name);
  }
}

const ownVersion = /\/page\/([0-9a-f]+)\//.exec(import.meta.url)?.[1];

/** Whether the server has a different version of this page. Throws ApiError. */
export async function isOutdated() {
  const version = await fetchText("/page/version");
  return Boolean(ownVersion) && version !== ownVersion;
}

/** Loads a module of the page that only some visitors need. Throws ApiError. */
export const loadModule = (path) => import(path).catch(({ message }) => failLoading(message));

/** Creates a collapsible part of the page. `load()` returns its content when it opens; closing it discards that. */
export function lazyDetails(title, load, attributes = {}) {
  const content = h("div", {}, "Loading…");
  const onProblem = ({ message }) => fill(content, `${message} Trying again…`);
  const ontoggle = async () => fill(content, details.open ? await keepTrying(load, onProblem) : null);
  const details = h("details", { ...attributes, ontoggle }, h("summary", {}, title), content);
  return details;
}

/** Throws the ApiError for a part of the page that could not be loaded: it may load later, unless the server has another
 *  version of it. */
export async function failLoading(reason) {
  if (await isOutdated()) throw new ApiError(0, "outdated", "The server has a newer version of this page. Reload the page.");
  throw new ApiError(0, "unreachable", `A part of this page could not be loaded (${reason}).`);
}

/** @type {Promise<Map<string, any>> | null} */
let games = null;

/** Returns all games by slug. The list is fetched once. Throws ApiError. */
export function fetchGames() {
  const bySlug = (list) => new Map(list.games.map((game) => [game.slug, game]));
  games ??= orStored("games", () => fetchJson("/games")).then(bySlug);
  games.catch(() => (games = null));
  return games;
}
