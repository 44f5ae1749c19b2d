/**
 * Identifiers drawn from a seeded stream. Rules: RES-2 (UUIDs), AUTH-2 (keys).
 */
import type { Rng } from './rng.ts';

const hexBytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const keyAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const keyLength = 40;

/** A UUID of version 4, in lower case. */
export function drawUuid(rng: Rng): string {
  const a = rng.uint32();
  const b = (rng.uint32() & 0xffff0fff) | 0x00004000;
  const c = (rng.uint32() & 0x3fffffff) | 0x80000000;
  const d = rng.uint32();
  return `${hex16(a >>> 16)}${hex16(a)}-${hex16(b >>> 16)}-${hex16(b)}-${hex16(c >>> 16)}-${hex16(c)}${hex16(d >>> 16)}${hex16(d)}`;
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

function hex16(word: number): string {
  return `${hexBytes[(word >>> 8) & 255]}${hexBytes[word & 255]}`;
}
