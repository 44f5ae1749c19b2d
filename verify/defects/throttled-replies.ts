/**
 * Wrong 429s: their `Retry-After`, their body or their content type. Rules: ERR-3, ERR-4, SVC-4.
 */
import { secondMs } from '#contract/time.ts';
import { createBucket } from '#src/sim/limiter/buckets.ts';
import { addressCaller } from '#src/sim/limiter/limiter.ts';
import { refusal } from './answers.ts';
import type { Exchange } from './call.ts';
import { breaking, type DefectRow, type Planted, refusing } from './planted.ts';

/** The `Retry-After` of a right 429. */
function secondsOf({ reply }: Exchange): number {
  return Number(reply.headers?.['retry-after']);
}

/** Header and body of a 429 state the seconds that `wait` returns. */
function statingWait(wait: (exchange: Exchange) => number): Planted {
  return refusing(429, (exchange) =>
    refusal({ kind: 'throttled', retryAfterSeconds: wait(exchange) }, exchange),
  );
}

/** Changes 429s to calls without a valid key. */
function changingStrangers(change: Partial<Exchange['reply']>): Planted {
  return refusing(429, ({ key, reply }) => (key === undefined ? { ...reply, ...change } : reply));
}

/** Replaces the body of a 429 by what `write` returns for its `Retry-After`. */
function writingBody(write: (seconds: number) => object): Planted {
  return refusing(429, (exchange) => {
    return { ...exchange.reply, body: JSON.stringify(write(secondsOf(exchange))) };
  });
}

/** The wait before it is rounded up to seconds, from a copy of the caller's bucket. */
function exactWaitMs(exchange: Exchange): number {
  const { request, endpoint, key, simulation } = exchange;
  if (endpoint === undefined) return 0;
  const { limiter, clock, world } = simulation;
  const { limit, recent } = limiter.stateOf(endpoint);
  const caller = key?.account.accountId ?? addressCaller(request.clientIp);
  const state = new Map(recent).get(caller);
  return createBucket(world.assumptions.limiterRefill, limit ?? 1, state).waitMs(clock.now());
}

export const throttledReplyDefects: readonly DefectRow[] = [
  ...breaking('ERR-3', {
    'retry-after-rounded-down': [
      'Retry-After is rounded down, so that waiting it out is not enough',
      statingWait((exchange) => Math.floor(exactWaitMs(exchange) / secondMs)),
    ],
    'retry-after-plus-one': [
      'Retry-After is one second too long',
      statingWait((exchange) => secondsOf(exchange) + 1),
    ],
    'retry-after-constant-60': ['Retry-After is always 60', statingWait(() => 60)],
    'retry-after-http-date': [
      'Retry-After is a date',
      refusing(429, (exchange) => {
        const atMs = exchange.simulation.clock.now() + secondsOf(exchange) * secondMs;
        return { ...exchange.reply, headers: { 'retry-after': new Date(atMs).toUTCString() } };
      }),
    ],
    'retry-after-missing': [
      'the header is missing',
      refusing(429, ({ reply }) => ({ ...reply, headers: {} })),
    ],
    'stranger-429-without-retry-after': [
      'a 429 to a call without a key has no Retry-After',
      changingStrangers({ headers: {} }),
    ],
  }),
  ...breaking('ERR-4', {
    'stranger-429-without-detail': [
      'a 429 to a call without a key has no detail',
      changingStrangers({ body: '{}' }),
    ],
    'throttle-no-detail': [
      'a 429 has a body without detail',
      writingBody((seconds) => ({ error: 'throttled', wait: seconds })),
    ],
    'throttle-detail-other-number': [
      'detail states another number than Retry-After',
      writingBody((seconds) => ({ detail: `Expected available in ${seconds + 1} seconds.` })),
    ],
  }),
  ...breaking('SVC-4', {
    'throttle-html': [
      'a 429 has an HTML body',
      refusing(429, ({ reply }) => ({
        ...reply,
        body: '<html><body><h1>429 Too Many Requests</h1></body></html>',
        headers: { ...reply.headers, 'content-type': 'text/html' },
      })),
    ],
  }),
];
