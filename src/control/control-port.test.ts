/** What only the control port may do: answer later, answer with files, and stream events. */
import { expect, test } from 'vitest';
import { get, post } from '#verify/testkit/processes/raw-socket.ts';
import { dial, start } from '#verify/testkit/transport-fixture.ts';
import type { ControlHandle, ControlRequest, SendEvent } from '../http/transport/transport.ts';

test('a promised reply is awaited; its request keeps headers and body', async () => {
  const control: ControlHandle = async (request: ControlRequest) => {
    await new Promise((resolve) => setImmediate(resolve));
    const body = Buffer.from(request.body).toString();
    return { status: 201, body: JSON.stringify({ body, origin: request.headers['origin'] }) };
  };
  const { port } = await start('node', { control });
  const socket = await dial(port);
  for (const body of ['first', 'second']) {
    await socket.write(post(body, 'Origin: http://a'));
    expect(await socket.reply()).toMatchObject({
      status: 201,
      body: JSON.stringify({ body, origin: 'http://a' }),
    });
  }
});

test('a request that is pipelined behind a slow one is answered in its turn', async () => {
  const control: ControlHandle = async ({ path }) => {
    for (let turn = 0; path === '/slow' && turn < 20; turn++)
      await new Promise((resolve) => setImmediate(resolve));
    return { status: 200, body: JSON.stringify({ path }) };
  };
  const { port } = await start('node', { control });
  const socket = await dial(port);
  await socket.write(`${get('/slow')}${get('/quick')}${get('/slow')}`);
  for (const path of ['/slow', '/quick', '/slow'])
    expect(await socket.reply()).toMatchObject({ status: 200, body: JSON.stringify({ path }) });
});

test('every reply has the headers of the port: streams, files and refusals too', async () => {
  const headers = { 'x-content-type-options': 'nosniff' };
  const control: ControlHandle = ({ path }) => {
    if (path === '/events') return { status: 200, open: () => () => {} };
    if (path === '/file') return { status: 200, content: 'a', contentType: 'text/css' };
    if (path === '/bug') throw new Error('bug');
    return { status: 204, body: '' };
  };
  const { port } = await start('node', { control, headers }, { bodyLimitBytes: 10 });
  const asked = [get('/'), get('/file'), get('/bug'), get('/events'), post('x'.repeat(11))];
  const broken = ['nonsense\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n', 'CONNECT x:1 HTTP/1.1\r\n\r\n'];
  const heads: string[] = [];
  for (const bytes of [...asked, ...broken]) {
    const socket = await dial(port);
    await socket.write(bytes);
    heads.push(await socket.until('\r\n\r\n'));
  }
  expect(heads.map((head) => head.slice(9, 12))).toEqual([
    '204',
    '200',
    '500',
    '200',
    '413',
    '400',
    '400',
    '400',
  ]);
  for (const head of heads) expect(head.toLowerCase()).toContain('x-content-type-options: nosniff');
});

test('a promise that fails is a 500 in the shape of the control port', async () => {
  const reported: unknown[] = [];
  const { port } = await start(
    'node',
    { control: () => Promise.reject(new Error('bug')) },
    { onInternalError: (error) => reported.push(error) },
  );
  const socket = await dial(port);
  await socket.write(get());
  expect(await socket.reply()).toMatchObject({
    status: 500,
    body: '{"error":{"code":"internal_error","message":"Internal server error."}}',
  });
  expect(reported).toHaveLength(1);
});

test('a reply that is promised to a client that left is dropped', async () => {
  let answer = (): void => {};
  let asked = (): void => {};
  const received = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const control: ControlHandle = (request) => {
    if (request.path === '/alive') return { status: 200, body: '{}' };
    asked();
    return new Promise((resolve) => {
      answer = () => resolve({ status: 200, body: '{}' });
    });
  };
  const { port, transport } = await start('node', { control });
  const socket = await dial(port);
  await socket.write(get('/leaves'));
  await received;
  socket.destroy();
  const other = await dial(port);
  await other.write(get('/alive'));
  expect((await other.reply()).status).toBe(200);
  answer();
  await other.write(get('/alive'));
  expect((await other.reply()).status).toBe(200);
  await transport.close();
});

test('a file has its type and etag, and is answered 304 if the client has it', async () => {
  const { port } = await start('node', {
    control: () => ({
      status: 200,
      content: Uint8Array.of(0xe2, 0x82, 0xac),
      contentType: 'text/css; charset=utf-8',
      etag: '"v1"',
    }),
  });
  const socket = await dial(port);
  await socket.write(get());
  expect(await socket.reply()).toMatchObject({
    status: 200,
    body: '€',
    headers: { 'content-type': 'text/css; charset=utf-8', etag: '"v1"', 'content-length': '3' },
  });
  await socket.write(get('/', 'If-None-Match: "v0", "v1"'));
  expect(await socket.until('\r\n\r\n')).toMatch(/^HTTP\/1.1 304 [\s\S]*etag: "v1"/i);
  await socket.write(get('/', 'If-None-Match: "v0"'));
  expect((await socket.reply()).status).toBe(200);
});

interface Stream {
  readonly send: SendEvent;
  readonly closed: Promise<void>;
}

/** A port whose every GET opens a stream; `opened` resolves with the next one. */
async function streaming() {
  let announce = (_stream: Stream): void => {};
  const opened = new Promise<Stream>((resolve) => {
    announce = resolve;
  });
  const lastIds: (string | undefined)[] = [];
  const control: ControlHandle = (request) => {
    lastIds.push(request.headers['last-event-id']);
    return {
      status: 200,
      open: (send) => {
        let close = (): void => {};
        const closed = new Promise<void>((resolve) => {
          close = resolve;
        });
        announce({ send, closed });
        return close;
      },
    };
  };
  return { ...(await start('node', { control })), opened, lastIds };
}

test('events arrive one by one with their ids, and end with the server', async () => {
  const { port, transport, opened, lastIds } = await streaming();
  const socket = await dial(port);
  await socket.write(get('/events', 'Last-Event-ID: 41'));
  const head = await socket.until('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1.1 200 OK[\s\S]*content-type: text\/event-stream\r\n/i);
  await socket.until(': open\n\n');
  const { send, closed } = await opened;
  expect(lastIds).toEqual(['41']);
  expect(send('message', { text: 'a\nb' }, '42')).toBe(true);
  await socket.until('id: 42\nevent: message\ndata: {"text":"a\\nb"}\n\n');
  expect(send('clock', 1)).toBe(true);
  await socket.until('event: clock\ndata: 1\n\n');
  await transport.close();
  await closed;
  expect(await socket.rest()).toMatch(/0\r\n\r\n$/);
  expect(send('message', {})).toBe(false);
});

test('a reader that leaves is noticed', async () => {
  const { port, opened } = await streaming();
  const socket = await dial(port);
  await socket.write(get('/events'));
  await socket.until(': open\n\n');
  const { send, closed } = await opened;
  socket.destroy();
  await closed;
  expect(send('message', {})).toBe(false);
});

test('a reader that stalls is cut off at a megabyte, one that catches up loses nothing', async () => {
  const { port, opened } = await streaming();
  const socket = await dial(port);
  await socket.write(get('/events'));
  await socket.until(': open\n\n');
  const { send, closed } = await opened;
  const big = 'x'.repeat(100_000);
  socket.stall();
  // More than the kernel takes for both ends together: from here on the stream is behind.
  send('message', 'y'.repeat(12_000_000));
  for (let event = 0; event < 8; event += 1) send('message', big, String(event));
  socket.resume();
  for (let event = 0; event < 8; event += 1) await socket.until(`id: ${event}\n`);
  await socket.until('"\n\n');
  socket.stall();
  let sent = 0;
  while (send('message', big) && sent < 1_000) sent += 1;
  expect(sent).toBeLessThan(1_000);
  await closed;
});

test('HEAD of a stream is its head', async () => {
  const { port, transport } = await streaming();
  const socket = await dial(port);
  await socket.write('HEAD /events HTTP/1.1\r\nHost: x\r\n\r\n');
  const { status, headers } = await socket.reply('HEAD');
  expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
  await transport.close();
});

test('a reply larger than every buffer between the two ends arrives whole', async () => {
  const content = 'z'.repeat(12_000_000);
  const { port } = await start('node', {
    control: async () => ({ status: 200, content, contentType: 'application/x-ndjson' }),
  });
  const reply = await fetch(`http://127.0.0.1:${port}/journal`);
  expect((await reply.text()) === content).toBe(true);
});
