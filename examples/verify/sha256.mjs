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
