/**
 * Requests as bytes: a text in which each character stands for one byte, so that it can be cut,
 * joined and damaged as text.
 */
import fc from 'fast-check';

/** Each character stands for one byte. */
export type Bytes = string;

/** A request, or a part of one. */
export interface Piece {
  readonly method: string;
  readonly bytes: Bytes;
}

/** The UTF-8 bytes of a text. */
export function utf8(text: string): Bytes {
  return Buffer.from(text).toString('latin1');
}

/** The bytes as Node writes them. */
export function bytesOf(text: Bytes): Uint8Array {
  return Buffer.from(text, 'latin1');
}

/** The bytes as a JavaScript expression, which writes repetitions once. */
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
  const asRepeat = (all: string, unit: string | undefined) =>
    unit === undefined ? all : `' + '${unit}'.repeat(${all.length / unit.length}) + '`;
  return `'${text.replace(repeated, asRepeat)}'`;
}

/** A choice by weight. */
export function weighted<T>(...choices: readonly (readonly [number, fc.Arbitrary<T>])[]) {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** `odd` in one of so many draws, otherwise `usual`. */
export function rarely<T>(draws: number, usual: T, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return weighted<T>([draws - 1, fc.constant(usual)], [1, odd]);
}

const anyBytes: fc.Arbitrary<Bytes> = fc
  .uint8Array({ maxLength: 6, size: 'max' })
  .map((bytes) => Buffer.from(bytes).toString('latin1'));

/** Bytes that are likely to break a parser. */
const riskyBytes = fc.constantFrom(
  ...['\r\n', '\n', '\0', '"', '\\', '{', '[', '\x7f', '\xff', '\xc3', '%', ' ', ':', '-', '9'],
  '\r\n\r\n',
);

const edit = fc.record({
  at: fc.nat(65_535),
  drop: fc.constantFrom(0, 0, 1, 1, 2, 20),
  repeat: fc.constantFrom(0, 0, 0, 1, 50),
  insert: fc.oneof(fc.constant(''), riskyBytes, anyBytes),
});

/** Removes, repeats or inserts bytes at a few places. */
export const damage: fc.Arbitrary<(bytes: Bytes) => Bytes> = fc
  .array(edit, { minLength: 1, maxLength: 4, size: 'max' })
  .map((edits) => (bytes) => {
    let result = bytes;
    for (const { at, drop, repeat, insert } of edits) {
      const start = at % (result.length + 1);
      const repeated = result.slice(start, start + 10).repeat(repeat);
      result = result.slice(0, start) + insert + repeated + result.slice(start + drop);
    }
    return result;
  });
