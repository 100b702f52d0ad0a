// Verifies replays on the reader's own device, in a worker, so that the page stays responsive.

import { failLoading } from "./api.js";

/** @type {Promise<Worker> | null} */
let verifier = null;

/** Starts the worker, which needs no connection from then on. Throws ApiError if it cannot be loaded. */
export function startVerifier() {
  verifier ??= new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./verifier_worker.js", import.meta.url), { type: "module" });
    worker.onmessage = () => resolve(worker); // it is ready
    worker.onerror = () => failLoading("the verifier").catch(reject);
  });
  verifier.catch(() => (verifier = null));
  return verifier;
}

/** Verifies the bytes of a file. `keys` are those that the server publishes, `games` its games by slug, and `receipts`
 *  the lines of a receipts file, if any. Returns the outcome and the facts; if the file is a replay, also the replay
 *  and whether its key is known, otherwise a note. Throws ApiError if the verifier cannot be loaded.
 *  @returns {Promise<any>} */
export async function checkReplay(bytes, { keys, games, receipts, onProgress }) {
  const worker = await startVerifier();
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve, reject) => {
    port1.onmessage = ({ data: { progress, check, error } }) => {
      if (progress) return onProgress(...progress);
      port1.close();
      return error ? reject(new Error(error)) : resolve(check);
    };
    worker.postMessage({ bytes, keys, games: [...games.keys()], receipts, port: port2 }, [port2]);
  });
}
