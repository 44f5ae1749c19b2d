/**
 * What only the control port may do: answer later, answer with files, and stream events.
 */
import { expect } from 'vitest';
import { get, post } from '../../../verify/testkit/raw-socket.ts';
import { both, dial, start } from '../../../verify/testkit/transport-fixture.ts';
import type { ControlHandle, ControlRequest, SendEvent } from '../transport/transport.ts';

both('a promised reply is awaited; its request keeps headers and body', async (kind) => {
  const control: ControlHandle = async (request: ControlRequest) => {
    await new Promise((resolve) => setImmediate(resolve));
    const body = Buffer.from(request.body).toString();
    return { status: 201, body: JSON.stringify({ body, origin: request.headers['origin'] }) };
  };
  const { port } = await start(kind, { control });
  const socket = await dial(port);
  for (const body of ['first', 'second']) {
    await socket.write(post(body, 'Origin: http://a'));
    expect(await socket.reply()).toMatchObject({
      status: 201,
      body: JSON.stringify({ body, origin: 'http://a' }),
    });
  }
});

both('a promise that fails is a 500 in the shape of the control port', async (kind) => {
  const reported: unknown[] = [];
  const { port } = await start(
    kind,
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

both('a reply that is promised to a client that left is dropped', async (kind) => {
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
  const { port, transport } = await start(kind, { control });
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

both('a file has its type and etag, and is answered 304 if the client has it', async (kind) => {
  const { port } = await start(kind, {
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
async function streaming(kind: Parameters<typeof start>[0]) {
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
  return { ...(await start(kind, { control })), opened, lastIds };
}

both('events arrive one by one with their ids, and end with the server', async (kind) => {
  const { port, transport, opened, lastIds } = await streaming(kind);
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

both('a reader that leaves is noticed', async (kind) => {
  const { port, opened } = await streaming(kind);
  const socket = await dial(port);
  await socket.write(get('/events'));
  await socket.until(': open\n\n');
  const { send, closed } = await opened;
  socket.destroy();
  await closed;
  expect(send('message', {})).toBe(false);
});

both(
  'a reader that stalls is cut off at a megabyte, one that catches up loses nothing',
  async (kind) => {
    const { port, opened } = await streaming(kind);
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
  },
);

both('HEAD of a stream is its head', async (kind) => {
  const { port, transport } = await streaming(kind);
  const socket = await dial(port);
  await socket.write('HEAD /events HTTP/1.1\r\nHost: x\r\n\r\n');
  const { status, headers } = await socket.reply('HEAD');
  expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
  await transport.close();
});

both('a reply larger than every buffer between the two ends arrives whole', async (kind) => {
  const content = 'z'.repeat(12_000_000);
  const { port } = await start(kind, {
    control: async () => ({ status: 200, content, contentType: 'application/x-ndjson' }),
  });
  const reply = await fetch(`http://127.0.0.1:${port}/journal`);
  expect((await reply.text()) === content).toBe(true);
});
