// Offline use: starts the service worker, and says when the server cannot be reached.

import { fetchGames, fetchKeys } from "./api.js";
import { announce, h } from "./dom.js";
import { ROOT } from "./root.js";
import { isStored } from "./storage.js";

/** Starts the service worker where browsers allow it: over HTTPS, and from this computer. */
export async function startServiceWorker() {
  if (!navigator.serviceWorker) return;
  try {
    await navigator.serviceWorker.register(`${ROOT}/sw.js`);
    if (!isStored("keys")) await Promise.all([fetchGames(), fetchKeys()]); // to verify files later
  } catch {
    // For example in private windows: the page needs a connection.
  }
}

/** Shows in the header whether the server can be reached. A race shows its connection there itself. */
export function showConnection() {
  const note = h("span", { class: "offline" }, "Offline. ", h("a", { href: "/verify" }, "Verify a file"));
  const facts = document.getElementById("facts");
  document.addEventListener("connection", (/** @type {CustomEvent} */ { detail }) => {
    if (detail.up) note.remove();
    else if (facts.childElementCount === 0) {
      facts.append(note);
      announce("Offline: races need a connection, but you can verify a file.");
    }
  });
}
