/**
 * The limiters that the document permits. It leaves open how a bucket refills and what spends from
 * it, so each permitted limiter is a hypothesis. `explained.ts` compares a bucket with all of them.
 */
import { minuteMs } from '#contract/time.ts';
import type { Ahead } from '../evidence/clock-offset.ts';
import type { Exchange } from '../service/exchange.ts';

/** The requests that spend from one limit: those to one endpoint from one account or address. */
export interface Bucket {
  /** The endpoint. */
  readonly name: string;
  /** Requests per minute. */
  readonly limit: number;
  /** Calls without an account are answered 401 until their address is throttled. */
  readonly isOfAddress: boolean;
  /** In the order in which they were sent. */
  readonly exchanges: readonly Exchange[];
  /** `exchanges` has every request to the bucket since this time. */
  readonly knownSince: number;
  /** See `Trace`. */
  readonly hasExactTimes: boolean;
  /** The largest error of an interval between two times. */
  readonly slackMs: number;
  /** Set for recorded traffic, of which no window is known to start with a full bucket. */
  readonly ahead?: Ahead;
}

type Refill = 'sliding' | 'continuous' | 'interval' | 'interval_aligned';

/**
 * One permitted limiter (`limiterRefill`, `refusedSpendsToken`, `errorsSpendToken`,
 * `replaySpends`).
 */
export interface Hypothesis {
  readonly refill: Refill;
  readonly refusalsSpend: boolean;
  readonly errorsSpend: boolean;
  readonly replaysSpend: boolean;
}

const yesAndNo = [true, false];
const refills: readonly Refill[] = ['sliding', 'continuous', 'interval', 'interval_aligned'];
export const hypotheses: readonly Hypothesis[] = refills.flatMap((refill) =>
  // A bucket that refills all at once is not refilled later for a refusal.
  (refill.startsWith('interval') ? [false] : yesAndNo).flatMap((refusalsSpend) =>
    yesAndNo.flatMap((errorsSpend) =>
      yesAndNo.map((replaysSpend) => ({ refill, refusalsSpend, errorsSpend, replaysSpend })),
    ),
  ),
);

/** A bucket under one hypothesis. */
export interface SplitBucket extends Bucket {
  /** The requests that passed and spent a token. */
  readonly granted: readonly Exchange[];
  /** The 429s. */
  readonly refused: readonly Exchange[];
}

/** A reply that a hypothesis cannot explain. */
export interface Unexplained {
  readonly exchange: Exchange;
  readonly expected: string;
  readonly actual: string;
  /** Requests that passed in the minute before. */
  readonly passed: number;
  /** True if the reply is a 429: too few passed. Another client may have spent the tokens. */
  readonly isTooFew: boolean;
}

export function isRefused({ reply }: Exchange): boolean {
  return reply.status === 429;
}

export function isReplay({ method, reply }: Exchange): boolean {
  return method === 'POST' && reply.status === 200;
}

/** The largest difference between the target's clock and ours. */
export const clockDriftMs = 2_000;

/** The offset of the target's full minutes from ours, and the largest error of that offset. */
export function minutesOf({ hasExactTimes, slackMs, ahead }: Bucket): {
  phase: number;
  drift: number;
} {
  if (hasExactTimes) return { phase: 0, drift: 0 };
  if (ahead === undefined) return { phase: 0, drift: clockDriftMs };
  const { least, most } = ahead;
  return { phase: (least + most) / 2, drift: clockDriftMs + slackMs + (most - least) / 2 };
}

export function minuteStart(at: number, phase: number): number {
  return Math.floor((at + phase) / minuteMs) * minuteMs - phase;
}
