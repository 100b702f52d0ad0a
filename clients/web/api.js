// Requests to the server's HTTP API.

import { sleep, sleepUntilAwake } from "./dom.js";
import { ROOT } from "./root.js";
import { guest, store, stored } from "./storage.js";

/** A failed request, with the HTTP status (0 without a response), the server's error code and its message. */
export class ApiError extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
    /** @type {string | null} The name that was refused, if any. */
    this.refusedName = null;
    /** When the server asks to try again, in ms. */
    this.retryMs = 0;
  }

  /** Whether the same request may succeed later. */
  get isTemporary() {
    return this.code === "unreachable" || TEMPORARY.includes(this.status);
  }
}

const TEMPORARY = [429, 502, 503, 504];
const BACKOFF_MS = [1000, 2000, 4000, 8000, 15_000];

/** Repeats a request until it succeeds or is refused for good: less and less often, and at once when the device is back
 *  online or the page is visible again. `onProblem(error)` is called after each failure.
 *  @param {() => Promise<any>} request
 *  @param {(error: ApiError) => void} onProblem */
export async function keepTrying(request, onProblem) {
  for (let tries = 0; ; tries++) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isTemporary) throw error;
      onProblem(error);
      await sleepUntilAwake(Math.max(error.retryMs, BACKOFF_MS[tries] ?? BACKOFF_MS.at(-1)));
    }
  }
}

/** Returns the JSON response to a GET, or to a POST if there is a body, authenticated with `token`. Throws ApiError.
 *  @param {string} path
 *  @param {{ body?: any, token?: string }} [options] */
export async function fetchJson(path, options = {}) {
  const { data } = await fetchStatusAndJson(path, options);
  return data;
}

/** Like fetchJson, but authenticated as this browser's guest, unless it has none or the server no longer knows it. */
export async function fetchAsGuest(path, options = {}) {
  const token = guest()?.token;
  try {
    return await fetchJson(path, { ...options, token });
  } catch (error) {
    if (!token || error.code !== "bad-token") throw error;
    return fetchJson(path, options);
  }
}

/** Returns the deal of the day of a race with at most `limit` results, and with that of the user. Throws ApiError. */
export function fetchDaily({ game, opened_at: openedAt }, limit = 100) {
  const date = new Date(openedAt).toISOString().slice(0, 10);
  return fetchAsGuest(`/daily/${date}/${game}?limit=${limit}`);
}

const MAX_POLLS = 300;

/** Like fetchJson, for results that take time: requests them again while they are not ready. `onWait(progress)` is
 *  called each time, and `onProblem(error)` while the server cannot be reached. Returns null as soon as `isWanted` says
 *  no. Throws ApiError.
 *  @param {string} path
 *  @param {{ body?: any, onWait?: (progress: any) => void, onProblem?: (error: ApiError) => void,
 *    isWanted?: () => boolean }} [options] */
export async function fetchWhenReady(path, { onWait, onProblem, isWanted = () => true, ...options } = {}) {
  for (let polls = 0; polls < MAX_POLLS; polls++) {
    const request = async () => (isWanted() ? fetchStatusAndJson(path, options) : { data: null });
    const { status, data, retryMs } = await keepTrying(request, (error) => onProblem?.(error));
    if (!isWanted()) return null;
    if (status !== 202) return data;
    onWait?.(data);
    await sleep(retryMs);
  }
  throw new ApiError(202, "", "The computer is still searching. Try again later.");
}

/** Like fetchJson, but also returns the status, for results that may not be ready yet (202), and when to retry.
 *  @param {string} path
 *  @param {{ body?: any, token?: string }} [options] */
async function fetchStatusAndJson(path, { body, token } = {}) {
  const response = await send(`/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  });
  const data = await response.json().catch(() => null);
  if (!response.ok) throw errorFrom(response, data);
  if (data === null) throw new ApiError(response.status, "", `The server sent status ${response.status} without JSON.`);
  const retryMs = 1000 * Number(response.headers.get("Retry-After") ?? 1);
  return { status: response.status, data, retryMs };
}

/** Revokes a token. Throws ApiError. */
export async function logOut(token) {
  const response = await send("/api/v1/guests/logout", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  if (!response.ok) throw errorFrom(response, await response.json().catch(() => null));
}

/** Returns a file on the server as text. Throws ApiError. */
export async function fetchText(path) {
  const response = await send(path);
  if (response.ok) return response.text();
  throw errorFrom(response, await response.json().catch(() => null));
}

const SILENT_MS = 40_000; // the server sends an empty line at least every 15 s
const ANSWER_MS = 10_000; // an idle connection that died silently is only noticed by the request that uses it

/** Yields the objects of a stream of JSON lines. Ends early if the server is silent. Throws ApiError. */
export async function* fetchLines(path) {
  const silence = new AbortController();
  const abortIn = (ms) => setTimeout(() => silence.abort(), ms);
  let timer = abortIn(ANSWER_MS);
  try {
    const response = await send(`/api/v1${path}`, { signal: silence.signal });
    if (!response.ok) throw errorFrom(response, await response.json().catch(() => null));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      clearTimeout(timer);
      timer = abortIn(SILENT_MS);
      const { done, value } = await reader.read().catch(() => ({ done: true, value: "" }));
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      yield* lines.filter(Boolean).map((line) => JSON.parse(line));
    }
  } finally {
    clearTimeout(timer);
  }
}

async function send(path, options = {}) {
  const report = (up) => document.dispatchEvent(new CustomEvent("connection", { detail: { up } }));
  try {
    const response = await fetch(ROOT + path, options);
    report(true);
    return response;
  } catch {
    report(false);
    throw new ApiError(0, "unreachable", "Cannot connect to the server.");
  }
}

function errorFrom(response, problem) {
  const detail = problem?.detail ?? `The server sent status ${response.status}.`;
  const error = new ApiError(response.status, problem?.code ?? "", detail);
  error.retryMs = 1000 * Number(response.headers.get("Retry-After") ?? 0);
  return error;
}

/** Returns how long the lobby holds the seat of a disconnected player, in seconds, or null if unknown. */
export async function fetchAwaySeconds() {
  const response = await send("/.well-known/samedeal").catch(() => null);
  const description = await response?.json().catch(() => null);
  return description?.limits?.away_seconds ?? null;
}

/** Returns the public keys that the server has signed replays with. Throws ApiError. */
export const fetchKeys = () =>
  orStored("keys", async () => JSON.parse(await fetchText("/.well-known/samedeal")).keys.map(({ key }) => key));

/** Returns the result of `request`, or while offline, its last result. Only for data that hardly ever changes. */
async function orStored(name, request) {
  try {
    const value = await request();
    store(name, value);
    return value;
  } catch (error) {
    if (error.code !== "unreachable" || stored(name) === null) throw error;
    return stored(name);
  }
}

const ownVersion = /\/page\/([0-9a-f]+)\//.exec(import.meta.url)?.[1];

/** Whether the server has a different version of this page. False if it cannot be reached. */
export async function isOutdated() {
  const version = await fetchText("/page/version").catch(() => null);
  return Boolean(ownVersion && version) && version !== ownVersion;
}

/** Loads a module of the page that only some visitors need. Throws ApiError. */
export async function loadModule(path) {
  try {
    return await import(path);
  } catch (error) {
    await fetchText("/page/version"); // throws if the server cannot be reached or refuses requests for a while
    throw new ApiError(0, "unreachable", `A part of this page could not be loaded (${error.message}).`);
  }
}

/** Loads a module that the page can do without. Returns what `use` returns, or null if the module cannot be loaded. */
export async function loadOptional(path, use) {
  const loaded = await loadModule(path).catch(() => null);
  return loaded && use(loaded);
}

let games = null;

/** Returns all games by slug. The list is fetched once. */
export async function fetchGames() {
  games ??= orStored("games", () => fetchJson("/games")).then(
    (list) => new Map(list.games.map((game) => [game.slug, game])),
  );
  try {
    return await games;
  } catch (error) {
    games = null;
    throw error;
  }
}
