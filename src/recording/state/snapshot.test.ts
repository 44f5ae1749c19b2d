import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '#verify/testkit/runs.ts';
import { type Command, outcomeOf, someCommands } from '#verify/testkit/twin/random-commands.ts';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { snapshotText } from '../../operations/worlds/snapshots.ts';
import { Simulator } from '../../simulator.ts';
import { restoreSnapshot } from './restore-state.ts';

const settings = { clock: 'manual', seed: 3 } as const;

/** A second simulator, restored from the first one's snapshot, that knows the same keys. */
function restoredFrom(simulator: Simulator): Simulator {
  const restored = new Simulator(settings);
  restored.snapshots.restore(JSON.parse(JSON.stringify(simulator.snapshots.take())));
  // This test calls with the keys' text; a restore knows keys of other worlds only by digest.
  for (const [id, key] of restored.simulation.world.keys)
    key.key = simulator.simulation.world.keys.get(id)?.key ?? '';
  return restored;
}

test('STATE-3 a restored simulator behaves like one that never stopped', () => {
  fc.assert(
    fc.property(someCommands, someCommands, (before, after) => {
      const stayed = new Simulator(settings);
      for (const command of before) outcomeOf(stayed, command);
      const restored = restoredFrom(stayed);
      expect(restored.snapshots.take()).toEqual(stayed.snapshots.take());
      expect(restored.clock.state()).toEqual(stayed.clock.state());
      const play = (simulator: Simulator) => (command: Command) => outcomeOf(simulator, command);
      expect(after.map(play(restored))).toEqual(after.map(play(stayed)));
      expect(JSON.stringify(restored.snapshots.take())).toBe(
        JSON.stringify(stayed.snapshots.take()),
      );
      void stayed.close();
      void restored.close();
    }),
    { numRuns: runs(8) },
  );
});

test('a SIM whose only message left in another way wakes for its next poll after a restore', () => {
  const stayed = new Simulator(settings);
  const { message_id: id } = JSON.parse(sendBy(stayed, 0, {}).body);
  stayed.messages.fail(id);
  stayed.clock.advance('1ms');
  const restored = restoredFrom(stayed);
  expect(restored.snapshots.take().awake).toHaveLength(1);
  expect(restored.snapshots.take()).toEqual(stayed.snapshots.take());
  void stayed.close();
  void restored.close();
});

test('AUTH-2 a snapshot holds no full key, and a restored simulator accepts the same keys', () => {
  const simulator = new Simulator(settings);
  const [account] = simulator.accounts.list();
  const { key } = simulator.accounts.createKey(account?.account_id ?? '', { name: 'second' });
  const snapshot = JSON.stringify(simulator.snapshots.take());
  const keys = [key, ...simulator.readyFile().accounts.map(({ api_key: own }) => own)];
  for (const each of keys) expect(snapshot).not.toContain(each);
  const restored = new Simulator({ clock: 'manual', seed: 99, world: {} });
  restored.snapshots.restore(JSON.parse(snapshot));
  const stats = (authorization: string) =>
    restored.handle({
      method: 'GET',
      path: '/api/v1/account/stats/',
      query: '',
      authorization,
      contentType: undefined,
      clientIp: '127.0.0.1',
      forwardedFor: undefined,
      body: '',
    }).status;
  for (const each of keys) expect(stats(`Bearer ${each}`)).toBe(200);
  expect(stats('Bearer ')).toBe(401);
  expect(stats(`Bearer ${key}x`)).toBe(401);
  const [view] = restored.accounts.keys(account?.account_id ?? '').slice(-1);
  expect(view?.prefix).toBe(key.slice(0, 9));
  restored.accounts.revokeKey(view?.key_id ?? '');
  expect(stats(`Bearer ${key}`)).toBe(401);
  void simulator.close();
  void restored.close();
});

test('SEND-4 a restored message sent through the pool is compared by the requested number', () => {
  const simulator = new Simulator(settings);
  simulator.assumptions.patch({ disconnectedSim: 'pool', replayDifferentBody: 'conflict' });
  const [sim] = simulator.sims.list(simulator.accounts.list()[1]?.account_id ?? '');
  simulator.sims.patch(sim?.device_id ?? '', { connected: false });
  const first = sendBy(simulator, 1, { request_id: 'a' });
  expect(JSON.parse(first.body).from_number).not.toBe(sim?.number);
  const restored = restoredFrom(simulator);
  expect(sendBy(restored, 1, { request_id: 'a' })).toEqual({ status: 200, body: first.body });
  void simulator.close();
  void restored.close();
});

test('a damaged or contradictory snapshot is refused and changes nothing', () => {
  const simulator = new Simulator(settings);
  sendBy(simulator, 0, {});
  const before = simulator.snapshots.take();
  const restore = (change: object) => () =>
    simulator.snapshots.restore({ ...structuredClone(before), ...change });
  expect(restore({ snapshot: 1 })).toThrow('expected snapshot format 2; restore this one with');
  expect(restore({ devices: 'none' })).toThrow('expected a list');
  expect(restore({ devices: [] })).toThrow(
    /the snapshot contradicts itself: entry 0 of a list is missing/,
  );
  expect(simulator.snapshots.take()).toEqual(before);
  void simulator.close();
});

test.each([
  ['a rate that no clock accepts', (text: string) => text.replace(/"rate":\d+/, '"rate":1e300')],
  [
    'a bucket time out of range',
    (text: string) => text.replace(/(\[")([^"]+)(",\[)\d+/, '$1$2$31e300'),
  ],
  ['a SIM without an E.164 number', (text: string) => text.replace('"number":"+1', '"number":"zz')],
  ['an invalid recipient', (text: string) => text.replace('"to":"+1', '"to":"zz')],
  [
    'a first use without a message or refusal',
    (text: string) => text.replace(/("at_ms":\d+,"message_id":null,"refusal":)\{.*?\}/, '$1null'),
  ],
])('a snapshot with %s is refused', (_, damage) => {
  const simulator = new Simulator({ ...settings, assumptions: { failedRequestId: 'burned' } });
  sendBy(simulator, 0, { request_id: 'a' });
  sendBy(simulator, 0, { request_id: 'b', message: '' });
  const whole = JSON.stringify(simulator.snapshots.take());
  const damaged = damage(whole);
  expect(damaged).not.toBe(whole);
  expect(() => simulator.snapshots.restore(JSON.parse(damaged))).toThrow();
  expect(JSON.stringify(simulator.snapshots.take())).toBe(whole);
  void simulator.close();
});

test('a restore also sets the clock: a real one continues from there', async () => {
  const simulator = new Simulator();
  const snapshot = simulator.snapshots.take();
  simulator.clock.advance('30d');
  simulator.clock.setMode('manual');
  simulator.snapshots.restore(snapshot);
  const { now, mode } = simulator.clock.state();
  expect(mode).toBe('real');
  expect(Date.parse(now) - snapshot.clock.now_ms).toBeLessThan(60_000);
  await simulator.close();
});

test('STATE-3 a snapshot with well-formed parts that contradict each other is refused', () => {
  const simulator = new Simulator(settings);
  sendBy(simulator, 0, {});
  const before = simulator.snapshots.take();
  for (const spoil of [
    { status: 'sent' },
    { sent_at_ms: before.clock.now_ms + 1 },
    { status: 'failed', ended_at_ms: before.clock.now_ms, failure_reason: null },
  ] as const) {
    const cohorts = before.cohorts.map((cohort) => ({ ...cohort, ...spoil }));
    expect(() => simulator.snapshots.restore({ ...before, cohorts })).toThrow(
      /the snapshot contradicts itself: STATE-[34] a? ?message/,
    );
  }
  expect(simulator.snapshots.take()).toEqual(before);
  void simulator.close();
});

/** How often a restore reads a part of the snapshot of a world with this many SIMs. */
function readsOfRestore(sims: number): number {
  const numbers = Array.from({ length: sims }, (_, index) => `+1212${2_000_000 + index}`);
  const world = { accounts: [{ name: 'a', sims: numbers.map((number) => ({ number })) }] };
  const simulator = new Simulator({ ...settings, noLimits: true, world });
  simulator.assumptions.patch({ progressPace: 'own_delay' });
  for (const from of numbers) sendBy(simulator, 0, { from });
  simulator.clock.advance('21s');
  const sendAt = new Date(Date.parse(simulator.clock.state().now) + 60_000).toISOString();
  for (const from of numbers) {
    sendBy(simulator, 0, { from });
    sendBy(simulator, 0, { from, send_at: sendAt });
    simulator.sims.receive('a', { from: 'x', to: from, message: 'm' });
  }
  const snapshot = simulator.snapshots.take();
  let reads = 0;
  const counted = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        reads++;
        const value = Reflect.get(target, name);
        return typeof value === 'object' && value !== null ? counted(value) : value;
      },
    });
  restoreSnapshot(counted(snapshot), { settings: simulator.settings, keyTexts: new Map() }).stop();
  void simulator.close();
  return reads;
}

test('a world with twice as many SIMs takes twice the work to restore', () => {
  const [few, many] = [readsOfRestore(100), readsOfRestore(200)];
  expect(many / few).toBeGreaterThan(1.9);
  expect(many / few).toBeLessThan(2.1);
});

test('a snapshot too large to be restored is not sent', () => {
  const simulator = new Simulator(settings);
  const snapshot = simulator.snapshots.take();
  const size = Buffer.byteLength(JSON.stringify(snapshot));
  expect(snapshotText(snapshot, size)).toBe(JSON.stringify(snapshot));
  expect(() => snapshotText(snapshot, size - 1)).toThrow(/^the state is larger than the \d+ bytes/);
  void simulator.close();
});
