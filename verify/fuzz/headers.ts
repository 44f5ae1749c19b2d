/** Header lines, valid and odd. They do not change the framing of a request. */
import fc from 'fast-check';
import * as values from '../testkit/steps/values.ts';
import { keys } from './facts.ts';
import { type Bytes, weighted } from './piece.ts';

const { acme, revoked } = keys;

/** The values of the random steps, with a key of the fuzzed world, and some arbitrary bytes. */
const oddAuthorizations = [
  ...values.oddAuthorizations.map((text) => values.withKeys(text, acme, revoked)),
  ...[`Bearer ${acme}\xff`, `Bearer ${acme} ${acme}`, `Bearer "${acme}"`, `bearer \t ${acme}`],
  `Bearer ${'k'.repeat(2_000)}`,
];

/** One header line, none, or two. */
export const authorization: fc.Arbitrary<Bytes> = weighted<Bytes>(
  [
    8,
    fc
      .constantFrom(acme, keys.second, keys.globex, keys.pooled)
      .map((key) => `Authorization: Bearer ${key}\r\n`),
  ],
  [2, fc.constantFrom(...oddAuthorizations).map((value) => `authorization: ${value}\r\n`)],
  [
    1,
    fc.constantFrom(
      '',
      `Authorization: Bearer ${acme}\r\n`.repeat(2),
      `Authorization: Bearer ${acme}\r\nAuthorization: x\r\n`,
    ),
  ],
);

export const contentType: fc.Arbitrary<Bytes> = weighted<Bytes>(
  [8, fc.constant('Content-Type: application/json\r\n')],
  [
    1,
    fc
      .constantFrom(...values.contentTypes, 'application/json,text/html')
      .map((value) => `content-type: ${value}\r\n`),
  ],
  [1, fc.constantFrom('', 'Content-Type: application/json\r\nContent-Type: text/plain\r\n')],
  [
    1,
    fc
      .constantFrom('gzip', 'identity', '', 'br, gzip')
      .map((coding) => `Content-Type: application/json\r\nContent-Encoding: ${coding}\r\n`),
  ],
);

/** Headers that do not change the framing. */
export const extraHeaders: fc.Arbitrary<Bytes> = weighted<Bytes>(
  [8, fc.constant('')],
  [
    2,
    fc
      .array(
        fc.constantFrom(
          'X-Forwarded-For: 9.9.9.9 , junk\r\n',
          'X-Forwarded-For:\r\n',
          '__proto__: a\r\n',
          'constructor: b\r\n',
          `Cookie: ${'c'.repeat(4_000)}\r\n`,
          'Accept: */*\r\n',
          'Accept:\t\x80\xff\xfe\r\n',
          'If-None-Match: "x"\r\n',
          'Last-Event-ID: -1\r\n',
          'Keep-Alive: timeout=1\r\n',
          'X-A: a\tb\r\n',
          'Range: bytes=0-1\r\n',
        ),
        { maxLength: 3, size: 'max' },
      )
      .map((lines) => lines.join('')),
  ],
  [1, fc.integer({ min: 1, max: 60 }).map((count) => 'X-Many: 1\r\n'.repeat(count))],
);
