/**
 * UUIDs as four words of 32 bits, as columns store them. Rules: RES-2.
 */
import type { Rng } from './rng.ts';

const digits = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const hyphen = 45;

/** Draws a UUID of version 4. */
export function drawUuidWords(rng: Rng, words: Uint32Array, at: number): void {
  words[at] = rng.uint32();
  words[at + 1] = (rng.uint32() & 0xffff0fff) | 0x00004000;
  words[at + 2] = (rng.uint32() & 0x3fffffff) | 0x80000000;
  words[at + 3] = rng.uint32();
}

/**
 * The lower-case text. One call makes one flat string; concatenated pieces would make a tree of
 * strings and cost four times as much (`bench/core-send.ts`).
 */
export function uuidText(words: Uint32Array, at: number): string {
  const a = words[at] as number;
  const b = words[at + 1] as number;
  const c = words[at + 2] as number;
  const d = words[at + 3] as number;
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

const uuidLength = 36;
/** The value of each character code; 255 if it is not a lower-case hexadecimal digit. */
const values = new Uint8Array(128).fill(255);
for (const [value, code] of digits.entries()) values[code] = value;

/** Reads a UUID in the spelling of `uuidText`; false for any other text. */
export function readUuid(text: string, words: Uint32Array, at: number): boolean {
  if (text.length !== uuidLength) return false;
  let word = 0;
  let count = 0;
  for (let i = 0; i < uuidLength; i++) {
    const code = text.charCodeAt(i);
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (code !== hyphen) return false;
      continue;
    }
    const value = code < 128 ? (values[code] as number) : 255;
    if (value === 255) return false;
    word = (word << 4) | value;
    if (++count % 8 === 0) words[at + count / 8 - 1] = word;
  }
  return true;
}
