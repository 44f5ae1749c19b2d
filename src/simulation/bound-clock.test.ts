/**
 * A clock that follows a function: called by hand, and with Vitest's fake timers, which then move
 * client and service together.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { replayJournal } from '#cli/replay/replay-journal.ts';
import { kinds } from '#verify/testkit/transport-fixture.ts';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import type { ActivityEvent } from '../operations/events/activity-events.ts';
import { type SettingsInput, Simulator, type SimulatorOptions } from '../simulator.ts';

const startMs = Date.parse('2026-03-01T00:00:00Z');
const running: Simulator[] = [];
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-bound-'));
  vi.useFakeTimers({ now: startMs });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

function bound(settings: SettingsInput = {}, options: SimulatorOptions = {}): Simulator {
  const simulator = new Simulator({ clock: { now: () => Date.now() }, ...settings }, options);
  running.push(simulator);
  return simulator;
}

function accepted(simulator: Simulator, body: Readonly<Record<string, unknown>> = {}): string {
  return JSON.parse(sendBy(simulator, 0, body).body).message_id as string;
}

test('simulated time always equals the function’s time', () => {
  let nowMs = startMs;
  const simulator = bound({ clock: { now: () => nowMs } });
  expect(simulator.clock.now()).toBe(startMs);
  const messageId = accepted(simulator);
  nowMs += 90_000.9;
  expect(simulator.clock.state()).toMatchObject({
    now: '2026-03-01T00:01:30.000Z',
    mode: 'bound',
    rate: 1,
  });
  expect(simulator.messages.get(messageId).status).toBe('delivered');
});

test('an earlier time counts as no time passed, and time goes on from there', () => {
  let nowMs = startMs;
  const simulator = bound({ clock: { now: () => nowMs } });
  nowMs = startMs - 3_600_000;
  expect(simulator.clock.now()).toBe(startMs);
  nowMs += 60_000;
  expect(simulator.clock.now()).toBe(startMs + 60_000);
  // Still later than the start: only the last time shows that it went back.
  nowMs = startMs + 3_600_000;
  const before = simulator.clock.now();
  nowMs -= 1_800_000;
  expect(simulator.clock.now()).toBe(before);
  nowMs += 60_000;
  expect(simulator.clock.now()).toBe(before + 60_000);
});

test('a jump of the simulated clock stays ahead of the function', () => {
  const simulator = bound();
  simulator.clock.advance('1h');
  vi.advanceTimersByTime(60_000);
  expect(simulator.clock.now()).toBe(startMs + 3_660_000);
});

test('LIMIT-1 fake timers move client and service together', async () => {
  const simulator = bound({ limits: { send: 1 } });
  sendBy(simulator, 0, {});
  const { headers } = sendBy(simulator, 0, {});
  expect(headers?.['retry-after']).toBe('60');
  const retried = new Promise<number>((resolve) => {
    setTimeout(() => resolve(sendBy(simulator, 0, {}).status), 60_000);
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await retried).toBe(202);
});

test('without a reader it keeps no timer', () => {
  const simulator = bound();
  accepted(simulator);
  expect(simulator.clock.state().pending).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('a wait for messages is woken at the moment of the deadline, in steps of any size', async () => {
  const simulator = bound();
  const messageId = accepted(simulator);
  const waits = simulator.messages.wait({
    match: { status: 'delivered' },
    timeout_ms: 600_000,
  });
  const deliveredAtMs = waits.then(() => Date.now());
  await vi.advanceTimersByTimeAsync(600_000);
  const { history } = simulator.messages.get(messageId);
  const lateMs = (await deliveredAtMs) - Date.parse(history.at(-1)?.at ?? '');
  expect(lateMs).toBeGreaterThanOrEqual(0);
  // On a busy machine a count takes long, and the wait pauses for a multiple of that.
  expect(lateMs).toBeLessThan(1_000);
  expect(vi.getTimerCount()).toBe(0);
});

test('a wait that began before the send is woken too', async () => {
  const simulator = bound();
  const waits = simulator.messages.wait({ match: { status: 'sent' }, timeout_ms: 600_000 });
  setTimeout(() => accepted(simulator), 60_000);
  await vi.advanceTimersByTimeAsync(150_000);
  expect((await waits).count).toBe(1);
});

test('in the next-timer mode a wait ends by itself', async () => {
  const simulator = bound();
  accepted(simulator);
  vi.setTimerTickMode('nextTimerAsync');
  const { messages } = await simulator.messages.wait({
    match: { status: 'delivered' },
    timeout_ms: 600_000,
  });
  expect(messages).toHaveLength(1);
});

test('running all timers terminates: the service sets one deadline at a time', async () => {
  const simulator = bound();
  accepted(simulator);
  const stop = simulator.activity.listen('message', () => {});
  await vi.runAllTimersAsync();
  stop();
  expect(simulator.clock.state()).toMatchObject({ pending: 0 });
});

test('the timeout of a wait counts on the fake timers', async () => {
  const simulator = bound();
  const failed = expect(simulator.messages.wait({ timeout_ms: 5_000 })).rejects.toThrow(
    '0 of 1 messages matched within 5000 ms',
  );
  await vi.advanceTimersByTimeAsync(5_000);
  await failed;
});

test('a stream of events gets each status at its moment', async () => {
  const simulator = bound();
  const seen: { atMs: number; said: string }[] = [];
  const end = simulator.activity.openStream((event: ActivityEvent) => {
    if (event.kind === 'message') seen.push({ atMs: Date.now(), said: event.data.at });
  });
  accepted(simulator);
  await vi.advanceTimersByTimeAsync(120_000);
  end();
  expect(seen.map(({ said }) => Date.parse(said))).toEqual(seen.map(({ atMs }) => atMs));
  expect(seen).toHaveLength(4);
  expect(vi.getTimerCount()).toBe(0);
});

test('a reset starts at the present of the function', () => {
  const simulator = bound();
  vi.advanceTimersByTime(3_600_000);
  simulator.reset();
  expect(simulator.clock.state()).toMatchObject({ now: '2026-03-01T01:00:00.000Z', mode: 'bound' });
});

test('a journal of a bound run replays, and another process goes on from it', async () => {
  const journal = join(folder, 'run.ndjson');
  const first = bound({ limits: { send: 2 } }, { journal });
  accepted(first);
  vi.advanceTimersByTime(30_000);
  first.clock.setMode('manual');
  first.clock.advance('10s');
  accepted(first);
  first.reset();
  vi.advanceTimersByTime(60_000);
  const messageId = accepted(first);
  await first.close();
  expect(replayJournal(journal)).toMatchObject({ inputs: 6, differing: 0 });
  vi.advanceTimersByTime(90_000);
  const second = bound({ limits: { send: 2 } }, { journal });
  expect(second.clock.now()).toBe(Date.now());
  expect(second.messages.get(messageId).status).toBe('delivered');
});

test('a restored bound clock follows the function if there is one, and otherwise stands still', () => {
  const simulator = bound();
  accepted(simulator);
  vi.advanceTimersByTime(7_000);
  const snapshot = simulator.snapshots.take();
  const atMs = simulator.clock.now();
  vi.advanceTimersByTime(3_600_000);
  simulator.snapshots.restore(snapshot);
  vi.advanceTimersByTime(1_000);
  expect(simulator.clock.now()).toBe(atMs + 1_000);
  const other = new Simulator();
  running.push(other);
  other.snapshots.restore(snapshot);
  vi.advanceTimersByTime(60_000);
  expect(other.clock.state()).toMatchObject({ now: '2026-03-01T00:00:07.000Z', mode: 'manual' });
});

test.each(kinds)('%s: faults strike, and ports close, while timers are fake', async (transport) => {
  const simulator = bound();
  const { baseUrl } = await simulator.listen({ transport, control: {} });
  simulator.faults.add({ when: { every: 1 }, fault: { kind: 'truncate' } });
  const response = await fetch(`${baseUrl}/api/v1/account/stats/`);
  await expect(response.text()).rejects.toThrow('terminated');
  await simulator.close();
});

test.each([
  [
    () => Number.NaN,
    'clock.now: expected a time between the years 1970 and 9000; got NaN: set the time before',
  ],
  [
    () => 0,
    'clock.now: expected a time between the years 1970 and 9000; got 0: set the time before',
  ],
  [
    'Date.now',
    'clock.now: expected a function that returns epoch milliseconds, such as () => Date.now()',
  ],
])('a function that says %s is refused', (now, message) => {
  expect(() => new Simulator({ clock: { now: now as () => number } })).toThrow(message);
});

test('a function that says nonsense later fails the request that reads it', () => {
  let nowMs = startMs;
  const simulator = bound({ clock: { now: () => nowMs } });
  nowMs = Number.NaN;
  expect(() => sendBy(simulator, 0, {})).toThrow('clock.now: expected epoch milliseconds; got NaN');
  nowMs = startMs;
});
