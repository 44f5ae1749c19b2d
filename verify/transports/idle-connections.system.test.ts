/**
 * Idle connections are closed: within 15 s by default, and not before the time that replies
 * announce. The limit of Node's server can be set; that of the native server is built in.
 */
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { keepAliveSeconds, type PortService } from '#src/http/transport/transport.ts';
import { get, post } from '../testkit/processes/raw-socket.ts';
import { dial, echo, kinds, start } from '../testkit/transport-fixture.ts';

const ports: Readonly<Record<'service' | 'control', PortService>> = {
  service: { service: echo },
  control: { control: async (request) => echo(request) },
};

/** Writes, reads one reply for each request, and then stays silent. */
const habits: Readonly<Record<string, readonly string[]>> = {
  'silent from the start': [],
  'idle after a reply': [get()],
  'idle after several replies': [get(), post('x'), get()],
};

/** How long each habit's connection stayed open after its last reply, in milliseconds. */
async function idleTimes(port: number): Promise<Readonly<Record<string, number>>> {
  const times = Object.entries(habits).map(async ([habit, requests]) => {
    const socket = await dial(port);
    for (const request of requests) {
      await socket.write(request);
      await socket.reply();
    }
    const since = performance.now();
    await socket.rest();
    return [habit, performance.now() - since] as const;
  });
  return Object.fromEntries(await Promise.all(times));
}

test.each(kinds)(
  '%s: idle connections are closed within 15 s, and stay for the time announced',
  async (kind) => {
    // The control port is Node's own server, whatever serves the service.
    const served = kind === 'node' ? Object.values(ports) : [ports.service];
    const both = await Promise.all(
      served.map(async (serve) => idleTimes((await start(kind, serve)).port)),
    );
    for (const [habit, ms] of both.flatMap((times) => Object.entries(times))) {
      expect(ms, habit).toBeLessThan(15_000);
      expect(ms, habit).toBeGreaterThan(keepAliveSeconds * 1_000 + 1_000);
    }
  },
  40_000,
);

/** Long enough for a request on a busy machine. */
const idleTimeoutMs = 1_000;

test('node: idle connections of both ports are closed after the limit', async () => {
  const both = await Promise.all(
    Object.values(ports).map(async (serve) =>
      idleTimes((await start('node', serve, { idleTimeoutMs })).port),
    ),
  );
  for (const [habit, ms] of both.flatMap((times) => Object.entries(times))) {
    // The measurement begins once this process has run again, which may be after the accept.
    expect(ms, habit).toBeGreaterThan(idleTimeoutMs / 2);
    expect(ms, habit).toBeLessThan(20_000);
  }
});

test('node: a request that waits longer than the limit keeps its connection', async () => {
  const { port } = await start(
    'node',
    {
      service: (request: ApiRequest) => ({
        ...echo(request),
        delivery: { delayMs: 1.5 * idleTimeoutMs },
      }),
    },
    { idleTimeoutMs },
  );
  const socket = await dial(port);
  await socket.write(get());
  expect((await socket.reply()).status).toBe(200);
});

test('node: a silent event stream keeps its connection beyond the limit', async () => {
  let send = (_event: string, _data: unknown): boolean => false;
  const { port } = await start(
    'node',
    {
      control: () => ({
        status: 200 as const,
        open: (given) => {
          send = given;
          return () => {};
        },
      }),
    },
    { idleTimeoutMs },
  );
  const socket = await dial(port);
  await socket.write(get());
  await socket.until(': open');
  await new Promise((resolve) => setTimeout(resolve, 1.5 * idleTimeoutMs));
  expect(send('late', 1)).toBe(true);
  expect(await socket.until('data: 1')).toContain('event: late');
});
