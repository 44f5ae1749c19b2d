/**
 * The fixtures as tests use them. The order of these tests matters: each starts on real timers,
 * which the previous one must have restored.
 */
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { sendBy } from '../../verify/testkit/control-fixture.ts';
import { test } from './vitest.ts';

const stats = '/api/v1/account/stats/';
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

beforeEach(() => expect(vi.isFakeTimers()).toBe(false));
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
