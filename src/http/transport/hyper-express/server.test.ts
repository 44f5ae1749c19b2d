/** The same request gets the same reply from both transports. */
import { expect, test } from 'vitest';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { get, post } from '#verify/testkit/processes/raw-socket.ts';
import { both, dial, echo, start } from '#verify/testkit/transport-fixture.ts';

const service = { service: echo };

both('the handler gets method, undecoded path, query, headers and body', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  await socket.write(
    'PATCH /api//v1/%zz/rece%69ved/../?a=%20&b HTTP/1.1\r\nHost: x\r\nauthorization:   bearer  ' +
      'k \r\nContent-Type: text/x\r\nContent-Encoding: GZIP\r\nX-Forwarded-For: 9.9.9.9, ' +
      '8.8.8.8\r\nContent-Length: 2\r\n\r\nhi',
  );
  const { status, headers, body } = await socket.reply();
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('application/json');
  expect(JSON.parse(body)).toEqual({
    method: 'PATCH',
    path: '/api//v1/%zz/rece%69ved/../',
    query: 'a=%20&b',
    authorization: 'bearer  k',
    contentType: 'text/x',
    contentEncoding: 'GZIP',
    clientIp: '127.0.0.1',
    forwardedFor: '9.9.9.9, 8.8.8.8',
    body: 'hi',
  });
});

both('a bare GET has an empty query, an empty body and no key', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  await socket.write(get('/x'));
  expect(JSON.parse((await socket.reply()).body)).toEqual({
    method: 'GET',
    path: '/x',
    query: '',
    clientIp: '127.0.0.1',
    body: '',
  });
});

both('two different keys count as no key; a repeated key counts as one', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  await socket.write(get('/', 'Authorization: Bearer a', 'Authorization: Bearer b'));
  expect(JSON.parse((await socket.reply()).body)).not.toHaveProperty('authorization');
  const [a, b] = ['Authorization: Bearer a', 'Authorization: Bearer b'];
  await socket.write(get('/', a, b, a));
  expect(JSON.parse((await socket.reply()).body)).not.toHaveProperty('authorization');
  await socket.write(get('/', 'Authorization: Bearer a', 'Authorization: Bearer a'));
  expect(JSON.parse((await socket.reply()).body)).toMatchObject({ authorization: 'Bearer a' });
});

both('a length that differs in a header between two equal ones is refused', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  const [one, other] = ['Content-Length: 2', 'Content-Length: 3'];
  await socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${one}\r\n${other}\r\n${one}\r\n\r\n{}`);
  expect((await socket.reply()).status).toBe(400);
});

both('every known method reaches the handler', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
    await socket.write(`${method} /m HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(JSON.parse((await socket.reply()).body)).toMatchObject({ method, path: '/m' });
  }
});

both('methods are case-sensitive, and unknown ones reach the handler', async (kind) => {
  const { port } = await start(kind, service);
  for (const method of ['get', 'Post', 'head', 'FOO', 'M-SEARCH', 'X!']) {
    const socket = await dial(port);
    await socket.write(`${method} /m?q=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\n\r\n`);
    expect(JSON.parse((await socket.reply()).body)).toMatchObject({
      method,
      path: '/m',
      query: 'q=1',
      authorization: 'Bearer k',
    });
  }
});

test('the handler of the control port answers an unknown method, in order', async () => {
  const { port } = await start('node', {
    control: async ({ method, headers }) => {
      await new Promise((resolve) => setImmediate(resolve));
      return { status: 405, body: JSON.stringify({ method, host: headers['host'] }) };
    },
  });
  const socket = await dial(port);
  await socket.write(get());
  expect((await socket.reply()).body).toBe('{"method":"GET","host":"x"}');
  await socket.write('FOO / HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await socket.reply()).toMatchObject({
    status: 405,
    body: '{"method":"FOO","host":"x"}',
  });
});

test('node: nothing is served after an unknown method, since its body is not read', async () => {
  const { port } = await start('node', service);
  const socket = await dial(port);
  await socket.write(
    `FOO /m HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n${get('/inner').padEnd(40)}`,
  );
  const received = await socket.rest();
  expect(received.match(/^HTTP/gm)).toHaveLength(1);
  expect(received).toMatch(/^connection: close\r$/im);
});

test('node: the end of a body is not read as part of a method', async () => {
  const { port } = await start('node', service);
  const socket = await dial(port);
  await socket.write(`${post('G')}ET /m HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(JSON.parse((await socket.reply()).body)).toMatchObject({ body: 'G' });
  expect(JSON.parse((await socket.reply()).body)).toMatchObject({ method: 'ET' });
});

test('node: an unknown method waits for the previous reply', async () => {
  const { port } = await start('node', {
    service: (request) => ({
      ...echo(request),
      ...(request.path === '/slow' && { delivery: { delayMs: 30 } }),
    }),
  });
  const socket = await dial(port);
  await socket.write(`${get('/slow')}FOO /m HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(JSON.parse((await socket.reply()).body)).toMatchObject({ path: '/slow' });
  expect(JSON.parse((await socket.reply()).body)).toMatchObject({ method: 'FOO' });
});

both('a reply announces the idle timeout of its connection, with a margin', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  for (const request of [get(), post('x'), 'HEAD / HTTP/1.1\r\nHost: x\r\n\r\n']) {
    await socket.write(request);
    expect((await socket.reply(request.slice(0, 4))).headers).toMatchObject({
      connection: 'keep-alive',
      'keep-alive': 'timeout=5',
    });
  }
});

both('a connection ends when the client asks for it, and the reply says so', async (kind) => {
  const { port } = await start(kind, { service: () => ({ status: 200, body: '{}' }) });
  for (const request of [get('/', 'Connection: close'), post('x', 'connection: Close')]) {
    const socket = await dial(port);
    await socket.write(request);
    const received = await socket.rest();
    expect(
      received
        .match(/^connection: \w+/gim)
        ?.join()
        .toLowerCase(),
    ).toBe('connection: close');
    expect(received).not.toMatch(/keep-alive/i);
    expect(received.endsWith('\r\n\r\n{}')).toBe(true);
  }
});

test('node: Date is the simulated time if a clock is given', async () => {
  let nowMs = Date.UTC(2031, 1, 2, 3, 4, 5, 999);
  const { port } = await start('node', service, { now: () => nowMs });
  const socket = await dial(port);
  for (const date of ['Sun, 02 Feb 2031 03:04:05 GMT', 'Sun, 02 Feb 2031 03:04:06 GMT']) {
    await socket.write(get());
    expect((await socket.reply()).headers['date']).toBe(date);
    nowMs += 1;
  }
});

both('any status keeps its headers and the connection', async (kind) => {
  let status = 0;
  const reply = (): ApiReply => ({
    status,
    body: `{"s":${status}}`,
    headers: { 'retry-after': '7' },
  });
  const { port } = await start(kind, { service: reply });
  const socket = await dial(port);
  for (status of [200, 202, 301, 400, 401, 402, 403, 404, 405, 413, 415, 429, 500, 503]) {
    await socket.write(post('{"a":1}'));
    const got = await socket.reply();
    expect(got).toMatchObject({ status, body: `{"s":${status}}`, headers: { 'retry-after': '7' } });
    expect(got.headers['connection']).not.toBe('close');
  }
});

both('the content type of a reply replaces the default', async (kind) => {
  const headers = { 'content-type': 'application/x-ndjson' };
  const { port } = await start(kind, { service: () => ({ status: 200, body: '1', headers }) });
  const socket = await dial(port);
  await socket.write(get());
  const head = await socket.until('\r\n\r\n');
  expect(head.match(/content-type: .*/gi)).toEqual(['content-type: application/x-ndjson']);
});

both('HEAD has the length of the body without the body', async (kind) => {
  const { port } = await start(kind, { service: () => ({ status: 200, body: '{"ü":1}' }) });
  const socket = await dial(port);
  await socket.write('HEAD / HTTP/1.1\r\nHost: x\r\n\r\n');
  expect((await socket.reply('HEAD')).headers['content-length']).toBe('8');
  await socket.write(get());
  expect((await socket.reply()).body).toBe('{"ü":1}');
});

both('204 has no body and no length, and the next reply is intact', async (kind) => {
  const status = (request: ApiRequest): number => (request.method === 'DELETE' ? 204 : 200);
  const { port } = await start(kind, {
    service: (request: ApiRequest) => ({ status: status(request), body: '{}' }),
  });
  const socket = await dial(port);
  await socket.write('DELETE / HTTP/1.1\r\nHost: x\r\n\r\n');
  const head = await socket.until('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1.1 204 No Content\r\n/);
  expect(head).not.toMatch(/content-length|transfer-encoding|content-type/i);
  await socket.write(get());
  expect(await socket.reply()).toMatchObject({ status: 200, body: '{}' });
});

both('pipelined requests are answered in order', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  const bodies = Array.from({ length: 50 }, (_, index) => `body ${index}`);
  await socket.write(bodies.map((body) => post(body)).join(''));
  for (const body of bodies) expect(JSON.parse((await socket.reply()).body).body).toBe(body);
});

both('100-continue is sent before the body arrives', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  await socket.write(
    'POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
  );
  expect(await socket.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  await socket.write('hi');
  expect(JSON.parse((await socket.reply()).body)).toMatchObject({ body: 'hi' });
});

both('an exception in a handler is a 500, is reported and keeps the connection', async (kind) => {
  const reported: unknown[] = [];
  const bug = new Error('bug');
  const { port } = await start(
    kind,
    {
      service: (request: ApiRequest) => {
        if (request.path === '/alive') return echo(request);
        throw bug;
      },
    },
    {
      onInternalError: (error) => {
        reported.push(error);
        throw new Error('and so does its reporter');
      },
    },
  );
  const socket = await dial(port);
  for (const request of [get(), post('{}')]) {
    await socket.write(request);
    expect(await socket.reply()).toMatchObject({
      status: 500,
      body: '{"code":"internal_error","detail":"Internal server error."}',
    });
  }
  await socket.write(get('/alive'));
  expect((await socket.reply()).status).toBe(200);
  expect(reported).toEqual([bug, bug]);
});

both('a delayed reply arrives late and whole; an earlier disconnect does no harm', async (kind) => {
  const { port } = await start(kind, {
    service: (request: ApiRequest) => ({ ...echo(request), delivery: { delayMs: 30 } }),
  });
  const [patient, hasty] = [await dial(port), await dial(port)];
  const before = performance.now();
  await hasty.write(get());
  await patient.write(post('late'));
  hasty.destroy();
  expect(JSON.parse((await patient.reply()).body)).toMatchObject({ body: 'late' });
  expect(performance.now() - before).toBeGreaterThan(28);
  await patient.write(post('again'));
  expect((await patient.reply()).status).toBe(200);
});

both('a truncated reply has no bytes, or half of the announced length', async (kind) => {
  const { port } = await start(kind, {
    service: ({ path, body }: ApiRequest): ApiReply => ({
      status: 202,
      body: '0123456789',
      delivery: {
        cut: path === '/close' ? 'close' : 'truncate',
        ...(body.length === 0 && { delayMs: 5 }),
      },
    }),
  });
  for (const request of [get('/close'), post('x').replace('/p', '/close')]) {
    const socket = await dial(port);
    await socket.write(request);
    expect(await socket.rest()).toBe('');
  }
  for (const request of [get('/half'), post('x')]) {
    const socket = await dial(port);
    await socket.write(request);
    const received = await socket.rest();
    expect(received).toMatch(/^HTTP\/1.1 202 Accepted\r\n/);
    expect(received).toMatch(/content-length: 10\r\n/i);
    expect(received.endsWith('\r\n\r\n01234')).toBe(true);
  }
});
