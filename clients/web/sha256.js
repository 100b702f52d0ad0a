// SHA-256 (FIPS 180-4). Browsers offer crypto.subtle only over HTTPS, which local servers do not use.

const PRIMES = primes(64);
const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) >>> 0;
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUND = PRIMES.map((prime) => fraction(Math.cbrt(prime)));

/** Returns the SHA-256 digest of a text in hexadecimal. */
export function sha256(text) {
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const data = new DataView(padded.buffer);
  data.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  data.setUint32(padded.length - 4, (bytes.length * 8) >>> 0);
  const state = [...START];
  const words = new Uint32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 64; i++) {
      words[i] =
        i < 16
          ? data.getUint32(block + 4 * i)
          : words[i - 16] + xorShifts(words[i - 15], 7, 18, 3) + words[i - 7] + xorShifts(words[i - 2], 17, 19, 10);
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const one = (h + xorRotations(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + ROUND[i] + words[i]) >>> 0;
      const two = (xorRotations(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))) >>> 0;
      [a, b, c, d, e, f, g, h] = [(one + two) >>> 0, a, b, c, (d + one) >>> 0, e, f, g];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] + word) >>> 0));
  }
  return state.map((word) => word.toString(16).padStart(8, "0")).join("");
}

const rotate = (word, by) => (word >>> by) | (word << (32 - by));
const xorRotations = (word, one, two, three) => (rotate(word, one) ^ rotate(word, two) ^ rotate(word, three)) >>> 0;
const xorShifts = (word, one, two, shift) => (rotate(word, one) ^ rotate(word, two) ^ (word >>> shift)) >>> 0;

function primes(count) {
  const found = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime)) found.push(n);
  return found;
}
