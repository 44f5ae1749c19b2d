/**
 * Clients that send or read slowly, leave early, or send many requests at once, on both transports.
 */
import { expect } from 'vitest';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { get, post } from '../testkit/processes/raw-socket.ts';
import { both, dial, echo, expectAlive, start } from '../testkit/transport-fixture.ts';

const service = { service: echo };

both('a request that is split at any byte arrives whole', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  const request = post('{"to":"ü"}', 'Authorization: Bearer k');
  const bytes = Buffer.from(request);
  for (let at = 1; at < bytes.length; at += 1) {
    await socket.write(bytes.subarray(0, at));
    await socket.write(bytes.subarray(at));
    expect(JSON.parse((await socket.reply()).body)).toMatchObject({
      body: '{"to":"ü"}',
      authorization: 'Bearer k',
    });
  }
  for (const byte of bytes) await socket.write(Uint8Array.of(byte));
  expect((await socket.reply()).status).toBe(200);
});

both(
  'clients that leave in mid body never reach the service and leave nothing behind',
  async (kind) => {
    let calls = 0;
    const { port, transport } = await start(kind, {
      service: (request: ApiRequest) => {
        calls += 1;
        return echo(request);
      },
    });
    for (let client = 0; client < 50; client += 1) {
      const socket = await dial(port);
      await socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf');
      socket.destroy();
    }
    await expectAlive(port);
    expect(calls).toBe(1);
    const before = performance.now();
    await transport.close(60_000);
    expect(performance.now() - before).toBeLessThan(20_000);
  },
);

both('a client that half-closes while its reply is delayed gets no reply', async (kind) => {
  const { port } = await start(kind, {
    service: (request: ApiRequest) => ({ ...echo(request), delivery: { delayMs: 20 } }),
  });
  const socket = await dial(port, undefined, true);
  await socket.write(get());
  socket.halfClose();
  expect(await socket.rest()).toBe('');
  await expectAlive(port);
});

both(
  'a client that asks on without reading is stopped before its replies pile up',
  async (kind) => {
    const asks: [string, number][] = [[get(), 4_000]];
    // Heads are small: of Node's server, which stops reading, the network holds tens of thousands.
    if (kind === 'hyperexpress') asks.push(['HEAD / HTTP/1.1\r\nHost: x\r\n\r\n', 20_000]);
    for (const [request, count] of asks) {
      let answered = 0;
      const { port } = await start(kind, {
        service: () => {
          answered++;
          return { status: 200, body: 'x'.repeat(10_000) };
        },
      });
      const socket = await dial(port);
      socket.stall();
      const block = request.repeat(200);
      for (let n = 0; n < count / 200; n++) void socket.write(block);
      let before = -1;
      while (answered === 0 || answered !== before) {
        before = answered;
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      expect(answered).toBeLessThan(count);
    }
  },
);

both(
  'a client that asks for much in one breath and reads nothing makes the server hold one reply',
  async (kind) => {
    let answered = 0;
    const { port } = await start(kind, {
      service: () => {
        answered++;
        return { status: 200, body: 'x'.repeat(8_000_000) };
      },
    });
    const socket = await dial(port);
    socket.stall();
    // Small enough to arrive in one piece, and to be read in one.
    await socket.write(get().repeat(100));
    await expect.poll(() => answered).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(answered).toBeLessThan(5);
  },
);

both('requests sent in one packet are answered in order, each with its own body', async (kind) => {
  const { port } = await start(kind, service);
  const socket = await dial(port);
  const numbers = Array.from({ length: 500 }, (_, n) => n);
  const post = (n: number) =>
    `POST /${n} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n${1_000 + n}`;
  void socket.write(numbers.map(post).join(''));
  for (const n of numbers) {
    const { body } = await socket.reply();
    expect(JSON.parse(body)).toMatchObject({ path: `/${n}`, body: `${1_000 + n}` });
  }
});

both(
  'a reply too large for the network at once reaches a client that reads slowly, whole',
  async (kind) => {
    const { port } = await start(kind, {
      service: () => ({ status: 200, body: 'x'.repeat(6_000_000) }),
    });
    const socket = await dial(port);
    socket.stall();
    await socket.write(get());
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.resume();
    expect((await socket.reply()).body === 'x'.repeat(6_000_000)).toBe(true);
    await socket.write(get());
    expect((await socket.reply()).status).toBe(200);
  },
);
