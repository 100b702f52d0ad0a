// The service worker: keeps the page's files of one version, so that the page opens without a connection.

/* global SHELL -- the server declares it: the version, and the URLs of the files */

const CACHE = `samedeal-${SHELL.version}`;
const START = "/";

self.addEventListener("install", (event) => event.waitUntil(store()));
self.addEventListener("activate", (event) => event.waitUntil(removeOthers()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const path = new URL(request.url).pathname;
  if (SHELL.files.includes(path)) event.respondWith(stored(path).then((file) => file ?? fetch(request)));
  else if (request.mode === "navigate") event.respondWith(fetch(request).catch(() => stored(START)));
  // Everything else, such as the API, never passes through here.
});

async function store() {
  const start = new Request(START, { headers: { Accept: "text/html" }, cache: "no-cache" });
  const cache = await caches.open(CACHE);
  await cache.addAll([start, ...SHELL.files]);
}

/** Removes the files of other versions. No page uses them: this worker starts only after the last one was closed. */
async function removeOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
}

async function stored(path) {
  return (await caches.open(CACHE)).match(path, { ignoreVary: true });
}
