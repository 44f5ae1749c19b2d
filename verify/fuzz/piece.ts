/**
 * Requests as bytes: a text in which each character stands for one byte, so that it can be cut,
 * joined and damaged as text.
 */
import fc from 'fast-check';

export type Bytes = string;

/** A request, or a part of one. */
export interface Piece {
  readonly method: string;
  readonly bytes: Bytes;
}

export function utf8(text: string): Bytes {
  return Buffer.from(text).toString('latin1');
}

/** The bytes of such a text. */
export function bytesOf(text: Bytes): Uint8Array {
  return Buffer.from(text, 'latin1');
}

/** Readable, exact, and a JavaScript expression; repetitions are written once. */
export function escaped(bytes: Bytes): string {
  const byte = (char: string) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
  const text = bytes
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    .replaceAll('\r', '\\r')
    .replaceAll('\n', '\\n')
    .replace(/[^\x20-\x7e]/g, byte);
  // Skips an escape that does not repeat as a whole, so that no repetition starts inside it.
  const repeated = /((?:\\x[0-9a-f]{2}|\\[rn'\\]|[^\\]){1,20}?)\1{9,}|\\x[0-9a-f]{2}|\\./g;
  const counted = (all: string, once: string | undefined) =>
    once === undefined ? all : `' + '${once}'.repeat(${all.length / once.length}) + '`;
  return `'${text.replace(repeated, counted)}'`;
}

/** A choice by weight. */
export function weighted<T>(...choices: readonly (readonly [number, fc.Arbitrary<T>])[]) {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** `usual`, but `odd` once in `once` draws. */
export function rarely<T>(once: number, usual: T, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return weighted<T>([once - 1, fc.constant(usual)], [1, odd]);
}

const anyBytes: fc.Arbitrary<Bytes> = fc
  .uint8Array({ maxLength: 6, size: 'max' })
  .map((bytes) => Buffer.from(bytes).toString('latin1'));

/** Bytes that are likely to break a parser. */
const sharpBytes = fc.constantFrom(
  ...['\r\n', '\n', '\0', '"', '\\', '{', '[', '\x7f', '\xff', '\xc3', '%', ' ', ':', '-', '9'],
  '\r\n\r\n',
);

const edit = fc.record({
  at: fc.nat(65_535),
  drop: fc.constantFrom(0, 0, 1, 1, 2, 20),
  repeat: fc.constantFrom(0, 0, 0, 1, 50),
  insert: fc.oneof(fc.constant(''), sharpBytes, anyBytes),
});

/** Removes, repeats or inserts bytes at a few places. */
export const damage: fc.Arbitrary<(bytes: Bytes) => Bytes> = fc
  .array(edit, { minLength: 1, maxLength: 4, size: 'max' })
  .map((edits) => (bytes) => {
    let result = bytes;
    for (const { at, drop, repeat, insert } of edits) {
      const place = at % (result.length + 1);
      const doubled = result.slice(place, place + 10).repeat(repeat);
      result = result.slice(0, place) + insert + doubled + result.slice(place + drop);
    }
    return result;
  });
