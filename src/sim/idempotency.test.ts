import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMs, minuteMs, Twin } from '../../verify/testkit/twin.ts';
import type { Assumptions } from './assumptions.ts';
import { VirtualClock } from './clock.ts';
import type { ServiceError } from './errors.ts';
import { ReplayWindow } from './idempotency.ts';
import type { EndpointName } from './limits.ts';
import type { ApiKey } from './records.ts';

const start = Date.parse('2026-01-01T00:00:00.000Z');
const refusal: ServiceError = { kind: 'quota_exceeded' };
const failedRequestId = 'burned';
const shared = {
  replayScope: 'account',
  replayAcrossEndpoints: 'shared',
  failedRequestId,
} as const;

function twoKeys(): readonly [ApiKey, ApiKey] {
  const twin = new Twin();
  const { world } = twin.simulation;
  const account = twin.account();
  return [world.createKey(account, 'first'), world.createKey(account, 'second')];
}

const keys = twoKeys();
const [key] = keys;

test.each([
  [0, true],
  [dayMs - 1, true],
  [dayMs, true],
  [dayMs + 1, false],
])('SEND-4 a use %i ms ago is found: %s', (ageMs, found) => {
  const clock = new VirtualClock(start);
  const window = new ReplayWindow(clock.now);
  window.keep({ requestId: 'a', key, endpoint: 'send', atMs: start, body: 'x', outcome: refusal });
  clock.advanceTo(start + ageMs);
  expect(window.find('a', key, 'send', shared)?.body).toBe(found ? 'x' : undefined);
});

test('SEND-4 where a scope is widened at run time, the oldest use counts', () => {
  const clock = new VirtualClock(start);
  const window = new ReplayWindow(clock.now);
  const byKey = { ...shared, replayScope: 'api_key' } as const;
  const [first, second] = keys;
  for (const [by, body] of [
    [first, 'old'],
    [second, 'new'],
  ] as const) {
    const atMs = clock.now();
    window.keep({ requestId: 'a', key: by, endpoint: 'send', atMs, body, outcome: refusal });
    clock.advanceTo(atMs + minuteMs);
  }
  expect(window.find('a', second, 'send', byKey)?.body).toBe('new');
  expect(window.find('a', second, 'send', shared)?.body).toBe('old');
});

test('SEND-4 a burned refusal hides no message once failedRequestId is free', () => {
  const twin = Twin.assuming({ failedRequestId: 'burned' });
  expect(twin.send({ request_id: 'a', message: '' }).status).toBe(400);
  twin.simulation.assume({ failedRequestId: 'free' });
  const first = twin.send({ request_id: 'a' });
  expect(first.status).toBe(202);
  expect(twin.send({ request_id: 'a' })).toMatchObject({ status: 200, body: first.body });
});

test('SEND-4 a message takes precedence over an older burned refusal', () => {
  const twin = Twin.assuming({ failedRequestId: 'burned' });
  expect(twin.send({ request_id: 'a', message: '' }).status).toBe(400);
  twin.simulation.assume({ failedRequestId: 'free' });
  const first = twin.send({ request_id: 'a' });
  twin.simulation.assume({ failedRequestId: 'burned' });
  expect(twin.send({ request_id: 'a' })).toMatchObject({ status: 200, body: first.body });
});

test('SEND-4 a refused replay burns no id: after 24 h the request_id is free', () => {
  const twin = Twin.assuming({ failedRequestId: 'burned', gateOrder: 'validate_first' });
  const fields = { request_id: 'a', send_at: new Date(twin.now() + 1).toISOString() };
  expect(twin.send(fields).status).toBe(202);
  twin.advance(dayMs - 1);
  expect(twin.send(fields).status).toBe(400);
  twin.advance(2);
  expect(twin.send({ request_id: 'a' }).status).toBe(202);
});

test('SEND-4 looking up a use does not extend its 24 h', () => {
  const clock = new VirtualClock(start);
  const window = new ReplayWindow(clock.now);
  window.keep({ requestId: 'a', key, endpoint: 'send', atMs: start, body: 'x', outcome: refusal });
  for (let hour = 1; hour <= 24; hour++) {
    clock.advanceTo(start + hour * 3_600_000);
    expect(window.find('a', key, 'send', shared)).toBeDefined();
  }
  clock.advanceTo(start + dayMs + 1);
  expect(window.find('a', key, 'send', shared)).toBeUndefined();
});

const scope: fc.Arbitrary<
  Pick<Assumptions, 'replayScope' | 'replayAcrossEndpoints' | 'failedRequestId'>
> = fc.record({
  failedRequestId: fc.constant(failedRequestId),
  replayScope: fc.constantFrom('account', 'api_key'),
  replayAcrossEndpoints: fc.constantFrom('shared', 'separate'),
});
const uses = fc.array(
  fc.record({
    afterMs: fc.oneof(
      fc.nat(minuteMs),
      fc.nat(dayMs),
      fc.constantFrom(dayMs - 1, dayMs, dayMs + 1),
    ),
    requestId: fc.constantFrom('a', 'b', 'c', '__proto__'),
    key: fc.constantFrom(...keys),
    endpoint: fc.constantFrom<EndpointName>('send', 'dashboard_send'),
    others: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.nat(150) },
    ),
  }),
  { maxLength: 40 },
);

test('SEND-4 in any scope, a use is found exactly when a list of all uses has it within 24 h', () => {
  fc.assert(
    fc.property(uses, scope, (list, assumptions) => {
      const clock = new VirtualClock(start);
      const window = new ReplayWindow(clock.now);
      const all: {
        requestId: string;
        key: ApiKey;
        endpoint: EndpointName;
        atMs: number;
        body: string;
      }[] = [];
      let serial = 0;
      for (const { afterMs, requestId, key: by, endpoint, others } of list) {
        clock.advanceTo(clock.now() + afterMs);
        const atMs = clock.now();
        const known = all.find(
          (use) =>
            use.requestId === requestId &&
            atMs - use.atMs <= dayMs &&
            (assumptions.replayScope === 'account' || use.key === by) &&
            (assumptions.replayAcrossEndpoints === 'shared' || use.endpoint === endpoint),
        );
        expect(window.find(requestId, by, endpoint, assumptions)?.body).toBe(known?.body);
        if (known === undefined) {
          const use = { requestId, key: by, endpoint, atMs, body: `body ${serial++}` };
          all.push(use);
          window.keep({ ...use, outcome: refusal });
        }
        // Other ids crowd in and must push nothing out.
        for (let i = 0; i < others; i++) {
          window.keep({
            requestId: `other ${serial++}`,
            key: by,
            endpoint,
            atMs,
            body: '',
            outcome: refusal,
          });
        }
      }
    }),
    { numRuns: 150 },
  );
});

test('SEND-4 no use is forgotten early at the documented rate on three endpoints for a day and more', () => {
  const clock = new VirtualClock(start);
  const window = new ReplayWindow(clock.now);
  const perMinute = 40;
  const minutes = 1_500;
  for (let minute = 0; minute < minutes; minute++) {
    clock.advanceTo(start + minute * minuteMs);
    for (let i = 0; i < perMinute; i++) {
      const requestId = `${minute}.${i}`;
      window.keep({
        requestId,
        key,
        endpoint: 'send',
        atMs: clock.now(),
        body: requestId,
        outcome: refusal,
      });
    }
    const oldest = Math.max(0, minute - 1_440);
    expect(window.find(`${oldest}.0`, key, 'send', shared)?.body).toBe(`${oldest}.0`);
    if (oldest > 0) expect(window.find(`${oldest - 1}.0`, key, 'send', shared)).toBeUndefined();
  }
});

test('memory follows the uses of the last day, not all uses ever', () => {
  const clock = new VirtualClock(start);
  const window = new ReplayWindow(clock.now);
  const minutesPerDay = 1_440;
  let most = 0;
  for (let minute = 0; minute < 20 * minutesPerDay; minute++) {
    clock.advanceTo(start + minute * minuteMs);
    const requestId = `${minute}`;
    window.keep({
      requestId,
      key,
      endpoint: 'send',
      atMs: clock.now(),
      body: '',
      outcome: refusal,
    });
    most = Math.max(most, window.size);
  }
  expect(most).toBeGreaterThanOrEqual(minutesPerDay + 1);
  expect(most).toBeLessThanOrEqual(4 * minutesPerDay);
});

test('memory follows the uses of the last day where two keys use the same id for ever', () => {
  const clock = new VirtualClock(start);
  const window = new ReplayWindow(clock.now);
  for (let turn = 0; turn < 100; turn++) {
    clock.advanceTo(start + turn * 13 * 3_600_000);
    const by = keys[turn % 2] ?? key;
    window.keep({
      requestId: 'daily',
      key: by,
      endpoint: 'send',
      atMs: clock.now(),
      body: '',
      outcome: refusal,
    });
  }
  let chain = 0;
  for (const use of window.entries()) {
    for (let older: typeof use | undefined = use; older; older = older.older) chain++;
  }
  expect(chain).toBe(2);
});
