// The server over HTTP.

export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    Object.assign(this, { status, code });
  }
}

/** What a GET or a POST answers with, as JSON. Throws Problem with the server's reason, or its own where none answers. */
export async function api(path, { body, signal } = {}) {
  const { data } = await asked(path, { body, signal });
  return data;
}

/** The same with the status, for answers that are not ready yet (202). */
export async function asked(path, { body, signal } = {}) {
  let response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "The server cannot be reached.");
  }
  const text = await response.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    throw new Problem(response.status, "", `The server answered with ${response.status} and no JSON.`);
  }
  if (!response.ok) throw new Problem(response.status, data?.code ?? "", data?.detail ?? `Status ${response.status}.`);
  return { status: response.status, data };
}

/** The bytes of a file of the server, as text. */
export async function text(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Problem(response.status, "", `Status ${response.status}.`);
  return response.text();
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
