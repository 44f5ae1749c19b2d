/**
 * The fixtures as tests use them. The order of these tests matters: each starts on real timers,
 * which the previous one must have restored.
 */
import { setTimeout as namedSetTimeout } from 'node:timers';
import {
  setTimeout as promisedSleep,
  setInterval as promisedTicks,
  scheduler,
} from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { FakedClientClock } from './client-clock.ts';
import { test } from './vitest.ts';

const stats = '/api/v1/account/stats/';
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const platform = { namedSetTimeout, promisedSleep, timeout: AbortSignal.timeout };

beforeEach(() => {
  expect(vi.isFakeTimers()).toBe(false);
  expect({ namedSetTimeout, promisedSleep, timeout: AbortSignal.timeout }).toEqual(platform);
});
afterEach(() => void vi.useRealTimers());

test('without clientClock the simulator has a manual clock, and timers are real', ({
  simulator,
}) => {
  expect(simulator.clock.state().mode).toBe('manual');
  expect(vi.isFakeTimers()).toBe(false);
});

test('client and service start at one time and move together', async ({
  simulator,
  clientClock,
}) => {
  expect(new Date().toISOString()).toBe('2026-01-01T00:00:00.000Z');
  const woken = sleep(60_000).then(() => simulator.clock.now());
  await clientClock.advance('2m');
  expect(await woken).toBe(Date.parse('2026-01-01T00:01:00Z'));
  expect(simulator.clock.now()).toBe(Date.now());
  expect(clientClock.now()).toBe(Date.parse('2026-01-01T00:02:00Z'));
});

test('time moves by exactly the requested duration, with any timers', async ({ clientClock }) => {
  const fired: number[] = [];
  const startMs = clientClock.now();
  for (const ms of [999, 1_000, 1_001]) setTimeout(() => fired.push(ms), ms);
  await clientClock.advance(1_000);
  expect(fired).toEqual([999, 1_000]);
  expect(clientClock.now() - startMs).toBe(1_000);
});

test('more than one timer of Node can wait for: 31 days, and a timer on the way', async ({
  simulator,
  clientClock,
}) => {
  const startMs = clientClock.now();
  const woken = sleep(86_400_000).then(() => clientClock.now() - startMs);
  await clientClock.advance('31d');
  expect(clientClock.now() - startMs).toBe(31 * 86_400_000);
  expect(simulator.clock.now()).toBe(clientClock.now());
  expect(await woken).toBe(86_400_000);
  await clientClock.advance(0);
  expect(clientClock.now() - startMs).toBe(31 * 86_400_000);
});

test('a sleep of less than a millisecond takes one, as in Node', async ({ clientClock }) => {
  const startMs = clientClock.now();
  await clientClock.until(async () => {
    while (clientClock.now() < startMs + 1.3) await sleep(0.3);
    await promisedSleep(0);
  });
  expect(clientClock.now() - startMs).toBe(3);
});

test('timers that were imported by name, and the timeouts of signals, move with it', async ({
  clientClock,
}) => {
  const waits = {
    named: () => new Promise((resolve) => namedSetTimeout(resolve, 60_000)),
    promised: () => promisedSleep(60_000),
    promisified: () => promisify(setTimeout)(60_000),
    interval: async () => {
      for await (const _ of promisedTicks(60_000)) return;
    },
    aborted: () =>
      promisedSleep(90_000, undefined, { signal: AbortSignal.timeout(60_000) }).catch(
        (error: Error) => expect(error).toMatchObject({ name: 'AbortError', code: 'ABORT_ERR' }),
      ),
    scheduled: () => scheduler.wait(60_000),
    signal: () =>
      new Promise((resolve) => {
        AbortSignal.timeout(60_000).addEventListener('abort', resolve);
      }),
  };
  for (const [name, wait] of Object.entries(waits)) {
    const startMs = clientClock.now();
    await clientClock.until(wait);
    expect([name, clientClock.now() - startMs]).toEqual([name, 60_000]);
  }
});

test('moving the service alone is refused, with what to do', ({ simulator, clientClock }) => {
  expect(() => simulator.clock.advance('1h')).toThrow(
    'this would move the service without its client: use clientClock.advance()',
  );
  expect(simulator.clock.now()).toBe(clientClock.now());
});

test('work that never ends names the timer that it waits for', async () => {
  vi.useFakeTimers();
  const clock = new FakedClientClock(() => vi.useRealTimers());
  let polls = 0;
  const polling = async () => {
    for (; ; polls++) await promisedSleep(1_000);
  };
  void clock.until(polling);
  await vi.waitUntil(() => polls > 3, { timeout: 20_000 });
  expect(clock.end()).toMatch(
    /still moves time \([\d.]+ s, \d+ timers so far\).*setTimeout of 1000 ms at .*vitest\.test\.ts/,
  );
  expect(vi.isFakeTimers()).toBe(false);
});

test('work that waits for something else is said to wait for no timer', async () => {
  vi.useFakeTimers();
  const clock = new FakedClientClock(() => vi.useRealTimers());
  void clock.until(new Promise(() => {}));
  expect(clock.end()).toContain('waits for none of its timers');
});

test('work runs to its end, and its error is the one of `until`', async ({ clientClock }) => {
  expect(await clientClock.until(() => sleep(86_400_000).then(() => 'done'))).toBe('done');
  const failing = sleep(1_000).then(() => Promise.reject(new RangeError('no')));
  await expect(clientClock.until(failing)).rejects.toThrow('no');
});

test('time stands still while a request is on its way over a socket', async ({
  simulator,
  clientClock,
}) => {
  const { baseUrl } = await simulator.listen();
  const startMs = clientClock.now();
  const timeout = setTimeout(() => expect.fail('the timeout passed the request'), 1);
  const asked = fetch(`${baseUrl}${stats}`).then(({ status }) => {
    clearTimeout(timeout);
    return { status, atMs: clientClock.now() };
  });
  expect(await clientClock.until(asked)).toEqual({ status: 401, atMs: startMs });
});

test('a reply that a fault delays comes when time has moved', async ({
  simulator,
  clientClock,
}) => {
  const { baseUrl } = await simulator.listen();
  simulator.faults.add({ when: { every: 1 }, fault: { kind: 'delay', ms: 60_000 } });
  const startMs = clientClock.now();
  const { status } = await clientClock.until(fetch(`${baseUrl}${stats}`));
  expect([status, clientClock.now() - startMs]).toEqual([401, 60_000]);
});

test('a reset starts where the client is', async ({ simulator, clientClock }) => {
  await clientClock.advance('1h');
  simulator.reset();
  expect(simulator.clock.now()).toBe(clientClock.now());
  await clientClock.advance('1h');
  expect(simulator.clock.now()).toBe(clientClock.now());
});

test.extend({ simulatorSettings: { clock: 'scaled', rate: 60 } as const })(
  'whatever clock the settings name, it follows the client',
  async ({ simulator, clientClock }) => {
    await clientClock.advance('1h');
    expect(simulator.clock.now()).toBe(clientClock.now());
  },
);

const limited = test.extend({
  simulatorSettings: { clock: 'manual', limits: { send: 1 } } as const,
});
limited('settings that extend gives are in force', ({ simulator }) => {
  expect(simulator.limits.get().send).toBe(1);
});
limited.extend({ greeting: 'Hello' })(
  'also in a test that is extended further',
  ({ simulator, greeting }) => {
    expect([simulator.limits.get().send, greeting]).toEqual([1, 'Hello']);
  },
);

test('toPassReferee fails with the client’s mistakes, in plain words', ({ simulator }) => {
  simulator.limits.patch({ send: 1 });
  sendBy(simulator, 0, { request_id: 'a', message: 'One' });
  expect(simulator).toPassReferee();
  sendBy(simulator, 0, { request_id: 'b', message: 'Two' });
  simulator.clock.advance('19s');
  sendBy(simulator, 0, { request_id: 'b', message: 'Two' });
  expect(() => expect(simulator).toPassReferee({ partial: true })).toThrow(
    /in 3 exchanges:\n\nCLIENT-1 \(must\)\n {2}the retry arrived 41\.0 s before the 429 allowed it \(Retry-After: 60\).*\[exchanges 2, 3\]/,
  );
  expect(simulator).toPassReferee({ partial: true, allow: ['CLIENT-1'] });
  expect(simulator).not.toPassReferee();
});
