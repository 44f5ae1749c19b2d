/**
 * Messages that move together, and messages that leave the others. `verify/model/` and the tests of
 * the device actors check what each message does; these check that a step costs nothing per
 * message.
 */
import { expect, test } from 'vitest';
import { poolNumber, readerOf, recipient, sendBy, Twin } from '#verify/testkit/twin/twin.ts';
import type { Message } from '../sim/accounts/account.ts';
import { walk } from '../simulation/invariants/walk.ts';
import { Simulator } from '../simulator.ts';

/** Each of its steps takes three polls. */
const slowRecipient = '+12025550166';
const failsAtPickup = '+12025550160';
const count = 5_000;

function manyTwin(assumptions = {}): Twin {
  return new Twin({ noLimits: true, assumptions });
}

function cohortsOf(twin: Pick<Twin, 'simulation'>): Set<unknown> {
  return new Set([...twin.simulation.world.messages.values()].map(({ cohort }) => cohort));
}

function poll(twin: Twin): void {
  twin.simulation.deviceActors.pollNow(twin.device());
}

test('SVC-3 all messages picked up by one poll move as one cohort until they are final', () => {
  const twin = manyTwin();
  for (let n = 0; n < count; n++) twin.accepted();
  expect(cohortsOf(twin).size).toBe(1);
  for (const expected of ['sending', 'sent', 'delivered']) {
    poll(twin);
    expect([...twin.account().messages].every(({ status }) => status === expected)).toBe(true);
    expect(cohortsOf(twin).size).toBe(1);
  }
  expect(walk(twin.simulation).broken).toEqual([]);
  expect(twin.device().work.inFlight).toEqual([]);
});

test('STATE-3 messages of two polls, of two accounts and of two fates move apart', () => {
  const twin = manyTwin({ poolBesideOwnSim: 'allow' });
  const send = (name: string, to = recipient) => twin.sendAs(name, { from: poolNumber, to }).status;
  const one = () => [send('acme'), send('globex'), send('acme', slowRecipient), send('acme')];
  expect([...one(), ...one()]).toEqual(Array(8).fill(202));
  expect(cohortsOf(twin).size).toBe(3);
  twin.simulation.deviceActors.pollNow(twin.device(poolNumber));
  one();
  expect(cohortsOf(twin).size).toBe(6);
  twin.advanceToQuiet();
  expect(twin.account().counts.delivered).toBe(9);
  expect(walk(twin.simulation).broken).toEqual([]);
});

test('STATE-2 sendsPerPoll: a poll takes the first of a cohort, in order, and the others wait on', () => {
  const twin = manyTwin({ sendsPerPoll: 3 });
  const messages = Array.from({ length: 8 }, (_, n) =>
    twin.accepted({ to: n === 1 ? slowRecipient : recipient }),
  );
  const statuses = () => messages.map(({ status }) => (status === 'queued' ? '-' : 'x')).join('');
  const seen = [1, 2, 3, 4].map(() => {
    poll(twin);
    return statuses();
  });
  expect(seen).toEqual(['x-xx----', 'x-xxxxx-', 'xxxxxxxx', 'xxxxxxxx']);
  expect(walk(twin.simulation).broken).toEqual([]);
});

test('STATE-4 a message that an operation moves leaves its cohort, and the others stay', () => {
  const twin = manyTwin();
  const messages = [0, 1, 2, 3].map(() => twin.accepted());
  const [first, second, third, last] = messages as [Message, Message, Message, Message];
  twin.simulation.deviceActors.fail(second, 'forced');
  twin.simulation.deviceActors.progress(third);
  const statuses = () => messages.map(({ status }) => status);
  expect(statuses()).toEqual(['queued', 'failed', 'sending', 'queued']);
  expect([first.cohort === last.cohort, first.cohort.size]).toEqual([true, 2]);
  poll(twin);
  expect(statuses()).toEqual(['sending', 'failed', 'sent', 'sending']);
  expect(first.failureReason).toBeUndefined();
  expect(walk(twin.simulation).broken).toEqual([]);
});

test('STATE-3 the changes of one poll are announced in the order of the messages, across cohorts', () => {
  const twin = manyTwin();
  for (const to of [recipient, failsAtPickup, recipient, failsAtPickup]) twin.accepted({ to });
  const heard: string[] = [];
  twin.simulation.lifecycle.reader = readerOf(({ arrival, status }, from) =>
    heard.push(`${arrival}: ${from} ${status}`),
  );
  poll(twin);
  poll(twin);
  expect(heard).toEqual([
    '0: queued sending',
    '1: queued failed',
    '2: queued sending',
    '3: queued failed',
    '0: sending sent',
    '2: sending sent',
  ]);
});

test('STATE-3 a restored simulator moves its messages together again', () => {
  const simulator = new Simulator({ clock: 'manual', noLimits: true });
  for (let n = 0; n < 100; n++) sendBy(simulator, 0, {});
  const { simulation } = simulator;
  simulator.snapshots.restore(JSON.parse(JSON.stringify(simulator.snapshots.take())));
  // `not.toBe` would compare the two deeply for its message.
  expect(simulator.simulation === simulation).toBe(false);
  expect(cohortsOf(simulator).size).toBe(1);
  simulator.clock.advance({ until_idle: true });
  expect(cohortsOf(simulator).size).toBe(1);
  expect(simulator.state().messages.delivered).toBe(100);
  simulator.snapshots.restore(JSON.parse(JSON.stringify(simulator.snapshots.take())));
  expect(cohortsOf(simulator).size).toBe(1);
});

test('SEND-7 messages held until one moment are released together, those of others in order', () => {
  const twin = manyTwin();
  const send = (aheadMs: number) =>
    twin.accepted({ send_at: new Date(twin.now() + aheadMs).toISOString() });
  const held = [30_000, 60_000, 30_000, 60_000, 45_000].map(send);
  const [first, , , fourth, last] = held as Message[];
  expect(twin.device().work.queueLength).toBe(5);
  twin.simulation.deviceActors.fail(fourth as Message, 'forced');
  twin.simulation.deviceActors.progress(last as Message);
  expect(twin.device().work.queueLength).toBe(3);
  twin.advance(61_000);
  poll(twin);
  const heldTogether = held.filter(({ cohort }) => cohort === first?.cohort);
  expect(heldTogether.map(({ arrival }) => arrival)).toEqual([0, 2]);
  expect(held.map(({ sendingAtMs }) => sendingAtMs > 0)).toEqual([true, true, true, false, true]);
  expect(walk(twin.simulation).broken).toEqual([]);
});
