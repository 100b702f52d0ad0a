// The service worker: keeps the page's files of one version, so that the page opens without a connection.

const worker = /** @type {any} */ (self);
const { version, files } = worker.SHELL; // the server sets it: the version, and the URLs of its files
const CACHE = `samedeal-${version}`;
const START = "/";

worker.addEventListener("install", (event) => event.waitUntil(store()));
worker.addEventListener("activate", (event) => event.waitUntil(removeOthers()));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const path = new URL(request.url).pathname;
  if (files.includes(path)) event.respondWith(stored(path).then((file) => file ?? fetch(request)));
  else if (request.mode === "navigate") event.respondWith(fetch(request).catch(() => stored(START)));
  // Everything else, such as the API, never passes through here.
});

async function store() {
  const start = new Request(START, { headers: { Accept: "text/html" }, cache: "no-cache" });
  const cache = await caches.open(CACHE);
  await cache.addAll([start, ...files]);
}

/** Removes the files of other versions. No page uses them: this worker starts only after the last one was closed. */
async function removeOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
}

async function stored(path) {
  return (await caches.open(CACHE)).match(path, { ignoreVary: true });
}
