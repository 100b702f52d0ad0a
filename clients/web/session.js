// A session: one's line to one race over the socket. It survives losses; the server's state always wins.

import { Problem } from "./api.js";
import { guest, keepGuest, keepNonces, nonces, noteOpened } from "./memory.js";
import { sha256 } from "./sha256.js";

const CLIENT = "samedeal-web/1";
const BACKOFF_MS = [250, 500, 1000, 2000, 4000, 8000];
const ANSWER_MS = 15_000;
const NONCE_AGAIN_MS = 300;
const SILENT_MS = 5000; // over a line that lives an answer takes less
const ASLEEP_MS = 10_000;
const PASSING = new Set(["store-unavailable", "too-many"]);

/** Why a connection ended for good, by the close code; any other is tried again. */
const FINAL = {
  1009: "A message was too large.",
  4001: "The server did not understand this page: reload it.",
  4009: "The race goes on in another window.",
};

/**
 * `changed(session)` is called whenever anything is otherwise: `view`, `standings`, `line` ("connecting", "up",
 * "lost", "replaced", "ended"), `reason`.
 */
export class Session {
  constructor(race, { watch = false, name = null, changed }) {
    Object.assign(this, { race, watch, name, changed });
    this.view = null;
    this.header = null;
    this.standings = [];
    this.me = null;
    this.line = "connecting";
    this.reason = "";
    this.receipts = new Map();
    this.viewedAt = 0;
    this.standingsN = -1;
    this.unanswered = new Map();
    this.number = 0;
    this.tries = 0;
    this.nonceSent = null;
    this.woken = (event) => this.wake(event);
    document.addEventListener("visibilitychange", this.woken);
    window.addEventListener("online", this.woken);
    this.open();
  }

  // What can be asked. Each answers with a view, or throws Problem with the server's reason.

  ready(ready = true) {
    return this.ask({ t: "ready", ready });
  }

  /** One move at a time: the next waits for the answer. */
  move(move) {
    const before = this.moving ?? Promise.resolve();
    const made = before.catch(() => {}).then(() => this.ask({ t: "move", move, ply: this.view?.board?.ply ?? 0 }));
    this.moving = made;
    return made;
  }

  resign() {
    return this.ask({ t: "resign" });
  }

  leave() {
    return this.ask({ t: "leave" });
  }

  /** Take the seat back from a newer window. */
  takeBack() {
    this.reopen();
  }

  /** How much of the countdown or of the race is left, in ms; null when no clock runs. */
  get leftMs() {
    if (this.view?.clock_ms === undefined || this.view.clock_ms === null) return null;
    return Math.max(0, this.view.clock_ms - (performance.now() - this.viewedAt));
  }

  get mine() {
    return this.standings.find((one) => one.seat === this.view?.seat) ?? null;
  }

  get over() {
    return this.view?.stage === "over" || this.view?.stage === "cancelled";
  }

  close() {
    this.ended = true;
    clearTimeout(this.retry);
    clearTimeout(this.silence);
    document.removeEventListener("visibilitychange", this.woken);
    window.removeEventListener("online", this.woken);
    this.socket?.close();
  }

  ask(request) {
    return new Promise((resolve, reject) => {
      const id = this.nextId();
      this.unanswered.set(id, { request: { ...request, id }, resolve, reject, resent: false });
      this.send({ ...request, id });
      this.listen();
    });
  }

  /** Where no answer comes, the line may be dead though nobody has told us: another one is tried. */
  listen() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.in && this.unanswered.size && this.reopen(), SILENT_MS);
  }

  /** After sleep, or with a network again, nobody waits for the next try, nor trusts a line from before. */
  wake({ type }) {
    if (document.visibilityState === "hidden") {
      this.asleepAt = Date.now();
      return;
    }
    const slept = Date.now() - (this.asleepAt ?? Date.now()) > ASLEEP_MS;
    this.asleepAt = null;
    if (this.line === "lost" || this.line === "connecting" || (this.line === "up" && (slept || type === "online"))) {
      this.reopen();
    }
  }

  // The way in.

  reopen() {
    clearTimeout(this.retry);
    const old = this.socket;
    this.socket = null;
    old?.close();
    this.tries = 0;
    this.open();
  }

  open() {
    if (this.ended) return;
    const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`;
    const socket = new WebSocket(address, ["samedeal.v1.json"]);
    this.socket = socket;
    this.in = false;
    this.nonceSent = null;
    const late = setTimeout(() => socket.close(), ANSWER_MS);
    socket.onopen = () => this.greet();
    socket.onmessage = ({ data }) => {
      if (socket === this.socket) this.receive(JSON.parse(data));
      if (this.in) clearTimeout(late);
    };
    socket.onclose = ({ code }) => {
      clearTimeout(late);
      if (socket === this.socket) this.lost(code);
    };
  }

  greet() {
    const known = this.name ? null : (guest() ?? this.passing);
    this.helloId = this.nextId();
    const who = known ? { token: known.token } : { name: this.name ?? "guest" };
    this.send({ t: "hello", id: this.helloId, client: CLIENT, ...who }, true);
  }

  enter() {
    this.entryId = this.nextId();
    if (this.watch) return this.send({ t: "watch", id: this.entryId, race: this.race }, true);
    const known = nonces(this.race, this.me.player);
    keepNonces(this.race, this.me.player, known);
    const commitment = sha256(`samedeal/1/nonce|${this.race}|${known.next}`);
    return this.send({ t: "join", id: this.entryId, race: this.race, commitment }, true);
  }

  lost(code) {
    this.in = false;
    if (code === 4003) {
      // The token is not known any more: come as a new guest of the same name.
      this.name = guest()?.name ?? "guest";
      keepGuest(null);
      return this.open();
    }
    if (this.over) return this.tell("ended", "");
    if (FINAL[code]) {
      this.refuse(new Problem(0, "replaced", FINAL[code]));
      return this.tell(code === 4009 ? "replaced" : "ended", FINAL[code]);
    }
    if (this.ended) return undefined;
    const wait = BACKOFF_MS[Math.min(this.tries, BACKOFF_MS.length - 1)] * (0.5 + Math.random() / 2);
    this.tries += 1;
    this.retry = setTimeout(() => this.open(), wait);
    return this.tell(this.view ? "lost" : "connecting", "The connection is lost; trying again.");
  }

  // What is heard.

  receive(message) {
    if (message.t === "welcome") return this.welcomed(message);
    if (message.t === "view") return this.viewed(message);
    if (message.t === "progress") {
      this.rank(message.n, message.standings);
      return this.changed(this);
    }
    if (message.t === "problem") return this.declined(message);
    return undefined;
  }

  welcomed(message) {
    this.me = { player: message.player, name: message.name };
    // Who only looks on has chosen no name yet, and is asked for one with the first seat.
    if (message.token && this.watch) this.passing = { ...this.me, token: message.token };
    else if (message.token) keepGuest({ ...this.me, token: message.token });
    this.name = null;
    this.enter();
  }

  viewed(view) {
    this.view = view;
    this.viewedAt = performance.now();
    this.receipts.set(view.n, view.h);
    this.rank(view.n, view.standings ?? []);
    if (view.header) this.header = view.header;
    if (view.re === this.entryId) {
      this.in = true;
      this.tries = 0;
      this.line = "up";
      this.reason = "";
      for (const waiting of this.unanswered.values()) {
        waiting.resent = true;
        this.send(waiting.request);
      }
      this.listen();
    }
    this.openNonce();
    this.answer(view.re, (waiting) => waiting.resolve(view));
    this.changed(this);
    if (this.over) this.tell("ended", "");
  }

  rank(n, standings) {
    if (n < this.standingsN) return;
    this.standingsN = n;
    this.standings = standings;
  }

  declined(problem) {
    const refused = new Problem(problem.status, problem.code, problem.detail);
    if (problem.re === this.helloId || problem.re === this.entryId) {
      if (PASSING.has(problem.code)) return this.socket.close();
      this.ended = true;
      this.refuse(refused);
      this.problem = refused;
      return this.tell("ended", problem.detail);
    }
    if (problem.re === this.nonceId && PASSING.has(problem.code)) {
      this.nonceSent = null;
      return setTimeout(() => this.openNonce(), NONCE_AGAIN_MS);
    }
    return this.answer(problem.re, (waiting) => {
      const done = waiting.resent && waiting.request.t !== "move" && ["untimely", "not-playing"].includes(problem.code);
      if (done)
        waiting.resolve(this.view); // it had been done before the answer was lost
      else waiting.reject(refused);
    });
  }

  /** Opens the commitment once the countdown has begun, once for each socket. */
  openNonce() {
    const { stage, seat } = this.view;
    if (stage === "open") this.wasOpen = true;
    if (stage !== "countdown" || seat === undefined || seat === null || this.nonceSent || !this.header) return;
    if (this.header.seed !== undefined || this.header.daily) return;
    let known = nonces(this.race, this.me.player);
    // After a reload it may have been sent already; then the same is sent again.
    if (this.wasOpen || !known.opened) known = noteOpened(this.race, this.me.player, known);
    this.wasOpen = false;
    this.nonceSent = known.opened;
    this.nonceId = this.nextId();
    this.send({ t: "nonce", id: this.nonceId, nonce: known.opened }, true);
  }

  answer(id, settle) {
    const waiting = this.unanswered.get(id);
    if (!waiting) return;
    this.unanswered.delete(id);
    settle(waiting);
  }

  refuse(problem) {
    for (const waiting of this.unanswered.values()) waiting.reject(problem);
    this.unanswered.clear();
  }

  tell(line, reason) {
    this.line = line;
    this.reason = reason;
    this.changed(this);
  }

  /** Sends if there is a socket that has let us in; what is not answered is sent again when there is one. */
  send(message, early = false) {
    if ((this.in || early) && this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  nextId() {
    this.number += 1;
    return this.number;
  }
}
