// Bytes and texts: strict JSON, canonical JSON, hexadecimal digits, hashes and signatures.

import { hmacSha256, sha256 } from "./sha256.mjs";

const encoder = new TextEncoder();

/** A file that cannot be read as what it should be. */
export class FormatError extends Error {}

/** Writes a number that is not counted: with a point, or with an exponent if it is very large or small. */
function decimal(number) {
  const size = Math.abs(number);
  if (size >= 1e16 || (size > 0 && size < 1e-5)) return number.toExponential().replace("+", "");
  return (Object.is(number, -0) ? "-0" : `${number}`) + (Number.isInteger(number) ? ".0" : "");
}

/** Writes JSON without white space. Only `progress` and `points` are not integers. */
function write(value, order, name) {
  if (["progress", "points"].includes(name) && typeof value === "number") return decimal(value);
  if (Array.isArray(value)) return `[${value.map((item) => write(item, order))}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value); // escapes exactly what it has to
  const field = (own) => `${JSON.stringify(own)}:${write(value[own], order, own)}`;
  return `{${order(Object.keys(value)).map(field)}}`;
}

export const canonical = (value) => write(value, (names) => names.sort());

function writtenAgain(string) {
  const value = JSON.parse(string);
  if (/\p{Surrogate}/u.test(value)) throw new SyntaxError("half a surrogate pair");
  return JSON.stringify(value);
}

/** Parses JSON as replays use it. It must be what we would write, apart from white space, escapes in strings and the
 *  order of fields: unlike JSON.parse, this refuses duplicate fields and numbers such as 1e0, -0 or 1.0 for 1. */
export function parseJson(text) {
  try {
    const value = JSON.parse(text);
    const strings = /"[^"\\]*(?:\\.[^"\\]*)*"|[ \t\r\n]+/g;
    const compact = text.replace(strings, (found) => (found[0] === '"' ? writtenAgain(found) : ""));
    if (write(value, (names) => names) === compact) return value;
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
