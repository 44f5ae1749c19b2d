/**
 * Many simulators in one process, at the same time and one after another.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { sendBy } from '../../verify/testkit/control-fixture.ts';
import { kinds } from '../../verify/testkit/transport-fixture.ts';
import { createSimulator, Simulator } from '../simulator.ts';

test('two hundred simulators have each their own clock, limits, ids and fates', async () => {
  const simulators = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      createSimulator({ clock: 'manual', seed: n % 2, limits: { send: 1 + (n % 5) } }),
    ),
  );
  const sent = simulators.map(() => 0);
  const bodies = simulators.map((): string[] => []);
  for (let round = 0; round < 6; round++) {
    simulators.forEach((simulator, n) => {
      simulator.clock.advance(n);
      const { status, body } = sendBy(simulator, 0, { request_id: `${round}` });
      if (status === 202) sent[n] = (sent[n] ?? 0) + 1;
      bodies[n]?.push(body.replace(/"created_at":"[^"]*"/, ''));
    });
  }
  simulators.forEach((simulator, n) => {
    expect(simulator.clock.now() - simulator.settings.startTimeMs).toBe(6 * n);
    expect(sent[n]).toBe(1 + (n % 5));
    expect(simulator.state().messages.total).toBe(sent[n]);
    // Same seed, same calls: the ids of the first message are those of any other with this seed.
    expect(bodies[n]?.[0]).toBe(bodies[n % 2]?.[0]);
  });
  expect(bodies[0]?.[0]).not.toBe(bodies[1]?.[0]);
  await Promise.all(simulators.map((simulator) => simulator.close()));
});

test('a thousand simulators, started and closed, leave nothing behind', async () => {
  const live = async () => {
    const simulator = new Simulator();
    simulator.activity.stream(() => {});
    sendBy(simulator, 0, { send_at: '2999-01-01T00:00:00Z' });
    await simulator.close();
  };
  for (let n = 0; n < 200; n++) await live();
  const before = { heap: heapBytes(), resources: process.getActiveResourcesInfo().length };
  for (let n = 0; n < 1_000; n++) await live();
  expect(process.getActiveResourcesInfo()).toHaveLength(before.resources);
  // A single simulator holds more than this divided by the thousand.
  expect(heapBytes() - before.heap).toBeLessThan(3_000_000);
}, 60_000);

test.each(kinds)(
  '%s: ports opened and closed a hundred times are free again',
  async (transport) => {
    let port = 0;
    for (let n = 0; n < 100; n++) {
      const simulator = new Simulator();
      const { baseUrl } = await simulator.listen({ transport, port, control: {} });
      port = Number(new URL(baseUrl).port);
      await simulator.close();
    }
    expect(port).toBeGreaterThan(0);
  },
);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

test('a transport that is not one is refused by name', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  const listening = simulator.listen({ transport: 'http3' as 'node' });
  await expect(listening).rejects.toThrow(
    'transport: expected "hyperexpress" or "node"; got "http3"',
  );
  await simulator.close();
});
