import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import type { RequestEntry } from '#judging/evidence/journal-entry.ts';
import { isIntact, parseJournalLine } from '#judging/evidence/journal-line.ts';
import { anyCharacter, runs } from '#verify/testkit/runs.ts';
import type { Handled } from '../../http/service/api.ts';
import { RecordedExchange } from '../recorded-exchange.ts';
import { requestLine } from './request-line.ts';

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.constant('a"\\\u007f\u2028\ud800'),
);
const maybe = fc.option(text, { nil: undefined });
const sent = fc.oneof(
  text,
  text.map((body) => new TextEncoder().encode(body)),
  fc.uint8Array(),
);

const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** Replies as a fault or a planted defect may give them. */
const oddReply = fc.constantFrom(
  '{"a":1',
  '{"a"\n:1}',
  '{{}',
  '{"b":{"json":{"c":"},\\"crc32\\":1}"}}}',
);

test('a request is one line that reads as it was, with the checksum of its bytes', () => {
  const request = fc.record({
    method: text,
    path: text,
    query: text,
    clientIp: text,
    body: sent,
    headers: fc.constantFrom(undefined, { a: 'b' }, { traceparent: 'ä' }, { traceparent: trace }),
    authorization: maybe,
    contentType: maybe,
    contentEncoding: maybe,
    forwardedFor: maybe,
  });
  const reply = fc.record({
    status: fc.integer({ min: 100, max: 599 }),
    body: fc.oneof(
      text,
      fc.object().map((value) => JSON.stringify(value)),
      oddReply,
    ),
    headers: fc.option(fc.dictionary(fc.oneof(fc.string(), fc.constant('json')), text), {
      nil: undefined,
    }),
  });
  fc.assert(
    fc.property(request, reply, (requested, replied) => {
      const exchange = new RecordedExchange();
      exchange.atMs = 1_767_225_600_000;
      exchange.fill(
        requested as ApiRequest,
        { endpoint: undefined, key: undefined, reply: replied } as unknown as Handled,
      );
      const line = requestLine(exchange);
      const entry = parseJournalLine(line) as RequestEntry;
      expect(line.indexOf('\n')).toBe(line.length - 1);
      expect(isIntact(line.trimEnd())).toBe(true);
      expect(Buffer.from(bodyIn(entry))).toEqual(Buffer.from(requested.body));
      expect(entry.request.credential === undefined).toBe(requested.authorization === undefined);
      expect(entry.request).toMatchObject(
        defined({
          method: requested.method,
          path: requested.path,
          client_ip: requested.clientIp,
          query: requested.query === '' ? undefined : requested.query,
          forwarded_for: requested.forwardedFor,
          content_type: requested.contentType,
          content_encoding: requested.contentEncoding,
        }),
      );
      const isKept = requested.headers?.traceparent === trace;
      expect(entry.request.headers).toEqual(isKept ? requested.headers : undefined);
      expect(entry.reply).toMatchObject(defined(replied));
    }),
    { numRuns: runs(300) },
  );
});

test('a body that is longer than the buffer is written whole', () => {
  const exchange = new RecordedExchange();
  const body = '"\u0000é'.repeat(100_000);
  const request = { method: 'POST', path: '/', query: '', body } as ApiRequest;
  exchange.fill(request, { reply: { status: 202, body: '{}' } } as unknown as Handled);
  const entry = JSON.parse(requestLine(exchange)) as RequestEntry;
  expect(entry.request.body).toBe(body);
});

function defined(value: object): object {
  return JSON.parse(JSON.stringify(value)) as object;
}

function bodyIn({ request: { body = '', body_base64 } }: RequestEntry): string | Uint8Array {
  return body_base64 === undefined ? body : Buffer.from(body_base64, 'base64');
}

test('a reply that is JSON can be read in its line, and heads that differ in one field are kept apart', () => {
  const lines = [
    { path: '/a', contentType: 'text/plain' },
    { path: '/a', contentType: 'text/plain' },
    { path: '/b', contentType: 'text/plain' },
    { path: '/b', contentType: 'text/html' },
    { path: '/b', contentType: 'text/html', query: 'q' },
  ].map((fields) => {
    const exchange = new RecordedExchange();
    const request = { method: 'POST', query: '', body: '', ...fields } as ApiRequest;
    const key = { keyId: 'k', key: 'smst_1', account: {} };
    const reply = { status: 202, body: '{"status":"queued"}' };
    exchange.fill(request, { key, reply } as unknown as Handled);
    return JSON.parse(requestLine(exchange));
  });
  const common = { method: 'POST', key_id: 'k' };
  expect(lines.map(({ request }) => request)).toEqual([
    { ...common, path: '/a', content_type: 'text/plain' },
    { ...common, path: '/a', content_type: 'text/plain' },
    { ...common, path: '/b', content_type: 'text/plain' },
    { ...common, path: '/b', content_type: 'text/html' },
    { ...common, path: '/b', content_type: 'text/html', query: 'q' },
  ]);
  expect(lines[0].reply).toEqual({ status: 202, json: { status: 'queued' } });
});
