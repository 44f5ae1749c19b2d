/**
 * Whole requests to the documented service: valid HTTP with any content, from the values of the
 * random steps. Each must get exactly one reply, and the connection must stay open.
 */
import fc from 'fast-check';
import { weighted } from '../testkit/steps/step.ts';
import * as values from '../testkit/steps/values.ts';
import { sendPaths } from '../testkit/twin/request.ts';
import {
  type Bytes,
  chunkSizes,
  crlf,
  damaged,
  type RawRequest,
  rarely,
  rawRequest,
  utf8,
} from './raw-request.ts';
import type { Facts } from './served.ts';

/** Bodies that are deep or invalid, or JSON whose values JavaScript cannot hold. */
const wholeBodies: readonly Bytes[] = Object.values({
  odd: values.oddBodies.map((body) => Buffer.from(body).toString('latin1')),
  notJson: [' ', '\xc3\x28', '{"a":1}{', '{"a":NaN}', "{'a':1}", '\0', '{"a":1,}'],
  marked: ['\xef\xbb\xbf{}'],
  withoutValue: ['{"to":1e999}', '{"message":"\\udc00\\ud800"}'],
  prototypes: ['{"__proto__":{"a":1}}', '{"toString":1}'],
  deep: ['['.repeat(5_000), '{"a":'.repeat(5_000), `${'['.repeat(4_000)}${']'.repeat(4_000)}`],
}).flat();

const oddValue = fc.constantFrom(
  ...values.notTexts,
  ...values.oddNumbers,
  ...values.oddMessages,
  ...values.oddIds,
  ...values.oddTimes,
);

/** A field of a send: mostly valid, sometimes odd or absent. */
function field(valid: readonly string[]): fc.Arbitrary<unknown> {
  return weighted([40, fc.constantFrom(...valid)], [2, oddValue], [1, fc.constant(undefined)]);
}

function sendBodies({ numbers }: Facts): fc.Arbitrary<Bytes> {
  const optional = (valid: readonly string[]) => rarely<unknown>(undefined, 4, field(valid));
  const valid = fc
    .record({
      to: field(values.recipients),
      from: field(numbers),
      message: field(values.messages),
      request_id: optional(['a', 'b', 'c', ...values.alikeIds]),
      send_at: optional(['2030-01-01T00:00:00Z', '2026-06-01T00:00:00.001Z']),
      from_number: optional(numbers),
    })
    .map((fields) => utf8(JSON.stringify(fields)));
  return weighted([10, valid], [2, damaged(valid)], [1, fc.constantFrom(...wholeBodies)]);
}

export function ids(existing: readonly string[]): fc.Arbitrary<string> {
  const odd = [...values.unknownIds.map(encodeURI), '%00', '%2e%2e', 'A'.repeat(300)];
  return weighted([8, fc.constantFrom(...existing)], [1, fc.constantFrom(...odd)]);
}

const nearPaths: readonly string[] = [
  ...values.nearPaths.filter((path) => path !== ''),
  '/%61pi/v1/sms/send/',
  '/a/../api/sms/send/',
  '//api/v1/sms/send/',
  '/api/sms/send/%',
  `/api/external/send/${'a'.repeat(8_000)}`,
];

const oddQueries = [
  ...values.pageQueries.map((query) => `?${query}`),
  '?page=%zz',
  '?page=%ff',
  '?__proto__=1',
  '??',
  `?${'a=1&'.repeat(1_000)}`,
];

/** Paths of the service or close to them, sometimes with a query. */
function targets({ messageIds, deviceIds }: Facts): fc.Arbitrary<Bytes> {
  const path = weighted(
    [6, fc.constantFrom<string>(...Object.values(sendPaths))],
    [3, ids(messageIds).map((id) => `/api/v1/sms/${id}/`)],
    [2, ids(deviceIds).map((id) => `/api/devices/${id}/tasks/`)],
    [2, fc.constantFrom(...nearPaths)],
  );
  const query = rarely('', 4, fc.constantFrom(...oddQueries));
  return fc.tuple(path, query).map((parts) => parts.join(''));
}

/** Header lines that do not change the framing. */
export const extraHeaders: fc.Arbitrary<readonly string[]> = rarely(
  [],
  4,
  fc.array(
    fc.constantFrom(
      'X-Forwarded-For: 9.9.9.9 , junk',
      'X-Forwarded-For:',
      '__proto__: a',
      'constructor: b',
      'Accept:\t\x80\xff\xfe',
      'If-None-Match: "x"',
      'Last-Event-ID: -1',
      'X-A: a\tb',
      'Keep-Alive: timeout=1',
      'Range: bytes=0-1',
      `Cookie: ${'c'.repeat(4_000)}`,
      Array.from({ length: 25 }, () => 'X-Many: 1').join(crlf),
    ),
    { maxLength: 3, size: 'max' },
  ),
);

const json = 'Content-Type: application/json';
const oddTypes = [
  ...values.contentTypes.map((type) => `content-type: ${type}`),
  ...['gzip', 'identity', '', 'br, gzip'].map((how) => `${json}${crlf}Content-Encoding: ${how}`),
  `${json}${crlf}Content-Type: text/plain`,
];

/** The header lines of a request, without those that frame its body. */
function headersOf({ keys }: Facts): fc.Arbitrary<readonly string[]> {
  const valid = keys.map((key) => `Authorization: Bearer ${key}`);
  const [key = ''] = keys;
  const odd = [
    ...values.oddAuthorizations.map((text) => values.withKeys(text, key, 'none')),
    `Bearer ${key}\xff`,
    `bearer \t ${key}`,
    `Bearer ${'k'.repeat(2_000)}`,
    `x${crlf}Authorization: Bearer ${key}`,
    `Bearer ${key}${crlf}Authorization: x`,
  ].map((value) => `authorization: ${value}`);
  const one = weighted([8, fc.constantFrom(...valid)], [2, fc.constantFrom(...odd)]);
  const authorization = weighted<string[]>(
    [12, one.map((line) => [line])],
    [1, fc.constant<string[]>([])],
  );
  const type = rarely([json], 4, fc.subarray(oddTypes, { maxLength: 1 }));
  const expect = rarely<string[]>([], 30, fc.constant(['Expect: 100-continue']));
  return fc
    .tuple(authorization, extraHeaders, type, expect)
    .map((lines) => ['Host: x', ...lines.flat()]);
}

const oddMethods = ['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'];

export function serviceRequests(facts: Facts): fc.Arbitrary<RawRequest> {
  const oddMethod = rarely<string | undefined>(undefined, 10, fc.constantFrom(...oddMethods));
  return fc
    .tuple(oddMethod, targets(facts), headersOf(facts), sendBodies(facts), chunkSizes)
    .map(([odd, target, lines, drawn, chunkSize]) => {
      const method = odd ?? (target.includes('/send') ? 'POST' : 'GET');
      const body = ['POST', 'PUT', 'PATCH'].includes(method) ? drawn : '';
      const sent = body === '' ? lines.filter((line) => !line.startsWith('Expect')) : lines;
      return rawRequest({ method, target, body }, sent.join(crlf) + crlf, chunkSize);
    });
}
