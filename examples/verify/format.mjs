// Reads a replay: JSON or NDJSON, and the fields of every object with their forms.

import { FormatError, canonical, decodeUtf8, parseJson, utf8Length } from "./encoding.mjs";

const FORMATS = ["samedeal.replay/1", "samedeal.replay/2", "samedeal.replay/3", "samedeal.replay/4"];
const FILTERS_2 = ["certified/1", "easy/1", "medium/1", "hard/1", "brutal/1"]; // those of the second format
export const MAX_LINE = 65_536;
const MIB = 2 ** 20;
const MAX_ENTRIES = 2 ** 19;

export function expect(holds, what) {
  if (!holds) throw new FormatError(what);
}

// A form answers whether a value has it.
const text = (value) => typeof value === "string";
const bool = (value) => typeof value === "boolean";
const matches = (pattern) => (value) => text(value) && pattern.test(value);
const characters = (most) => (value) => text(value) && value !== "" && [...value].length <= most;
const integer = (least, most = Number.MAX_SAFE_INTEGER) => (value) =>
  Number.isSafeInteger(value) && value >= least && value <= most;
const oneOf = (...values) => (value) => values.includes(value);
const time = integer(0, 253_402_300_799_999);
const seat = integer(1, 2 ** 20);
const hex32 = matches(/^[0-9a-f]{64}$/);
const hex64 = matches(/^[0-9a-f]{128}$/);
const name = characters(48);
const number = (value) => typeof value === "number";
const whole = integer(-Number.MAX_SAFE_INTEGER);

/** A field that is omitted when it has its default, which is therefore not one of the forms. */
const optional = (form) => ({ form, optional: true });
const isTrue = optional(oneOf(true));
const by = optional(matches(/^[0-9a-f]{16}$/));

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function isVariant(value) {
  const options = isObject(value) ? Object.entries(value) : [];
  return options.length > 0 && options.every(([name, choice]) => /^[a-z_]+$/.test(name) && (text(choice) || bool(choice)));
}

const raceId = matches(/^[a-z0-9-]{1,64}$/);

const OPTIONS = {
  limit_ms: integer(1000, 7_200_000),
  max_racers: optional((value) => integer(1, 32)(value) && value !== 8),
  start_delay_ms: optional(integer(0, 60_000)), // older servers wrote the default if it was requested
  undo: optional(oneOf(false)),
  attempts: optional(integer(1, 1000)),
  spectators: optional(oneOf("after", "open")),
  filter: optional(oneOf("friendly/1", ...FILTERS_2)),
  unlisted: isTrue,
  finishers: optional(oneOf("none", "all")),
  best_of: optional(oneOf(3, 5, 7)),
  end_when_stuck: isTrue,
};

const options = (value) => hasFields(value, OPTIONS, "options");
const deal = integer(1, 24);
const HEAT = { challenge: raceId, deal, nonce: hex32, until: time, reveals_at: time, h: hex32 };
const CLUB_LINK = { club: raceId, h: hex32 };
const HEAD_START = { player: characters(64), ms: integer(1, 600_000) };

const HEADER = {
  race: raceId,
  game: text,
  rules: text,
  variant: optional(isVariant),
  seed: optional(matches(/^[^|\x00-\x1f\x7f]{1,128}$/u)),
  daily: isTrue,
  commitment: hex32,
  salt: optional(matches(/^[0-9a-f]{32}$/)),
  opened_at: time,
  options,
  follows: optional(raceId),
  ghosts: optional((value) => Array.isArray(value) && integer(1, 8)(value.length) && value.every(raceId)),
  head_start: optional((value) => hasFields(value, HEAD_START, "head_start")),
  heat: optional((value) => hasFields(value, HEAT, "heat")),
  club: optional((value) => hasFields(value, CLUB_LINK, "club")),
};

/** The format that a header needs: the newest one of which it has any field or value. */
const formatFor = ({ options, ...header }) => {
  if ("heat" in header || "club" in header) return FORMATS[3];
  if ("head_start" in header || "end_when_stuck" in options) return FORMATS[2];
  const isNew = ["follows", "ghosts"].some((field) => field in header) || "finishers" in options || "best_of" in options;
  return FORMATS[Number(isNew || FILTERS_2.includes(options.filter))];
};

const EVENTS = {
  joined: { seat, player: characters(64), name, bot: isTrue, commitment: optional(hex32), by },
  left: { seat },
  readied: { seat },
  unreadied: { seat },
  counting: {},
  nonce: { seat, nonce: hex32 },
  dealt: { k: optional(integer(1, 2 ** 20)) },
  moved: { seat, move: matches(/^[!-~]{1,64}$/) },
  taken: { seat, by },
  resigned: { seat },
  closed: { secret: hex32 },
};

// Any values of these types can be read; verification compares them with those that follow from the log.
const STANDING = {
  ...{ place: whole, seat: whole, name: text, bot: bool, outcome: text, done: bool },
  ...{ home: whole, goal: whole, progress: number, attempts: whole, ms: whole },
};

const HEAD = { format: oneOf(...FORMATS), header: (value) => hasFields(value, HEADER, "header") };
const SIGNED = { digest: hex32, signature: (value) => hasFields(value, { key: hex32, value: hex64 }, "signature") };
const FOOT = {
  ...SIGNED,
  standings: (value) => Array.isArray(value) && value.every((one, i) => hasFields(one, STANDING, `standing ${i + 1}`)),
};
const entriesOf = (events) => (value) => Array.isArray(value) && value.every((entry, i) => isEntry(entry, i, events));
const REPLAY = { ...HEAD, entries: entriesOf(EVENTS), ...FOOT };

const listOf = (form, least = 0, most = Infinity) => (value) =>
  Array.isArray(value) && integer(least, most)(value.length) && value.every(form);
const mapOf = (key, form) => (value) => isObject(value) && Object.entries(value).every(([k, v]) => key(k) && form(v));

const DEAL = { game: text, rules: text, variant: optional(isVariant), options };
const isDeal = (value, i) => hasFields(value, DEAL, `deal ${i + 1}`);
const CHALLENGE_HEADER = {
  ...{ challenge: raceId, creator: characters(64), commitment: hex32, salt: HEADER.salt.form, opened_at: time, until: time },
  deals: listOf(isDeal, 1, 24),
  club: HEADER.club,
};
const CHALLENGE_EVENTS = {
  ...{ opened: { nonce: hex32 }, heat: { deal, by }, cancelled: { heat: integer(1) } },
  ...{ finished: { heat: integer(1), digest: hex32 }, revealed: { secret: hex32 } },
};
const member = matches(/^[!-~]{1,64}$/);
const slug = matches(/^[a-z][a-z0-9-]{0,63}$/);
const CLUB_HEADER = { club: raceId, founder: member, opened_at: time };
const CLUB_EVENTS = {
  ...{ invited: { digest: hex32 }, revoked: {}, joined: { player: member, digest: hex32 }, left: { player: member } },
  ...{ removed: { player: member }, erased: { player: member }, cancelled: { race: raceId }, dissolved: {} },
  opened: { race: raceId, commitment: hex32, games: listOf(slug, 1, 24) },
  finished: { race: raceId, digest: hex32, places: optional(listOf(mapOf(member, seat), 1, 24)) },
};

const logOf = (kind, header, events) => ({
  ...{ format: oneOf(`samedeal.${kind}/1`), header: (value) => hasFields(value, header, "header") },
  ...{ entries: entriesOf(events), ...SIGNED },
});
const object = (fields) => (value) => hasFields(value, fields, "the scores");
const ROW = object({ place: whole, player: text, points: number, races: whole, wins: whole });
const TABLE = object({ period: oneOf("day", "week", "season", "all"), since: whole, rows: listOf(ROW) });
const RATING = object({ player: text, strength: (value) => number(value) && value > 0, races: whole });
const DOCUMENTS = {
  challenge: logOf("challenge", CHALLENGE_HEADER, CHALLENGE_EVENTS),
  club: logOf("club", CLUB_HEADER, CLUB_EVENTS),
  scores: {
    ...{ club: text, n: integer(0), rated: integer(0), tables: listOf(TABLE) },
    ...{ ratings: mapOf(slug, listOf(RATING)) },
  },
};

/** Throws unless an object has these fields and no others, each in its form. */
function hasFields(object, fields, where) {
  expect(isObject(object), `${where} is not an object`);
  for (const [name, field] of Object.entries(fields)) {
    const form = field.form ?? field;
    const present = Object.hasOwn(object, name);
    expect(present || field.optional, `${where}: ${name} is missing`);
    expect(!present || form(object[name]), `${where}: ${name} is not valid, or has its default`);
  }
  for (const name of Object.keys(object)) expect(Object.hasOwn(fields, name), `${where}: the field ${name} is unknown`);
  return true;
}

function isEntry(entry, i, events) {
  const where = `entry ${i + 1}`;
  expect(Array.isArray(entry) && entry.length === 4, `${where} is not an array of four`);
  const [n, at, event, h] = entry;
  expect(integer(1)(n) && time(at) && hex32(h), `${where}: its number, time or digest is not valid`);
  expect(isObject(event) && Object.hasOwn(events, event.t), `${where}: the event is unknown`);
  return hasFields(event, { t: text, ...events[event.t] }, where);
}

function expectHead(head, fields, where) {
  hasFields(head, fields, where);
  expect(head.format === formatFor(head.header), `${where}: the header needs the format ${formatFor(head.header)}`);
}

function readLines(content) {
  const lines = content.split("\n");
  expect(lines.pop() === "", "the last line does not end with a line feed");
  expect(lines.length <= MAX_ENTRIES + 2, "too many entries");
  const values = lines.map((line, i) => {
    expect(utf8Length(line) < MAX_LINE, `line ${i + 1} is too long`);
    const value = parseJson(line);
    expect(canonical(value) === line, `line ${i + 1} is not canonical`);
    return value;
  });
  const [head, ...entries] = values;
  const foot = entries.pop();
  expectHead(head, HEAD, "the first line");
  hasFields(foot, FOOT, "the last line");
  return { ...head, entries, ...foot };
}

/** Returns the fields of an object in JSON, or none if it is something else. */
function fieldsIn(json) {
  try {
    return JSON.parse(json) ?? {};
  } catch {
    return {};
  }
}

/** Names another format of a replay, whatever else is new in it. */
function expectFormat(json) {
  const { format } = fieldsIn(json);
  const other = text(format) && format.startsWith("samedeal.replay/") && !FORMATS.includes(format);
  expect(!other, `the replay is in the format ${format}, and this program reads ${FORMATS.join(", ")}`);
}

function textOf(bytes) {
  expect(bytes[0] !== 0x86, "MessagePack is not read here"); // a map of six fields
  return decodeUtf8(bytes);
}

/** Returns the replay in a file, or throws a FormatError. */
export function readReplay(bytes) {
  const content = textOf(bytes);
  const [first] = content.split("\n", 1);
  try {
    const inLines = Object.keys(fieldsIn(first)).sort().join() === "format,header";
    expect(inLines || /^[ \t\r\n]*\{/.test(content), "neither JSON nor NDJSON");
    expect(inLines || bytes.length <= 64 * MIB, "the file has more than 64 MiB");
    const replay = inLines ? readLines(content) : parseJson(content);
    expectHead(replay, REPLAY, "the file");
    return replay;
  } catch (error) {
    if (error instanceof FormatError) for (const json of [first, content]) expectFormat(json);
    throw error;
  }
}

/** Returns what a file contains that is not a replay, and its kind: the log of a `challenge` or a `club`, or the `scores`
 *  of a club. Returns null for other files. Throws a FormatError. */
export function readDocument(bytes) {
  const content = textOf(bytes);
  const fields = fieldsIn(content);
  const isScores = ["club", "tables", "ratings"].every((name) => Object.hasOwn(Object(fields), name));
  const kind = /^samedeal\.(challenge|club)\//.exec(fields.format)?.[1] ?? (isScores ? "scores" : null);
  if (kind === null) return null;
  expect(bytes.length <= 64 * MIB, "the file has more than 64 MiB");
  const document = parseJson(content);
  hasFields(document, DOCUMENTS[kind], `the ${kind}`);
  return { kind, document };
}

/** Returns the lines of a file of receipts, or throws a FormatError. */
export function readReceipts(bytes) {
  const complete = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1); // the last line may be cut off
  const lines = decodeUtf8(complete).split("\n").slice(0, -1);
  expect(lines.length > 0 && lines.length <= 2 ** 20, "receipts: none, or too many lines");
  return lines.map((line, i) => {
    const where = `receipts, line ${i + 1}`;
    expect(utf8Length(line) < MAX_LINE, `${where}: too long`);
    const receipt = parseJson(line);
    const [type, a, b] = Array.isArray(receipt) ? receipt : [];
    const header = type === "header" && receipt.length === 2 && hasFields(a, HEADER, where);
    const nonce = type === "nonce" && receipt.length === 3 && seat(a) && hex32(b);
    const digest = type === "digest" && receipt.length === 3 && integer(0)(a) && hex32(b);
    expect(header || ((nonce || digest) && i > 0), `${where}: not a receipt`);
    return receipt;
  });
}
