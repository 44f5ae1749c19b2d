import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SendEndpoint, sendEndpoints } from '#contract/limits.ts';
import { dayMs, hourMs, minuteMs } from '#contract/time.ts';
import { runs } from '#verify/testkit/runs.ts';
import { acmeNumber, recipient, Twin } from '#verify/testkit/twin/twin.ts';
import type { ApiKey } from '../accounts/account.ts';
import type { Assumptions } from '../assumptions.ts';
import type { ServiceError } from '../errors.ts';
import { send } from './send.ts';
import { readSend } from './send-request.ts';

const refusal: ServiceError = { kind: 'quota_exceeded' };
const failedRequestId = 'burned';
const shared = {
  replayScope: 'account',
  replayAcrossEndpoints: 'shared',
  failedRequestId,
} as const;

/** The window of an account of the product, with refusals that the account was given. */
class Window {
  readonly twin = new Twin({ noLimits: true });
  readonly #account = this.twin.account();
  readonly keys: readonly [ApiKey, ApiKey];

  constructor() {
    const { world } = this.twin.simulation;
    this.keys = [world.createKey(this.#account, 'first'), world.createKey(this.#account, 'second')];
  }

  /** Burns an id. `body` tells this refusal from others. */
  burn(requestId: string, body = '', key = this.keys[0], endpoint: SendEndpoint = 'send'): void {
    const atMs = this.twin.now();
    this.#account.replays.keep({ requestId, key, endpoint, atMs, body, outcome: refusal });
  }

  /** Creates a message, and returns the body of the reply. */
  accept(requestId: string, key: ApiKey, endpoint: SendEndpoint): string {
    const { world } = this.twin.simulation;
    const body = { to: recipient, from: acmeNumber, message: 'hello', request_id: requestId };
    const fields = readSend(body, world.assumptions);
    const decision = send(world, { account: this.#account, key, endpoint, fields });
    if (decision.kind !== 'queued') throw new Error(`expected a new message, got ${decision.kind}`);
    return decision.body;
  }

  /** The body of the first use, if there is one. */
  find(
    requestId: string,
    scope: Pick<Assumptions, keyof typeof shared> = shared,
    key = this.keys[0],
    endpoint: SendEndpoint = 'send',
  ): string | undefined {
    return this.#account.replays.find(requestId, key, endpoint, scope)?.body;
  }

  /** The refusals in memory, and those of one id in other scopes. */
  get size(): number {
    let size = 0;
    for (const newest of this.#account.replays.entries())
      for (let use: typeof newest | undefined = newest; use !== undefined; use = use.older) size++;
    return size;
  }
}

test.each([
  [0, true],
  [dayMs - 1, true],
  [dayMs, true],
  [dayMs + 1, false],
])('SEND-4 a use %i ms ago is found: %s', (ageMs, found) => {
  const window = new Window();
  window.burn('a', 'x');
  const accepted = window.accept('b', window.keys[0], 'send');
  window.twin.advance(ageMs);
  expect(window.find('a')).toBe(found ? 'x' : undefined);
  expect(window.find('b')).toBe(found ? accepted : undefined);
});

test('SEND-4 where a scope is widened at run time, the oldest use counts', () => {
  const window = new Window();
  const byKey = { ...shared, replayScope: 'api_key' } as const;
  const [first, second] = window.keys;
  window.burn('a', 'old', first);
  window.twin.advance(minuteMs);
  window.burn('a', 'new', second);
  window.twin.advance(minuteMs);
  expect(window.find('a', byKey, second)).toBe('new');
  expect(window.find('a', shared, second)).toBe('old');
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
  const window = new Window();
  window.burn('a');
  const accepted = window.accept('b', window.keys[0], 'send');
  for (let hour = 1; hour <= 24; hour++) {
    window.twin.advance(hourMs);
    expect([window.find('a'), window.find('b')]).toEqual(['', accepted]);
  }
  window.twin.advance(1);
  expect([window.find('a'), window.find('b')]).toEqual([undefined, undefined]);
});

const scope: fc.Arbitrary<Pick<Assumptions, keyof typeof shared>> = fc.record({
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
    keyPlace: fc.constantFrom(0, 1),
    endpoint: fc.constantFrom(...sendEndpoints),
    isBurned: fc.boolean(),
    others: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.nat(150) },
    ),
  }),
  { maxLength: 40 },
);

interface ListedUse {
  readonly requestId: string;
  readonly key: ApiKey;
  readonly endpoint: SendEndpoint;
  readonly atMs: number;
  readonly body: string;
}

test('SEND-4 in any scope, a use is found exactly when a list of all uses has it within 24 h', () => {
  fc.assert(
    fc.property(uses, scope, (list, assumptions) => {
      const window = new Window();
      window.twin.simulation.assume(assumptions);
      const all: ListedUse[] = [];
      let serial = 0;
      for (const { afterMs, requestId, keyPlace, endpoint, isBurned, others } of list) {
        window.twin.advance(afterMs);
        const atMs = window.twin.now();
        const key = window.keys[keyPlace] as ApiKey;
        const use = all.find(
          (use) =>
            use.requestId === requestId &&
            atMs - use.atMs <= dayMs &&
            (assumptions.replayScope === 'account' || use.key === key) &&
            (assumptions.replayAcrossEndpoints === 'shared' || use.endpoint === endpoint),
        );
        expect(window.find(requestId, assumptions, key, endpoint)).toBe(use?.body);
        if (use === undefined && isBurned) {
          const body = `body ${serial++}`;
          window.burn(requestId, body, key, endpoint);
          all.push({ requestId, key, endpoint, atMs, body });
        } else if (use === undefined) {
          const body = window.accept(requestId, key, endpoint);
          all.push({ requestId, key, endpoint, atMs, body });
        }
        // Other ids crowd in and must push nothing out.
        for (let i = 0; i < others; i++) window.burn(`other ${serial++}`, '', key, endpoint);
      }
    }),
    { numRuns: runs(75) },
  );
});

test('SEND-4 no use is forgotten early at the documented rate on three endpoints for a day and more', () => {
  const window = new Window();
  const perMinute = 40;
  const minutes = 1_500;
  for (let minute = 0; minute < minutes; minute++) {
    for (let i = 0; i < perMinute; i++) window.burn(`${minute}.${i}`, `${minute}.${i}`);
    const oldest = Math.max(0, minute - 1_440);
    expect(window.find(`${oldest}.0`)).toBe(`${oldest}.0`);
    if (oldest > 0) expect(window.find(`${oldest - 1}.0`)).toBeUndefined();
    window.twin.advance(minuteMs);
  }
});

test('memory follows the uses of the last day, not all uses ever', () => {
  const window = new Window();
  const minutesPerDay = 1_440;
  let most = 0;
  for (let minute = 0; minute < 20 * minutesPerDay; minute++) {
    window.burn(`${minute}`);
    window.twin.advance(minuteMs);
    most = Math.max(most, window.twin.account().replays.size);
  }
  expect(most).toBeGreaterThanOrEqual(minutesPerDay + 1);
  expect(most).toBeLessThanOrEqual(4 * minutesPerDay);
});

test('memory follows the uses of the last day where two keys use the same id for ever', () => {
  const window = new Window();
  for (let turn = 0; turn < 100; turn++) {
    window.burn('daily', '', window.keys[turn % 2]);
    window.twin.advance(13 * hourMs);
  }
  expect(window.size).toBe(2);
});
