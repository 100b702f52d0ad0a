// Bytes and texts: strict JSON, canonical JSON, hexadecimal digits, hashes and signatures.

const encoder = new TextEncoder();

/** A file that cannot be read as what it should be. */
export class FormatError extends Error {}

/** Writes a number that is not counted: with a point, or with an exponent if it is very large or small. */
function decimal(number) {
  const size = Math.abs(number);
  if (size >= 1e16 || (size > 0 && size < 1e-5)) return number.toExponential().replace("+", "");
  return (Object.is(number, -0) ? "-0" : `${number}`) + (Number.isInteger(number) ? ".0" : "");
}

const DECIMALS = ["progress", "points", "strength"];

/** Writes JSON without white space. The fields in DECIMALS are not integers, but the places in a club, by player, are. */
function write(value, order, name) {
  if (DECIMALS.includes(name) && typeof value === "number") return decimal(value);
  if (Array.isArray(value)) return `[${value.map((item) => write(item, order, name))}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value); // escapes exactly what it has to
  const field = (own) => `${JSON.stringify(own)}:${write(value[own], order, name === "places" ? "" : own)}`;
  return `{${order(Object.keys(value)).map(field)}}`;
}

export const canonical = (value) => write(value, (names) => names.sort());

function writtenAgain(string) {
  const value = JSON.parse(string);
  if (/\p{Surrogate}/u.test(value)) throw new SyntaxError("half a surrogate pair");
  return JSON.stringify(value);
}

/** The parts of JSON in any order, each number with the name of its field. Objects have integers as names in another one. */
const parts = (json) => json.match(/"[^"\\]*(?:\\.[^"\\]*)*"(?::[^"{[,\]}]+)?|[^"]/g).sort().join("\n");

/** Parses JSON as replays use it. It must be what we would write, apart from white space, escapes in strings and the
 *  order of fields: unlike JSON.parse, this refuses duplicate fields and numbers such as 1e0, -0 or 1.0 for 1. */
export function parseJson(text) {
  try {
    const value = JSON.parse(text);
    const strings = /"[^"\\]*(?:\\.[^"\\]*)*"|[ \t\r\n]+/g;
    const compact = text.replace(strings, (found) => (found[0] === '"' ? writtenAgain(found) : ""));
    const written = write(value, (names) => names);
    if (written === compact || parts(written) === parts(compact)) return value;
  } catch (error) {
    // JSON that is nested too deeply is a RangeError.
    const expected = error instanceof SyntaxError || error instanceof RangeError;
    throw expected ? new FormatError(`not JSON: ${error.message}`) : error;
  }
  throw new FormatError("a duplicate field, or a number that is not in canonical form");
}

export function decodeUtf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new FormatError("the file is not UTF-8");
  }
}

export const utf8Length = (text) => encoder.encode(text).length;
const toHexByte = (byte) => byte.toString(16).padStart(2, "0");
export const toHex = (bytes) => Array.from(bytes, toHexByte).join("");
export const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
export const hash = (text) => sha256(encoder.encode(text));
export const hexHash = (text) => toHex(hash(text));

/** Returns a function from a text to its HMAC-SHA256 in hexadecimal. */
export function hmac(hexKey) {
  const keyed = hmacSha256(fromHex(hexKey));
  return (text) => toHex(keyed(encoder.encode(text)));
}

/** Whether a text has this Ed25519 signature, or null if the browser cannot check that: it is too old, or the page was
 *  loaded neither over HTTPS nor from localhost. */
export async function isSigned(text, hexKey, hexSignature) {
  if (crypto.subtle === undefined) return null;
  try {
    const key = await crypto.subtle.importKey("raw", fromHex(hexKey), { name: "Ed25519" }, false, ["verify"]);
    return await crypto.subtle.verify({ name: "Ed25519" }, key, fromHex(hexSignature), encoder.encode(text));
  } catch (/** @type {any} */ error) {
    return error.name === "NotSupportedError" ? null : false; // any other error is about the key
  }
}

// SHA-256 (FIPS 180-4) and HMAC (RFC 2104). Browsers offer crypto.subtle only over HTTPS, which local servers don't use.

const PRIMES = firstPrimes(64);
const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) >>> 0;
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUND = PRIMES.map((prime) => fraction(Math.cbrt(prime)));
const BLOCK = 64;

/** Returns the 32 bytes of the digest. */
export function sha256(bytes) {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const data = new DataView(padded.buffer);
  data.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  data.setUint32(padded.length - 4, (bytes.length * 8) >>> 0);
  const state = Uint32Array.from(START);
  const words = new Uint32Array(64);
  for (let block = 0; block < padded.length; block += BLOCK) compress(state, data, block, words);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => digest.setUint32(4 * i, word));
  return new Uint8Array(digest.buffer);
}

function compress(state, data, block, words) {
  for (let i = 0; i < 16; i++) words[i] = data.getUint32(block + 4 * i);
  for (let i = 16; i < 64; i++) {
    const [low, high] = [words[i - 15], words[i - 2]];
    const one = rotate(low, 7) ^ rotate(low, 18) ^ (low >>> 3);
    const two = rotate(high, 17) ^ rotate(high, 19) ^ (high >>> 10);
    words[i] = words[i - 16] + one + words[i - 7] + two;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const one = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + words[i];
    const two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
}

/** Returns a function from bytes to the 32 bytes of their HMAC-SHA256. The key has at most 64 bytes. */
export function hmacSha256(key) {
  const padded = (byte) => Uint8Array.from({ length: BLOCK }, (_, i) => (key[i] ?? 0) ^ byte);
  const [inner, outer] = [padded(0x36), padded(0x5c)];
  return (bytes) => sha256(joined(outer, sha256(joined(inner, bytes))));
}

function joined(one, other) {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

function rotate(word, by) {
  return (word >>> by) | (word << (32 - by));
}

function firstPrimes(count) {
  const found = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime)) found.push(n);
  return found;
}
