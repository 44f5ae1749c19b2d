/**
 * Node's server closes idle connections. The native server's limit is built in: see the system
 * test.
 */
import { expect, test } from 'vitest';
import type { ApiRequest } from '../../src/http/service/messages.ts';
import { get } from '../testkit/raw-socket.ts';
import { dial, echo, start } from '../testkit/transport-fixture.ts';
import { idleTimes, ports } from './idle-connections.ts';

test.each(['service', 'control'] as const)(
  'node: an idle connection of the %s port is closed after the limit',
  async (name) => {
    const { port } = await start('node', ports[name], { idleTimeoutMs: 150 });
    for (const [habit, ms] of Object.entries(await idleTimes(port))) {
      expect(ms, habit).toBeGreaterThan(140);
      expect(ms, habit).toBeLessThan(5_000);
    }
  },
);

test('node: a request that waits longer than the limit keeps its connection', async () => {
  const { port } = await start(
    'node',
    { service: (request: ApiRequest) => ({ ...echo(request), delivery: { delayMs: 250 } }) },
    { idleTimeoutMs: 50 },
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
    { idleTimeoutMs: 50 },
  );
  const socket = await dial(port);
  await socket.write(get());
  await socket.until(': open');
  await new Promise((resolve) => setTimeout(resolve, 250));
  expect(send('late', 1)).toBe(true);
  expect(await socket.until('data: 1')).toContain('event: late');
});
