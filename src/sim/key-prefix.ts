/**
 * The part of an API key that may be shown after its creation (AUTH-2).
 */
import type { ApiKey } from './records.ts';

const shownKeyCharacters = 9;

/** The first characters of a key, which may be shown after its creation. */
export function keyPrefix({ key: text, digest }: ApiKey): string {
  return digest === undefined ? shownPrefix(text) : digest.prefix;
}

export function shownPrefix(text: string): string {
  return text.slice(0, Math.min(shownKeyCharacters, Math.floor(text.length / 2)));
}
