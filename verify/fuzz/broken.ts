/**
 * Requests that violate HTTP or stop halfway. The server may close the connection, but every reply
 * must still be valid HTTP. In the lists, `|` is the end of a line. What a server must do with each
 * request is tested by `verify/transports/hostile-http.test.ts`.
 */
import fc from 'fast-check';
import { routeOf } from '#src/operations/table.ts';
import { weighted } from '../testkit/steps/step.ts';
import { type Bytes, crlf, damaged, type RawRequest, rawRequest } from './raw-request.ts';

/** The bytes of a text in which `|` is the end of a line. */
export function bytesIn(text: string): Bytes {
  return text.replaceAll('|', crlf);
}

const chunks = '||2|{}|0||';

/** Header lines and bodies for which both transports refuse a request. */
export const refusedHeaders = Object.values({
  twoLengths: [
    'Content-Length: 2|Content-Length: 80||{}',
    'Content-Length: 80|Content-Length: 2||{}',
    'Content-Length: 2, 2||{}',
  ],
  lengthAboveTheLongest: ['Content-Length: 2097152||{}'],
  negativeLength: ['Content-Length: -1||'],
  lengthAndChunks: [`Content-Length: 2|Transfer-Encoding: chunked${chunks}`],
  chunkedTwice: [`Transfer-Encoding: chunked|Transfer-Encoding: chunked${chunks}`],
  otherCodings: ['xchunked', 'identity', 'gzip, chunked', 'chunked, identity'].map(
    (coding) => `Transfer-Encoding: ${coding}${chunks}`,
  ),
  chunkWithoutSize: ['Transfer-Encoding: chunked||zz|{}|'],
  spaceInAName: ['A : b||'],
  lineWithoutColon: ['nonsense||'],
  secondHost: ['Host: y||'],
})
  .flat()
  .map(bytesIn);

/** Header lines and bodies that one transport may refuse and the other accept. */
const oddHeaders = Object.values({
  hugeLength: ['Content-Length: 9223372036854775807||'],
  lengthAboveTheBody: ['Content-Length: 200||{}'],
  emptyLength: ['Content-Length:||{}'],
  hugeChunk: ['Transfer-Encoding: chunked||ffffffffffffffff|{}|'],
  negativeChunk: ['Transfer-Encoding: chunked||-2|{}|'],
  unknownExpectation: ['Expect: something|Content-Length: 2||{}'],
  continuedLine: ['A: b| c||'],
  controlCharacters: ['A: \x01\x02\x00||'],
  bareCarriageReturn: ['A: b\rc||'],
  manyHeaders: [`${'A: b|'.repeat(150)}|`],
  longHeader: [`Cookie: ${'c'.repeat(20_000)}||`],
  upgrade: ['Upgrade: h2c||'],
})
  .flat()
  .map(bytesIn);

const events = routeOf('events.stream').path;

/** Odd request lines, a request after a stream, and bytes of other protocols. */
const openings = Object.values({
  withoutHost: ['GET / HTTP/1.0||', 'GET / HTTP/1.1||'],
  otherVersion: ['GET / HTTP/2.0|Host: x||'],
  methodInLowerCase: ['get / HTTP/1.1||'],
  oddTargets: [
    'GET http://x/',
    'GET  /',
    'GET /a b',
    'GET /\xff\x00\x7f',
    'OPTIONS *',
    'CONNECT x:1',
  ].map((line) => `${line} HTTP/1.1|Host: x||`),
  longTarget: [`GET /${'a'.repeat(70_000)} HTTP/1.1||`],
  bareLineFeeds: ['GET / HTTP/1.1\nHost: x\n\n'],
  emptyLines: ['|'.repeat(50)],
  requestAfterAStream: [
    `GET ${events} HTTP/1.1|Host: localhost|Last-Event-ID: 3||GET / HTTP/1.1||`,
  ],
  longReply: [`GET ${routeOf('simulator.metrics').path} HTTP/1.1|Host: localhost||`],
  http2: ['PRI * HTTP/2.0||SM||\0\0\0\x04\0\0\0\0\0'],
  tls: ['\x16\x03\x01\0\xc8\x01\0\0\xc4\x03\x03||'],
  proxyProtocol1: ['||PROXY TCP4 1.2.3.4 5.6.7.8 1 2|GET / HTTP/1.1|Host: x||'],
  proxyProtocol2: [
    '||\0|QUIT\n\x21\x11\0\x0c\x01\x02\x03\x04\x05\x06\x07\x08\0\x01\0\x02GET / HTTP/1.1|Host: x||',
  ],
})
  .flat()
  .map(bytesIn);

/** A request that is answered late, so that the end of the connection comes first. */
const late = rawRequest({
  method: 'POST',
  target: routeOf('messages.wait').path,
  body: JSON.stringify({ match: { status: 'sent' }, count: 999, timeout_ms: 5 }),
});

const head = bytesIn('POST /api/v1/sms/send/ HTTP/1.1|Host: localhost|');
const listed = fc.constantFrom(
  ...refusedHeaders.map((rest) => head + rest),
  ...oddHeaders.map((rest) => head + rest),
  ...openings,
  late.bytes,
);

/** Whole requests, cut off or damaged, and bytes that never were a request. */
export function broken(whole: fc.Arbitrary<RawRequest>): fc.Arbitrary<Bytes> {
  const bytes = whole.map((request) => request.bytes);
  const cut = fc
    .tuple(bytes, fc.nat(10_000))
    .map(([text, at]) => text.slice(0, at % (text.length + 1)));
  return weighted([6, damaged(bytes)], [2, cut], [6, listed], [1, damaged(listed)]);
}
