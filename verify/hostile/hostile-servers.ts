/**
 * Servers with replies that no service gives: too long, too slow, malformed, or harmful to a
 * program that prints their text. `conform` and `bench` must end in time on each and say why.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { listen } from '../testkit/processes/listen.ts';

/** Writes the reply to one request on a connection. */
type Responder = (socket: Socket, path: string) => void;

const mebibyte = 1_048_576;
const message = {
  status: 'queued',
  message_id: '00000000-0000-4000-8000-000000000001',
  request_id: '',
  device_id: '00000000-0000-4000-8000-000000000002',
  from_number: '+12025550101',
  to: '+12025550123',
  created_at: '2026-01-01T00:00:00.000Z',
};

function head(status: string, headers: readonly string[]): string {
  return `HTTP/1.1 ${status}\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`;
}

const jsonType = 'content-type: application/json';

function whole(status: string, body: string | Buffer, ...headers: readonly string[]): Responder {
  const length = `content-length: ${Buffer.byteLength(body)}`;
  const start = head(status, [jsonType, length, ...headers]);
  return (socket) => {
    socket.write(start);
    socket.write(body);
  };
}

/** A 202 with a Message body, some of whose fields are replaced. */
function messageWith(fields: Readonly<Record<string, unknown>>): Responder {
  return whole('202 Accepted', JSON.stringify({ ...message, ...fields }));
}

/** Writes as fast as the client reads, up to `bytes`. */
function flood(bytes: number, start: string, piece: string): Responder {
  return (socket) => {
    socket.write(start);
    let remaining = bytes;
    const writeMore = () => {
      while (remaining > 0 && !socket.destroyed) {
        remaining -= piece.length;
        if (!socket.write(piece)) return;
      }
    };
    socket.on('drain', writeMore);
    writeMore();
  };
}

/** Writes a piece every few milliseconds until the client closes. */
function drip(start: string, piece: string): Responder {
  return (socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(piece), 20);
    socket.on('close', () => clearInterval(timer));
  };
}

/** Control characters and commands that a terminal or a CI log obeys: printed text must not match. */
export const obeyed =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys.
  /[\u0000-\u0009\u000b-\u001f\u007f\u009b\u061c]|^\s*::(?:error::|add-mask)|##(?:vso)?\[/m;

const filler = 'x'.repeat(65_536);
/** A text that a terminal and the logs of CI services would obey. */
export const hostileWords =
  '\u001b]0;PWNED\u0007\u001b[2J\r\n::error::planted\n::add-mask::a\u009b1m\u0085PASSED' +
  '##vso[task.complete]\u061c';

/** The first ones differ most from each other: `npm run test:all` tries only two. */
export const hostileServers: Readonly<Record<string, Responder>> = {
  'endless body': flood(
    Number.MAX_SAFE_INTEGER,
    head('202 Accepted', [jsonType, 'transfer-encoding: chunked']),
    `10000\r\n${filler}\r\n`,
  ),
  'nested brackets': whole('202 Accepted', '['.repeat(1e4) + ']'.repeat(1e4)),
  'fields of another type': messageWith({ message_id: { toString: null }, status: { valueOf: 1 } }),
  'another body of 125 kB each time': (socket, path) =>
    messageWith({ more: randomBytes(62_500).toString('hex') })(socket, path),
  silence: () => {},
  reset: (socket) => socket.resetAndDestroy(),
  'dripping head': drip('HTTP/1.1 200 OK\r\n', 'x-drip: 1\r\n'),
  'dripping body': drip(head('202 Accepted', [jsonType, 'content-length: 1000000']), ' '),
  'body of 600 MB': flood(
    600 * mebibyte,
    head('202 Accepted', [jsonType, `content-length: ${600 * mebibyte}`]),
    filler,
  ),
  'body of 5 MB': whole('202 Accepted', JSON.stringify({ ...message, more: 'x'.repeat(5e6) })),
  'body of 125 kB': whole('202 Accepted', JSON.stringify({ ...message, more: 'x'.repeat(125e3) })),
  'gzip bomb': whole(
    '202 Accepted',
    gzipSync(Buffer.alloc(100 * mebibyte)),
    'content-encoding: gzip',
  ),
  'provisional replies': drip('', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(500)),
  'header of 10 MB': (socket) => socket.write(`HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(1e7)}`),
  '100,000 cookies': (socket) =>
    socket.write(`HTTP/1.1 200 OK\r\n${'set-cookie: a=b\r\n'.repeat(1e5)}\r\n`),
  'redirect to itself': (socket, path) =>
    socket.write(head('302 Found', [`location: ${path}`, 'content-length: 0'])),
  'status 999': whole('999 Odd', '{}'),
  'no HTTP': (socket) => socket.write('220 smtp ready\r\n'),
  noise: (socket) => socket.write(Buffer.from([0, 255, 27, 13, 10, 13, 10, 1, 2, 3])),
  'body cut short': (socket) => socket.end(`${head('202 Accepted', ['content-length: 90'])}{"st`),
  'ids with control characters': messageWith({
    message_id: ` \r\n\u0000\ud800/../?#${hostileWords}`,
  }),
  'prototype keys': whole('202 Accepted', '{"__proto__":{"status":"queued"},"constructor":1}'),
  'escapes and workflow commands': whole('500 Error', hostileWords, `x-words: \u001b[2J`),
  'hostile words': whole('500 Error', hostileWords),
  'huge numbers': whole(
    '429 Too Many Requests',
    '{"detail":"wait 1e999 seconds"}',
    'retry-after: 99999999999999999999',
  ),
};

export interface HostileServer {
  readonly baseUrl: string;
  close(): void;
}

/** `politeReplies`: the number of requests that first get a right answer, so that a load starts. */
export async function serveHostile(answer: Responder, politeReplies = 0): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  const polite = messageWith({});
  let requests = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    // Each of many pipelined requests may listen for the end of the connection.
    socket.setMaxListeners(0);
    socket.on('data', (bytes) => {
      const [, path] =
        /^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (\S+)/.exec(String(bytes)) ?? [];
      if (path === undefined) return;
      requests += 1;
      if (requests <= politeReplies) polite(socket, path);
      else answer(socket, path);
    });
  });
  return {
    baseUrl: `http://127.0.0.1:${await listen(server)}`,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
