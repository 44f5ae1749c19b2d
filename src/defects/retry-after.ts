/**
 * Wrong 429s: a wrong wait, or a header or body without it. Rules: ERR-3, ERR-4, SVC-4.
 */
import type { ApiReply } from '../http/service/messages.ts';
import { createBucket } from '../sim/buckets.ts';
import { msPerSecond } from '../sim/limits.ts';
import { addressOf, refusal, refusing } from './edge.ts';
import type { Defects, Exchange, Planted } from './planted.ts';

const tooMany = 429;

/** Header and body state the seconds that `wait` returns. */
function waiting(wait: (seconds: number, exchange: Exchange) => number): Planted {
  return refusing(tooMany, (exchange) => {
    const retryAfterSeconds = wait(secondsOf(exchange.reply), exchange);
    return refusal({ kind: 'throttled', retryAfterSeconds }, exchange.simulation);
  });
}

/** Replaces only the header; undefined removes it. */
function header(write: (seconds: number, exchange: Exchange) => string | undefined): Planted {
  return refusing(tooMany, (exchange) => {
    const text = write(secondsOf(exchange.reply), exchange);
    const { status, body } = exchange.reply;
    return text === undefined ? { status, body } : { status, body, headers: retryAfter(text) };
  });
}

function body(write: (seconds: number) => string): Planted {
  return refusing(tooMany, ({ reply }) => ({ ...reply, body: write(secondsOf(reply)) }));
}

/** Changes replies to callers without a valid key. */
function strangers(change: (reply: ApiReply) => ApiReply): Planted {
  return refusing(tooMany, ({ key, reply }) => (key === undefined ? change(reply) : reply));
}

function detail(write: (seconds: number) => string): Planted {
  return body((seconds) => JSON.stringify({ detail: write(seconds) }));
}

function secondsOf(reply: ApiReply): number {
  return Number(reply.headers?.['retry-after']);
}

function retryAfter(text: string) {
  return { 'retry-after': text };
}

/** Milliseconds until the next request would pass, computed from a copy of the caller's bucket. */
function waitMs({ endpoint, key, request, simulation }: Exchange): number {
  if (endpoint === undefined) return 0;
  const { limiter, clock, world } = simulation;
  const { limit, recent } = limiter.stateOf(endpoint);
  const state = new Map(recent).get(key?.account.accountId ?? addressOf(request));
  const bucket = createBucket(world.assumptions.limiterRefill, limit ?? 1, state);
  return bucket.waitMs(clock.now());
}

export const retryAfterDefects: Defects = {
  'retry-after-rounded-down': waiting((_, exchange) => Math.floor(waitMs(exchange) / msPerSecond)),
  'retry-after-plus-one': waiting((seconds) => seconds + 1),
  'retry-after-constant-60': waiting(() => 60),
  'retry-after-constant-1': waiting(() => 1),
  'retry-after-zero': waiting(() => 0),
  'retry-after-milliseconds': header((seconds) => String(seconds * msPerSecond)),
  'retry-after-http-date': header((seconds, { simulation }) =>
    new Date(simulation.clock.now() + seconds * msPerSecond).toUTCString(),
  ),
  'retry-after-fraction': header((seconds) => (seconds - 0.5).toFixed(3)),
  'retry-after-missing': header(() => undefined),
  'stranger-429-without-retry-after': strangers(({ status, body: text }) => ({
    status,
    body: text,
  })),
  'stranger-429-without-detail': strangers((reply) => ({ ...reply, body: '{}' })),
  'throttle-empty-body': body(() => ''),
  'throttle-no-detail': body((seconds) => JSON.stringify({ error: 'throttled', wait: seconds })),
  'throttle-detail-other-number': detail(
    (seconds) => `Expected available in ${seconds + 1} seconds.`,
  ),
  'throttle-detail-no-number': detail(() => 'Request was throttled.'),
  'throttle-html': refusing(tooMany, ({ reply }) => ({
    ...reply,
    body: '<html><body><h1>429 Too Many Requests</h1></body></html>',
    headers: { ...reply.headers, 'content-type': 'text/html' },
  })),
};
