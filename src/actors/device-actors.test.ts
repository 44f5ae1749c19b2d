import fc from 'fast-check';
import { expect, test } from 'vitest';
import { messageEvents, type Status } from '#contract/message-status.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '#contract/time.ts';
import { runs } from '#verify/testkit/runs.ts';
import {
  acmeNumber,
  acmeOtherNumber,
  pollMs,
  poolNumber,
  readerOf,
  recipient,
  Twin,
} from '#verify/testkit/twin/twin.ts';
import type { SettingsInput } from '../config/settings.ts';
import type { Message } from '../sim/accounts/account.ts';
import { messageHistory } from '../sim/store/message-view.ts';

const failsIn = { queued: '+12025550160', sending: '+12025550161', sent: '+12025550162' } as const;
const stuckIn = { queued: '+12025550163', sending: '+12025550164', sent: '+12025550165' } as const;
const threePolls = '+12025550166';

/**
 * The device's polls, counted from the first one, that is 1; a fraction where it was between two.
 */
function pollNumber(message: Message, atMs: number, intervalMs = pollMs): number {
  return (atMs - message.device.firstPollAtMs) / intervalMs + 1;
}

/** `queued`, then each status with the number of the poll at which it was written. */
function byPoll(message: Message): string {
  return messageHistory(message)
    .map(({ status, at }) =>
      status === 'queued' ? status : `${status} ${pollNumber(message, Date.parse(at))}`,
    )
    .join(', ');
}

/** To one millisecond after the device's poll of this number. */
function advancePast(twin: Twin, poll: number, number = acmeNumber): void {
  twin.simulation.clock.advanceTo(twin.device(number).firstPollAtMs + (poll - 1) * pollMs + 1);
}

function isoAt(ms: number): string {
  return new Date(ms).toISOString();
}

function expectQuiet(twin: Twin): void {
  expect(twin.simulation.deviceActors.awake).toBe(0);
  expect(twin.simulation.clock.pending).toBe(0);
}

test('SVC-2 STATE-2 a message waits for the next poll, then takes one step at each', () => {
  const twin = new Twin();
  const message = twin.accepted();
  twin.simulation.clock.advanceTo(message.device.firstPollAtMs - 1);
  expect(message.status).toBe('queued');
  twin.advanceToQuiet();
  expect(byPoll(message)).toBe('queued, sending 1, sent 2, delivered 3');
});

test('STATE-2 what arrives at the very millisecond of a poll waits for the next', () => {
  const twin = new Twin();
  twin.accepted();
  twin.simulation.clock.advanceTo(twin.device().firstPollAtMs);
  const late = twin.accepted();
  twin.advanceToQuiet();
  expect(byPoll(late)).toBe('queued, sending 2, sent 3, delivered 4');
});

test('SVC-3 the phase of a device is drawn from (0, 20 s], and is kept for ever', () => {
  const phases = new Set<number>();
  for (let seed = 0; seed < 200; seed++) {
    const twin = new Twin({ seed });
    const phase = twin.device().firstPollAtMs - twin.now();
    expect(phase).toBeGreaterThan(0);
    expect(phase).toBeLessThanOrEqual(pollMs);
    phases.add(phase);
  }
  expect(phases.size).toBeGreaterThan(190);
});

test('SVC-3 whenever it was sent, a message is picked up within 20 s, and then changes once in 20 s', () => {
  fc.assert(
    fc.property(
      fc.nat(1_000),
      fc.array(fc.nat(3 * pollMs), { minLength: 1, maxLength: 10 }),
      (seed, waits) => {
        const twin = new Twin({ seed });
        const messages = waits.map((waitMs) => {
          twin.advance(waitMs);
          return twin.accepted();
        });
        twin.advanceToQuiet();
        for (const message of messages) {
          const [queued = 0, sending = 0, sent = 0, delivered = 0] = messageHistory(message).map(
            ({ at }) => Date.parse(at),
          );
          expect(sending - queued).toBeGreaterThan(0);
          expect(sending - queued).toBeLessThanOrEqual(pollMs);
          expect([sent - sending, delivered - sent]).toEqual([pollMs, pollMs]);
        }
        expectQuiet(twin);
      },
    ),
  );
});

test('SEND-7 a held message is picked up at the first poll after its hold, in any sequence of events', () => {
  const others = fc.array(fc.nat(5 * minuteMs), { maxLength: 5 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 * minuteMs }), others, (holdMs, otherWaits) => {
      const twin = new Twin();
      const start = twin.now();
      const held = twin.accepted({ send_at: isoAt(start + holdMs) });
      for (const waitMs of [...otherWaits].sort((a, b) => a - b)) {
        twin.simulation.clock.advanceTo(start + waitMs);
        twin.accepted();
      }
      twin.advanceToQuiet();
      const first = held.device.firstPollAtMs;
      const polls = Math.max(0, Math.floor((start + holdMs - first) / pollMs) + 1);
      expect(held.sendingAtMs).toBe(first + polls * pollMs);
    }),
  );
});

test.each([
  [-1, 3],
  [0, 4],
  [1, 4],
])('SEND-7 a hold that ends %i ms from poll 3 is picked up at poll %i', (offsetMs, poll) => {
  const twin = new Twin();
  const held = twin.accepted({
    send_at: isoAt(twin.device().firstPollAtMs + 2 * pollMs + offsetMs),
  });
  twin.advanceToQuiet();
  expect(byPoll(held)).toBe(`queued, sending ${poll}, sent ${poll + 1}, delivered ${poll + 2}`);
});

test('SEND-7 held messages are picked up in the order in which their holds end, among those that wait', () => {
  const twin = Twin.assuming({ sendsPerPoll: 1 });
  const start = twin.now();
  const first = twin.device().firstPollAtMs;
  const late = twin.accepted({ send_at: isoAt(first + 8) });
  const soon = twin.accepted({ send_at: isoAt(first + 4) });
  const sameTime = twin.accepted({ send_at: isoAt(first + 4) });
  expect(start).toBeLessThan(first);
  twin.simulation.clock.advanceTo(first + 6);
  const between = twin.accepted();
  twin.advanceToQuiet();
  expect([soon, sameTime, between, late].map((m) => pollNumber(m, m.sendingAtMs))).toEqual([
    2, 3, 4, 5,
  ]);
});

test.each([
  [1, [1, 2, 3, 4, 5]],
  [2, [1, 1, 2, 2, 3]],
  [5, [1, 1, 1, 1, 1]],
  ['all', [1, 1, 1, 1, 1]],
] as const)(
  'SVC-3 sendsPerPoll %s picks five messages up at the polls %j',
  (sendsPerPoll, polls) => {
    const twin = Twin.assuming({ sendsPerPoll });
    const messages = polls.map(() => twin.accepted());
    twin.advanceToQuiet();
    expect(messages.map((m) => pollNumber(m, m.sendingAtMs))).toEqual(polls);
    expectQuiet(twin);
  },
);

test('STATE-4 a message that fails at its pickup counts for sendsPerPoll', () => {
  const twin = Twin.assuming({ sendsPerPoll: 1 });
  const failing = twin.accepted({ to: failsIn.queued });
  const next = twin.accepted();
  twin.advanceToQuiet();
  expect(byPoll(failing)).toBe('queued, failed 1');
  expect(byPoll(next)).toBe('queued, sending 2, sent 3, delivered 4');
});

test.each([
  ['queued', 'queued, failed 1'],
  ['sending', 'queued, sending 1, failed 2'],
  ['sent', 'queued, sending 1, sent 2, failed 3'],
] as const)('STATE-4 a message that fails while %s: %s', (status, expected) => {
  const twin = new Twin();
  const message = twin.accepted({ to: failsIn[status] });
  twin.advanceToQuiet();
  expect(byPoll(message)).toBe(expected);
  expect(message.failureReason).toBe('scripted');
  expectQuiet(twin);
});

test.each([
  ['queued', 'queued'],
  ['sending', 'queued, sending 1'],
  ['sent', 'queued, sending 1, sent 2'],
] as const)(
  'STATE-3 a message that stays %s: %s, and no device waits for it',
  (status, expected) => {
    const twin = new Twin();
    const message = twin.accepted({ to: stuckIn[status] });
    twin.advanceToQuiet();
    twin.advance(30 * dayMs);
    expect(byPoll(message)).toBe(expected);
    expectQuiet(twin);
  },
);

test.each([
  [[], 'queued, sending 1, sent 2, delivered 3'],
  [['queued', 'sending'], 'queued, sending 1, sent 2, delivered 3'],
  [['sent'], 'queued, sending 1, sent 2, failed 3'],
] as const)(
  'STATE-4 failsFrom %j: a recipient scripted to fail while sent is %s',
  (failsFrom, expected) => {
    const twin = Twin.assuming({ failsFrom });
    const message = twin.accepted({ to: failsIn.sent });
    twin.advanceToQuiet();
    expect(byPoll(message)).toBe(expected);
  },
);

test('STATE-4 failureRate 1: every message fails, from each of the three states, for a reason of its own', () => {
  const twin = Twin.assuming({ failureRate: 1 });
  const messages = Array.from({ length: 60 }, () => twin.accepted());
  twin.advanceToQuiet();
  expect(new Set(messages.map(({ failureReason }) => failureReason))).toEqual(
    new Set(['unprompted']),
  );
  const ends = new Set(messages.map((message) => byPoll(message)));
  expect(ends).toEqual(
    new Set([
      'queued, failed 1',
      'queued, sending 1, failed 2',
      'queued, sending 1, sent 2, failed 3',
    ]),
  );
});

test('STATE-3 polls 3: each step takes three polls, from the acceptance or the end of a hold on', () => {
  const twin = new Twin();
  const message = twin.accepted({ to: threePolls });
  const held = twin.accepted({
    to: threePolls,
    send_at: isoAt(twin.device().firstPollAtMs + pollMs + 1),
  });
  const late = twin.accepted({ to: threePolls, send_at: isoAt(twin.now() + hourMs) });
  twin.advanceToQuiet();
  expect(byPoll(message)).toBe('queued, sending 3, sent 6, delivered 9');
  expect(byPoll(held)).toBe('queued, sending 5, sent 8, delivered 11');
  const [, sending = '', , delivered = ''] = messageHistory(late).map(({ at }) => at);
  expect(Date.parse(sending) - late.sendAtMs).toBeGreaterThan(2 * pollMs);
  expect(Date.parse(sending) - late.sendAtMs).toBeLessThanOrEqual(3 * pollMs);
  expect(Date.parse(delivered) - Date.parse(sending)).toBe(6 * pollMs);
});

test('SVC-1 a number of the pool polls as a SIM does', () => {
  const twin = new Twin();
  const reply = twin.sendAs('initech', { from: poolNumber });
  expect(reply.status).toBe(202);
  twin.advanceToQuiet();
  const [message] = twin.account('initech').messages;
  expect(message && byPoll(message)).toBe('queued, sending 1, sent 2, delivered 3');
});

test.each([7, 45, 3_600])(
  'SVC-3 pollIntervalSeconds %i: one step in each interval',
  (pollIntervalSeconds) => {
    const twin = Twin.assuming({ pollIntervalSeconds });
    const message = twin.accepted();
    twin.advanceToQuiet();
    const intervalMs = pollIntervalSeconds * secondMs;
    const polls = messageHistory(message)
      .slice(1)
      .map(({ at }) => pollNumber(message, Date.parse(at), intervalMs));
    expect(polls).toEqual([1, 2, 3]);
    expect(message.sendingAtMs - message.createdAtMs).toBeLessThanOrEqual(intervalMs);
  },
);

test('SVC-3 a shorter pollIntervalSeconds holds at once, also before the first poll of the longer one', () => {
  const twin = Twin.assuming({ pollIntervalSeconds: 86_400 });
  const message = twin.accepted();
  twin.simulation.assume({ pollIntervalSeconds: 20 });
  twin.advance(20 * secondMs);
  expect(message.status).toBe('sending');
});

test('SVC-3 pollIntervalSeconds switched in flight: the next polls are those of the new interval', () => {
  const twin = new Twin();
  const message = twin.accepted();
  advancePast(twin, 1);
  twin.simulation.assume({ pollIntervalSeconds: 5 });
  twin.advanceToQuiet();
  const first = message.device.firstPollAtMs;
  expect(
    [message.sendingAtMs, message.sentAtMs, message.endedAtMs].map((at) => at - first),
  ).toEqual([0, 5_000, 10_000]);
  const slow = twin.accepted();
  twin.simulation.assume({ pollIntervalSeconds: 3_600 });
  twin.advanceToQuiet();
  expect(slow.endedAtMs - slow.sendingAtMs).toBe(2 * hourMs);
  expect((slow.sendingAtMs - first) % hourMs).toBe(0);
  expectQuiet(twin);
});

test('STATE-3 progressPace own_delay: sent and delivered follow 1 to 10 s after the status before', () => {
  const twin = Twin.assuming({ progressPace: 'own_delay' });
  const messages = Array.from({ length: 50 }, () => twin.accepted());
  twin.advanceToQuiet();
  const delays = messages.flatMap((m) => [m.sentAtMs - m.sendingAtMs, m.endedAtMs - m.sentAtMs]);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(secondMs);
  expect(Math.max(...delays)).toBeLessThanOrEqual(10 * secondMs);
  expect(new Set(delays).size).toBeGreaterThan(90);
  for (const message of messages) expect(pollNumber(message, message.sendingAtMs)).toBe(1);
  expectQuiet(twin);
});

test.each([
  ['failed', failsIn.sending, ['queued', 'sending', 'failed']],
  ['failed', failsIn.sent, ['queued', 'sending', 'sent', 'failed']],
  ['stuck', stuckIn.sending, ['queued', 'sending']],
  ['stuck', stuckIn.sent, ['queued', 'sending', 'sent']],
] as const)('STATE-4 own_delay: a message that ends %s by %s', (_, to, expected) => {
  const twin = Twin.assuming({ progressPace: 'own_delay' });
  const message = twin.accepted({ to });
  twin.advanceToQuiet();
  expect(messageHistory(message).map(({ status }) => status)).toEqual(expected);
  expectQuiet(twin);
});

test('STATE-3 own_delay: the messages of an external device progress by themselves too', () => {
  const twin = externalTwin({ progressPace: 'own_delay' });
  const message = twin.accepted();
  twin.advance(secondMs);
  pollTasks(twin);
  expect(message.status).toBe('sending');
  twin.advanceToQuiet();
  expect(message.status).toBe('delivered');
  expect(message.endedAtMs - message.sendingAtMs).toBeLessThanOrEqual(20 * secondMs);
  const waiting = twin.accepted();
  twin.advance(hourMs);
  expect(waiting.status).toBe('queued');
  expectQuiet(twin);
});

test('STATE-3 progressPace switched back and forth in flight: every message ends, without repeating a step', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(3 * pollMs), fc.constantFrom('per_poll', 'own_delay', 'send')), {
        maxLength: 20,
      }),
      (steps) => {
        const twin = new Twin({ noLimits: true });
        const messages = [
          twin.accepted(),
          twin.accepted({ to: stuckIn.sending }),
          twin.accepted({ to: failsIn.sent }),
        ];
        for (const [waitMs, what] of steps) {
          twin.advance(waitMs);
          if (what === 'send') messages.push(twin.accepted());
          else twin.simulation.assume({ progressPace: what as 'per_poll' });
        }
        twin.advanceToQuiet();
        expect(messages.map(({ status }) => status)).toEqual([
          'delivered',
          'sending',
          'failed',
          ...messages.slice(3).map(() => 'delivered'),
        ]);
        for (const message of messages) {
          const times = messageHistory(message).map(({ at }) => Date.parse(at));
          for (let i = 1; i < times.length; i++)
            expect((times[i] ?? 0) - (times[i - 1] ?? 0)).toBeGreaterThan(0);
        }
        expectQuiet(twin);
      },
    ),
    { numRuns: runs(4) },
  );
});

test('STATE-4 deactivation fails: every queued message of the SIM, held ones included, fails at once', () => {
  const twin = new Twin();
  const inFlight = twin.accepted();
  advancePast(twin, 1);
  const queued = [
    twin.accepted({ send_at: isoAt(twin.now() + hourMs) }),
    twin.accepted(),
    twin.accepted({ send_at: isoAt(twin.now() + minuteMs) }),
  ];
  const stuck = twin.accepted({ to: stuckIn.queued });
  const other = twin.accepted({ from: acmeOtherNumber });
  const heard: Message[] = [];
  twin.simulation.lifecycle.reader = readerOf((message) => heard.push(message));
  twin.simulation.world.patchDevice(twin.device(), { active: false });
  expect(queued.map(({ status }) => status)).toEqual(queued.map(() => 'failed'));
  expect(queued.map(({ endedAtMs }) => endedAtMs)).toEqual(queued.map(() => twin.now()));
  expect(new Set(queued.map(({ failureReason }) => failureReason))).toEqual(
    new Set(['device_deactivated']),
  );
  expect(heard).toEqual(queued);
  twin.advance(hourMs);
  expect([inFlight.status, other.status, stuck.status]).toEqual(['sending', 'delivered', 'queued']);
  twin.simulation.world.patchDevice(twin.device(), { active: true });
  twin.advanceToQuiet();
  expect(inFlight.status).toBe('delivered');
  expectQuiet(twin);
});

test.each([{ deactivation: 'stays_queued' }, { failsFrom: ['sending', 'sent'] }] as const)(
  'STATE-4 %j: queued messages outlive the deactivation and go on after it',
  (assumptions) => {
    const twin = Twin.assuming(assumptions);
    const [message, held] = [
      twin.accepted(),
      twin.accepted({ send_at: isoAt(twin.now() + minuteMs) }),
    ];
    twin.simulation.world.patchDevice(twin.device(), { active: false });
    twin.advance(hourMs);
    expect([message.status, held.status]).toEqual(['queued', 'queued']);
    expectQuiet(twin);
    twin.simulation.world.patchDevice(twin.device(), { active: true });
    twin.advance(pollMs);
    expect([message.status, held.status]).toEqual(['sending', 'sending']);
  },
);

test('STATE-2 disconnectedSim queues: the message waits for the reconnection, whose polls keep their phase', () => {
  const twin = new Twin();
  twin.simulation.world.patchDevice(twin.device(), { connected: false });
  const message = twin.accepted();
  twin.advance(hourMs + 7);
  expect(message.status).toBe('queued');
  expectQuiet(twin);
  twin.simulation.world.patchDevice(twin.device(), { connected: true });
  const reconnectedAtMs = twin.now();
  twin.advanceToQuiet();
  expect(message.status).toBe('delivered');
  expect(message.sendingAtMs - reconnectedAtMs).toBeLessThanOrEqual(pollMs);
  expect(Number.isInteger(pollNumber(message, message.sendingAtMs))).toBe(true);
});

test('STATE-3 a disconnection in flight: nothing moves until the SIM is back', () => {
  const twin = new Twin();
  const message = twin.accepted();
  advancePast(twin, 1);
  twin.simulation.world.patchDevice(twin.device(), { connected: false });
  twin.advance(hourMs);
  expect(message.status).toBe('sending');
  twin.simulation.world.patchDevice(twin.device(), { connected: true });
  twin.advanceToQuiet();
  expect(message.status).toBe('delivered');
});

test('STATE-2 disconnected and deactivated at once: both must be lifted before it polls again', () => {
  const twin = Twin.assuming({ deactivation: 'stays_queued' });
  const message = twin.accepted();
  const { world } = twin.simulation;
  world.patchDevice(twin.device(), { connected: false, active: false });
  world.patchDevice(twin.device(), { active: true });
  twin.advance(minuteMs);
  expect(message.status).toBe('queued');
  world.patchDevice(twin.device(), { active: false });
  world.patchDevice(twin.device(), { connected: true });
  twin.advance(minuteMs);
  expect(message.status).toBe('queued');
  world.patchDevice(twin.device(), { active: true });
  twin.advance(pollMs);
  expect(message.status).toBe('sending');
});

function externalTwin(assumptions: SettingsInput['assumptions'] = {}): Twin {
  return new Twin({
    assumptions,
    world: {
      accounts: [{ name: 'acme', sims: [{ number: acmeNumber, polling: 'external' }] }],
    },
  });
}

/** One call of the tasks endpoint; the ids that it hands out. */
function pollTasks(twin: Twin): unknown[] {
  const reply = twin.request('GET', `/api/devices/${twin.device().deviceId}/tasks/`);
  return (reply.json['tasks'] as { message_id: string }[]).map((task) => task.message_id);
}

test('STATE-2 an external device: each call of its tasks is one poll, and nothing else is', () => {
  const twin = externalTwin();
  const message = twin.accepted();
  twin.advance(hourMs);
  expect(message.status).toBe('queued');
  expectQuiet(twin);
  expect(pollTasks(twin)).toEqual([message.messageId]);
  expect(message.status).toBe('sending');
  twin.advance(pollMs - 1);
  expect(pollTasks(twin)).toEqual([]);
  expect(message.status).toBe('sending');
  twin.advance(1);
  pollTasks(twin);
  expect(message.status).toBe('sent');
  twin.advance(pollMs);
  pollTasks(twin);
  expect(message.status).toBe('delivered');
});

test('SEND-7 an external device is handed a held message once its hold is over, and not before', () => {
  const twin = externalTwin();
  const held = twin.accepted({ send_at: isoAt(twin.now() + minuteMs) });
  twin.advance(minuteMs - 1);
  expect(pollTasks(twin)).toEqual([]);
  twin.advance(2);
  expect(pollTasks(twin)).toEqual([held.messageId]);
});

test('STATE-2 a device that is switched to external stops polling, and starts again when switched back', () => {
  const twin = new Twin();
  const message = twin.accepted();
  twin.simulation.world.patchDevice(twin.device(), { polling: 'external' });
  twin.advance(hourMs);
  expect(message.status).toBe('queued');
  expectQuiet(twin);
  twin.simulation.world.patchDevice(twin.device(), { polling: 'simulated' });
  twin.advanceToQuiet();
  expect(message.status).toBe('delivered');
});

test('SVC-3 the operation "poll now" polls at once, regardless of the interval, and delays the next poll', () => {
  const twin = new Twin();
  const { deviceActors } = twin.simulation;
  const message = twin.accepted();
  twin.advance(1);
  expect(deviceActors.pollNow(twin.device())).toEqual([message]);
  expect(message.status).toBe('sending');
  deviceActors.pollNow(twin.device());
  expect(message.status).toBe('sent');
  const sentAtMs = twin.now();
  twin.advanceToQuiet();
  expect(message.status).toBe('delivered');
  expect(message.endedAtMs - sentAtMs).toBeGreaterThanOrEqual(pollMs);
  expect(Number.isInteger(pollNumber(message, message.endedAtMs))).toBe(true);
});

test.each([{ connected: false }, { active: false }])(
  'the operation "poll now" is refused with %j',
  (state) => {
    const twin = new Twin();
    twin.simulation.world.patchDevice(twin.device(), state);
    expect(() => twin.simulation.deviceActors.pollNow(twin.device())).toThrow(
      'not connected and active',
    );
  },
);

test.each(['per_poll', 'own_delay'] as const)(
  'STATE-3 the operation "one legal step" leads to the end, and %s leaves nothing behind',
  (progressPace) => {
    const twin = Twin.assuming({ progressPace });
    const { deviceActors } = twin.simulation;
    for (const to of [recipient, ...Object.values(stuckIn), threePolls]) {
      const message = twin.accepted({ to });
      const seen: Status[] = [];
      while (deviceActors.progress(message)) seen.push(message.status);
      expect(seen).toEqual(['sending', 'sent', 'delivered']);
      expect(deviceActors.fail(message, 'late')).toBe(false);
    }
    twin.advanceToQuiet();
    expectQuiet(twin);
  },
);

test('STATE-3 a message that an operation moved into its stuck state stays there', () => {
  const twin = new Twin();
  const { deviceActors } = twin.simulation;
  const message = twin.accepted({ to: stuckIn.sent });
  advancePast(twin, 1);
  expect(deviceActors.progress(message)).toBe(true);
  deviceActors.pollNow(twin.device());
  deviceActors.pollNow(twin.device());
  twin.advanceToQuiet();
  expect(message.status).toBe('sent');
});

test('STATE-3 a message that an operation moved continues by itself from there', () => {
  for (const progressPace of ['per_poll', 'own_delay'] as const) {
    const twin = Twin.assuming({ progressPace });
    const [moved, unstuck] = [twin.accepted(), twin.accepted({ to: stuckIn.queued })];
    expect(twin.simulation.deviceActors.progress(moved)).toBe(true);
    expect(twin.simulation.deviceActors.progress(unstuck)).toBe(true);
    twin.advanceToQuiet();
    expect([moved.status, unstuck.status]).toEqual(['delivered', 'delivered']);
    expect(messageHistory(moved)).toHaveLength(4);
    expectQuiet(twin);
  }
});

test.each([
  ['queued', ['queued', 'sending', 'sent'], true],
  ['queued', ['sending'], false],
  ['queued', [], false],
] as const)(
  'STATE-4 the operation "fail" of a %s message, failsFrom %j: %s',
  (_, failsFrom, fails) => {
    const twin = Twin.assuming({ failsFrom });
    const message = twin.accepted();
    expect(twin.simulation.deviceActors.fail(message, 'mine')).toBe(fails);
    expect(message.failureReason).toBe(fails ? 'mine' : undefined);
    twin.advanceToQuiet();
    expect(message.status).toBe(fails ? 'failed' : 'delivered');
  },
);

test('SVC-3 a device without work costs no timer; one with work costs one, however much it is', () => {
  const twin = new Twin();
  expectQuiet(twin);
  for (let i = 0; i < 50; i++) twin.accepted();
  expect(twin.simulation.clock.pending).toBe(1);
  twin.accepted({ from: acmeOtherNumber });
  expect(twin.simulation.clock.pending).toBe(2);
  expect(twin.simulation.deviceActors.awake).toBe(2);
  twin.advanceToQuiet();
  expectQuiet(twin);
});

test('SEND-7 30,000 messages held a year ahead cost one timer and no poll until then', () => {
  const twin = new Twin({ noLimits: true });
  const { world, clock } = twin.simulation;
  const sendAtMs = twin.now() + 365 * dayMs;
  const send = {
    account: twin.account(),
    key: undefined,
    device: twin.device(),
    endpoint: 'send' as const,
    to: recipient,
  };
  for (let i = 0; i < 30_000; i++)
    world.acceptMessage({ ...send, text: 'hello', requestId: '', sendAtMs: sendAtMs + (i % 7) });
  expect(clock.pending).toBe(1);
  expect(clock.advanceTo(sendAtMs - 1)).toBe(0);
  twin.advanceToQuiet();
  expect(twin.account().counts.delivered).toBe(30_000);
  expectQuiet(twin);
});

test('a deleted account takes its devices and their timers with it', () => {
  const twin = new Twin();
  twin.accepted();
  const before = twin.simulation.deviceActors.size;
  twin.simulation.world.deleteAccount(twin.account());
  expectQuiet(twin);
  expect(twin.simulation.deviceActors.size).toBe(before - 2);
});

test.each(['progress', 'fail'] as const)(
  'a held message that the operation %s ended holds no timer until its send_at',
  (operation) => {
    const twin = new Twin();
    const message = twin.accepted({ send_at: new Date(twin.now() + 365 * dayMs).toISOString() });
    const { deviceActors } = twin.simulation;
    if (operation === 'fail') deviceActors.fail(message, 'by hand');
    else while (deviceActors.progress(message));
    twin.advance(hourMs);
    expect(twin.simulation.clock.pending).toBe(0);
  },
);

test('stopped device actors leave no timer behind', () => {
  const twin = new Twin();
  twin.accepted();
  twin.simulation.stop();
  expect(twin.simulation.clock.pending).toBe(0);
});

interface Act {
  readonly afterMs: number;
  readonly what:
    | 'send'
    | 'hold'
    | 'deactivate'
    | 'activate'
    | 'disconnect'
    | 'connect'
    | 'poll'
    | 'tasks'
    | 'pace';
  readonly to: string;
  readonly fromOther: boolean;
}

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.nat(3_000), fc.nat(90_000), fc.constant(0)),
    what: fc.constantFrom(
      'send',
      'send',
      'send',
      'hold',
      'hold',
      'deactivate',
      'activate',
      'disconnect',
      'connect',
      'poll',
      'pace',
    ),
    to: fc.constantFrom(
      recipient,
      recipient,
      ...Object.values(failsIn),
      ...Object.values(stuckIn),
      threePolls,
    ),
    fromOther: fc.boolean(),
  }),
  { maxLength: 25 },
);

const settings: fc.Arbitrary<SettingsInput> = fc.record({
  seed: fc.nat(1_000),
  noLimits: fc.constant(true),
  assumptions: fc.record({
    progressPace: fc.constantFrom('per_poll', 'own_delay'),
    sendsPerPoll: fc.constantFrom('all' as const, 1, 2),
    failureRate: fc.constantFrom(0, 0.3),
    deactivation: fc.constantFrom('fails', 'stays_queued'),
    pollIntervalSeconds: fc.constantFrom(20, 7),
  }),
});

/** Plays the acts, moving time between them as `move` likes, and a quarter of an hour more. */
function playActs(
  input: SettingsInput,
  list: readonly Act[],
  move: (twin: Twin, toMs: number) => void,
): Twin {
  const twin = new Twin(input);
  const { world, deviceActors } = twin.simulation;
  for (const { afterMs, what, to, fromOther } of list) {
    move(twin, twin.now() + afterMs);
    const from = fromOther ? acmeOtherNumber : acmeNumber;
    const device = twin.device(from);
    if (what === 'send') twin.send({ to, from });
    else if (what === 'hold') twin.send({ to, from, send_at: isoAt(twin.now() + afterMs + 1) });
    else if (what === 'deactivate') world.patchDevice(device, { active: false });
    else if (what === 'activate') world.patchDevice(device, { active: true });
    else if (what === 'disconnect') world.patchDevice(device, { connected: false });
    else if (what === 'connect') world.patchDevice(device, { connected: true });
    else if (what === 'poll' && device.active && device.connected) deviceActors.pollNow(device);
    else if (what === 'pace') {
      const progressPace = world.assumptions.progressPace === 'per_poll' ? 'own_delay' : 'per_poll';
      twin.simulation.assume({ progressPace });
    }
  }
  move(twin, twin.now() + 15 * minuteMs);
  return twin;
}

test('SVC-3 advancing in one go and in many gives the same history', () => {
  const strides = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(settings, acts, strides, (input, list, strideList) => {
      const inOne = playActs(input, list, (twin, toMs) => twin.simulation.clock.advanceTo(toMs));
      let turn = 0;
      const inMany = playActs(input, list, (twin, toMs) => {
        while (twin.now() < toMs) {
          const stride = strideList[turn++ % strideList.length] ?? 1;
          twin.simulation.clock.advanceTo(Math.min(toMs, twin.now() + stride));
        }
      });
      expect(inMany.histories()).toEqual(inOne.histories());
    }),
    { numRuns: runs(6) },
  );
});

test('SVC-3 advancing 60 s in one go and in sixty goes gives the same history', () => {
  fc.assert(
    fc.property(settings, acts, (input, list) => {
      const run = (goes: number) => {
        const twin = playActs(input, list, (to, ms) => to.simulation.clock.advanceTo(ms));
        twin.send();
        for (let go = 0; go < goes; go++) twin.advance(minuteMs / goes);
        return twin.histories();
      };
      expect(run(60)).toEqual(run(1));
    }),
    { numRuns: runs(6) },
  );
});

test('STATE-3 under any operations, every history follows the table, and the timers run out', () => {
  const ways = new Set([
    'queued',
    'queued sending',
    'queued sending sent',
    'queued sending sent delivered',
  ]);
  for (const way of ['queued', 'queued sending', 'queued sending sent']) ways.add(`${way} failed`);
  expect(messageEvents).toHaveLength(3);
  fc.assert(
    fc.property(settings, acts, (input, list) => {
      const twin = playActs(input, list, (to, ms) => to.simulation.clock.advanceTo(ms));
      twin.advanceToQuiet();
      expectQuiet(twin);
      for (const message of twin.account().messages) {
        const history = messageHistory(message);
        expect(ways).toContain(history.map(({ status }) => status).join(' '));
        const sendable = Math.max(message.createdAtMs, message.sendAtMs);
        if (message.sendingAtMs > 0) expect(message.sendingAtMs).toBeGreaterThanOrEqual(sendable);
      }
    }),
    { numRuns: runs(6) },
  );
});

test('more requests of one account shift no other: ids, fates and paces are its own', () => {
  const run = (extra: number) => {
    const twin = new Twin({ assumptions: { progressPace: 'own_delay', failureRate: 0.5 } });
    for (let i = 0; i < 20; i++) {
      for (let j = 0; j < extra; j++) twin.send({ request_id: `${i}.${j}` });
      twin.sendAs('globex', { from: '+12025550111' });
      twin.advance(1_000);
    }
    twin.advanceToQuiet();
    return [...twin.account('globex').messages].map((m) => `${m.messageId} ${twin.history(m)}`);
  };
  expect(run(3)).toEqual(run(0));
});
