// The fold of a race: which entries are allowed, and what follows from them (replay format, section 4).

import { deal } from "./deals.mjs";
import { hexHash } from "./encoding.mjs";
import { isFirst } from "./filters.mjs";
import { Racer } from "./racer.mjs";

const DAY = 86_400_000;
const MAX_SEATS = 64;
const MAX_ENTRIES_OF_SEAT = 8000;
const MAX_ENTRIES_TO_JOIN = 7899; // of a released seat that a new player gets
const STUCK = 10_000; // the time to undo or restart before an early end
const SERVER = "0".repeat(16); // the connection of server bots

/** The stage that an event belongs to; others are checked below. */
const STAGES = {
  ...{ joined: "open", left: "open", readied: "open", unreadied: "open", counting: "open" },
  ...{ nonce: "countdown", dealt: "countdown", moved: "running", resigned: "running" },
};

/** What refuses an entry: the fact that it fails, and why. */
export class Refusal extends Error {
  constructor(fact, note) {
    super(note);
    this.fact = fact;
  }
}

export class Race {
  stage = "open"; // then countdown, running, closed
  seats = new Map(); // those that are taken: number to { player, name, bot, commitment, ready, nonce, racer }
  holders = []; // the last player of each number; the first is at 1
  counts = new Map(); // entries by seat
  at = 0; // the time of the last one
  seed = null;

  constructor(header, game, secret) {
    this.header = header;
    this.game = game;
    this.secret = secret;
    this.options = { max_racers: 8, start_delay_ms: 5000, filter: "any", ...header.options };
    this.isPublic = "seed" in header;
    this.isCommon = "daily" in header || "heat" in header; // other races have the same deal
    this.isSealed = !this.isPublic && !this.isCommon;
    const dayEnd = (Math.floor(header.opened_at / DAY) + 1) * DAY;
    this.dealtBy = header.heat?.until ?? ("daily" in header ? dayEnd : Infinity);
  }

  /** Applies an entry, or throws a Refusal. */
  apply(at, event) {
    const fact = ["moved", "resigned"].includes(event.t) ? "moves" : "order";
    const allow = (allowed, note) => {
      if (!allowed) throw new Refusal(fact, note);
    };
    const inStage = this.stage === (STAGES[event.t] ?? this.stage) && this.stage !== "closed";
    allow(inStage, `not in the stage ${this.stage}`);
    allow(!("seat" in event) || event.t === "joined" || this.seats.has(event.seat), "the seat is not taken");
    this[event.t](event, at, allow);
    const count = (this.counts.get(event.seat) ?? 0) + 1;
    allow(!("seat" in event) || count <= MAX_ENTRIES_OF_SEAT, "too many entries of this seat");
    this.counts.set(event.seat, count);
    this.at = at;
  }

  joined({ seat, player, name, bot = false, commitment, by }, at, allow) {
    allow(this.seats.size < this.options.max_racers, "all seats are taken");
    allow([...this.seats.values()].every((taken) => taken.player !== player), "the player has a seat");
    allow(seat === this.#numberFor(player), "another seat is next");
    if (this.isSealed && commitment === undefined) throw new Refusal("nonces", "no commitment to a nonce");
    const isServers = by === SERVER;
    allow(!isServers || !this.header.heat, "server bots do not take part in challenges");
    if (isServers && this.isSealed && commitment !== this.#serverCommitment(seat))
      throw new Refusal("nonces", "the nonce of a server bot does not follow from the secret");
    this.holders[seat] = player;
    this.seats.set(seat, { player, name, bot, commitment, isServers, ready: false });
  }

  #serverCommitment(seat) {
    const { race } = this.header;
    const nonce = hexHash(`samedeal/1/server-nonce|${this.secret}|${race}|${seat}`);
    return hexHash(`samedeal/1/nonce|${race}|${nonce}`);
  }

  #numberFor(player) {
    const earlier = this.holders.indexOf(player);
    if (earlier > 0) return earlier;
    const next = Math.max(this.holders.length, 1);
    if (next <= MAX_SEATS) return next;
    const isFree = (number) => !this.seats.has(number) && this.counts.get(number) <= MAX_ENTRIES_TO_JOIN;
    return this.holders.findIndex((_, number) => number > 0 && isFree(number));
  }

  left({ seat }) {
    this.seats.delete(seat);
  }

  readied({ seat }) {
    this.seats.get(seat).ready = true;
  }

  unreadied({ seat }) {
    this.seats.get(seat).ready = false;
  }

  counting(event, at, allow) {
    allow([...this.seats.values()].every(({ ready }) => ready), "somebody is not ready");
    allow(this.seats.size >= (this.options.max_racers === 1 ? 1 : 2), "too few racers");
    this.stage = "countdown";
    this.countingAt = at;
  }

  nonce({ seat, nonce }, at, allow) {
    const taken = this.seats.get(seat);
    allow(taken.nonce === undefined, "the seat has revealed its nonce");
    const commitment = hexHash(`samedeal/1/nonce|${this.header.race}|${nonce}`);
    if (commitment !== taken.commitment) throw new Refusal("nonces", "not the nonce that the seat is committed to");
    taken.nonce = nonce;
  }

  dealt({ k = 0 }, at, allow) {
    allow(at >= this.countingAt + this.options.start_delay_ms, "the countdown is not over");
    allow(at < this.dealtBy, "the time for this deal is over");
    const isMissing = ({ isServers, nonce }) => isServers && nonce === undefined;
    if (this.isSealed && [...this.seats.values()].some(isMissing))
      throw new Refusal("nonces", "the nonce of a server bot is missing");
    allow(!this.isPublic || k === 0, "a public deal has no number");
    const racers = this.#inOrder().filter(([, seat]) => !this.isSealed || seat.nonce !== undefined);
    const nonces = this.isCommon ? [] : racers.map(([, seat]) => seat.nonce);
    const { challenge, nonce, deal: number } = this.header.heat ?? {};
    const ofHeat = `challenge|${this.secret}|${challenge}|${nonce}|${number}`;
    this.root = hexHash(`samedeal/1/${challenge ? ofHeat : `root|${this.secret}|${nonces}`}`); // joined by commas
    this.k = k;
    this.seed = this.isPublic ? this.header.seed : `${this.root}.${k}`;
    const { state } = deal(this.game, this.seed, this.header.variant);
    for (const [, seat] of racers) seat.racer = new Racer(this.game, state, this.options);
    this.stage = "running";
    this.dealtAt = at;
  }

  /** Whether the deal, if there is one, is the first of its root that passes the filter. Awaits `pause` between deals. */
  async passesFilter(pause) {
    const { filter } = this.options;
    if (this.seed === null) return true;
    if (this.isPublic) return filter === "any";
    return isFirst(this.game, this.root, this.k, this.header.variant, filter, pause);
  }

  moved({ seat, move }, at, allow) {
    const racer = this.#racer(seat, at, allow);
    allow(at >= this.#playsFrom(seat), "another racer has a head start");
    allow(racer.move(move, at - this.dealtAt), "the move is not allowed");
  }

  resigned({ seat }, at, allow) {
    this.#racer(seat, at, allow).resigned = true;
  }

  /** When a racer gets the cards: with the deal, or after the head start of another one who has not stopped. */
  #playsFrom(seat) {
    const { player, ms } = this.header.head_start ?? {};
    const isAhead = ([number, { player: own, racer }]) => own === player && racer?.stopped === false && number !== seat;
    return this.dealtAt + (ms && [...this.seats].some(isAhead) ? ms : 0);
  }

  /** When the race can end early because all who have not stopped are stuck, or infinity: a while after its last entry. */
  #endsEarlyAt() {
    const racers = [...this.seats].filter(([, { racer }]) => racer !== undefined);
    const people = racers.filter(([, { bot }]) => !bot);
    const playing = racers.filter(([, { racer }]) => !racer.stopped);
    const isPossible = "end_when_stuck" in this.options && people.length > 1;
    return isPossible && playing.every(([, { racer }]) => racer.outcome !== "playing") ? this.at + STUCK : Infinity;
  }

  #racer(seat, at, allow) {
    const { racer } = this.seats.get(seat);
    allow(racer !== undefined, "the racer was not dealt in");
    allow(at < this.dealtAt + this.options.limit_ms, "the time limit is over");
    allow(!racer.stopped, "the racer has stopped");
    return racer;
  }

  taken() {} // nothing changes in the game

  closed({ secret }, at, allow) {
    allow(secret === this.secret, "not with this secret");
    if (this.stage === "running") {
      const allStopped = [...this.seats.values()].every(({ racer }) => racer === undefined || racer.stopped);
      const endsAt = Math.min(this.dealtAt + this.options.limit_ms, this.#endsEarlyAt());
      allow(allStopped || at >= endsAt, "somebody could still play");
    } else {
      const expiresAt = this.stage === "open" ? this.header.opened_at + DAY : Infinity;
      allow(at >= Math.min(expiresAt, this.dealtBy), "too early to cancel the race");
    }
    this.stage = "closed";
  }

  #inOrder() {
    return [...this.seats].sort(([one], [other]) => one - other);
  }

  standings() {
    const rows = this.#inOrder().map(([number, seat]) => this.#row(number, seat));
    return place(rows, (row) => (this.seats.get(row.seat).racer === undefined ? [2] : rank(row)));
  }

  #row(number, { name, bot, ready, racer }) {
    const { home, ms } = racer?.best ?? { home: 0, ms: 0 };
    const { goal } = this.game;
    const progress = racer?.outcome === "won" ? 1 : home / goal;
    const outcome = racer === undefined ? this.#idle(ready) : this.#outcome(racer);
    const attempts = racer?.attempt ?? 0;
    return { place: 0, seat: number, name, bot, outcome, done: true, home, goal, progress, attempts, ms };
  }

  #idle(ready) {
    if (this.dealtAt !== undefined) return "scratched";
    return ready ? "ready" : "waiting";
  }

  #outcome({ outcome, resigned }) {
    if (outcome !== "playing") return outcome;
    return resigned ? "resigned" : "timeout";
  }
}

/** What a racer's result is compared by, one value after another; less is better. */
export const rank = ({ outcome, home, ms }) => (outcome === "won" ? [0, 0, ms] : [1, -home, ms]);

/** Compares arrays by the first values that differ. */
export function compare(one, other) {
  const at = one.findIndex((value, i) => value !== other[i]);
  if (at < 0) return 0;
  return one[at] < other[at] ? -1 : 1;
}

/** Returns rows sorted by what `rankOf` returns, with their places. Those who are equal share one, in the order given. */
export function place(rows, rankOf) {
  const ranked = rows.map((row) => ({ row, rank: rankOf(row) }));
  ranked.sort((one, other) => compare(one.rank, other.rank)); // it is stable
  ranked.forEach(({ row, rank }, i) => {
    const isTied = i > 0 && compare(ranked[i - 1].rank, rank) === 0;
    row.place = isTied ? ranked[i - 1].row.place : i + 1;
  });
  return ranked.map(({ row }) => row);
}
