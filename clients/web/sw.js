// The service worker: keeps the page's files of one version, so that the page opens without a connection.

const worker = /** @type {any} */ (self);
const START = new URL("./", worker.location.href).pathname; // the path of the public URL
const { version } = worker.SHELL; // the server sets it
const FILES = `${START}page/${version}/`; // the path of the version's files
const CACHE = `samedeal${START.slice(0, -1)}-${version}`;

worker.addEventListener("install", (event) => event.waitUntil(store()));
worker.addEventListener("activate", (event) => event.waitUntil(takeOver()));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const path = new URL(request.url).pathname;
  if (path.startsWith(FILES)) event.respondWith(stored(path).then((file) => file ?? fetch(request)));
  else if (request.mode === "navigate") event.respondWith(fetch(request).catch(() => stored(START)));
  // Everything else, such as the API, never passes through here.
});

async function store() {
  const start = new Request(START, { headers: { Accept: "text/html" }, cache: "no-cache" });
  const cache = await caches.open(CACHE);
  await cache.add(start);
  const response = await fetch(`${FILES}all.json`); // one request for all of them
  const all = await response.json();
  if (all.version !== version) throw new Error("The server has another version or did not answer.");
  const policy = response.headers.get("Content-Security-Policy") ?? "";
  for (const [name, [type, text]] of Object.entries(all.files)) {
    const headers = { "Content-Type": type, "Content-Security-Policy": policy };
    await cache.put(FILES + name, new Response(text, { headers }));
  }
}

/** Takes over the open pages, too, which then load their other modules from the cache, and removes the files of other
 *  versions. No page uses them: this worker starts only after the last one was closed. Other caches of this host belong to
 *  other programs, or to servers below other paths. */
async function takeOver() {
  const names = await caches.keys();
  const own = names.filter((name) => name.length === CACHE.length && name.startsWith(CACHE.slice(0, -version.length)));
  await Promise.all(own.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
  await worker.clients.claim();
}

async function stored(path) {
  return (await caches.open(CACHE)).match(path, { ignoreVary: true });
}
