/** Requests as bytes, which can be cut, joined and damaged like text. */
import fc from 'fast-check';
import { weighted } from '../testkit/steps/step.ts';

/** A text in which each character stands for one byte. */
export type Bytes = string;

export const crlf = '\r\n';

/** The parts of a request before it is written as bytes. */
export interface RequestParts {
  readonly method: string;
  readonly target: Bytes;
  readonly body: Bytes;
}

export interface RawRequest {
  readonly method: string;
  readonly bytes: Bytes;
}

/** The number of characters that a message of a failure shows. */
const maxShown = 400;
/** A body longer than this is not cut into small chunks, which would make it six times larger. */
const largeBytes = 2_000;

export function rawRequest(
  { method, target, body }: RequestParts,
  headers: Bytes = `Host: localhost${crlf}`,
  chunkSize?: number,
): RawRequest {
  const head = `${method} ${target} HTTP/1.1${crlf}${headers}`;
  if (body === '') return { method, bytes: head + crlf };
  if (chunkSize === undefined || body.length > largeBytes)
    return { method, bytes: `${head}Content-Length: ${body.length}${crlf}${crlf}${body}` };
  const parts = body.match(new RegExp(`[^]{1,${chunkSize}}`, 'g')) ?? [];
  const chunks = [...parts, ''].map((part) => `${part.length.toString(16)}${crlf}${part}${crlf}`);
  const bytes = `${head}Transfer-Encoding: chunked${crlf}${crlf}${chunks.join('')}`;
  return { method, bytes };
}

export function utf8(text: string): Bytes {
  return Buffer.from(text).toString('latin1');
}

/** The bytes as text for people; a long text is cut, as a seed repeats the request. */
export function quoted(bytes: Bytes): string {
  const text = JSON.stringify(bytes);
  return text.length < maxShown ? text : `${text.slice(0, maxShown)}… (${bytes.length} bytes)`;
}

export function rarely<T>(usual: T, draws: number, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return weighted<T>([draws - 1, fc.constant(usual)], [1, odd]);
}

/** The size of a body's chunks; undefined: the body has a length instead. */
export const chunkSizes = rarely<number | undefined>(undefined, 6, fc.constantFrom(1, 7, 4_096));

/** Removes `drop` bytes at `at`, repeats the ten that begin there, and inserts others. */
const edit = fc.record({
  at: fc.nat(65_535),
  drop: fc.constantFrom(0, 0, 1, 1, 2, 20),
  repeat: fc.constantFrom(0, 0, 0, 1, 50),
  /** Bytes that are likely to break a parser, or any. */
  insert: fc.oneof(
    fc.constantFrom('', '\r\n', '\n', '\0', '"', '\\', '{', '[', '\xc3', '%', ' ', ':', '-', '9'),
    fc
      .uint8Array({ maxLength: 6, size: 'max' })
      .map((some) => Buffer.from(some).toString('latin1')),
  ),
});

/** The bytes with a few places removed, repeated or inserted. */
export function damaged(whole: fc.Arbitrary<Bytes>): fc.Arbitrary<Bytes> {
  const edits = fc.array(edit, { minLength: 1, maxLength: 4, size: 'max' });
  return fc.tuple(whole, edits).map(([bytes, all]) =>
    all.reduce((text, { at, drop, repeat, insert }) => {
      const start = at % (text.length + 1);
      const repeated = text.slice(start, start + 10).repeat(repeat);
      return text.slice(0, start) + insert + repeated + text.slice(start + drop);
    }, bytes),
  );
}
