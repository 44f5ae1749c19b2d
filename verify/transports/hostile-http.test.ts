/**
 * Sends the bytes of broken and hostile clients to both transports.
 * Each test ends by showing that the server still serves, or why it closed the connection.
 */
import { expect, test } from 'vitest';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { get, post } from '../testkit/processes/raw-socket.ts';
import {
  both,
  dial,
  echo,
  expectAlive,
  start,
  withoutNative,
} from '../testkit/transport-fixture.ts';

const service = { service: echo };

both('a chunked body is put together', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  await socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n');
  for (const part of ['ab', 'cde', 'f']) await socket.write(`${part.length}\r\n${part}\r\n`);
  await socket.write('0\r\n\r\n');
  expect(JSON.parse((await socket.reply()).body)).toMatchObject({ body: 'abcdef' });
});

both(
  'a body at the limit is served, one byte more is 413, and the connection stays open',
  async (kind) => {
    const { port } = await start(kind, service);
    const socket = await dial(port);
    await socket.write(post('x'.repeat(65_536)));
    expect((await socket.reply()).status).toBe(200);
    await socket.write(post('x'.repeat(65_537)));
    const refused = await socket.reply();
    expect(refused).toMatchObject({
      status: 413,
      headers: { 'content-type': 'application/json' },
      body: '{"code":"request_too_large","detail":"Request body exceeds 65536 bytes."}',
    });
    expect(refused.headers['connection']).not.toBe('close');
    await socket.write(post('after'));
    expect(JSON.parse((await socket.reply()).body)).toMatchObject({ body: 'after' });
    await socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'1000\r\n'.concat('x'.repeat(4_096), '\r\n').repeat(17)}0\r\n\r\n`,
    );
    expect((await socket.reply()).status).toBe(413);
  },
);

both('what the transport refuses is worded anew each time', async (kind) => {
  let isNested = true;
  const shapeRefusal = (status: number, code: string, message: string) => ({
    status,
    body: JSON.stringify(isNested ? { error: { code, message } } : { code, detail: message }),
  });
  const { port } = await start(kind, { ...service, shapeRefusal });
  const socket = await dial(port);
  await socket.write(post('x'.repeat(65_537)));
  expect((await socket.reply()).body).toBe(
    '{"error":{"code":"request_too_large","message":"Request body exceeds 65536 bytes."}}',
  );
  isNested = false;
  await socket.write(post('x'.repeat(65_537)));
  expect((await socket.reply()).body).toContain('{"code":"request_too_large","detail"');
});

both('a body announced as two megabytes is refused at once, before it arrives', async (kind) => {
  const { port } = await start(kind, service);
  for (const length of ['2097152', '99999999999']) {
    const socket = await dial(port);
    await socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`);
    const refused = await socket.reply();
    expect(refused).toMatchObject({ status: 413, headers: { connection: 'close' } });
    await socket.rest();
  }
  // And no part of the body that comes along wakes what has been answered.
  const socket = await dial(port);
  await socket.write(
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2097152\r\n\r\n${'x'.repeat(60_000)}`,
  );
  expect(await socket.rest()).toMatch(/^HTTP\/1.1 413 /);
  await expectAlive(port);
});

both('a chunked flood is refused once the drain limit is passed', async (kind) => {
  const { port } = await start(kind, service, { drainLimitBytes: 100_000 });
  const socket = await dial(port);
  await socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  await socket.write(`${'1000\r\n'.concat('x'.repeat(4_096), '\r\n').repeat(30)}0\r\n\r\n`);
  expect(await socket.rest()).toMatch(/^HTTP\/1.1 413 [\s\S]*connection: close/i);
  await expectAlive(port);
});

/** `seen`: the paths that reached the service. */
async function startSeeing(kind: TransportKind) {
  const seen: string[] = [];
  const { port } = await start(kind, {
    service: (request: ApiRequest) => {
      seen.push(request.path);
      return echo(request);
    },
  });
  return { port, seen };
}

both(
  'two different Content-Lengths are 400, and the request does not reach the service',
  async (kind) => {
    const { port, seen } = await startSeeing(kind);
    for (const [first, second] of [
      [1, 50],
      [50, 1],
      [0, 7],
    ]) {
      const socket = await dial(port);
      await socket.write(
        `POST /two HTTP/1.1\r\nHost: x\r\nContent-Length: ${first}\r\nContent-Length: ${second}\r\n\r\n{"a":1}`,
      );
      const reply = await socket.rest();
      expect(reply).toMatch(/^HTTP\/1.1 400 /);
      expect(reply).toContain('"code":"bad_request"');
    }
    await expectAlive(port);
    expect(seen).toEqual(['/alive']);
  },
);

both('nothing behind a reply that ends its connection is served', async (kind) => {
  const { port, seen } = await startSeeing(kind);
  const inner = `${get('/inner')}${get('/inner')}`;
  const heads = [
    'Connection: close\r\nContent-Length: 2\r\n\r\n{}',
    'Connection: CLOSE\r\n\r\n',
    'Connection: close, x\r\n\r\n',
    'Connection: keep-alive , close\r\n\r\n',
    'Connection: close\r\nConnection: keep-alive\r\n\r\n',
    'Content-Length: 2\r\nContent-Length: 90\r\n\r\n{}',
    'Content-Length: 2097152\r\n\r\n',
    'Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    'Transfer-Encoding: identity\r\n\r\n',
  ];
  for (const head of heads) {
    const socket = await dial(port);
    await socket.write(`POST /outer HTTP/1.1\r\nHost: x\r\n${head}${inner}`);
    await socket.rest();
  }
  await expectAlive(port);
  expect(seen).toEqual([...Array(5).fill('/outer'), '/alive']);
});

/** The end of a chunked body and a request in its trailers, and where the bytes are split. */
const trailers: readonly (readonly [string, readonly number[]])[] = [
  `0\r\nXX${get('/inner')}`,
  `0\r\n\r\n${get('/inner')}`,
  `0\r\nXXfoo: /inner HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n`,
  `0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n`,
  `0\r\nX-Sum: 1\r\n\r\n${get('/inner')}`,
  `\r\n\r\n${get('/inner')}`,
  ` 0\r\n\r\n${get('/inner')}`,
].flatMap((end) => [[], [1], [3], [4], [5], [6], [3, 5, 9]].map((cuts) => [end, cuts] as const));

test.skipIf(withoutNative !== '')(
  `hyperexpress: nothing behind a chunked body is served, and no reply is given twice${withoutNative}`,
  async () => {
    for (const status of [202, 204, 304]) {
      const seen: string[] = [];
      const { port } = await start('hyperexpress', {
        service: ({ path }) => {
          seen.push(path);
          return { status: path === '/alive' ? 200 : status, body: JSON.stringify({ path }) };
        },
      });
      for (const [end, cuts] of trailers) {
        const socket = await dial(port);
        await socket.write('POST /outer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
        await socket.write(end, cuts);
        const replies = (await socket.rest()).match(/^HTTP\/1.1 [23]../gm) ?? [];
        const what = `${status} ${JSON.stringify(end)} at ${cuts}`;
        const served = seen.splice(0);
        expect(['', '/outer'], what).toContain(served.join());
        expect(replies.length, what).toBeLessThanOrEqual(served.length);
        // In one packet with the end of the body, what follows also keeps the body from being
        // served.
        if (cuts.length === 0 && !end.startsWith(' ')) expect(served, what).toEqual([]);
      }
      await expectAlive(port);
    }
  },
);

both('a chunked body is answered, and Node’s server reads its trailers', async (kind) => {
  const { port, seen } = await startSeeing(kind);
  const socket = await dial(port);
  const head = 'POST /outer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n';
  await socket.write(`${head}0\r\n${kind === 'node' ? 'X-Sum: 1\r\n' : ''}\r\n`);
  const { status, headers } = await socket.reply();
  const connection = kind === 'node' ? 'keep-alive' : 'close';
  expect([status, headers['connection'], seen]).toEqual([200, connection, ['/outer']]);
});

both('204 ends the connection of a client that asks for it among other options', async (kind) => {
  const { port } = await start(kind, { service: () => ({ status: 204, body: '' }) });
  const socket = await dial(port);
  await socket.write(get('/', 'Connection: close, x'));
  const head = await socket.until('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1.1 204 No Content\r\n/);
  expect(head).not.toMatch(/content-length/i);
  expect(head.match(/^connection: close\r$/gim)).toHaveLength(1);
  await socket.write(get('/inner'));
  expect(await socket.rest()).toBe('');
});

test('node: chunks of an HTTP/1.0 client are refused, and nothing behind them is served', async () => {
  const { port, seen } = await startSeeing('node');
  const socket = await dial(port);
  const head = 'POST /old HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n';
  await socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${get('/inner')}`);
  expect(await socket.rest()).toMatch(/^HTTP\/1.1 400 /);
  expect(seen).toEqual([]);
});

both('a client that closes, and sends a byte too many, gets its reply', async (kind) => {
  const { port, seen } = await startSeeing(kind);
  for (const more of ['', '\r\n', 'x']) {
    const socket = await dial(port);
    await socket.write(`${post('{}', 'Connection: close')}${more}`);
    expect(await socket.rest(), JSON.stringify(more)).toMatch(
      /^HTTP\/1.1 200 [\s\S]*connection: close/i,
    );
  }
  expect(seen).toEqual(['/p', '/p', '/p']);
});

test('node: bytes that are not a request, behind requests, are refused after their replies', async () => {
  const { port, seen } = await startSeeing('node');
  const socket = await dial(port);
  await socket.write(`${post('{}')}${get('/a')}nonsense\r\n\r\n${get('/inner')}`);
  const statuses = [...(await socket.rest()).matchAll(/HTTP\/1.1 (\d+)/g)].map(([, code]) => code);
  expect(statuses).toEqual(['200', '200', '400']);
  expect(seen).toEqual(['/p', '/a']);
});

test('node: a broken body behind a request is refused after its reply', async () => {
  const { port, seen } = await startSeeing('node');
  const socket = await dial(port);
  const chunked = 'POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n';
  await socket.write(`${get('/a')}${chunked}`);
  expect((await socket.reply()).status).toBe(200);
  expect(await socket.rest()).toMatch(/^HTTP\/1.1 400 /);
  expect(seen).toEqual(['/a']);
});

both('no Transfer-Encoding but chunked is read', async (kind) => {
  const { port, seen } = await startSeeing(kind);
  const chunks = '\r\n\r\n2\r\n{}\r\n0\r\n\r\n';
  const encodings = ['xchunked', 'identity', 'gzip', 'gzip, chunked', 'chunked, identity', ''];
  encodings.push('chunked\r\nTransfer-Encoding: chunked', 'chunked\r\nTransfer-Encoding: x');
  for (const encoding of encodings) {
    const socket = await dial(port);
    await socket.write(`POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ${encoding}${chunks}`);
    expect(await socket.rest(), encoding).toMatch(/^HTTP\/1.1 400 [\s\S]*connection: close/i);
  }
  expect(seen).toEqual([]);
});

const malformed: readonly (readonly [string, string])[] = [
  ['length and chunked', 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['negative length', 'Content-Length: -1\r\n\r\n'],
  ['length with a sign', 'Content-Length: +7\r\n\r\n{"a":1}'],
  ['length in words', 'Content-Length: abc\r\n\r\n'],
  ['length twice in one', 'Content-Length: 7, 7\r\n\r\n{"a":1}'],
  ['bad chunk size', 'Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n'],
  ['space before a colon', 'X : y\r\n\r\n'],
  ['header without a colon', 'nonsense\r\n\r\n'],
];

both('broken framing is 400 and ends the connection, never the server', async (kind) => {
  const { port } = await start(kind, service);
  for (const [what, rest] of malformed) {
    const socket = await dial(port);
    await socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${rest}`);
    expect(await socket.rest(), what).toMatch(/^HTTP\/1.1 400 /);
  }
  for (const hosts of ['', 'Host: a\r\nHost: b\r\n', 'host: x\r\nHost: x\r\n']) {
    const socket = await dial(port);
    await socket.write(`GET / HTTP/1.1\r\n${hosts}\r\n`);
    const reply = await socket.rest();
    expect(reply, hosts).toMatch(/^HTTP\/1.1 400 /);
    if (kind === 'node') expect(reply, hosts).toContain('"code":"bad_request"');
  }
  await expectAlive(port);
});

both('CONNECT is refused with a reply', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  await socket.write('CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n');
  expect(await socket.rest()).toMatch(kind === 'node' ? /^HTTP\/1.1 400 / : /^HTTP\/1.1 505 /);
  await expectAlive(port);
});

both('HTTP/1.0 is 505 by the native parser, and answered by Node', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  await socket.write('GET /old HTTP/1.0\r\n\r\n');
  expect(await socket.rest()).toMatch(
    kind === 'node' ? /^HTTP\/1.1 200 [\s\S]*"path":"\/old"/ : /^HTTP\/1.1 505 /,
  );
  await expectAlive(port);
});

both('headers of 15 KiB are served, of 20 KiB are 431', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  await socket.write(get('/', `Cookie: ${'c'.repeat(15_000)}`));
  expect((await socket.reply()).status).toBe(200);
  await socket.write(get('/', `Cookie: ${'c'.repeat(20_000)}`));
  expect(await socket.rest()).toMatch(/^HTTP\/1.1 431 /);
  await expectAlive(port);
});

both('bytes that are not HTTP are refused', async (kind) => {
  const { port } = await start(kind, service);
  for (const bytes of [
    Uint8Array.of(0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3, 13, 10, 13, 10),
    '\0'.repeat(64),
  ]) {
    const socket = await dial(port);
    await socket.write(bytes);
    socket.halfClose();
    expect(await socket.rest()).not.toMatch(/^HTTP\/1.1 2/);
  }
  await expectAlive(port);
});

both('after an empty Content-Length no further request is served', async (kind) => {
  const { port, seen } = await startSeeing(kind);
  const names = ['Content-Length', ...(kind === 'hyperexpress' ? ['Transfer-Encoding'] : [])];
  for (const name of names) {
    const socket = await dial(port);
    await socket.write(`POST /outer HTTP/1.1\r\nHost: x\r\n${name}:\r\n\r\n${get('/inner')}`);
    expect(await socket.rest()).not.toContain('HTTP/1.1 2');
  }
  await expectAlive(port);
  expect(seen).toEqual(['/alive']);
});

test.each([
  ['http://x/a/b?c=d', '/a/b', 'c=d'],
  ['HTTP://x:80?c', '/', 'c'],
  ['/http://x/', '/http://x/', ''],
])('node: the target %s is the path %s', async (target, path, query) => {
  const { port } = await start('node', service);
  const socket = await dial(port);
  await socket.write(get(target));
  expect(JSON.parse((await socket.reply()).body)).toMatchObject({ path, query });
});

both('a header counts wherever it stands', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  const many = Array.from({ length: kind === 'node' ? 1_500 : 90 }, (_, n) => `x${n}: y`);
  await socket.write(get('/', ...many, 'Authorization: Bearer last'));
  expect(JSON.parse((await socket.reply()).body).authorization).toBe('Bearer last');
});
