import { expect, test } from 'vitest';
import { type Actor, createActor, getNextSnapshot } from 'xstate';
import type { DeviceState } from '../sim/accounts/device.ts';
import { VirtualClock } from '../sim/clock.ts';
import { type DeviceEvent, type DueWork, deviceMachine, type PolledBy } from './device-machine.ts';

const startMs = Date.parse('2026-01-01T00:00:00.000Z');
const on: DeviceState = { connected: true, active: true, polling: 'simulated' };
const nothingDue: DueWork = { nextPollAt: undefined, nextStepAt: undefined };

/** A running machine; what it does is noted. */
function start(state: DeviceState, due: DueWork = nothingDue) {
  const clock = new VirtualClock(startMs);
  const worked: boolean[] = [];
  const input = {
    now: clock.now,
    timerSet: () => {},
    work: (mayPoll: boolean) => void worked.push(mayPoll),
    ...state,
  };
  const actor = createActor(deviceMachine, { input, clock });
  actor.start();
  actor.send({ type: 'work_changed', ...due });
  return { clock, actor, worked };
}

function mayPoll(actor: Actor<typeof deviceMachine>, by: PolledBy): boolean {
  return actor.getSnapshot().can({ type: 'polled', by, ...nothingDue });
}

const pollSoon: DueWork = { nextPollAt: startMs + 5_000, nextStepAt: undefined };
const stepSoon: DueWork = { nextPollAt: undefined, nextStepAt: startMs + 3_000 };
const bothSoon: DueWork = { nextPollAt: startMs + 5_000, nextStepAt: startMs + 3_000 };

/** What a device is, what is due for it, the state that follows, and when it wakes. */
test.each([
  [{}, nothingDue, 'asleep', undefined],
  [{}, pollSoon, 'awake', 5_000],
  [{}, stepSoon, 'awake', 3_000],
  [{}, bothSoon, 'awake', 3_000],
  [{ polling: 'external' }, nothingDue, 'asleep', undefined],
  [{ polling: 'external' }, pollSoon, 'asleep', undefined],
  [{ polling: 'external' }, bothSoon, 'awake', 3_000],
  [{ connected: false }, bothSoon, 'disconnected', undefined],
  [{ active: false }, bothSoon, 'deactivated', undefined],
  [{ connected: false, active: false }, bothSoon, 'deactivated', undefined],
] as const)('SVC-3 a device that is %j with %j is %s', (state, due, value, afterMs) => {
  const { actor, clock } = start({ ...on, ...state }, due);
  expect(actor.getSnapshot().value).toBe(value);
  expect(clock.nextAtMs).toBe(afterMs === undefined ? undefined : startMs + afterMs);
  expect(clock.pending).toBe(afterMs === undefined ? 0 : 1);
  actor.stop();
  expect(clock.pending).toBe(0);
});

test.each([
  [{}, 'device', false],
  [{}, 'operation', true],
  [{ polling: 'external' }, 'device', true],
  [{ polling: 'external' }, 'operation', true],
  [{ polling: 'external', connected: false }, 'device', false],
  [{ polling: 'external', active: false }, 'device', false],
  [{ connected: false }, 'operation', false],
  [{ active: false }, 'operation', false],
] as const)(
  'STATE-2 whether a device that is %j may be polled by a(n) %s: %s',
  (state, by, may) => {
    for (const due of [nothingDue, stepSoon, pollSoon])
      expect(mayPoll(start({ ...on, ...state }, due).actor, by)).toBe(may);
  },
);

test.each([
  ['simulated', true],
  ['external', false],
] as const)('SVC-3 a device with %s polling that wakes may poll by itself: %s', (polling, may) => {
  const { actor, clock, worked } = start({ ...on, polling }, stepSoon);
  clock.advanceTo(startMs + 2_999);
  expect(worked).toEqual([]);
  clock.advanceTo(startMs + 3_000);
  expect(worked).toEqual([may]);
  expect(actor.getSnapshot().value).toBe('working');
  actor.send({ type: 'work_changed', ...nothingDue });
  expect(actor.getSnapshot().value).toBe('asleep');
  expect(clock.pending).toBe(0);
});

test('SVC-3 work that is due sooner moves the wake, and leaves no second timer', () => {
  const { actor, clock, worked } = start(on, pollSoon);
  actor.send({ type: 'work_changed', nextPollAt: startMs + 1_000, nextStepAt: undefined });
  expect(clock.pending).toBe(1);
  clock.advanceTo(startMs + 1_000);
  expect(worked).toEqual([true]);
});

test('SVC-3 a device that is off ignores its work, and waits for nothing when it comes back', () => {
  const { actor, clock } = start(on, pollSoon);
  actor.send({ type: 'device_changed', ...on, connected: false });
  actor.send({ type: 'work_changed', ...pollSoon });
  expect(clock.pending).toBe(0);
  actor.send({ type: 'device_changed', ...on });
  expect(actor.getSnapshot().value).toBe('asleep');
  actor.send({ type: 'work_changed', ...pollSoon });
  expect(actor.getSnapshot().value).toBe('awake');
});

const states: readonly DeviceState[] = [true, false].flatMap((connected) =>
  [true, false].flatMap((active) =>
    (['simulated', 'external'] as const).map((polling) => ({ connected, active, polling })),
  ),
);
const dues = [nothingDue, pollSoon, stepSoon, bothSoon];
const events: readonly DeviceEvent[] = [
  ...states.map((state) => ({ type: 'device_changed', ...state }) as const),
  ...dues.map((due) => ({ type: 'work_changed', ...due }) as const),
  ...dues.map((due) => ({ type: 'polled', by: 'operation', ...due }) as const),
  ...dues.map((due) => ({ type: 'polled', by: 'device', ...due }) as const),
];

test('SVC-3 its guards are pure: the result of an event depends only on context and event', () => {
  for (const state of states) {
    for (const due of dues) {
      const { actor, clock, worked } = start(state, due);
      const before = actor.getSnapshot();
      const lead = () => events.map((event) => getNextSnapshot(deviceMachine, before, event).value);
      expect(lead()).toEqual(lead());
      expect([clock.nextAtMs, worked]).toEqual([before.context.nextWakeAt, []]);
    }
  }
});
