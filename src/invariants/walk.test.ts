/**
 * Each invariant is seen broken: by a hand that spoils the state, or by a wrong server of `defects/`.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { outcomeOf, someCommands } from '../../verify/testkit/random-commands.ts';
import { acmeNumber, globexNumber, recipient, Twin } from '../../verify/testkit/twin.ts';
import { type MessageEvent, messageSteps } from '../actors/message-machine.ts';
import { parseSettings } from '../config/settings.ts';
import { wrongSimulation } from '../defects/all.ts';
import { ReplayWindow } from '../sim/idempotency.ts';
import type { ApiKey, FirstUse } from '../sim/records.ts';
import type { Status } from '../sim/status.ts';
import { Simulator } from '../simulator.ts';
import { mostLines } from './findings.ts';
import { walk } from './walk.ts';

/** A world in which something of every kind waits, moves, and is over. */
function livelyTwin(): Twin {
  const twin = new Twin();
  twin.accepted({ request_id: 'over' });
  twin.accepted({ to: '+12025550160', request_id: 'failed' });
  twin.advance(80_000);
  twin.accepted({ request_id: 'moving' });
  twin.advance(20_000);
  twin.accepted({ request_id: 'waiting' });
  twin.accepted({ request_id: 'held', send_at: new Date(twin.now() + 90_000).toISOString() });
  return twin;
}

function messageOf(twin: Twin, requestId: string) {
  const message = twin.account().messages.find((each) => each.requestId === requestId);
  if (message === undefined) throw new Error(`no message ${requestId}`);
  return message;
}

function keyOf(twin: Twin): ApiKey {
  const [key] = twin.account().keys;
  if (key === undefined) throw new Error('acme has no key');
  return key;
}

function useOf(twin: Twin, requestId: string): FirstUse {
  const { replays } = twin.account();
  const found = () => {
    const use = [...replays.entries()].find((each) => each.requestId === requestId);
    if (use === undefined) throw new Error(`no use ${requestId}`);
    return use;
  };
  // Kept once more it is an object of its own, which can be spoilt.
  replays.keep(found());
  return Object.assign(found(), { older: undefined });
}

test('a lively world is sound, and everything in it was looked at', () => {
  const twin = livelyTwin();
  const { broken, checked } = walk(twin.simulation);
  expect(broken).toEqual([]);
  expect(checked).toEqual({
    accounts: 3,
    keys: 3,
    devices: 4,
    messages: 5,
    replays: 5,
    buckets: 1,
    timers: 1,
  });
  expect(messageOf(twin, 'moving').status).toBe('sending');
});

/** What is spoilt, how, and a part of the line that names it. */
const spoilt: readonly (readonly [string, (twin: Twin) => void, RegExp])[] = [
  [
    'a final status on a message that goes on',
    (twin) => Object.assign(messageOf(twin, 'moving'), { status: 'delivered' }),
    /^STATE-3 message .* is delivered, its history ends in sending$/,
  ],
  [
    'a state that was skipped',
    (twin) => Object.assign(messageOf(twin, 'over'), { sentAtMs: 0 }),
    /^STATE-3 message .* went from sending to delivered$/,
  ],
  [
    'a status after the final one',
    (twin) => Object.assign(messageOf(twin, 'over'), { status: 'sent' }),
    /^STATE-5 message .* had ended, and is sent$/,
  ],
  [
    'a failure without a reason',
    (twin) => Object.assign(messageOf(twin, 'failed'), { failureReason: undefined }),
    /^STATE-4 message .* is failed, its reason undefined$/,
  ],
  [
    'a step back in time',
    (twin) => Object.assign(messageOf(twin, 'over'), { sentAtMs: 1 }),
    /^STATE-3 message .* went back in time, from \d+ to 1$/,
  ],
  [
    'a step in the future',
    (twin) => Object.assign(messageOf(twin, 'over'), { endedAtMs: twin.now() + 1 }),
    /^STATE-3 message .* went back in time/,
  ],
  [
    'an id that is none',
    (twin) => Object.assign(messageOf(twin, 'over'), { messageId: 'x' }),
    /^RES-2 message x is kept as/,
  ],
  [
    'an arrival out of order',
    (twin) => Object.assign(messageOf(twin, 'over'), { arrival: 2 }),
    /^STATE-1 message .* arrived as number 1, out of order$/,
  ],
  [
    'a message that nobody lists',
    (twin) => twin.account().messages.pop(),
    /^STATE-1 accounts have 4 messages, the world 5$/,
  ],
  [
    "a message on another's SIM",
    (twin) => Object.assign(messageOf(twin, 'over'), { device: twin.device(globexNumber) }),
    /^SVC-1 message .* of acme is on another's SIM$/,
  ],
  [
    'a message of a SIM that is gone',
    (twin) => twin.simulation.world.devices.delete(twin.device().deviceId),
    /^RES-6 message .* is assigned to a SIM that is not there$/,
  ],
  [
    'a message of an account that is gone',
    (twin) => twin.simulation.world.accounts.delete(twin.account().accountId),
    /^READ-2 message .* belongs to an account that is not there$/,
  ],
  [
    'a SIM that its account does not list',
    (twin) => twin.account().devices.pop(),
    /^SVC-1 3 SIMs are listed, the world has 4$/,
  ],
  [
    'a SIM that does not run',
    (twin) => twin.simulation.fleet.deviceRemoved(twin.device(globexNumber)),
    /^SVC-3 3 of 4 SIMs are running$/,
  ],
  [
    'a number of another SIM',
    (twin) => Object.assign(twin.device(), { number: globexNumber }),
    /^AUTH-4 number \+12025550111 leads to another SIM$/,
  ],
  [
    'work that nothing wakes for',
    (twin) => {
      const { fleet } = twin.simulation;
      fleet.deviceRemoved(twin.device());
      const { ready, inFlight } = twin.device().work;
      Object.assign(twin.device().work, { ready: [], inFlight: [] });
      fleet.deviceAdded(twin.device());
      Object.assign(twin.device().work, { ready, inFlight });
    },
    /^SVC-3 SIM \+12025550101 has work by \d+, and wakes at \d+$/,
  ],
  [
    'a SIM awake while it is off',
    (twin) => {
      twin.device().connected = false;
    },
    /^SVC-3 SIM \+12025550101 is to wake at \d+, and should not$/,
  ],
  [
    'a message in no row',
    (twin) => twin.device().work.ready.pop(),
    /^SVC-3 message .* is queued in the row undefined, not waiting$/,
  ],
  [
    'a message in two rows, to be handed out twice',
    (twin) => twin.device().work.ready.push(messageOf(twin, 'waiting')),
    /^STATE-2 message .* stands in two rows$/,
  ],
  [
    'a message in the row of another SIM',
    (twin) => twin.device(globexNumber).work.ready.push(messageOf(twin, 'waiting')),
    /^RES-6 message .* stands in a row of \+12025550111$/,
  ],
  [
    'a held message that may be picked up',
    (twin) => twin.device().work.ready.push(messageOf(twin, 'held')),
    /^SEND-7 message .* is held, and ready for pickup$/,
  ],
  [
    'a message that waits for polls to come',
    (twin) => Object.assign(messageOf(twin, 'waiting'), { duePoll: 99 }),
    /^SVC-3 message .* waits for poll 99$/,
  ],
  [
    'a count that is off',
    (twin) => {
      twin.account().counts.queued++;
    },
    /^statsShape account acme counts 3 messages queued, it has 2$/,
  ],
  [
    'a quota that was given back',
    (twin) => {
      walk(twin.simulation);
      twin.account().messages.splice(0, 1);
    },
    /^ERR-1 account acme used 5 of its quota, it is 4$/,
  ],
  [
    'one id received twice',
    (twin) => {
      const { world } = twin.simulation;
      const received = world.receiveMessage(twin.device(), twin.account(), recipient, 'hi');
      twin.account().received.push(received);
    },
    /^RES-2 account acme received two messages under one id$/,
  ],
  [
    "another account's message in the list",
    (twin) => Object.assign(messageOf(twin, 'over'), { account: twin.account('globex') }),
    /^READ-2 message .* is listed under acme, and not its own$/,
  ],
  [
    'a message out of its place',
    (twin) => twin.account().messages.reverse(),
    /^STATE-1 message .* is not in its place among those of acme$/,
  ],
  [
    'a request_id that was forgotten',
    (twin) => Object.assign(twin.account(), { replays: new ReplayWindow(() => twin.now()) }),
    /^SEND-4 message .* has a request_id that was forgotten$/,
  ],
  [
    'a use that outlived its window',
    (twin) => Object.assign(useOf(twin, 'over'), { atMs: 1 }),
    /^SEND-4 request_id over of acme outlived 24 h$/,
  ],
  [
    'a reply that drifted',
    (twin) => Object.assign(useOf(twin, 'over'), { body: '{}' }),
    /^SEND-4 request_id over leads to no message of its own$/,
  ],
  [
    "a use with another account's key",
    (twin) => {
      const [key] = twin.account('globex').keys;
      Object.assign(useOf(twin, 'over'), { key });
    },
    /^SEND-4 the uses of request_id over do not fit together$/,
  ],
  [
    'one request_id with two messages',
    (twin) => {
      const use = useOf(twin, 'over');
      Object.assign(use, { older: { ...use } });
    },
    /^SEND-4 request_id over made two messages$/,
  ],
  [
    'a key that no ring holds',
    (twin) => twin.simulation.world.keyRing.delete(keyOf(twin)),
    /^AUTH-3 accounts have 3 keys, the world 3, 2 on the ring$/,
  ],
  [
    'a key under another text',
    (twin) => {
      keyOf(twin).key = 'other';
    },
    /^AUTH-2 key .* is not where it belongs$/,
  ],
  [
    'a key revoked before it was made',
    (twin) => {
      keyOf(twin).revokedAtMs = 1;
    },
    /^AUTH-2 key .* was not made before the present and its revocation$/,
  ],
  [
    'more spent than the limit',
    (twin) => restoreBucket(twin, Array(121).fill(twin.now())),
    /^LIMIT-1 send holds an impossible bucket/,
  ],
  [
    'a token spent in the future',
    (twin) => restoreBucket(twin, [twin.now() + 1]),
    /^LIMIT-1 send holds an impossible bucket/,
  ],
  [
    'two buckets of one caller',
    (twin) => {
      const state = twin.simulation.limiter.stateOf('send');
      twin.simulation.limiter.restore('send', { ...state, older: state.recent });
    },
    /^AUTH-6 send has two buckets of/,
  ],
  [
    'buckets that were turned in the future',
    (twin) => {
      const state = twin.simulation.limiter.stateOf('send');
      twin.simulation.limiter.restore('send', { ...state, turnedAtMs: twin.now() + 1 });
    },
    /^LIMIT-7 send turned its buckets in the future$/,
  ],
  [
    'a timer that is overdue',
    (twin) => Object.assign(twin.simulation.clock.timers[0] ?? {}, { deadlineMs: 1 }),
    /^clock a timer of 1 is overdue$/,
  ],
  [
    'a timer out of its place',
    (twin) => {
      twin.simulation.clock.setTimeout(() => {}, 1_000_000);
      Object.assign(twin.simulation.clock.timers[0] ?? {}, { deadlineMs: 9e14 });
    },
    /^clock the timer of \d+ is not in its place$/,
  ],
  [
    'a SIM without its timer',
    (twin) => twin.simulation.clock.clearTimeout(twin.simulation.clock.timers[0]),
    /^SVC-3 SIM \+12025550101 has no timer for \d+$/,
  ],
];

function restoreBucket(twin: Twin, state: readonly number[]): void {
  const { limiter } = twin.simulation;
  limiter.restore('send', { ...limiter.stateOf('send'), recent: [['caller', state]] });
}

test.each(spoilt)('%s is named', (_, spoil, line) => {
  const twin = livelyTwin();
  spoil(twin);
  expect(walk(twin.simulation).broken).toContainEqual(expect.stringMatching(line));
});

test.each([
  ['continuous', [120 * 60_000 + 1, 0]],
  ['interval', [-1, 0]],
  ['interval_aligned', [121, 0]],
] as const)('LIMIT-1 with the refill %s a bucket of %j is impossible', (limiterRefill, state) => {
  const twin = Twin.assuming({ limiterRefill });
  twin.accepted();
  expect(walk(twin.simulation).broken).toEqual([]);
  restoreBucket(twin, state);
  expect(walk(twin.simulation).broken).toEqual([
    `LIMIT-1 send holds an impossible bucket of caller: ${state.join()}`,
  ]);
});

/** Plants a step in the machine's own table while `act` runs. */
function withWrongStep(from: Status, event: MessageEvent, to: Status, act: () => void): void {
  const steps: Record<string, Status | undefined> = messageSteps[from];
  const right = steps[event];
  steps[event] = to;
  try {
    act();
  } finally {
    steps[event] = right;
  }
}

test.each([
  ['queued', 'picked_up', 'sent'],
  ['queued', 'picked_up', 'delivered'],
  ['sending', 'progressed', 'delivered'],
] as const)('STATE-3 a wrong table in actors/, %s on %s to %s, is named', (from, event, to) => {
  withWrongStep(from, event, to, () => {
    const twin = new Twin();
    const { messageId } = twin.accepted();
    twin.advanceToQuiet();
    const line = `STATE-3 message ${messageId} went from ${from} to ${to}`;
    expect(walk(twin.simulation).broken).toContain(line);
  });
});

test('STATE-5 a wrong table that leaves a final status is refused where the status is written', () => {
  const twin = new Twin();
  const message = twin.accepted();
  twin.advanceToQuiet();
  withWrongStep('delivered', 'failed', 'failed', () => {
    expect(() => twin.simulation.fleet.fail(message, 'late')).not.toThrow();
    expect(() => twin.simulation.lifecycle.step(message, 'failed')).toThrow(/has ended/);
  });
  expect(message.status).toBe('delivered');
});

/** Wrong servers whose state gives them away, after a day of theirs. */
test.each([
  ['failed-after-delivered', 'STATE-4'],
  ['delivered-left', 'STATE-5'],
  ['failed-retried', 'STATE-4'],
  ['state-revisited', 'STATE-3'],
  ['pickup-never', 'SVC-3'],
  ['pickup-after-60-seconds', 'SVC-3'],
  ['revoked-key-works', 'AUTH-3'],
])('the wrong server %s breaks %s', (name, rule) => {
  const settings = parseSettings({ clock: 'manual' });
  const simulation = wrongSimulation(name)?.(settings, settings.startTimeMs);
  expect(simulation).toBeDefined();
  if (simulation === undefined) return;
  const { world, clock } = simulation;
  const [account] = world.accounts.values();
  if (account !== undefined) world.createKey(account, 'second');
  const key = account?.keys[0];
  const broken: string[] = [];
  for (const to of [recipient, '+12025550160', recipient, '+12025550162']) {
    simulation.handle({
      method: 'POST',
      path: '/api/v1/sms/send/',
      query: '',
      authorization: `Bearer ${key?.key}`,
      contentType: 'application/json',
      clientIp: '192.0.2.1',
      forwardedFor: undefined,
      body: JSON.stringify({ to, from: acmeNumber, message: 'hello' }),
    });
    for (let step = 0; step < 10; step++) {
      broken.push(...walk(simulation).broken);
      clock.advanceTo(clock.now() + 10_000);
    }
  }
  clock.advanceTo(clock.now() + 86_400_000);
  if (key !== undefined) world.revokeKey(key);
  broken.push(...walk(simulation).broken);
  simulation.stop();
  expect(broken.map((line) => line.split(' ')[0])).toContain(rule);
});

test('no more lines are told than anybody reads', () => {
  const twin = new Twin();
  for (let i = 0; i < mostLines + 1; i++) twin.accepted();
  for (const message of twin.account().messages) message.duePoll = 99;
  expect(walk(twin.simulation).broken).toHaveLength(mostLines);
});

test('whatever levers and callers do, the world stays sound, and its snapshot comes back as it was', () => {
  fc.assert(
    fc.property(someCommands, (commands) => {
      const simulator = new Simulator({ clock: 'manual', seed: 3 }, { journal: false });
      for (const command of commands) {
        const done = outcomeOf(simulator, command);
        expect({ done, ...simulator.invariants({ snapshot: 'false' }) }).toMatchObject({
          broken: [],
        });
      }
      expect(simulator.invariants().broken).toEqual([]);
      simulator.wallClock.stop();
      simulator.simulation.stop();
    }),
    { numRuns: 25 },
  );
});

test('a snapshot that does not come back as it was is named', () => {
  const simulator = new Simulator({ clock: 'manual' }, { journal: false });
  const [account] = simulator.simulation.world.accounts.values();
  // No snapshot takes a name that is no text.
  Object.assign(account ?? {}, { name: undefined });
  expect(simulator.invariants({ snapshot: 'false' }).sound).toBe(true);
  expect(simulator.invariants().broken[0]).toMatch(/^snapshot /);
  void simulator.close();
});
