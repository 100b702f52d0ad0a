// The service worker: keeps the page's files of one version, so that the page opens without a connection.

const worker = /** @type {any} */ (self);
const START = new URL("./", worker.location.href).pathname; // the path of the public URL
const { version, files: paths } = worker.SHELL; // the server sets it: the version, and the paths of its files
const files = paths.map((path) => START.slice(0, -1) + path);
const CACHE = `samedeal${START.slice(0, -1)}-${version}`;

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
  for (const file of [start, ...files]) await cache.add(file); // one at a time, behind what the page itself requests
}

/** Removes the files of other versions. No page uses them: this worker starts only after the last one was closed.
 *  Other caches of this host belong to other programs, or to servers below other paths. */
async function removeOthers() {
  const names = await caches.keys();
  const own = names.filter((name) => name.length === CACHE.length && name.startsWith(CACHE.slice(0, -version.length)));
  await Promise.all(own.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
}

async function stored(path) {
  return (await caches.open(CACHE)).match(path, { ignoreVary: true });
}
