/** Many simulators in one process. */
import { expect, test } from 'vitest';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { Simulator } from '../simulator.ts';

test('two hundred simulators have each their own clock, limits, ids and fates', async () => {
  const simulators = Array.from(
    { length: 200 },
    (_, n) => new Simulator({ clock: 'manual', seed: n % 2, limits: { send: 1 + (n % 5) } }),
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

test('a transport that is not one is refused by name', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  const listening = simulator.listen({ transport: 'http3' as 'node' });
  await expect(listening).rejects.toThrow(
    'transport: expected "hyperexpress" or "node"; got "http3"',
  );
  await simulator.close();
});
