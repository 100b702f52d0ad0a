// The WebSocket connection to one race. It reconnects when lost; the server's state is authoritative.

import { ApiError, fetchText } from "./api.js";
import { ROOT } from "./dom.js";
import { withLevels } from "./standings.js";
import { guest, markOpened, nonces, savedReceipts, saveGuest, saveNonces } from "./storage.js";
import { hexHash } from "./verify/encoding.mjs";

const CLIENT = "samedeal-web/1";
const FEATURES = ["reactions", "guidance"];
const FORMAT = 4; // the newest race format that this page reads
const BACKOFF_MS = [250, 500, 1000, 2000, 4000, 8000];
const HANDSHAKE_MS = 15_000;
const NONCE_RETRY_MS = 300;
const SILENT_MS = 25_000; // after this time without a message, a visible page asks whether the server is still there
const RESPONSE_MS = 5000; // after this time without a response, the connection counts as dead
const LOST = "Connection lost. Reconnecting…";
const NOT_YET = "The server cannot let you in yet. Trying again…";
const MAX_FAILURES = 3; // then the page looks for the cause
const BLOCKED =
  "This page has loaded, but its WebSocket connection fails. Your network or a proxy may block WebSockets. " +
  "Try another network, or turn off your VPN. If you run this server, check that its proxy passes WebSockets. Trying again…";
const ASLEEP_MS = 10_000;

/** The close codes after which the page does not reconnect. */
const FINAL_CODES = {
  1009: "A message was too large.",
  4001: "The server did not understand this page. Reload it.",
  4009: "This race is open in another window.",
};

/**
 * `onChange()` is called when `view`, `standings`, `status` or `reason` changes. The status is "connecting", "up",
 * "lost", "replaced" (by another window) or "ended". `onReaction(message)` is called for each racer's reaction.
 */
export class Connection {
  me; // the player or spectator, as the server knows them

  constructor(raceId, { watch = false, name = null, header = null, onChange, onReaction }) {
    this.raceId = raceId;
    this.watch = watch;
    this.name = name;
    this.onChange = onChange;
    this.onReaction = onReaction;
    this.view = null;
    this.header = header;
    this.standings = [];
    this.ghosts = [];
    this.watching = 0;
    /** @type {number | null} */
    this.closesAt = null;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.status = "connecting";
    this.reason = "";
    this.receipts = new Map(savedReceipts(raceId));
    this.viewedAt = 0;
    this.standingsN = -1;
    this.pending = new Map();
    this.lastId = 0;
    this.tries = 0;
    this.nonceSent = null;
    this.onWake = (event) => this.wake(event);
    document.addEventListener("visibilitychange", this.onWake);
    for (const kind of ["online", "offline"]) window.addEventListener(kind, this.onWake);
    this.open();
  }

  // Requests. Each resolves to a view, or rejects with the server's ApiError.

  ready = (ready = true) => this.request({ t: "ready", ready });
  move = (move) => this.request({ t: "move", move, ply: this.view?.board?.ply ?? 0 });
  resign = () => this.request({ t: "resign" });
  leave = () => this.request({ t: "leave" });
  /** As the host: starts with the players who are ready. */
  startNow = () => this.request({ t: "start" });
  /** As the host: replaces the race by one with another `game`, other `options` or a `head_start`, before the countdown. */
  change = (changes) => this.request({ t: "again", ...changes });
  /** Adds the server bot of a level before the countdown. */
  addBot = (level) => this.request({ t: "bot", level });
  /** As the host: removes a player before the countdown. */
  remove = (seat) => this.request({ t: "remove", seat });

  /** Sends a reaction, without a response. It is lost if the connection is down. */
  react(reaction) {
    this.send({ t: "react", id: this.nextId(), reaction });
  }

  get isHost() {
    const seat = this.view?.host?.seat;
    return seat !== undefined && seat === this.view.seat;
  }

  /** The time left to get ready, in the countdown, or in the race, in ms; null if no clock is running. */
  get leftMs() {
    if (this.view?.clock_ms === undefined || this.view.clock_ms === null) return null;
    return Math.max(0, this.view.clock_ms - (performance.now() - this.viewedAt));
  }

  /** The time until a race ends early because nobody can move, in ms; otherwise null. */
  get closingMs() {
    return this.closesAt === null ? null : Math.max(0, this.closesAt - performance.now());
  }

  /** The time until the user gets cards, while another racer has a head start, in ms; otherwise null. */
  get waitsMs() {
    const waits = this.view?.waits_ms ?? null;
    return waits === null ? null : Math.max(0, waits - (performance.now() - this.viewedAt));
  }

  get mine() {
    return this.standings.find(({ seat }) => seat === this.view?.seat) ?? null;
  }

  get over() {
    return this.view?.stage === "over" || this.view?.stage === "cancelled";
  }

  close() {
    this.ended = true;
    clearTimeout(this.retry);
    clearTimeout(this.watchdog);
    document.removeEventListener("visibilitychange", this.onWake);
    for (const kind of ["online", "offline"]) window.removeEventListener(kind, this.onWake);
    this.socket?.close();
  }

  request(message) {
    return new Promise((resolve, reject) => {
      const id = this.nextId();
      this.pending.set(id, { message: { ...message, id }, resolve, reject, resent: false });
      this.send({ ...message, id });
      this.startWatchdog();
    });
  }

  /** Reconnects if the server does not respond, and pings it if it is silent: a dead connection is not always reported,
   *  and browsers do not show the pings of the protocol. */
  startWatchdog() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.onSilence(), this.pending.size ? RESPONSE_MS : SILENT_MS);
  }

  onSilence() {
    if (!this.entered) return;
    if (this.pending.size) {
      this.setStatus("lost", LOST);
      this.reopen();
    } else if (document.visibilityState !== "hidden") this.request({ t: "ping" }).catch(() => {});
  }

  /** Reconnects at once when the device wakes up or is back online; also when it goes offline, to see what is still there. */
  wake({ type }) {
    if (document.visibilityState === "hidden") {
      this.asleepAt = Date.now();
      return;
    }
    const slept = Date.now() - (this.asleepAt ?? Date.now()) > ASLEEP_MS;
    this.asleepAt = null;
    if (type === "offline" && this.status === "up") this.setStatus("lost", LOST);
    const down = this.status === "lost" || this.status === "connecting";
    if (down || (this.status === "up" && (slept || type === "online"))) this.reopen();
    else this.startWatchdog();
  }

  // Connecting.

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
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const address = `${scheme}://${location.host}${ROOT}/ws/${encodeURIComponent(this.raceId)}`;
    const socket = new WebSocket(address, ["samedeal.v1.json"]);
    this.socket = socket;
    this.entered = false;
    this.isRefused = false;
    this.nonceSent = null;
    const timeout = setTimeout(() => socket.close(), HANDSHAKE_MS);
    socket.onopen = () => this.greet();
    socket.onmessage = ({ data }) => {
      if (socket === this.socket) this.receive(JSON.parse(data));
      if (this.entered) clearTimeout(timeout);
      this.startWatchdog();
    };
    socket.onclose = ({ code, reason }) => {
      clearTimeout(timeout);
      if (socket === this.socket) this.onClose(code, reason);
    };
  }

  greet() {
    const identity = this.name ? null : (guest() ?? this.spectator);
    this.token = identity?.token ?? null;
    this.helloId = this.nextId();
    const credentials = identity ? { token: identity.token } : { name: this.name ?? "guest" };
    this.send({ t: "hello", id: this.helloId, client: CLIENT, format: FORMAT, features: FEATURES, ...credentials }, true);
  }

  enter() {
    this.entryId = this.nextId();
    if (this.watch) return this.send({ t: "watch", id: this.entryId, race: this.raceId }, true);
    const known = nonces(this.raceId, this.me.player);
    saveNonces(this.raceId, this.me.player, known);
    const commitment = this.header?.heat ? null : hexHash(`samedeal/1/nonce|${this.raceId}|${known.next}`);
    return this.send({ t: "join", id: this.entryId, race: this.raceId, commitment }, true);
  }

  onClose(code, reason) {
    this.entered = false;
    if (code === 4010) return this.fail(new ApiError(403, "banned", reason)); // kicked or banned
    if (code === 4004) return this.endLoggedOut();
    if (code === 4003) {
      if (this.token !== this.spectator?.token && this.token !== guest()?.token) return this.endLoggedOut();
      // The server does not know the token: register a new guest with the same name.
      this.name = guest()?.name ?? "guest";
      saveGuest(null);
      return this.open();
    }
    if (FINAL_CODES[code]) {
      this.rejectPending(new ApiError(0, "replaced", FINAL_CODES[code]));
      return this.setStatus(code === 4009 ? "replaced" : "ended", FINAL_CODES[code]);
    }
    if (this.ended) return;
    this.isRefused ||= !this.view && code === 1013;
    const wait = BACKOFF_MS[Math.min(this.tries, BACKOFF_MS.length - 1)] * (0.5 + Math.random() / 2);
    this.tries += 1;
    this.retry = setTimeout(() => this.open(), wait);
    if (!this.view && !this.isRefused && this.tries >= MAX_FAILURES) return this.explain();
    return this.setStatus(this.view ? "lost" : "connecting", this.isRefused ? NOT_YET : LOST);
  }

  /** Says why there is no connection: if HTTP works, something between here and the server blocks WebSockets. */
  async explain() {
    const isReached = await fetchText("/page/version").then(Boolean, () => false);
    const reason = isReached ? BLOCKED : LOST;
    if (!this.view && !this.ended) this.setStatus("connecting", reason);
  }

  // Messages from the server.

  receive(message) {
    if (message.t === "welcome") return this.onWelcome(message);
    if (message.t === "view") return this.onView(message);
    if (message.t === "progress") {
      this.updateStandings(message);
      return this.onChange();
    }
    if (message.t === "reaction") return this.onReaction(message);
    if (message.t === "problem") return this.onProblem(message);
    if (message.t === "pong") return this.settle(message.re, ({ resolve }) => resolve());
  }

  onWelcome(message) {
    this.me = { player: message.player, name: message.name };
    // A spectator has not chosen a name: the identity is not stored, so that the first join asks for one.
    if (message.token && this.watch) this.spectator = { ...this.me, token: message.token };
    else if (message.token) saveGuest({ ...this.me, token: message.token });
    this.token = message.token ?? this.token;
    this.name = null;
    this.enter();
  }

  onView(view) {
    this.view = view;
    this.viewedAt = performance.now();
    this.receipts.set(view.n, view.h);
    this.updateStandings(view);
    if (view.header) this.header = view.header;
    if (view.re === this.entryId) {
      this.entered = true;
      this.tries = 0;
      this.status = "up";
      this.reason = "";
      for (const pending of this.pending.values()) {
        pending.resent = true;
        this.send(pending.message);
      }
    }
    this.revealNonce();
    this.settle(view.re, ({ resolve }) => resolve(view));
    this.onChange();
  }

  updateStandings({ n, standings = [], ghosts = [], watching = 0, closing_ms: closingMs = null }) {
    if (n && n < this.standingsN) return; // 0: the standings are sealed
    this.closesAt = closingMs === null ? null : performance.now() + closingMs;
    Object.assign(this, { standingsN: n, standings: withLevels(standings, this.view), ghosts, watching });
  }

  onProblem(problem) {
    if (problem.code === "bad-token") return; // the server closes the connection, with code 4003
    const error = new ApiError(problem.status, problem.code, problem.detail);
    if (problem.re === this.helloId || problem.re === this.entryId) {
      this.isRefused = error.isTemporary;
      if (this.isRefused) return this.socket?.close();
      if (problem.re === this.helloId) this.refusedName = this.name;
      return this.fail(error);
    }
    if (problem.re === this.nonceId && error.isTemporary) {
      this.nonceSent = null;
      return setTimeout(() => this.revealNonce(), NONCE_RETRY_MS);
    }
    return this.settle(problem.re, ({ message, resent, resolve, reject }) => {
      // A request that was sent again may have succeeded the first time, before the response was lost.
      const repeated = resent && message.t !== "move" && ["untimely", "not-playing"].includes(problem.code);
      if (repeated) resolve(this.view);
      else reject(error);
    });
  }

  /** Reveals the nonce when the countdown has started, once per socket. */
  revealNonce() {
    const { stage, seat } = this.view;
    if (stage === "open") this.wasOpen = true;
    if (stage !== "countdown" || !seat || this.nonceSent || !this.header) return;
    if (this.header.seed !== undefined || this.header.daily || this.header.heat) return;
    let known = nonces(this.raceId, this.me.player);
    // After a reload, the nonce may have been sent already: send the same one again.
    if (this.wasOpen || !known.opened) known = markOpened(this.raceId, this.me.player, known);
    this.wasOpen = false;
    this.nonceSent = known.opened;
    this.nonceId = this.nextId();
    this.send({ t: "nonce", id: this.nonceId, nonce: known.opened }, true);
  }

  settle(id, action) {
    const pending = this.pending.get(id);
    if (!pending) return;
    this.pending.delete(id);
    action(pending);
  }

  rejectPending(error) {
    for (const { reject } of this.pending.values()) reject(error);
    this.pending.clear();
  }

  endLoggedOut() {
    this.view = null;
    this.fail(new ApiError(401, "bad-token", "You have logged out in another window."));
  }

  /** Ends the connection for good. */
  fail(error) {
    this.ended = true;
    this.rejectPending(error);
    this.error = error;
    this.setStatus("ended", error.message);
  }

  setStatus(status, reason) {
    this.status = status;
    this.reason = reason;
    this.onChange();
  }

  /** Sends a message if the connection is up. Pending requests are sent again after a reconnect. */
  send(message, early = false) {
    const { socket } = this;
    if (socket?.readyState === WebSocket.OPEN && (this.entered || early)) socket.send(JSON.stringify(message));
  }

  nextId() {
    this.lastId += 1;
    return this.lastId;
  }
}
