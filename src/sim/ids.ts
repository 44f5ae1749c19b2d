/**
 * Identifiers drawn from a seeded stream. Rules: RES-2 (UUIDs), AUTH-2 (keys).
 */
import type { Rng } from './rng.ts';
import { drawUuidWords, uuidText } from './uuid-words.ts';

const keyAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const keyLength = 40;

const drawn = new Uint32Array(4);

/** A UUID of version 4, in lower case. */
export function drawUuid(rng: Rng): string {
  drawUuidWords(rng, drawn, 0);
  return uuidText(drawn, 0);
}

/** A full API key: the prefix of `keyFormat` and 40 letters and digits. */
export function drawKey(rng: Rng, prefix: string): string {
  let key = prefix;
  for (let i = 0; i < keyLength; i++) key += keyAlphabet[rng.below(keyAlphabet.length)];
  return key;
}

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** True for an id in the only spelling that the service returns: lower case with hyphens. */
export function isUuid(text: string): boolean {
  return uuidShape.test(text);
}

const looseUuid = /^([0-9a-f]{8})(-?)([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{12})$/i;

/**
 * Converts a UUID in capitals, or without hyphens if `form` is `any`, to the service's spelling.
 * Returns any other text unchanged (`pathIdForm`).
 */
export function canonicalUuid(text: string, form: 'any' | 'any_case' = 'any'): string {
  if (form === 'any_case') {
    const lower = text.toLowerCase();
    return isUuid(lower) ? lower : text;
  }
  return looseUuid.test(text) ? text.replace(looseUuid, '$1-$3-$4-$5-$6').toLowerCase() : text;
}
