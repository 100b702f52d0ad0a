// The log of the races that the peers run: a stream for each race, in the same store as Same Deal's.
import Redis from "ioredis";

/** Connects to the store at a URL, and returns a function that appends a move. It resolves when the store has flushed it. */
export function openLog(url) {
  const redis = new Redis(decodeURIComponent(url.replace("unix://", "")), { enableAutoPipelining: true });
  return (race, n, seat, move) =>
    redis.xadd(`race:{${race}}:log`, `${n}-0`, "e", JSON.stringify([n, Date.now(), { t: "moved", seat, move }]));
}
