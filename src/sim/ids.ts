/**
 * Identifiers drawn from a seeded stream. Rules: RES-2 (UUIDs), AUTH-2 (keys).
 */
import type { Rng } from './rng.ts';

const digits = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const hyphen = 45;
const keyAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const keyLength = 40;

/**
 * A UUID of version 4, in lower case. From its characters in one call, which makes one flat string:
 * put together from pieces it is a tree of strings, at four times the cost (`bench/core-send.ts`).
 */
export function drawUuid(rng: Rng): string {
  const a = rng.uint32();
  const b = (rng.uint32() & 0xffff0fff) | 0x00004000;
  const c = (rng.uint32() & 0x3fffffff) | 0x80000000;
  const d = rng.uint32();
  // biome-ignore format: a line for each word
  return String.fromCharCode(
    hex(a >>> 28), hex(a >>> 24), hex(a >>> 20), hex(a >>> 16), hex(a >>> 12), hex(a >>> 8), hex(a >>> 4), hex(a), hyphen,
    hex(b >>> 28), hex(b >>> 24), hex(b >>> 20), hex(b >>> 16), hyphen, hex(b >>> 12), hex(b >>> 8), hex(b >>> 4), hex(b), hyphen,
    hex(c >>> 28), hex(c >>> 24), hex(c >>> 20), hex(c >>> 16), hyphen, hex(c >>> 12), hex(c >>> 8), hex(c >>> 4), hex(c),
    hex(d >>> 28), hex(d >>> 24), hex(d >>> 20), hex(d >>> 16), hex(d >>> 12), hex(d >>> 8), hex(d >>> 4), hex(d),
  );
}

/** The character of the lowest four bits. */
function hex(word: number): number {
  return digits[word & 15] as number;
}

/** A full API key: the prefix of `keyFormat` and 40 letters and digits. */
export function drawKey(rng: Rng, prefix: string): string {
  let key = prefix;
  for (let i = 0; i < keyLength; i++) key += keyAlphabet[rng.below(keyAlphabet.length)];
  return key;
}

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** True for the one spelling of an id that we hand out: lower case with hyphens. */
export function isUuid(text: string): boolean {
  return uuidShape.test(text);
}

const looseUuid = /^([0-9a-f]{8})(-?)([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{12})$/i;

/**
 * A UUID in capitals or without hyphens as we write it; any other text as it is (`pathIdForm:
 * any`).
 */
export function canonicalUuid(text: string): string {
  return looseUuid.test(text) ? text.replace(looseUuid, '$1-$3-$4-$5-$6').toLowerCase() : text;
}
