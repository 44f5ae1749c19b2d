/**
 * Clients that meet ten 429s and come back a day later, on one clock with the service: every run
 * is the same to the millisecond, and takes less than a second of the processor, which other work
 * on the machine does not lengthen. `npm run test:clients` makes a thousand runs of each.
 */
import { expect } from 'vitest';
import type { createSimulator } from '../../src/simulator.ts';
import { test } from '../../src/testing/vitest.ts';
import { runs } from '../testkit/runs.ts';
import { type Answer, inProcess, overSockets, type Send } from './patient-clients.ts';

const secondMs = 1_000;
const dayMs = 86_400 * secondMs;

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Eleven sends at one a minute, with pauses so that each `Retry-After` differs; then two replays. */
async function useService(send: (body: object) => Promise<Answer>): Promise<string[]> {
  const seen: string[] = [];
  const post = async (requestId: string) => {
    const message = { to: '+12025550123', from: '+12025550101', message: 'Hello' };
    const { status, body } = await send({ ...message, request_id: requestId });
    seen.push(`${new Date().toISOString()} ${status} ${JSON.parse(body).message_id}`);
  };
  for (let n = 0; n <= 10; n++) {
    await post(`order-${n}`);
    await sleep(n * 5 * secondMs);
  }
  await sleep(dayMs - 30 * 60 * secondMs);
  await post('order-10');
  await sleep(dayMs);
  await post('order-10');
  return seen;
}

function service(simulator: Awaited<ReturnType<typeof createSimulator>>) {
  return {
    baseUrl: simulator.baseUrl || 'http://sms.example',
    fetch: simulator.fetch,
    key: simulator.readyFile().accounts[0]?.api_key ?? '',
  };
}

const perMinute = test.extend({ simulatorSettings: { clock: 'manual', limits: { send: 1 } } });
const cases: [string, string, Send][] = [
  ...Object.entries(inProcess).map(([name, send]): [string, string, Send] => [
    name,
    'in process',
    send,
  ]),
  ...Object.entries(overSockets).map(([name, send]): [string, string, Send] => [
    name,
    'over a socket',
    send,
  ]),
];

/** What the first run of the first client saw. */
let recorded: unknown;
for (const [name, way, send] of cases) {
  perMinute.for(Array.from({ length: runs(1) }, (_, run) => run + 1))(
    `ERR-3 ${name} ${way} waits out ten 429s and comes back after a day: run %i`,
    async (_run, { simulator, clientClock }) => {
      if (way === 'over a socket') await simulator.listen();
      const before = process.cpuUsage();
      const seen = await clientClock.until(() => useService(send(service(simulator))));
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(1_000);
      const statuses = simulator.requests
        .list({ limit: 100 })
        .map(({ at, status }) => `${at} ${status}`);
      expect(statuses.filter((line) => line.endsWith('429'))).toHaveLength(10);
      expect(seen.slice(-2).map((line) => line.split(' ')[1])).toEqual(['200', '202']);
      recorded ??= { seen, statuses };
      expect({ seen, statuses }).toEqual(recorded);
    },
  );
}
