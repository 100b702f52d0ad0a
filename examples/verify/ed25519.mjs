// Ed25519 (RFC 8032, section 5.1.7) for browsers whose Web Crypto doesn't have it.

const P = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

const mod = (a) => ((a % P) + P) % P;

function power(base, exponent) {
  let result = 1n;
  for (let square = mod(base); exponent > 0n; exponent >>= 1n, square = mod(square * square)) {
    if (exponent & 1n) result = mod(result * square);
  }
  return result;
}

const inverse = (a) => power(a, P - 2n);
const D = mod(-121665n * inverse(121666n));
const SQRT_OF_MINUS_1 = power(2n, (P - 1n) / 4n);

const fromLittleEndian = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

/** The x of a point with this y and this lowest bit, or null if there is none. */
function recoverX(y, odd) {
  const square = mod((y * y - 1n) * inverse(D * y * y + 1n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x) !== square) x = mod(x * SQRT_OF_MINUS_1);
  if (mod(x * x) !== square || (x === 0n && odd)) return null;
  return (x & 1n) === (odd ? 1n : 0n) ? x : mod(-x);
}

// Points are in extended coordinates, X Y Z T, as in section 5.1.4.
const ZERO = [0n, 1n, 1n, 0n];
const point = (x, y) => [x, y, 1n, mod(x * y)];
const BASE_Y = mod(4n * inverse(5n));
const BASE = point(recoverX(BASE_Y, false), BASE_Y);

function add([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = mod((y1 - x1) * (y2 - x2));
  const b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * t1 * D * t2);
  const d = mod(2n * z1 * z2);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
}

function multiply(scalar, base) {
  let result = ZERO;
  for (let double = base; scalar > 0n; scalar >>= 1n, double = add(double, double)) {
    if (scalar & 1n) result = add(result, double);
  }
  return result;
}

function encode([x, y, z]) {
  const scale = inverse(z);
  const bits = mod(y * scale) | ((mod(x * scale) & 1n) << 255n);
  return Uint8Array.from({ length: 32 }, (_, i) => Number((bits >> BigInt(8 * i)) & 255n));
}

export async function verifyEd25519(message, key, signature) {
  const s = fromLittleEndian(signature.slice(32));
  const bits = fromLittleEndian(key);
  const y = bits & (2n ** 255n - 1n);
  const x = y < P ? recoverX(y, bits >> 255n === 1n) : null;
  if (x === null || s >= ORDER) return false;
  const r = signature.slice(0, 32);
  const hash = await globalThis.crypto.subtle.digest("SHA-512", Uint8Array.from([...r, ...key, ...message]));
  const k = fromLittleEndian(new Uint8Array(hash)) % ORDER;
  // R = S·B - k·A, compared byte by byte.
  const expected = encode(add(multiply(s, BASE), multiply(k, point(mod(-x), y))));
  return expected.every((byte, i) => byte === r[i]);
}
