/**
 * Properties that a text must have to contain a key: a quick test for every request.
 * Notes are not removed with a key: the test then only passes more texts than necessary.
 */
import type { ApiKey } from './records.ts';

/** Shorter keys are not searched for: any word could be one. */
export const shortestSoughtKey = 12;
const tokenCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-';
const replacementCharacters = 'hidKey0123456789abcdef';
/** Longer than any body. */
const longestText = 2 ** 30;

export class KeyTexts {
  /** The shortest length of all keys, including keys known by their digest. */
  shortest = longestText;
  /** 1 for each character that occurs in a key or in a key's replacement in a journal. */
  readonly codes = new Uint8Array(128);
  /** 1 for each character that is the first one of a known key. */
  readonly firsts = new Uint8Array(128);
  readonly lengths = new Set<number>();
  /** The prefixes of keys that are known by their digest. */
  readonly prefixes = new Set<string>();

  constructor() {
    this.#allow(replacementCharacters);
  }

  note({ key: text, digest }: ApiKey): void {
    const known = digest === undefined ? text : digest.prefix;
    // A digest's prefix is at most half of its key, so twice the prefix is a lower bound.
    const length = digest === undefined ? text.length : 2 * known.length;
    if (length < shortestSoughtKey) return;
    this.shortest = Math.min(this.shortest, length);
    this.#allow(known);
    if (digest === undefined) {
      this.lengths.add(length);
      this.firsts[text.charCodeAt(0)] = 1;
    } else {
      this.prefixes.add(known);
      this.#allow(tokenCharacters);
    }
  }

  /** A cheap test before the digest, which is expensive. */
  startsLike(text: string): boolean {
    const { prefixes } = this;
    if (prefixes.size === 0) return false;
    for (let length = 6; length <= 9; length++) {
      if (prefixes.has(text.slice(0, length))) return true;
    }
    return false;
  }

  #allow(characters: string): void {
    for (let at = 0; at < characters.length; at++) this.codes[characters.charCodeAt(at)] = 1;
  }
}
