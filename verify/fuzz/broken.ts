/**
 * Requests that violate HTTP or stop halfway. The server may close the connection, but every reply
 * must still be valid HTTP.
 */
import fc from 'fast-check';
import { routeOf } from '#src/operations/table.ts';
import { crlf } from './framed.ts';
import { type Bytes, damage, type Piece, weighted } from './piece.ts';

const events = routeOf('events.stream').path;

const head = `POST /api/v1/sms/send/ HTTP/1.1${crlf}Host: localhost${crlf}`;

/** Requests whose headers contradict each other about the body, or announce a wrong one. */
const framings = [
  `Content-Length: 3${crlf}Content-Length: 50${crlf}${crlf}{"a":1}`,
  `Content-Length: 50${crlf}Content-Length: 3${crlf}${crlf}{"a":1}`,
  `Content-Length: 7, 7${crlf}${crlf}{"a":1}`,
  `Content-Length: -1${crlf}${crlf}`,
  `Content-Length: +7${crlf}${crlf}{"a":1}`,
  `Content-Length: 0x7${crlf}${crlf}{"a":1}`,
  `Content-Length: 99999999999999999999${crlf}${crlf}{"a":1}`,
  `Content-Length: 9223372036854775807${crlf}${crlf}`,
  `Content-Length: 2097152${crlf}${crlf}${'x'.repeat(3_000)}`,
  `Content-Length: 2${crlf}${crlf}{"a":1}`,
  `Content-Length: 200${crlf}${crlf}{"a":1}`,
  `Content-Length:${crlf}${crlf}`,
  `Content-Length: 3${crlf}Transfer-Encoding: chunked${crlf}${crlf}0${crlf}${crlf}`,
  `Transfer-Encoding: chunked${crlf}Transfer-Encoding: chunked${crlf}${crlf}0${crlf}${crlf}`,
  `Transfer-Encoding: gzip, chunked${crlf}${crlf}2${crlf}{}${crlf}0${crlf}${crlf}`,
  `Transfer-Encoding: gzip${crlf}${crlf}{}`,
  `Transfer-Encoding: Chunked${crlf}${crlf}2;a=b${crlf}{}${crlf}0${crlf}${crlf}`,
  `Transfer-Encoding: chunked${crlf}${crlf}2${crlf}{}${crlf}0${crlf}X-Trailer: 1${crlf}${crlf}`,
  `Transfer-Encoding: chunked${crlf}${crlf}zz${crlf}{}${crlf}`,
  `Transfer-Encoding: chunked${crlf}${crlf}ffffffffffffffff${crlf}{}${crlf}`,
  `Transfer-Encoding: chunked${crlf}${crlf}-2${crlf}{}${crlf}0${crlf}${crlf}`,
  `Transfer-Encoding: chunked${crlf}${crlf}2${crlf}{}extra${crlf}0${crlf}${crlf}`,
  `Transfer-Encoding: chunked${crlf}${crlf}200000${crlf}${'x'.repeat(3_000)}`,
  `Expect: 100-continue${crlf}Content-Length: 7${crlf}${crlf}`,
  `Expect: something${crlf}Content-Length: 2${crlf}${crlf}{}`,
  `Connection: close${crlf}Content-Length: 2${crlf}${crlf}{}`,
  `Connection: Upgrade${crlf}Upgrade: websocket${crlf}Sec-WebSocket-Key: dGVzdA==${crlf}${crlf}`,
  `Connection: Upgrade, HTTP2-Settings${crlf}Upgrade: h2c${crlf}HTTP2-Settings: AA${crlf}${crlf}`,
].map((rest) => head + rest);

/** Odd requests without a body, and bytes of other protocols. */
const lines = [
  'GET / HTTP/1.0\r\n\r\n',
  'GET / HTTP/1.0\r\nHost: x\r\n\r\n',
  'GET / HTTP/2.0\r\nHost: x\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
  'GET http://x/api/v1/account/stats/ HTTP/1.1\r\nHost: x\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n',
  'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
  'get / HTTP/1.1\r\nHost: x\r\n\r\n',
  'FOO / HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET  / HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /\xff\x00\x7f HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET / HTTP/1.1\nHost: x\n\n',
  'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\nA: \x01\x02\x00\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n',
  `GET / HTTP/1.1\r\nHost: x\r\nCookie: ${'c'.repeat(20_000)}\r\n\r\n`,
  `GET /${'a'.repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(150)}\r\n`,
  `GET / HTTP/1.1\r\nHost: x\r\n${'a'.repeat(9_000)}: b\r\n\r\n`,
  `GET ${events} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  `GET ${routeOf('simulator.metrics').path} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  `GET ${events} HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 3\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
  'GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /assets/x HTTP/1.1\r\nHost: localhost\r\n\r\n',
  // The first bytes of HTTP/2, of TLS, and of both versions of the PROXY protocol.
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
  '\x16\x03\x01\0\xc8\x01\0\0\xc4\x03\x03\r\n\r\n',
  '\r\n\r\nPROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n',
  '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x01\x02\x03\x04\x05\x06\x07\x08\0\x01\0\x02GET / HTTP/1.1\r\nHost: x\r\n\r\n',
  '\0'.repeat(64),
  '\r\n'.repeat(50),
];

const wait = JSON.stringify({ match: { status: 'sent' }, count: 999, timeout_ms: 5 });
/** A request that is answered late, so that the end of the connection comes first. */
const late = `POST ${routeOf('messages.wait').path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${wait.length}\r\n\r\n${wait}`;

/** Whole requests, unchanged, cut off or damaged, and bytes that never were a request. */
export function broken(whole: fc.Arbitrary<Piece>): fc.Arbitrary<Bytes> {
  const bytes = whole.map((piece) => piece.bytes);
  const cut = fc
    .tuple(bytes, fc.nat(10_000))
    .map(([text, at]) => text.slice(0, at % (text.length + 1)));
  const damaged = fc.tuple(bytes, damage).map(([text, change]) => change(text));
  return weighted<Bytes>(
    [6, damaged],
    [2, cut],
    [3, fc.constantFrom(...framings)],
    [3, fc.constantFrom(...lines, late)],
    [
      1,
      fc
        .tuple(fc.constantFrom(...framings, ...lines), damage)
        .map(([text, change]) => change(text)),
    ],
  );
}
