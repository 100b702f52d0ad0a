// The server over HTTP.

export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    Object.assign(this, { status, code });
  }
}

/** What a GET, or with a body a POST, answers with as JSON. Throws Problem with the server's reason, or our own. */
export async function api(path, { body } = {}) {
  const { data } = await asked(path, { body });
  return data;
}

/** The same with the status, for answers that are not ready yet (202). */
export async function asked(path, { body } = {}) {
  const response = await reached(`/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  });
  const data = await response.json().catch(() => null);
  if (!response.ok) throw new Problem(response.status, data?.code ?? "", data?.detail ?? `Status ${response.status}.`);
  if (data === null) throw new Problem(response.status, "", `The server answered with ${response.status} and no JSON.`);
  return { status: response.status, data };
}

/** A file of the server, as text. Throws Problem as the others do. */
export async function text(path) {
  const response = await reached(path);
  if (response.ok) return response.text();
  const problem = await response.json().catch(() => null);
  throw new Problem(response.status, problem?.code ?? "", problem?.detail ?? `Status ${response.status}.`);
}

async function reached(path, how = {}) {
  try {
    return await fetch(path, how);
  } catch {
    throw new Problem(0, "unreachable", "The server cannot be reached.");
  }
}

/** How many seconds a seat is held before the countdown when its connection has ended; null if that is not known. */
export async function awaySeconds() {
  const response = await reached("/.well-known/samedeal").catch(() => null);
  const known = await response?.json().catch(() => null);
  return known?.limits?.away_seconds ?? null;
}

let games = null;

/** All games by their slugs, asked for once. */
export async function gamesBySlug() {
  games ??= api("/games").then((answer) => new Map(answer.games.map((game) => [game.slug, game])));
  try {
    return await games;
  } catch (error) {
    games = null;
    throw error;
  }
}
