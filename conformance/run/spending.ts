/**
 * Which bucket a request of the run spends from, and whether the run's own requests explain a 429.
 */
import { minuteMs } from '#contract/time.ts';
import type { RequestOptions } from '#judging/evidence/reply.ts';
import { type Bucket, type Endpoint, endpointOf, limitOf } from '#judging/limiter/buckets.ts';
import { weightedCounterExplains } from '#judging/limiter/explained.ts';
import { type Exchange, isUncertain } from '#judging/service/exchange.ts';

/** The bucket that a request spends from: without a key, or after a 401, the address's (AUTH-6). */
export function bucketOf({ path, headers }: RequestOptions, status: number): Bucket | undefined {
  const endpoint = endpointOf(path);
  const hasKey = Boolean(headers?.['authorization']) && status !== 401;
  return endpoint === undefined || hasKey ? endpoint : 'address';
}

/** A 429 is explained by requests that are at most this old. */
const explainsForMs = 3 * minuteMs;

/**
 * True if the run's own requests may explain a 429: a reply to one was lost, so that it may have
 * counted twice, or the limiter also counts a part of the minute before (`isWeighted`).
 */
export function isExplained(refused: Exchange, log: readonly Exchange[]): boolean {
  const { endpoint, caller, sentAt } = refused;
  const exchanges = log.filter(
    (earlier) =>
      earlier.endpoint === endpoint &&
      earlier.caller.account === caller.account &&
      earlier.sentAt > sentAt - explainsForMs,
  );
  const limit = limitOf(endpoint as Endpoint);
  return (
    exchanges.some(isUncertain) ||
    weightedCounterExplains({ exchanges, limit }, { exchange: refused, isTooFew: true })
  );
}
