import { expect, test } from 'vitest';
import { createActor } from 'xstate';
import { VirtualClock } from '../sim/clock.ts';
import { type DeviceEvent, type DeviceSubject, deviceMachine } from './device-machine.ts';

/** What the machine asks about, as plain values that a test sets. */
class Situation implements DeviceSubject {
  connected = true;
  active = true;
  external = false;
  wakeInMs: number | undefined;
  woken = 0;

  isConnected(): boolean {
    return this.connected;
  }
  isActive(): boolean {
    return this.active;
  }
  isPolledExternally(): boolean {
    return this.external;
  }
  untilWakeMs(): number | undefined {
    return this.wakeInMs;
  }
  wake(): void {
    this.woken++;
    this.wakeInMs = undefined;
  }
}

const states = ['asleep', 'awake', 'external', 'disconnected', 'deactivated'] as const;
type State = (typeof states)[number];

const events: readonly DeviceEvent['type'][] = [
  'work_queued',
  'work_taken',
  'connected',
  'disconnected',
  'activated',
  'deactivated',
  'polling_changed',
];

function putInto(situation: Situation, state: State): void {
  situation.active = state !== 'deactivated';
  situation.connected = state !== 'disconnected';
  situation.external = state === 'external';
  situation.wakeInMs = state === 'awake' ? 5_000 : undefined;
}

function start(situation: Situation) {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00.000Z'));
  const actor = createActor(deviceMachine, { input: { subject: situation }, clock }).start();
  return { clock, actor };
}

test.each(states)('SVC-3 a device starts %s where its situation is that', (state) => {
  const situation = new Situation();
  putInto(situation, state);
  const { actor, clock } = start(situation);
  expect(actor.getSnapshot().value).toBe(state);
  expect(clock.pending).toBe(state === 'awake' ? 1 : 0);
});

/** The events that make a state decide anew; every other one leaves it, timer and all. */
const heeded: Readonly<Record<State, readonly DeviceEvent['type'][]>> = {
  asleep: ['work_queued', 'disconnected', 'deactivated', 'polling_changed'],
  awake: ['work_queued', 'work_taken', 'disconnected', 'deactivated', 'polling_changed'],
  external: ['work_queued', 'work_taken', 'disconnected', 'deactivated', 'polling_changed'],
  disconnected: ['connected', 'deactivated', 'polling_changed'],
  deactivated: ['activated', 'polling_changed'],
};

const walks = states.flatMap((from) =>
  events.flatMap((event) => states.map((to) => [from, event, to] as const)),
);

test.each(walks)('SVC-3 %s on %s, the situation being that of %s', (from, event, to) => {
  const situation = new Situation();
  putInto(situation, from);
  const { clock, actor } = start(situation);
  putInto(situation, to);
  actor.send({ type: event });
  const expected = heeded[from].includes(event) ? to : from;
  expect(actor.getSnapshot().value).toBe(expected);
  expect(clock.pending).toBe(expected === 'awake' ? 1 : 0);
  actor.stop();
  expect(clock.pending).toBe(0);
});

test('SVC-3 an awake device is woken at its time, once, and sleeps when nothing is left', () => {
  const situation = new Situation();
  putInto(situation, 'awake');
  const { clock, actor } = start(situation);
  clock.advanceTo(clock.now() + 4_999);
  expect(situation.woken).toBe(0);
  clock.advanceTo(clock.now() + 1);
  expect(situation.woken).toBe(1);
  expect(actor.getSnapshot().value).toBe('asleep');
  expect(clock.pending).toBe(0);
});

test('SVC-3 work that is needed sooner moves the wake, and leaves no second timer', () => {
  const situation = new Situation();
  putInto(situation, 'awake');
  const { clock, actor } = start(situation);
  situation.wakeInMs = 1_000;
  actor.send({ type: 'work_queued' });
  expect(clock.pending).toBe(1);
  clock.advanceTo(clock.now() + 1_000);
  expect(situation.woken).toBe(1);
});

test('STATE-3 a device that is polled externally is awake while its messages progress by themselves', () => {
  const situation = new Situation();
  putInto(situation, 'external');
  const { clock, actor } = start(situation);
  situation.wakeInMs = 3_000;
  actor.send({ type: 'work_taken' });
  expect(actor.getSnapshot().value).toBe('awake');
  clock.advanceTo(clock.now() + 3_000);
  expect(actor.getSnapshot().value).toBe('external');
});
