import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../verify/testkit/runs.ts';
import type { Handled } from '../http/service/api.ts';
import type { ApiRequest } from '../http/service/messages.ts';
import { isIntact, lineOf } from './journal-checksum.ts';
import type { RequestEntry } from './journal-entry.ts';
import { RecordedExchange } from './recorded-exchange.ts';
import { requestLine } from './request-line.ts';

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constant('a"\\\u007f\u2028\ud800'),
);
const maybe = fc.option(text, { nil: undefined });
const sent = fc.oneof(
  text,
  text.map((body) => new TextEncoder().encode(body)),
  fc.uint8Array(),
);

test('a request is one line that reads as it was, with the checksum of its bytes', () => {
  const request = fc.record({
    ...{ method: text, path: text, query: text, clientIp: text, body: sent },
    ...{ authorization: maybe, contentType: maybe, contentEncoding: maybe, forwardedFor: maybe },
  });
  const reply = fc.record({
    status: fc.integer({ min: 100, max: 599 }),
    body: text,
    headers: fc.option(fc.dictionary(fc.string(), text), { nil: undefined }),
  });
  fc.assert(
    fc.property(request, reply, (requested, replied) => {
      const exchange = new RecordedExchange();
      exchange.atMs = 1_767_225_600_000;
      exchange.fill(
        requested as ApiRequest,
        { endpoint: undefined, key: undefined, reply: replied } as unknown as Handled,
      );
      const line = requestLine(exchange).toString('utf8');
      const { crc32: _, ...entry } = JSON.parse(line) as RequestEntry & { crc32: number };
      expect(line).toBe(lineOf(entry));
      expect(isIntact(line.trimEnd())).toBe(true);
      expect(Buffer.from(bodyIn(entry))).toEqual(Buffer.from(requested.body));
      expect(entry.request.credential === undefined).toBe(requested.authorization === undefined);
      expect(entry.request).toMatchObject(
        defined({
          ...{ method: requested.method, path: requested.path, client_ip: requested.clientIp },
          query: requested.query === '' ? undefined : requested.query,
          forwarded_for: requested.forwardedFor,
          content_type: requested.contentType,
          content_encoding: requested.contentEncoding,
        }),
      );
      expect(entry.reply).toEqual(defined(replied));
    }),
    { numRuns: runs(300) },
  );
});

test('a body that is longer than the buffer is written whole', () => {
  const exchange = new RecordedExchange();
  const body = '"\u0000é'.repeat(100_000);
  const request = { method: 'POST', path: '/', query: '', body } as ApiRequest;
  exchange.fill(request, { reply: { status: 202, body: '{}' } } as unknown as Handled);
  const entry = JSON.parse(requestLine(exchange).toString('utf8')) as RequestEntry;
  expect(entry.request.body).toBe(body);
});

function defined(value: object): object {
  return JSON.parse(JSON.stringify(value)) as object;
}

function bodyIn({ request: { body = '', body_base64 } }: RequestEntry): string | Uint8Array {
  return body_base64 === undefined ? body : Buffer.from(body_base64, 'base64');
}
