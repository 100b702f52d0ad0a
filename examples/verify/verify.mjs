// Verifies a Same Deal replay without Same Deal's own code. Written from docs/bots/replay-format.md, docs/bots/notation.md and
// docs/play/rules.md; needs only Node.js.
//
//   node verify.mjs replay.json            prints a line per fact; exits with 0 if all hold, with 5 otherwise
//   node verify.mjs --key HEX replay.json  also requires a signature by one of these keys
//   node verify.mjs --deal corners:1       prints the shuffled pack of a deal, first card first

import { createHash, createHmac, createPublicKey, verify as verifySignature } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const sha256 = (text) => createHash("sha256").update(text, "utf8").digest();
const hmac = (key, text) => createHmac("sha256", key).update(text, "utf8").digest("hex");

// The deal (replay-format, section 3).

const RANKS = [..."A23456789TJQK"];
const SUITS = [..."SHCD"];
const rank = (card) => RANKS.indexOf(card[0]) + 1;
const deck = (ranks = RANKS) => SUITS.flatMap((suit) => ranks.map((rank) => rank + suit));

const PACKS = {
  "corner-stones": () => [...deck(RANKS.slice(1, -1)), ...deck()],
  "the-edge": () => deck(),
  corners: () => deck(),
  "kings-in-the-corners": () => deck(),
  gallery: () => [...deck(), ...deck()],
};

/** Whether the rules accept a deal; otherwise the pack is shuffled again. Other games accept all deals. */
const PLAYABLE = {
  // An ace anywhere in the three rows of eight, or the 2, 3 or 4 of a row in its row.
  gallery: (cards) => cards.slice(0, 24).some((card, at) => rank(card) === 1 || rank(card) === 2 + Math.floor(at / 8)),
  // The last twelve cards are on top. At least one must go to a foundation (which needs a 2 or a queen; a side stack
  // serves only its own row), or onto another card of an adjacent rank, where king and ace are adjacent.
  "corner-stones": (cards) => {
    const stacks = "c1 l1 l2 l3 l4 c3 c2 r1 r2 r3 r4 c4".split(" ");
    const tops = cards.slice(-12);
    const next = (one, other) => [1, 12].includes(Math.abs(rank(one) - rank(other)));
    const goesHome = (card, at) =>
      "2Q".includes(card[0]) && (stacks[at][0] === "c" || SUITS[stacks[at][1] - 1] === card[1]);
    return tops.some((card, at) => goesHome(card, at) || tops.some((other) => next(card, other)));
  },
};

/** Yields the random words of a label: eight from each SHA-256 block. */
function* wordsOf(label) {
  for (let block = 0; ; block++) {
    const bytes = sha256(`${label}|${block}`);
    for (let at = 0; at < 32; at += 4) yield bytes.readUInt32BE(at);
  }
}

/** Returns the shuffled pack and the number of shuffles. */
function dealt(game, seed) {
  const words = wordsOf(`${game}|${seed}`);
  const below = (n) => {
    // Skip words beyond the last multiple of n, which would make small numbers more likely.
    for (;;) {
      const word = words.next().value;
      if (word < 2 ** 32 - (2 ** 32 % n)) return word % n;
    }
  };
  for (let shuffles = 1; ; shuffles++) {
    const cards = PACKS[game]();
    for (let i = cards.length - 1; i > 0; i--) {
      const j = below(i + 1);
      [cards[i], cards[j]] = [cards[j], cards[i]];
    }
    if (!PLAYABLE[game] || PLAYABLE[game](cards)) return { cards, shuffles };
  }
}

// The file (section 1): the fields of every object. Fields with their default value are omitted.

const HEAD = "format header";
const FOOT = "digest signature standings";
const FILE = `${HEAD} entries ${FOOT}`;
const HEADER = 'race game rules variant={} seed=null daily=false commitment salt="" opened_at options';
const OPTIONS =
  'limit_ms max_racers=8 start_delay_ms=5000 undo=true attempts=0 spectators="progress" filter="any" unlisted=false';
const SIGNATURE = "key value";
const STANDING = "place seat name bot outcome done home goal progress attempts ms";
const EVENTS = {
  joined: "t seat player name bot=false commitment=null by=null",
  counting: "t",
  nonce: "t seat nonce",
  dealt: "t k=0",
  moved: "t seat move",
  closed: "t secret",
  taken: "t seat by=null",
  ...Object.fromEntries(["left", "readied", "unreadied", "resigned"].map((kind) => [kind, "t seat"])),
};
const whole = (value) => Number.isSafeInteger(value) && value >= 0;
const time = (value) => whole(value) && value < Date.UTC(10000, 0);
const matches = (pattern) => (value) => typeof value === "string" && pattern.test(value);
const hex32 = matches(/^[0-9a-f]{64}$/);
const FORMAT = "samedeal.replay/1";
const FORMS = {
  format: (value) => value === FORMAT,
  race: matches(/^[a-z0-9-]{1,64}$/),
  seed: matches(/^[^|\x00-\x1f\x7f]{1,128}$/u),
  salt: matches(/^[0-9a-f]{32}$/),
  move: matches(/^[!-~]{1,64}$/),
  by: matches(/^[0-9a-f]{16}$/),
  value: matches(/^[0-9a-f]{128}$/),
  daily: (value) => value === true,
  opened_at: time,
  ...Object.fromEntries(["commitment", "digest", "nonce", "secret", "key"].map((field) => [field, hex32])),
  ...Object.fromEntries(["seat", "k", "limit_ms", "place", "ms"].map((field) => [field, whole])),
};

function expect(fits, what) {
  if (!fits) throw new Error(what);
}

/** Throws unless the object has the fields of a table and no others, each in its form and none at its default. */
function expectFields(object, table, where) {
  expect(object !== null && typeof object === "object" && !Array.isArray(object), `${where}: no object`);
  const known = new Map(table.split(" ").map((field) => field.split("=")));
  for (const [field, value] of Object.entries(object)) {
    expect(known.has(field), `${where}: ${field} is not known`);
    expect(JSON.stringify(value) !== known.get(field), `${where}: ${field} is written out though it has its default`);
    expect(!FORMS[field] || FORMS[field](value), `${where}: ${field} cannot be ${JSON.stringify(value)}`);
  }
  for (const [field, byDefault] of known) {
    expect(byDefault !== undefined || Object.hasOwn(object, field), `${where}: ${field} is missing`);
  }
}

/** Throws for a text that states, as a replay or its first line does, another format than the one that is read here. */
function expectFormat(text) {
  let stated;
  try {
    stated = JSON.parse(text).format;
  } catch {
    return;
  }
  const readable = stated === FORMAT || !String(stated).startsWith("samedeal.replay/");
  expect(readable, `the replay is in the format ${stated}, and this program reads ${FORMAT}`);
}

function countFields(value) {
  if (value === null || typeof value !== "object") return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum, inner) => sum + countFields(inner), own);
}

/** The value that a JSON text holds. JSON.parse takes the last of two fields of one name, another reader may take the
 *  first: so there must not be two. */
function parse(text) {
  const value = JSON.parse(text);
  const colons = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, "").split(":").length - 1;
  expect(colons === countFields(value), "a field is there twice");
  return value;
}

/** The replay that stands in lines, each in canonical JSON, or null if the first line is not a whole head. */
function fromLines(text) {
  const lines = text.split("\n");
  try {
    expectFields(JSON.parse(lines[0]), HEAD, "line 1");
  } catch {
    return null;
  }
  expect(lines.pop() === "" && lines.length > 1, "the file does not end with the last line of a replay");
  const [head, ...entries] = lines.map((line, at) => {
    expect(at <= 2 ** 19 + 1 && Buffer.byteLength(line) < 2 ** 16, `line ${at + 1} is one too many, or too long`);
    const value = parse(line);
    // Canonical JSON differs from ours only in whole shares, which are written as 1.0.
    expect(line.replace(/("progress":\d)\.0(?=[,}])/g, "$1") === canonical(value), `line ${at + 1} is not canonical`);
    return value;
  });
  const foot = entries.pop();
  expectFields(foot, FOOT, "the last line");
  return { ...head, entries, ...foot };
}

function read(bytes) {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  expectFormat(text.split("\n", 1)[0]);
  expectFormat(text);
  const lines = fromLines(text);
  expect(lines || bytes.length <= 64 * 2 ** 20, "a replay has at most 64 MiB");
  const replay = lines ?? parse(text);
  expectFields(replay, FILE, "the file");
  expectFields(replay.header, HEADER, "header");
  expectFields(replay.header.options, OPTIONS, "options");
  expectFields(replay.signature, SIGNATURE, "signature");
  expect(Array.isArray(replay.entries) && Array.isArray(replay.standings), "entries and standings are arrays");
  replay.standings.forEach((standing, at) => expectFields(standing, STANDING, `standing ${at + 1}`));
  replay.entries.forEach((entry, at) => {
    expect(Array.isArray(entry) && entry.length === 4, `entry ${at + 1} is not an array of four items`);
    const [n, when, event, h] = entry;
    expect(whole(n) && n > 0 && time(when) && hex32(h), `entry ${at + 1} has no number, no time or no digest`);
    expect(Object.hasOwn(EVENTS, event?.t), `entry ${at + 1} is not a known event`);
    expectFields(event, EVENTS[event.t], `entry ${at + 1}`);
  });
  return replay;
}

// Commitments (section 2).

/** Canonical JSON: no white space, and the fields sorted. JSON.stringify escapes in strings what has to be. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((field) => `${JSON.stringify(field)}:${canonical(value[field])}`)}}`;
}

/** What Ed25519 public keys of 32 bytes begin with to be keys of Node.js: the DER that says which kind they are. */
const ED25519 = "302a300506032b6570032100";

function isSigned({ key, value }, text) {
  try {
    const der = createPublicKey({ key: Buffer.from(ED25519 + key, "hex"), format: "der", type: "spki" });
    return verifySignature(null, Buffer.from(text), der, Buffer.from(value, "hex"));
  } catch {
    return false; // not a valid key
  }
}

/** Prints a line for each fact (section 5) and answers whether all hold. */
function verify({ header, entries, digest, signature }, keys) {
  const events = entries.map(([, , event]) => event);
  const seal = (kind, hex, what = header.race) => sha256(`samedeal/1/${kind}|${what}|${hex}`).toString("hex");
  let good = true;
  const tell = (fact, holds, text) => {
    good &&= holds;
    console.log(`${holds ? "holds" : "FAILS"}  ${fact.padEnd(10)}  ${text}`);
  };
  /** A fact that fails at the entry of an index, or holds where there is none: -1. */
  const say = (fact, fails, text) => tell(fact, fails < 0, fails < 0 ? text : `at entry ${fails + 1}`);
  const last = Math.max(entries.length - 1, 0); // the failing entry of a log that ends too early
  const closing = events.findIndex(({ t }) => t === "closed");
  const complete = closing >= 0 && closing === entries.length - 1;
  say("complete", complete ? -1 : closing < 0 ? last : closing, `${entries.length} entries`);
  say("numbers", entries.findIndex(([n], at) => n !== at + 1), "1, 2, 3 and so on");
  const before = (at) => (at ? entries[at - 1][1] : header.opened_at);
  say("times", entries.findIndex(([, when], at) => when < before(at)), "never backwards");
  const signed = isSigned(signature, `samedeal/1/replay|${header.race}|${digest}`);
  const asked = keys.length === 0 || keys.includes(signature.key);
  const by = signed ? `by ${signature.key}` : `not by ${signature.key}`;
  tell("signature", signed && asked, asked ? by : `${by}, and another key is asked for`);

  const promises = new Map(); // by seat; a player who left may return with another one
  const nonces = new Map();
  let countdown = false; // nonces count only during the countdown
  const fits = ({ t, seat, commitment, nonce }) => {
    if (t === "counting" || t === "dealt") countdown = t === "counting";
    if (t === "left") promises.delete(seat);
    if (t === "joined") promises.set(seat, commitment);
    if (t === "joined") return Boolean(commitment ?? header.seed ?? header.daily);
    if (t !== "nonce") return true;
    const once = countdown && !nonces.has(seat);
    nonces.set(seat, nonce);
    return once && promises.get(seat) === seal("nonce", nonce);
  };
  say("nonces", events.findIndex((event) => !fits(event)), `${nonces.size} of ${promises.size} seats opened theirs`);
  if (closing < 0) {
    console.log("?      commitment, deal and chain cannot be checked without the secret");
    return false;
  }
  const secret = events[closing].secret;
  const day = new Date(header.opened_at).toISOString().slice(0, 10);
  const promise = header.daily ? seal("daily", secret, `${header.game}|${day}`) : seal("commit", secret);
  const plain = !header.daily || (header.seed === undefined && header.variant === undefined);
  say("commitment", promise === header.commitment && plain ? -1 : closing, header.commitment);
  sayDeal(header, events, secret, header.daily ? [] : [...nonces], say);

  const key = Buffer.from(secret, "hex");
  let link = hmac(key, `samedeal/1/log|${canonical(header)}`);
  const follows = ([n, at, event, h]) => h === (link = hmac(key, `${link}|${canonical([n, at, event])}`));
  const broken = entries.findIndex((entry) => !follows(entry));
  say("chain", broken < 0 && link !== digest ? last : broken, link);
  console.log("?      order, moves and standings are not checked here");
  return good;
}

function sayDeal({ game, seed: open, options }, events, secret, nonces, say) {
  const at = events.findIndex(({ t }) => t === "dealt");
  if (at < 0) return say("deal", -1, "none: the race was called off before it");
  const inOrder = nonces.sort(([one], [other]) => one - other).map(([, nonce]) => nonce);
  const root = sha256(`samedeal/1/root|${secret}|${inOrder}`).toString("hex"); // arrays convert to text with commas
  const k = events[at].k ?? 0;
  const seed = open ?? `${root}.${k}`;
  const known = Object.hasOwn(PACKS, game);
  const filtered = open === undefined && options.filter !== undefined;
  say("deal", known && (k === 0 || filtered) ? -1 : at, `${game}:${seed}`);
  if (filtered) console.log(`?      not checked here: whether ${options.filter} accepts a deal before ${k}`);
  if (known) console.log(`       the first cards are ${dealt(game, seed).cards.slice(0, 10).join(" ")}`);
}

// The command line.

function argumentsGiven() {
  try {
    const options = { deal: { type: "string" }, key: { type: "string", multiple: true, default: [] } };
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const known = values.deal === undefined || Object.hasOwn(PACKS, values.deal.split(":")[0]);
    const one = positionals.length === (values.deal === undefined ? 1 : 0);
    return known && one && values.key.every(hex32) ? { ...values, file: positionals[0] } : {};
  } catch {
    return {};
  }
}

const { deal, key, file } = argumentsGiven();
if (deal !== undefined) {
  const [game, ...seed] = deal.split(":");
  const { cards, shuffles } = dealt(game, seed.join(":"));
  console.log(cards.join(" "));
  if (shuffles > 1) console.error(`shuffled ${shuffles} times`);
} else if (file === undefined) {
  console.error("usage: node verify.mjs [--key HEX] REPLAY | --deal GAME:SEED");
  process.exitCode = 2;
} else {
  try {
    process.exitCode = verify(read(readFileSync(file)), key) ? 0 : 5;
  } catch (error) {
    console.log(`FAILS  format      ${error.message}`);
    process.exitCode = 5;
  }
}
