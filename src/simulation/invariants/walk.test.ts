/** Every invariant reports a violation: of state changed by the test, or of a planted defect. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MessageEvent, Status } from '#contract/message-status.ts';
import { wrongSimulation } from '#verify/defects/catalogue.ts';
import { runs } from '#verify/testkit/runs.ts';
import { outcomeOf, someCommands } from '#verify/testkit/twin/random-commands.ts';
import { acmeNumber, globexNumber, recipient, Twin } from '#verify/testkit/twin/twin.ts';
import { messageSteps } from '../../actors/message-machine.ts';
import { parseSettings } from '../../config/settings.ts';
import type { ApiKey, FirstUse, Message } from '../../sim/accounts/account.ts';
import { ReplayWindow } from '../../sim/sends/replay-window.ts';
import { Batch } from '../../sim/store/batch.ts';
import { moveOut, moveTo } from '../../sim/store/cohort.ts';
import { Simulator } from '../../simulator.ts';
import { mostLines } from './findings.ts';
import { walk } from './walk.ts';

/** A world that holds waiting, moving and finished things of every kind. */
function busyTwin(): Twin {
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
  const message = [...twin.account().messages].find((each) => each.requestId === requestId);
  if (message === undefined) throw new Error(`no message ${requestId}`);
  return message;
}

function batchOf(message: Message): Batch<Message> {
  return new Batch([message], [message.cohort]);
}

function keyOf(twin: Twin): ApiKey {
  const [key] = twin.account().keys;
  if (key === undefined) throw new Error('acme has no key');
  return key;
}

/** A use that the window keeps itself. */
function useOf(twin: Twin, requestId: string): FirstUse {
  const { replays } = twin.account();
  const refusal = { kind: 'quota_exceeded' } as const;
  const [atMs, key] = [twin.now(), keyOf(twin)];
  replays.keep({ requestId, key, endpoint: 'send', atMs, body: '', outcome: refusal });
  const use = [...replays.entries()].find((each) => each.requestId === requestId);
  if (use === undefined) throw new Error(`no use ${requestId}`);
  return use;
}

test('a busy world is sound, and the walk visits everything in it', () => {
  const twin = busyTwin();
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

/** The violation, how to cause it, and a part of the reported line. */
const violations: readonly (readonly [string, (twin: Twin) => void, RegExp])[] = [
  [
    'a final status on a message in flight',
    (twin) => Object.assign(moveOut(messageOf(twin, 'moving')), { status: 'delivered' }),
    /^STATE-3 message .* is delivered but its history ends in sending$/,
  ],
  [
    'a skipped state',
    (twin) => Object.assign(moveOut(messageOf(twin, 'over')), { sentAtMs: 0 }),
    /^STATE-3 message .* went from sending to delivered$/,
  ],
  [
    'a status after the final one',
    (twin) => Object.assign(moveOut(messageOf(twin, 'over')), { status: 'sent' }),
    /^STATE-5 message .* is sent after a final status$/,
  ],
  [
    'a failure without a reason',
    (twin) => Object.assign(moveOut(messageOf(twin, 'failed')), { failureReason: undefined }),
    /^STATE-4 message .* is failed with the reason undefined$/,
  ],
  [
    'a step backwards in time',
    (twin) => Object.assign(moveOut(messageOf(twin, 'over')), { sentAtMs: 1 }),
    /^STATE-3 message .* went back in time, from \d+ to 1$/,
  ],
  [
    'a step in the future',
    (twin) => Object.assign(moveOut(messageOf(twin, 'over')), { endedAtMs: twin.now() + 1 }),
    /^STATE-3 message .* went back in time/,
  ],
  [
    'an id under which no message is found',
    (twin) => {
      const { chunk, row } = messageOf(twin, 'over');
      chunk.columns.ids[4 * row] = 1;
    },
    /^RES-2 message 00000001-.* is not found by its id$/,
  ],
  [
    'a message that arrived after one that was accepted later',
    (twin) => {
      const { chunk, row } = messageOf(twin, 'over');
      chunk.columns.createdAtMs[row] = twin.now();
    },
    /^STATE-1 message .* was accepted before one that arrived earlier$/,
  ],
  [
    'a message that is counted but not held',
    (twin) => {
      const { chunk, row } = messageOf(twin, 'over');
      chunk.columns.markEmpty(row);
    },
    /^STATE-1 the world counts 5 messages, not 4$/,
  ],
  [
    "a message on another's SIM",
    (twin) => {
      const { chunk, row, tables } = messageOf(twin, 'over');
      chunk.columns.device[row] = tables.devices.slotOf(twin.device(globexNumber));
    },
    /^SVC-1 message .* of acme is on another's SIM$/,
  ],
  [
    'a message of a deleted SIM',
    (twin) => twin.simulation.world.devices.delete(twin.device().deviceId),
    /^RES-6 message .* is assigned to a SIM that does not exist$/,
  ],
  [
    'a message of a deleted account',
    (twin) => twin.simulation.world.accounts.delete(twin.account().accountId),
    /^READ-2 message .* belongs to an account that does not exist$/,
  ],
  [
    'a SIM that its account does not list',
    (twin) => twin.account().devices.pop(),
    /^SVC-1 3 SIMs are listed, the world has 4$/,
  ],
  [
    'a SIM that does not run',
    (twin) => twin.simulation.deviceActors.deviceRemoved(twin.device(globexNumber)),
    /^SVC-3 3 of 4 SIMs run$/,
  ],
  [
    'a number that leads to another SIM',
    (twin) => Object.assign(twin.device(), { number: globexNumber }),
    /^AUTH-4 number \+12025550111 leads to another SIM$/,
  ],
  [
    'work without a wake-up',
    (twin) => {
      const { deviceActors } = twin.simulation;
      deviceActors.deviceRemoved(twin.device());
      const { ready, inFlight } = twin.device().work;
      Object.assign(twin.device().work, { ready: [], inFlight: [] });
      deviceActors.deviceAdded(twin.device());
      Object.assign(twin.device().work, { ready, inFlight });
    },
    /^SVC-3 SIM \+12025550101 has work by \d+ but wakes at \d+$/,
  ],
  [
    'a SIM with a wake-up while it is off',
    (twin) => {
      twin.device().connected = false;
    },
    /^SVC-3 SIM \+12025550101 wakes at \d+ although it is off$/,
  ],
  [
    'a message in no queue',
    (twin) => twin.device().work.ready.pop(),
    /^SVC-3 message .* is queued in no queue; expected ready or held or paced$/,
  ],
  [
    'a message in two queues, to be handed out twice',
    (twin) => twin.device().work.ready.push(batchOf(messageOf(twin, 'waiting'))),
    /^STATE-2 message .* is in two queues$/,
  ],
  [
    'a message in the queue of another SIM',
    (twin) => twin.device(globexNumber).work.ready.push(batchOf(messageOf(twin, 'waiting'))),
    /^RES-6 message .* is in a queue of \+12025550111$/,
  ],
  [
    'a held message that may be picked up',
    (twin) => twin.device().work.ready.push(batchOf(messageOf(twin, 'held'))),
    /^SEND-7 message .* is held but ready for pickup$/,
  ],
  [
    'a message that waits for future polls',
    (twin) => Object.assign(moveOut(messageOf(twin, 'waiting')), { duePoll: 99 }),
    /^SVC-3 message .* waits for poll 99$/,
  ],
  [
    'a cohort that counts too many',
    (twin) => {
      messageOf(twin, 'waiting').cohort.size++;
    },
    /^STATE-3 2 messages should be queued together, 1 are$/,
  ],
  [
    'messages of two fates that move together',
    (twin) => moveTo(messageOf(twin, 'over').cohort, messageOf(twin, 'failed')),
    /^STATE-3 message .* moves with messages of another kind$/,
  ],
  [
    'a step of messages that do not move together',
    (twin) => twin.account().unbatched.become('sending', twin.now()),
    /^STATE-3 message .* moves with all that wait$/,
  ],
  [
    'a wrong count',
    (twin) => {
      twin.account().counts.queued++;
    },
    /^STATE-1 account acme counts 3 messages queued, not 2$/,
  ],
  [
    'a quota spent by no message',
    (twin) => {
      twin.account().quota.count(twin.now(), 'hi');
    },
    /^ERR-1 account acme counts 6 of its quota as used, not 5$/,
  ],
  [
    'one id received twice',
    (twin) => {
      const { world } = twin.simulation;
      const received = world.receiveMessage(twin.device(), twin.account(), recipient, 'hi');
      twin.account().received.push(received);
    },
    /^RES-2 account acme received two messages with one id$/,
  ],
  [
    'a message that went to another account',
    (twin) => {
      const { chunk, row, tables } = messageOf(twin, 'over');
      chunk.columns.account[row] = tables.accounts.slotOf(twin.account('globex'));
    },
    /^STATE-1 account globex counts 0 messages delivered, not 1$/,
  ],
  [
    'a SIM that counts too many messages',
    (twin) => {
      twin.device().messagesHeld++;
    },
    /^RES-6 SIM \+12025550101 has 6 messages, not 5$/,
  ],
  [
    'a message that the world takes for unfinished',
    (twin) => {
      twin.simulation.world.messages.unfinished++;
    },
    /^STATE-1 the world counts 4 unfinished, not 3$/,
  ],
  [
    'a use that leads to a message without a request_id',
    (twin) => {
      const { world } = twin.simulation;
      world.messages.usesOf(twin.account()).add('other', twin.accepted());
    },
    /^SEND-4 the use of request_id at \d+ leads to no message$/,
  ],
  [
    'a forgotten request_id',
    (twin) => Object.assign(twin.account(), { replays: new ReplayWindow(() => twin.now()) }),
    /^SEND-4 message .* has a request_id that is missing in the window$/,
  ],
  [
    'a use kept beyond its window',
    (twin) => Object.assign(useOf(twin, 'burned'), { atMs: 1 }),
    /^SEND-4 request_id burned of acme is kept beyond 24 h$/,
  ],
  [
    "a use with another account's key",
    (twin) => {
      const [key] = twin.account('globex').keys;
      Object.assign(useOf(twin, 'burned'), { key });
    },
    /^SEND-4 the uses of request_id burned contradict each other$/,
  ],
  [
    'one request_id with two messages',
    (twin) => {
      const first = messageOf(twin, 'moving');
      const { account, key, device, endpoint, to, text, requestId } = first;
      const again = { account, key, device, endpoint, to, text, requestId, sendAtMs: 0 };
      const second = twin.simulation.world.acceptMessage(again);
      const { world } = twin.simulation;
      if (second !== undefined) world.messages.usesOf(account).add(requestId, second);
    },
    /^SEND-4 request_id moving created two messages$/,
  ],
  [
    'a key missing in the index',
    (twin) => twin.simulation.world.keyRing.delete(keyOf(twin)),
    /^AUTH-3 accounts have 3 keys, the world 3, 2 in the index$/,
  ],
  [
    'a key indexed by another text',
    (twin) => {
      keyOf(twin).key = 'other';
    },
    /^AUTH-2 key .* is stored in the wrong place$/,
  ],
  [
    'a key revoked before its creation',
    (twin) => {
      keyOf(twin).revokedAtMs = 1;
    },
    /^AUTH-2 key .* was created after the present or its revocation$/,
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
    'buckets rotated in the future',
    (twin) => {
      const state = twin.simulation.limiter.stateOf('send');
      twin.simulation.limiter.restore('send', { ...state, turnedAtMs: twin.now() + 1 });
    },
    /^LIMIT-7 send turned its buckets in the future$/,
  ],
  [
    'an overdue timer',
    (twin) => Object.assign(twin.simulation.clock.timers[0] ?? {}, { deadlineMs: 1 }),
    /^clock a timer of 1 is overdue$/,
  ],
  [
    'a timer out of heap order',
    (twin) => {
      twin.simulation.clock.setTimeout(() => {}, 1_000_000);
      Object.assign(twin.simulation.clock.timers[0] ?? {}, { deadlineMs: 9e14 });
    },
    /^clock the timer of \d+ is out of heap order$/,
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

test.each(violations)('%s is reported', (_, spoil, line) => {
  const twin = busyTwin();
  spoil(twin);
  expect(walk(twin.simulation).broken).toContainEqual(expect.stringMatching(line));
});

test.each([
  ['continuous', [120 * 60_000 + 1, 0]],
  ['interval', [-1, 0]],
  ['interval_aligned', [121, 0]],
  ['sliding_counter', [0, 121, 0]],
] as const)('LIMIT-1 with the refill %s a bucket of %j is impossible', (limiterRefill, state) => {
  const twin = Twin.assuming({ limiterRefill });
  twin.accepted();
  expect(walk(twin.simulation).broken).toEqual([]);
  restoreBucket(twin, state);
  expect(walk(twin.simulation).broken).toEqual([
    `LIMIT-1 send holds an impossible bucket of caller: ${state.join()}`,
  ]);
});

/** Plants a wrong step in the message machine's table while `act` runs. */
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
] as const)('STATE-3 a wrong table in actors/, %s on %s to %s, is reported', (from, event, to) => {
  withWrongStep(from, event, to, () => {
    const twin = new Twin();
    const { messageId } = twin.accepted();
    twin.advanceToQuiet();
    const line = `STATE-3 message ${messageId} went from ${from} to ${to}`;
    expect(walk(twin.simulation).broken).toContain(line);
  });
});

test('STATE-5 a wrong table that leaves a final status is refused on the write', () => {
  const twin = new Twin();
  const message = twin.accepted();
  twin.advanceToQuiet();
  withWrongStep('delivered', 'failed', 'failed', () => {
    expect(() => twin.simulation.deviceActors.fail(message, 'late')).not.toThrow();
    expect(() => twin.simulation.lifecycle.step(message, 'failed')).toThrow(/has ended/);
  });
  expect(message.status).toBe('delivered');
});

/** Defects whose state reveals them after one simulated day. */
test.each([
  ['failed-after-delivered', 'STATE-4'],
  ['delivered-left', 'STATE-5'],
  ['failed-retried', 'STATE-4'],
  ['state-revisited', 'STATE-3'],
  ['pickup-after-60-seconds', 'SVC-3'],
  ['revoked-key-works', 'AUTH-3'],
])('the defect %s breaks %s', (name, rule) => {
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

test('the number of reported lines is bounded', () => {
  const twin = new Twin();
  for (let i = 0; i < mostLines + 1; i++) twin.accepted();
  for (const message of twin.account().messages) message.cohort.duePoll = 99;
  expect(walk(twin.simulation).broken).toHaveLength(mostLines);
});

test('after any operations the world is sound and its snapshot restores identically', () => {
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
    { numRuns: runs(5) },
  );
});

test('a snapshot that restores differently is reported', () => {
  const simulator = new Simulator({ clock: 'manual' }, { journal: false });
  const [account] = simulator.simulation.world.accounts.values();
  // A name that is not text cannot be in a snapshot.
  Object.assign(account ?? {}, { name: undefined });
  expect(simulator.invariants({ snapshot: 'false' }).sound).toBe(true);
  expect(simulator.invariants().broken[0]).toMatch(/^snapshot /);
  void simulator.close();
});
