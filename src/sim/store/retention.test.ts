/** What a world holds and what it forgets. Fates: 0160 fails at pickup, 0163 stays queued. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { documentedLimitsPerMinute, sendEndpoints } from '#contract/limits.ts';
import { dayMs, hourMs, minuteMs } from '#contract/time.ts';
import { runs } from '#verify/testkit/runs.ts';
import { pollMs, recipient, Twin } from '#verify/testkit/twin/twin.ts';
import { walk } from '../../simulation/invariants/walk.ts';
import type { Message } from '../accounts/account.ts';
import { countedUnfinished, defaultMaxMessages, mostUnfinished, Retention } from './retention.ts';

const stuck = '+12025550163';

function twinOf(maxMessages: number | 'unlimited'): Twin {
  return new Twin({ maxMessages, noLimits: true });
}

/** A message that is delivered before the next one comes. */
function delivered(twin: Twin, fields = {}): string {
  const { messageId } = twin.accepted(fields);
  twin.advanceToQuiet();
  return messageId;
}

function held(twin: Twin): string[] {
  return [...twin.simulation.world.messages.keys()];
}

test('READ-1 at the bound the oldest final message is forgotten for the next one', () => {
  const twin = twinOf(3);
  const ids = Array.from({ length: 5 }, () => delivered(twin));
  expect(held(twin)).toEqual(ids.slice(2));
  expect(ids.map((id) => twin.read(id).status)).toEqual([404, 404, 200, 200, 200]);
  expect(twin.simulation.world.messages.retention.forgottenMessages).toBe(2);
  expect(walk(twin.simulation).broken).toEqual([]);
});

test('READ-2 a forgotten message reads like one that never existed', () => {
  const twin = twinOf(1);
  const forgotten = delivered(twin);
  delivered(twin);
  expect(twin.read(forgotten)).toEqual(twin.read('00000000-0000-4000-8000-000000000000'));
});

test('an unfinished message stays, and is the next to go when it has ended', () => {
  const twin = twinOf(3);
  const slow = twin.accepted({ to: '+12025550166' });
  const others = [twin.accepted(), twin.accepted()];
  twin.advance(5 * pollMs);
  expect([slow.status, ...others.map(({ status }) => status)]).toEqual([
    'sending',
    'delivered',
    'delivered',
  ]);
  const fourth = delivered(twin);
  expect(held(twin)).toEqual([slow.messageId, others[1]?.messageId, fourth]);
  expect(slow.status).toBe('delivered');
  const fifth = delivered(twin);
  expect(held(twin)).toEqual([others[1]?.messageId, fourth, fifth]);
});

test('if all messages are unfinished, a send is 503 overloaded, changes nothing, and passes later', () => {
  const twin = twinOf(2);
  twin.accepted({ request_id: 'first' });
  twin.accepted();
  const refused = twin.send({ request_id: 'refused' });
  expect(refused.status).toBe(503);
  expect(refused.json).toMatchObject({ code: 'overloaded', detail: expect.any(String) });
  expect(twin.account().messages).toHaveLength(2);
  expect(twin.send({ request_id: 'first' }).status).toBe(200);
  twin.advanceToQuiet();
  expect(twin.send({ request_id: 'refused' }).status).toBe(202);
  expect(walk(twin.simulation).broken).toEqual([]);
});

test('a refusal for lack of room burns no request_id', () => {
  const twin = new Twin({ maxMessages: 1, assumptions: { failedRequestId: 'burned' } });
  twin.accepted();
  expect(twin.send({ request_id: 'a' }).status).toBe(503);
  twin.advanceToQuiet();
  expect(twin.send({ request_id: 'a' }).status).toBe(202);
});

test('SEND-4 a request_id is forgotten with its message, and counted if it was younger than 24 h', () => {
  const twin = twinOf(1);
  const { retention } = twin.simulation.world.messages;
  const first = delivered(twin, { request_id: 'a' });
  delivered(twin, { request_id: 'b' });
  expect(retention.forgottenRequestIds).toBe(1);
  const again = twin.send({ request_id: 'a' });
  expect(again.status).toBe(202);
  expect(again.json['message_id']).not.toBe(first);
  twin.advance(dayMs + hourMs);
  delivered(twin);
  expect(retention).toMatchObject({ forgottenMessages: 3, forgottenRequestIds: 2 });
});

test('ERR-1 quota and statistics count what was forgotten', () => {
  const twin = new Twin({ maxMessages: 2 });
  for (const to of [recipient, '+12025550160', recipient, recipient]) delivered(twin, { to });
  const { account } = { account: twin.account() };
  expect(account.messages).toHaveLength(2);
  expect(account.counts).toMatchObject({ delivered: 3, failed: 1 });
  expect(account.forgotten).toEqual({ delivered: 1, failed: 1 });
  const used = (quotaMonth: 'calendar_utc' | 'rolling_30_days', quotaRefund: 'yes' | 'no') =>
    account.quota.used(twin.now(), { quotaUnit: 'segments', quotaMonth, quotaRefund });
  expect([used('calendar_utc', 'no'), used('rolling_30_days', 'yes')]).toEqual([4, 3]);
  expect(walk(twin.simulation).broken).toEqual([]);
});

test('the default is exact up to 500,000 unfinished messages, and has room for four million', () => {
  const { excess } = new Retention(undefined);
  expect(excess.call(new Retention(undefined), defaultMaxMessages - 1, 0)).toBe(0);
  expect(excess.call(new Retention(undefined), defaultMaxMessages, countedUnfinished)).toBe(1);
  const room = defaultMaxMessages - countedUnfinished;
  expect(excess.call(new Retention(undefined), 3_000_000 + room - 1, 3_000_000)).toBe(0);
  expect(excess.call(new Retention(undefined), 3_000_000 + room, 3_000_000)).toBe(1);
  expect(excess.call(new Retention(undefined), mostUnfinished, mostUnfinished)).toBe(Infinity);
});

test('one account at its documented rates fills half of the default in 24 h', () => {
  const perMinute = sendEndpoints.map((name) => documentedLimitsPerMinute[name] ?? Infinity);
  const perDay = perMinute.reduce((sum, limit) => sum + limit, 0) * (dayMs / minuteMs);
  expect(perDay).toBe(518_400);
  expect(perDay).toBeLessThan(defaultMaxMessages);
});

test('a few messages that never end keep their chunks small, and chunks are reused', () => {
  const twin = twinOf(500);
  const stuckIds: string[] = [];
  for (let n = 0; n < 13_000; n++) {
    const message = twin.accepted({ to: n % 1_000 === 0 ? stuck : recipient, request_id: `${n}` });
    if (n % 1_000 === 0) stuckIds.push(message.messageId);
    if (n % 100 === 0) twin.advance(5 * pollMs);
  }
  const { messages } = twin.simulation.world;
  const bytes = messages.rows.chunks.reduce(
    (sum, { columns }) => sum + columns.buffer.byteLength,
    0,
  );
  expect(messages.size).toBe(500);
  expect(bytes).toBeLessThan(3 * 4_096 * 60);
  for (const [n, id] of stuckIds.entries()) {
    expect(twin.read(id).json).toMatchObject({ status: 'queued', request_id: `${n * 1_000}` });
    expect(twin.send({ to: stuck, request_id: `${n * 1_000}` }).json['message_id']).toBe(id);
  }
  expect(walk(twin.simulation).broken).toEqual([]);
});

const sends = fc.array(
  fc.record({
    to: fc.constantFrom(recipient, recipient, stuck, '+12025550160', '+12025550166'),
    holdMs: fc.constantFrom(0, 0, 0, 90_000),
    waitMs: fc.constantFrom(0, 0, pollMs, minuteMs, 3 * minuteMs),
    requestId: fc.constantFrom('', '', 'a', 'b', 'c'),
  }),
  { maxLength: 60 },
);

test('the first accepted final message is forgotten first, in any order of ending', () => {
  fc.assert(
    fc.property(sends, fc.integer({ min: 1, max: 8 }), (list, most) => {
      const twin = twinOf(most);
      let model: Message[] = [];
      for (const { to, holdMs, waitMs, requestId } of list) {
        const kept = model.some((each) => requestId !== '' && each.requestId === requestId);
        const isFull = model.length === most;
        const next = model.find(({ endedAtMs }) => endedAtMs > 0);
        const reply = twin.send({
          to,
          ...(holdMs > 0 && { send_at: new Date(twin.now() + holdMs).toISOString() }),
          ...(requestId !== '' && { request_id: requestId }),
        });
        const ofNew = isFull && next === undefined ? 503 : 202;
        expect(reply.status).toBe(kept ? 200 : ofNew);
        if (reply.status === 202) {
          if (isFull) model = model.filter((each) => each !== next);
          const id = String(reply.json['message_id']);
          const message = twin.simulation.world.messages.get(id);
          if (message !== undefined) model.push(message);
        }
        expect(held(twin)).toEqual(model.map(({ messageId }) => messageId));
        twin.advance(waitMs);
      }
      expect(walk(twin.simulation).broken).toEqual([]);
    }),
    { numRuns: runs(40) },
  );
});

test.each([
  ['forever', 400, 200],
  [30, 30, 200],
  [1, 2, 404],
] as const)(
  'READ-1 messageRetention %s: a message read %i days after its end is %i',
  (messageRetention, days, status) => {
    const twin = Twin.assuming({ messageRetention });
    const message = twin.accepted();
    twin.advanceToQuiet();
    twin.advance(days * dayMs - (twin.now() - message.endedAtMs));
    expect(twin.read(message.messageId).status).toBe(status);
    twin.advance(1);
    const later = messageRetention === 'forever' ? 200 : 404;
    expect(twin.read(message.messageId).status).toBe(later);
  },
);

test('READ-1 messageRetention: a message that is not final is found, however old', () => {
  const twin = Twin.assuming({ messageRetention: 1 });
  const { messageId } = twin.accepted({ to: stuck });
  twin.advance(40 * dayMs);
  expect(twin.read(messageId).status).toBe(200);
});

test('READ-1 messageRetention: an expired message is found again once messages are kept for longer', () => {
  const twin = Twin.assuming({ messageRetention: 1 });
  const { messageId } = twin.accepted();
  twin.advanceToQuiet();
  twin.advance(2 * dayMs);
  twin.accepted();
  expect(twin.read(messageId).status).toBe(404);
  twin.simulation.assume({ messageRetention: 'forever' });
  expect(twin.read(messageId).status).toBe(200);
});

test('an account is deleted although a message that an operation failed was forgotten with its chunk', () => {
  const twin = new Twin({
    maxMessages: 5,
    noLimits: true,
    assumptions: { progressPace: 'own_delay' },
  });
  const { deviceActors, world } = twin.simulation;
  const first = twin.sendAs('initech', { from: '+12025550190' });
  const failed = world.messages.get(String(first.json['message_id']));
  deviceActors.pollNow(twin.device('+12025550190'));
  if (failed !== undefined) deviceActors.fail(failed, 'forced');
  for (let n = 0; n < 5_000; n++) {
    twin.accepted();
    if (n % 4 === 3) {
      deviceActors.pollNow(twin.device());
      for (const message of world.messages.values()) deviceActors.fail(message, 'forced');
    }
  }
  expect(failed?.chunk.hasMessage(failed.row)).toBe(false);
  world.deleteAccount(twin.account('globex'));
  expect(walk(twin.simulation).broken).toEqual([]);
});
