// Bytes and texts: strict JSON, canonical JSON, hexadecimal digits, hashes and signatures.

const encoder = new TextEncoder();

/** A file that cannot be read as what it should be. */
export class FormatError extends Error {}

/** A number with a point. It keeps its text, so that 1.0 is never taken for 1. */
export class Decimal {
  constructor(text) {
    this.text = text;
  }
  static of(number) {
    return new Decimal(Number.isInteger(number) ? `${number}.0` : String(number));
  }
}

const MAX_DEPTH = 16;
const SPACE = /[ \t\n\r]*/y;
const PUNCTUATION = /[{}[\]:,]/y;
const STRING = /"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"/y;
const WORD = /[-+.\w]+/y;
const WORDS = new Map([["true", true], ["false", false]]);

/** Parses JSON as replays use it: unlike JSON.parse, it refuses duplicate fields, lone surrogates, null, and numbers in
 *  any form other than the canonical one. */
export function parseJson(text) {
  let at = 0;
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found?.[0];
  };
  const next = (pattern) => {
    take(SPACE);
    return take(pattern);
  };
  const fail = (what) => {
    throw new FormatError(`${what} at character ${at + 1}`);
  };
  const items = (end, item) => {
    const before = at;
    if (next(PUNCTUATION) === end) return;
    at = before;
    for (;;) {
      item();
      const mark = next(PUNCTUATION);
      if (mark === end) return;
      if (mark !== ",") fail(`, or ${end} is missing`);
    }
  };
  const string = () => {
    const found = next(STRING);
    if (found === undefined) fail("no valid value");
    const value = JSON.parse(found);
    if (/\p{Surrogate}/u.test(value)) fail("half a surrogate pair");
    return value;
  };
  const value = (depth) => {
    if (depth > MAX_DEPTH) fail("nested too deeply");
    const mark = next(PUNCTUATION);
    if (mark === "[") {
      const array = [];
      items("]", () => array.push(value(depth + 1)));
      return array;
    }
    if (mark === "{") {
      const object = Object.create(null); // so that __proto__ is a field like any other
      items("}", () => {
        const name = string();
        if (name in object) fail(`duplicate field ${name}`);
        if (next(PUNCTUATION) !== ":") fail(": is missing");
        object[name] = value(depth + 1);
      });
      return object;
    }
    if (mark !== undefined) fail(`unexpected ${mark}`);
    const word = next(WORD);
    if (word === undefined) return string();
    if (WORDS.has(word)) return WORDS.get(word);
    if (/^(0|[1-9]\d*)$/.test(word) && Number.isSafeInteger(Number(word))) return Number(word);
    if (/^\d+\.\d+$/.test(word) && Decimal.of(Number(word)).text === word) return new Decimal(word);
    return fail(`${word.slice(0, 40)} is not written canonically`);
  };
  const parsed = value(0);
  take(SPACE);
  if (at < text.length) fail("more text");
  return parsed;
}

/** Canonical JSON. JSON.stringify escapes exactly what has to be escaped in a string. */
export function canonical(value) {
  if (value instanceof Decimal) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
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
export const toHex = (buffer) => Array.from(new Uint8Array(buffer), toHexByte).join("");
export const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
export const sha256 = (text) => crypto.subtle.digest("SHA-256", encoder.encode(text));
export const sha256Hex = async (text) => toHex(await sha256(text));

/** Returns a function from a text to its HMAC-SHA256 in hexadecimal. */
export async function hmac(hexKey) {
  const key = await crypto.subtle.importKey("raw", fromHex(hexKey), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return async (text) => toHex(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
}

/** Whether a text has this Ed25519 signature, or null if the browser is too old to check that. */
export async function isSigned(text, hexKey, hexSignature) {
  try {
    const key = await crypto.subtle.importKey("raw", fromHex(hexKey), { name: "Ed25519" }, false, ["verify"]);
    return await crypto.subtle.verify({ name: "Ed25519" }, key, fromHex(hexSignature), encoder.encode(text));
  } catch (error) {
    return error.name === "NotSupportedError" ? null : false; // any other error is about the key
  }
}
