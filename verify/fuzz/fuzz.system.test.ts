/**
 * A short fuzz run on both transports, and checks that planted problems are detected.
 * Rules: SVC-4, SEND-5. `npm run test:deep` runs any number of requests against a server in a child
 * process.
 */
import { expect, test } from 'vitest';
import { type RawReply, ReplyReader } from '../testkit/processes/http-reply.ts';
import { seed } from '../testkit/runs.ts';
import { both, withoutNative } from '../testkit/transport-fixture.ts';
import { compareTransports } from './compare.ts';
import { checkDocumented, checkReply, type Expectation } from './reply.ts';
import { fuzz } from './run.ts';
import { type Served, serveHere, withoutChance } from './served.ts';

both('hostile requests are answered in HTTP, and the world stays sound', async (transport) => {
  const served = await serveHere(transport);
  const run = withoutChance(() => fuzz(served, transport, 300, seed));
  const report = await run.finally(served.stop);
  expect(report).toMatch(/: [3-9]\d\d requests, .*; replies 200: \d+, .*: sound$/);
});

test.skipIf(withoutNative !== '')(
  'both transports hand the same requests of any packets to the service, and none behind the end',
  async () => {
    expect(await compareTransports(500, seed)).toBeGreaterThanOrEqual(500);
  },
);

test('a request that throws fails the run, with its bytes and a command that plays it again', async () => {
  const served = await serveHere('node');
  const broken: Served = { ...served, complaint: () => 'it broke' };
  const run = fuzz(broken, 'node', 300, 7).finally(served.stop);
  const failure = await run.catch((error: unknown) => error);
  const text = String(failure);
  expect(text).toMatch(/^Error: it broke\n/);
  expect(text).toMatch(/^ {2}"(?:POST|GET) .*HTTP\/1\.1\\r\\n/m);
  expect(text).toContain('SMSTWIN_SEED=7 npm run test:deep -- -t node');
});

function replyOf(bytes: string, method = 'GET', isClosed = true): RawReply | undefined {
  const reader = new ReplyReader();
  reader.add(bytes);
  return reader.next(method, isClosed);
}

test.each([
  ['no HTTP', 'nonsense\r\n\r\n'],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['a split header', 'HTTP/1.1 200 OK\r\na\nb: c\r\ncontent-length: 0\r\n\r\n'],
  ['a header twice', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-length: 0\r\n\r\n'],
  ['no length', 'HTTP/1.1 200 OK\r\na: b\r\n\r\n'],
  ['an odd length', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
])('a reply with %s is wrong', (_, bytes) => {
  expect(() => replyOf(bytes)).toThrow();
});

test('a reply is complete once its body has arrived; interim replies are skipped', () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n';
  expect(replyOf(`HTTP/1.1 100 Continue\r\n\r\n${head}{`)).toBeUndefined();
  expect(replyOf(`HTTP/1.1 100 Continue\r\n\r\n${head}{}`)).toMatchObject({ body: '{}' });
  expect(replyOf(head, 'HEAD')).toMatchObject({ status: 200, body: '' });
  const open = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n<h1>';
  expect(replyOf(open, 'GET', false)).toBeUndefined();
  expect(replyOf(open)).toMatchObject({ status: 400, body: '<h1>' });
});

const whole: Expectation = {
  port: 'service',
  transport: 'hyperexpress',
  method: 'GET',
  isWhole: true,
};
const json = { 'content-type': 'application/json' };
const html = { status: 505, headers: {}, body: '<h1>' };

test.each<[string, RawReply, Partial<Expectation>]>([
  ['500', { status: 500, headers: json, body: '{}' }, {}],
  ['500 without HTTP', { status: 500, headers: json, body: '{}' }, { isWhole: false }],
  ['502', { status: 502, headers: json, body: '{}' }, {}],
  ['503 that no SIM explains', { status: 503, headers: json, body: '{}' }, {}],
  ['503 of the control port', { status: 503, headers: json, body: '{}' }, { port: 'control' }],
  ['200 that is not JSON', { status: 200, headers: json, body: '{' }, {}],
  ['200 of another type', { status: 200, headers: {}, body: '{}' }, {}],
  ["the native parser's page for a whole request", html, {}],
  ["the native parser's page on the other transport", html, { isWhole: false, transport: 'node' }],
])('%s may not be', (_, reply, differing) => {
  expect(() => checkReply(reply, { ...whole, ...differing })).toThrow();
});

test('ERR-2 a 503 is permitted, and the native parser’s page for bytes that are not HTTP', () => {
  const inactive = { status: 503, headers: json, body: '{"code":"device_inactive"}' };
  expect(() => checkReply(inactive, whole)).not.toThrow();
  expect(() => checkReply(html, { ...whole, isWhole: false })).not.toThrow();
});

test('a refusal of the control port that its document does not name fails the run', () => {
  const reply = { status: 409, headers: {}, body: '{}' } as RawReply;
  expect(() => checkDocumented(reply, 'POST', '/control/accounts')).not.toThrow();
  expect(() => checkDocumented(reply, 'GET', '/control/accounts?x=1')).toThrow(
    'accounts.list does not document 409',
  );
});
