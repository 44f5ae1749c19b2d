/**
 * Whether a limit of N per minute explains which requests of one bucket passed. The document leaves
 * open how a bucket refills and what spends from it, so every permitted limiter is a hypothesis; a
 * bucket breaks its rule if none of them explains it. Rules: LIMIT-1 to LIMIT-7, AUTH-6.
 * Each hypothesis allows for what intervals leave open: a request may have spent its token at any
 * time between its start and its reply, and the target's clock may differ from ours.
 */
import { minuteMs } from '../../src/ledger/time-units.ts';
import type { Ahead } from '../clock-offset.ts';
import type { Exchange } from './exchange.ts';

export interface Bucket {
  readonly name: string;
  readonly limit: number;
  /** Calls without an account are answered 401 until their address is throttled. */
  readonly isOfAddress: boolean;
  /** In the order in which they were sent. */
  readonly exchanges: readonly Exchange[];
  /** All that was spent since this time is known. */
  readonly knownSince: number;
  readonly hasExactTimes: boolean;
  /** How far apart two times may be wrong. */
  readonly slackMs: number;
  /** Of recorded traffic: the target's time minus the recorder's. Nothing shows a full bucket then. */
  readonly ahead?: Ahead;
}

type Refill = 'sliding' | 'continuous' | 'interval' | 'interval_aligned';

/** One permitted limiter (`limiterRefill`, `refusedSpendsToken`, `errorsSpendToken`, `replaySpends`). */
interface Hypothesis {
  readonly refill: Refill;
  readonly refusalsSpend: boolean;
  readonly errorsSpend: boolean;
  readonly replaysSpend: boolean;
}

/** What a hypothesis cannot explain. */
export interface Unexplained {
  readonly exchange: Exchange;
  readonly expected: string;
  readonly actual: string;
  /** Requests that passed in the minute before. */
  readonly passed: number;
  /** True if it was refused: another client may have spent the token. */
  readonly isTooFew: boolean;
}

const yesAndNo = [true, false];
const refills: readonly Refill[] = ['sliding', 'continuous', 'interval', 'interval_aligned'];
const hypotheses: readonly Hypothesis[] = refills.flatMap((refill) =>
  // A bucket that refills all at once is not refilled later for a refusal.
  (refill.startsWith('interval') ? [false] : yesAndNo).flatMap((refusalsSpend) =>
    yesAndNo.flatMap((errorsSpend) =>
      yesAndNo.map((replaysSpend) => ({ refill, refusalsSpend, errorsSpend, replaysSpend })),
    ),
  ),
);

/** The difference that the target's clock may have from ours. */
const clockDriftMs = 2_000;

/** Undefined if a permitted limiter explains the bucket; else what the best one cannot explain. */
export function unexplained(bucket: Bucket, othersSpend = false): Unexplained | undefined {
  let best: Unexplained | undefined;
  for (const hypothesis of hypotheses) {
    const found = contradiction(hypothesis, bucket, othersSpend);
    if (found === undefined) return undefined;
    if (best === undefined || isClearer(found, best, bucket.limit)) best = found;
  }
  return best;
}

/** A refusal after as many as the limit allows looks right, whatever refills the bucket. */
function isClearer(found: Unexplained, best: Unexplained, limit: number): boolean {
  const looksRight = ({ isTooFew, passed }: Unexplained) => isTooFew && passed >= limit;
  if (looksRight(found) !== looksRight(best)) return looksRight(best);
  return found.exchange.sentAt > best.exchange.sentAt;
}

export function isRefused({ reply }: Exchange): boolean {
  return reply.status === 429;
}

export function isReplay({ method, reply }: Exchange): boolean {
  return method === 'POST' && reply.status === 200;
}

function contradiction(
  h: Hypothesis,
  bucket: Bucket,
  othersSpend: boolean,
): Unexplained | undefined {
  const { exchanges, knownSince, isOfAddress } = bucket;
  if (isOfAddress && !h.errorsSpend) {
    const refusal = exchanges.find(isRefused);
    return refusal && tooFew(refusal, bucket);
  }
  const granted = exchanges.filter(
    (exchange) =>
      !isRefused(exchange) &&
      exchange.reply.status !== 0 &&
      (h.replaysSpend || !isReplay(exchange)) &&
      (h.errorsSpend || exchange.reply.status < 400),
  );
  const refused = exchanges.filter(isRefused);
  const early = refused.find(
    (exchange) =>
      !othersSpend &&
      exchange.sentAt - minuteMs >= knownSince &&
      mustPass(h, bucket, granted, refused, exchange),
  );
  const many = tooMany(h, bucket, granted, h.refusalsSpend ? [...granted, ...refused] : granted);
  if (early === undefined || (many !== undefined && many.exchange.sentAt < early.sentAt))
    return many;
  return tooFew(early, bucket);
}

function tooFew(exchange: Exchange, { exchanges, limit, name }: Bucket): Unexplained {
  const passed = exchanges.filter(
    (one) =>
      !isRefused(one) &&
      one.answeredAt > exchange.sentAt - minuteMs &&
      one.sentAt <= exchange.sentAt,
  ).length;
  return {
    exchange,
    passed,
    isTooFew: true,
    expected: `no 429 for ${name} before ${limit} requests in a minute`,
    actual: `429 after ${passed} that passed in the last minute`,
  };
}

/** How far the target's full minutes are from ours, and by how much that may be wrong. */
function minutesOf({ hasExactTimes, slackMs, ahead }: Bucket): { phase: number; drift: number } {
  if (hasExactTimes) return { phase: 0, drift: 0 };
  if (ahead === undefined) return { phase: 0, drift: clockDriftMs };
  const { least, most } = ahead;
  return { phase: (least + most) / 2, drift: clockDriftMs + slackMs + (most - least) / 2 };
}

function minuteStart(at: number, phase: number): number {
  return Math.floor((at + phase) / minuteMs) * minuteMs - phase;
}

/** True if the bucket has a token, whenever the others were spent within their intervals. */
function mustPass(
  { refill, refusalsSpend }: Hypothesis,
  bucket: Bucket,
  granted: readonly Exchange[],
  refused: readonly Exchange[],
  asked: Exchange,
): boolean {
  const { limit, slackMs } = bucket;
  const atOnce = refused.filter(
    (exchange) => exchange.sentAt <= asked.answeredAt && exchange.answeredAt >= asked.sentAt,
  );
  const isFirst = !refused.some(
    (exchange) =>
      exchange.answeredAt < asked.sentAt && exchange.answeredAt > asked.sentAt - minuteMs - slackMs,
  );
  // Of several at once one was the first, which no earlier refusal explains.
  const until = Math.max(...atOnce.map(({ answeredAt }) => answeredAt));
  const spent = refusalsSpend && !isFirst ? [...granted, ...refused] : granted;
  const others = spent.filter(
    (exchange) =>
      exchange !== asked && exchange.sentAt <= (isFirst ? until : asked.answeredAt) + slackMs,
  );
  if (refill === 'continuous') {
    const times = others.map(({ answeredAt }) => answeredAt).toSorted((a, b) => b - a);
    const back = (since: number) => ((asked.sentAt - slackMs - since) * limit) / minuteMs;
    return times.every((at, i) => {
      const left = limit - (i + 1);
      return left >= 1 || left + back(at) > 1.01;
    });
  }
  const { phase, drift } = minutesOf(bucket);
  const from =
    refill === 'interval_aligned'
      ? minuteStart(asked.sentAt - drift, phase) - drift - 1
      : asked.sentAt - minuteMs - slackMs;
  return others.filter(({ answeredAt }) => answeredAt > from).length < limit;
}

/**
 * True if a counter that weighs the minute before explains the reply, as some proxies have: it
 * breaks LIMIT-1 to LIMIT-5, and says nothing about whose requests it counts.
 */
export function isWeighted(
  { exchanges, limit }: Pick<Bucket, 'exchanges' | 'limit'>,
  { exchange: asked, isTooFew }: Pick<Unexplained, 'exchange' | 'isTooFew'>,
): boolean {
  const earlier = exchanges.filter(
    (exchange) => !isRefused(exchange) && exchange.sentAt <= asked.answeredAt,
  );
  return [asked.sentAt - clockDriftMs, asked.answeredAt + clockDriftMs].some((at) => {
    const start = Math.floor(at / minuteMs) * minuteMs;
    const since = (from: number) => earlier.filter(({ answeredAt }) => answeredAt >= from).length;
    const now = since(start - clockDriftMs);
    const before = since(start - minuteMs - clockDriftMs) - now;
    const weighed = now + before * (1 - (at - start) / minuteMs);
    return isTooFew ? weighed + 2 > limit : weighed <= limit + 1;
  });
}

/** More requests that passed than the limit allows. */
function tooMany(
  h: Hypothesis,
  bucket: Bucket,
  granted: readonly Exchange[],
  spent: readonly Exchange[],
): Unexplained | undefined {
  const found = overfull(h.refill, bucket, granted);
  if (found !== undefined || !h.refusalsSpend || h.refill !== 'sliding') return found;
  for (const exchange of granted) {
    const before = spent.filter(
      (other) =>
        other.sentAt > exchange.answeredAt - minuteMs + bucket.slackMs &&
        other.answeredAt < exchange.sentAt - bucket.slackMs,
    );
    if (before.length >= bucket.limit)
      return excessOf(bucket, exchange, before.length + 1, minuteMs);
  }
  return undefined;
}

function excessOf({ limit, name }: Bucket, exchange: Exchange, passed: number, ms: number) {
  return {
    exchange,
    passed,
    isTooFew: false,
    expected: `429 for ${name} after ${limit} requests in a minute`,
    actual: `${passed} passed within ${(ms / 1000).toFixed(1)} s`,
  };
}

const burstMs = 15_000;

/** True if the first requests show that the bucket was full, whatever came before them. */
export function wasFull({ limit }: Bucket, granted: readonly Exchange[]): boolean {
  const [first] = granted;
  const last = granted[limit - 1];
  return first !== undefined && last !== undefined && last.answeredAt - first.sentAt < burstMs;
}

type Windows = (
  bucket: Bucket,
  granted: readonly Exchange[],
) => Generator<readonly [from: number, to: number]>;

/** The spans in which a bucket that comes back all at once, or token by token, lets the limit pass. */
const windows: Readonly<Record<Exclude<Refill, 'continuous'>, Windows>> = {
  *sliding({ slackMs }, granted) {
    for (const { sentAt } of granted) yield [sentAt, sentAt + minuteMs - slackMs];
  },
  *interval(bucket, granted) {
    const { slackMs, ahead } = bucket;
    let from = bucket.knownSince + minuteMs + slackMs;
    for (const [i, { sentAt, answeredAt }] of granted.entries()) {
      const isFull = i === 0 && ahead === undefined && wasFull(bucket, granted);
      if (sentAt < from && !isFull) continue;
      // A window may have begun earlier than its first certain request.
      yield [sentAt, sentAt + minuteMs - 3 * slackMs];
      from = answeredAt + minuteMs + slackMs;
    }
  },
  *interval_aligned(bucket, granted) {
    const { phase, drift } = minutesOf(bucket);
    for (const start of new Set(granted.map(({ sentAt }) => minuteStart(sentAt, phase))))
      yield [start + drift, start + minuteMs - drift];
  },
};

/** The first span that certainly holds more than the limit. */
function overfull(
  refill: Refill,
  bucket: Bucket,
  granted: readonly Exchange[],
): Unexplained | undefined {
  if (refill === 'continuous') return overflowing(bucket, granted);
  for (const [from, to] of windows[refill](bucket, granted)) {
    const inside = granted.filter(({ sentAt, answeredAt }) => sentAt >= from && answeredAt < to);
    const first = inside[bucket.limit];
    if (first !== undefined) return excessOf(bucket, first, inside.length, first.answeredAt - from);
  }
  return undefined;
}

/** Tokens that come back steadily let more pass, the longer it takes. */
function overflowing(bucket: Bucket, granted: readonly Exchange[]): Unexplained | undefined {
  for (const [i, { sentAt }] of granted.entries()) {
    let until = sentAt;
    for (const [n, exchange] of granted.slice(i).entries()) {
      until = Math.max(until, exchange.answeredAt);
      const span = until - sentAt + bucket.slackMs;
      const most = bucket.limit + (span * bucket.limit) / minuteMs;
      if (n + 1 > most) return excessOf(bucket, exchange, n + 1, until - sentAt);
    }
  }
  return undefined;
}
