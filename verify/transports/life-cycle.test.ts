/** Opening and releasing a port, and the effect on clients while a transport closes. */
import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { ListenError, PortInUseError } from '#io/command-error.ts';
import { holdPort } from '#src/http/transport/listening.ts';
import { openTransport } from '#src/http/transport/open-transport.ts';
import { get } from '../testkit/processes/raw-socket.ts';
import { both, dial, echo, kinds, start, stopAll } from '../testkit/transport-fixture.ts';

const service = { service: echo };
const slow = {
  service: (request: ApiRequest) => ({ ...echo(request), delivery: { delayMs: 50 } }),
};

both('a port that is taken is refused by name, whichever process holds it', async (kind) => {
  for (const holder of kinds) {
    // The system shares no port that it chose itself, so the holder asks for it by number.
    const { port } = await start(holder, service);
    await stopAll();
    await start(holder, service, {}, port);
    const { transport } = await openTransport(kind, service);
    const refused = await transport.listen(port, '127.0.0.1').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(PortInUseError);
    expect(refused).toMatchObject({ port, host: '127.0.0.1' });
    await transport.close();
  }
});

both('a port that is held is refused until it is released', async (kind) => {
  const { port, release } = await holdPort(0, '127.0.0.1');
  const { transport } = await openTransport(kind, service);
  await expect(transport.listen(port, '127.0.0.1')).rejects.toBeInstanceOf(PortInUseError);
  await release();
  expect(await transport.listen(port, '127.0.0.1')).toBe(port);
  await transport.close();
});

both('bad addresses are refused in one line', async (kind) => {
  for (const [port, host] of [
    [70_000, '127.0.0.1'],
    [-1, '127.0.0.1'],
    [1.5, '127.0.0.1'],
    [0, ''],
    [0, '192.0.2.1'],
  ] as const) {
    const { transport } = await openTransport(kind, service);
    const refused = await transport.listen(port, host).catch((error: unknown) => error);
    expect(refused, `${host}:${port}`).toBeInstanceOf(ListenError);
    expect(String(refused)).not.toContain('\n');
    await transport.close();
  }
});

both('100 starts and stops on one port leave no descriptor behind', async (kind) => {
  const { port, transport } = await start(kind, service);
  await transport.close();
  const descriptors = readdirSync('/proc/self/fd').length;
  for (let cycle = 0; cycle < 100; cycle += 1) {
    const { transport: next } = await openTransport(kind, service);
    expect(await next.listen(port, '127.0.0.1')).toBe(port);
    const socket = await dial(port);
    await socket.write(get());
    expect((await socket.reply()).status).toBe(200);
    await next.close();
    await socket.rest();
  }
  expect(readdirSync('/proc/self/fd').length).toBeLessThan(descriptors + 10);
});

both('closing twice, or without having listened, is harmless', async (kind) => {
  const { transport } = await start(kind, service);
  await Promise.all([transport.close(), transport.close()]);
  await transport.close();
  const { transport: idle } = await openTransport(kind, service);
  await idle.close();
});

both(
  'closing answers what is in flight, says goodbye, and drops who is idle or silent',
  async (kind) => {
    const { port, transport } = await start(kind, slow);
    const [idle, silent, waiting] = [await dial(port), await dial(port), await dial(port)];
    await idle.write(get());
    expect((await idle.reply()).headers['connection']).not.toBe('close');
    await waiting.write(get('/waiting'));
    const before = performance.now();
    const closed = transport.close(60_000);
    const last = await waiting.reply();
    expect(last).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await Promise.all([closed, idle.rest(), silent.rest(), waiting.rest()]);
    expect(performance.now() - before).toBeLessThan(20_000);
    await expect(dial(port)).rejects.toThrow('ECONNREFUSED');
  },
);

both(
  'a client that never finishes its body holds the close for the grace and no longer',
  async (kind) => {
    const { port, transport } = await start(kind, service);
    const socket = await dial(port);
    await socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf');
    const before = performance.now();
    await transport.close(60);
    const took = performance.now() - before;
    expect(took).toBeGreaterThanOrEqual(55);
    expect(took).toBeLessThan(20_000);
    expect(await socket.rest()).toBe('');
  },
);

both('a delay longer than the grace does not outlive the server', async (kind) => {
  let asked = 0;
  const { port, transport } = await start(kind, {
    service: (request: ApiRequest) => {
      asked++;
      return { ...echo(request), delivery: { delayMs: 3_600_000 } };
    },
  });
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const [patient, hasty] = [await dial(port), await dial(port)];
  await hasty.write(get());
  await patient.write(get());
  while (asked < 2) await new Promise((resolve) => setImmediate(resolve));
  // The delay starts at the end of the turn. A timer of something else may have ended meanwhile.
  await expect.poll(timers).toBeGreaterThanOrEqual(2);
  hasty.destroy();
  await transport.close(20);
  expect(await patient.rest()).toBe('');
  expect(timers()).toBeLessThanOrEqual(before);
});

both('a handler that closes its own server is still answered', async (kind) => {
  let stop = (): void => {};
  const { port, transport } = await start(kind, {
    service: (request: ApiRequest) => {
      stop();
      return echo(request);
    },
  });
  let closed: Promise<void> | undefined;
  stop = () => {
    closed = transport.close();
  };
  const socket = await dial(port);
  await socket.write(get('/shutdown'));
  expect(await socket.reply()).toMatchObject({ status: 200, headers: { connection: 'close' } });
  await closed;
});
