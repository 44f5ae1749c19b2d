/**
 * Decides whether a limit of N per minute explains which requests of one bucket passed. A bucket
 * breaks its rule if every permitted limiter (`models.ts`) is contradicted. Rules:
 * LIMIT-1 to LIMIT-7, AUTH-6.
 */
import { minuteMs, secondMs } from '#contract/time.ts';
import { getOrAdd } from '#io/grouped.ts';
import { type Exchange, isRefused, isReplay } from '../evidence/exchange.ts';
import type { Bucket, Excess, Spent, SplitBucket } from './bucket.ts';
import { models, type Refill } from './models.ts';
import { firstThat } from './space/decision.ts';

/**
 * One permitted limiter (`limiterRefill`, `refusedSpendsToken`, `errorsSpendToken`,
 * `replaySpends`).
 */
interface Hypothesis {
  readonly refill: Refill;
  readonly refusalsSpend: boolean;
  readonly errorsSpend: boolean;
  readonly replaysSpend: boolean;
}

const yesAndNo = [true, false];

const hypotheses: readonly Hypothesis[] = (Object.keys(models) as Refill[]).flatMap((refill) =>
  (models[refill].refusalsCount ? yesAndNo : [false]).flatMap((refusalsSpend) =>
    yesAndNo.flatMap((errorsSpend) =>
      yesAndNo.map((replaysSpend) => ({ refill, refusalsSpend, errorsSpend, replaysSpend })),
    ),
  ),
);

/** Those that differ for this bucket: most have no error and no replay, so that a quarter is left. */
function hypothesesAbout({ exchanges, isOfAddress }: Bucket): readonly Hypothesis[] {
  const hasErrors = isOfAddress || exchanges.some((each) => isError(each) && !isRefused(each));
  const hasReplays = exchanges.some(isReplay);
  return hypotheses.filter(
    ({ errorsSpend, replaysSpend }) => (errorsSpend || hasErrors) && (replaysSpend || hasReplays),
  );
}

const isError = ({ reply }: Exchange) => reply.status >= 400;

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

/**
 * Whether clients whose requests are unknown spend from the bucket. If they may, they explain any
 * 429. Only if they do, an interval may be theirs, so that more than N of ours pass in a minute.
 */
export type Others = 'none' | 'possible' | 'certain';

/**
 * The refill that explained a bucket last. A run asks hundreds of times about growing buckets of one
 * limiter, so this one mostly explains them again. It is tried first, which changes no result.
 */
let explainedLast: Refill | undefined;

/** What the best hypothesis cannot explain; undefined if one explains the whole bucket. */
export function unexplained(bucket: Bucket, others: Others = 'none'): Unexplained | undefined {
  const { exchanges, limit } = bucket;
  if (exchanges.length <= limit && !exchanges.some(isRefused)) return undefined;
  const decided = decidedIn(bucket);
  const possible = hypothesesAbout(bucket);
  const foundBy = (hypothesis: Hypothesis) => contradictions(hypothesis, bucket, others, decided);
  const likely = possible.filter(({ refill }) => refill === explainedLast);
  for (const hypothesis of likely)
    for (const found of foundBy(hypothesis)) if (found === undefined) return undefined;
  let best: Unexplained | undefined;
  for (const hypothesis of possible) {
    for (const found of foundBy(hypothesis)) {
      if (found === undefined) {
        explainedLast = hypothesis.refill;
        return undefined;
      }
      if (best === undefined || isClearer(found, best, limit)) best = found;
    }
  }
  return best;
}

/** A later contradiction is clearer, but a 429 after at least N requests looks right. */
function isClearer(found: Unexplained, best: Unexplained, limit: number): boolean {
  const looksRight = ({ isTooFew, passed }: Unexplained) => isTooFew && passed >= limit;
  if (looksRight(found) !== looksRight(best)) return looksRight(best);
  return found.exchange.sentAt > best.exchange.sentAt;
}

/**
 * For each version of the limiter, the first 429 that should have passed, or the first request that
 * passed in excess; undefined if the version explains all.
 */
function* contradictions(
  hypothesis: Hypothesis,
  bucket: Bucket,
  others: Others,
  { refused, doubtful, judgedBy }: Decided,
): Generator<Unexplained | undefined> {
  const { exchanges, isOfAddress } = bucket;
  const { refill, refusalsSpend, replaysSpend, errorsSpend } = hypothesis;
  const [firstRefusal] = refused;
  if (isOfAddress && !errorsSpend) {
    yield firstRefusal && tooFew(firstRefusal, bucket);
    return;
  }
  const granted = exchanges.filter(
    (exchange) =>
      !isRefused(exchange) &&
      exchange.reply.status !== 0 &&
      (replaysSpend || !isReplay(exchange)) &&
      (errorsSpend || !isError(exchange)),
  );
  const othersSpend = others === 'certain';
  const split = { ...bucket, granted, refused, doubtful, refusalsSpend, othersSpend };
  const judged = others === 'none' ? judgedBy(split, hypothesis) : [];
  for (const { excess, certainlyHadToken } of models[refill].versions(split)) {
    const wrong = judged.find(({ refusal, spent }) => certainlyHadToken(refusal, spent));
    if (excess !== undefined && !(wrong && wrong.refusal.sentAt <= excess.exchange.sentAt))
      yield tooMany(excess, bucket);
    else yield wrong && tooFew(wrong.refusal, bucket);
  }
}

function tooMany(excess: Excess, { limit, endpoint }: Bucket): Unexplained {
  const { exchange, passed, spanMs, refusedBy } = excess;
  const afterMs = exchange.sentAt - (refusedBy ?? exchange.sentAt);
  return {
    exchange,
    passed,
    isTooFew: false,
    expected: `429 for ${endpoint} after ${limit} requests in a minute`,
    actual:
      passed > limit || refusedBy === undefined
        ? `${passed} passed within ${(spanMs / secondMs).toFixed(1)} s`
        : `one passed ${(afterMs / secondMs).toFixed(1)} s after a 429 of the same minute`,
  };
}

/** How many requests passed in the minute before this one was refused. */
export function passedBefore({ exchanges }: Bucket, refusal: Exchange): number {
  return exchanges.filter(
    (exchange) =>
      !isRefused(exchange) &&
      exchange.answeredAt > refusal.sentAt - minuteMs &&
      exchange.sentAt <= refusal.sentAt,
  ).length;
}

function tooFew(refusal: Exchange, bucket: Bucket): Unexplained {
  const { limit, endpoint } = bucket;
  const passed = passedBefore(bucket, refusal);
  return {
    exchange: refusal,
    passed,
    isTooFew: true,
    expected: `no 429 for ${endpoint} before ${limit} requests in a minute`,
    actual: `429 after ${passed} that passed in the last minute`,
  };
}

/** How often a request may have arrived without a reply: it may then have spent a token. */
function triesWithoutReply({ reply }: Exchange): number {
  return reply.interruptions + (reply.status === 0 ? 1 : 0);
}

/**
 * Refusals in flight at one time, as one: `sentAt` and `answeredAt` span all of them, as any may have
 * come first. Requests after `ownSentAt` do not explain it.
 */
interface Refusal extends Exchange {
  /** When this refusal itself was sent. */
  readonly ownSentAt: number;
}

const byReply = (one: Exchange, other: Exchange) => one.answeredAt - other.answeredAt;

/** What may have spent a token of a bucket. */
class Spenders {
  /** Both in the order of the replies; no refusals if those do not spend. */
  readonly #granted: readonly Exchange[];
  readonly #refused: readonly Exchange[];
  readonly #longestMs: number;
  readonly #spanErrorMs: number;

  constructor({ granted, doubtful, refused, refusalsSpend, spanErrorMs }: SplitBucket) {
    this.#granted = [...granted, ...doubtful].sort(byReply);
    this.#refused = refusalsSpend ? refused.toSorted(byReply) : [];
    this.#longestMs = this.#granted.reduce(
      (longest, { sentAt, answeredAt }) => Math.max(longest, answeredAt - sentAt),
      0,
    );
    this.#spanErrorMs = spanErrorMs;
  }

  before({ ownSentAt, answeredAt }: Refusal): Spent {
    const until = answeredAt + this.#spanErrorMs;
    const answered = countWhile(this.#granted, (at) => at <= until);
    const begun = countWhile(this.#granted, (at) => at <= until + this.#longestMs);
    // An earlier try of the refused request itself may have spent the token.
    const underWay = this.#granted.slice(answered, begun).filter(({ sentAt }) => sentAt <= until);
    const refused = countWhile(this.#refused, (at) => at < ownSentAt);
    const countUnless = (isEarly: IsEarly) =>
      Math.max(0, answered - countWhile(this.#granted, isEarly)) +
      underWay.filter((each) => !isEarly(each.answeredAt)).length +
      (refused > 0 ? Math.max(0, refused - countWhile(this.#refused, isEarly)) : 0);
    return {
      countAfter: (from) => countUnless((at) => at <= from),
      countSince: (from) => countUnless((at) => at < from),
      all: () => {
        const passed = [...this.#granted.slice(0, answered), ...underWay];
        return refused > 0 ? [...passed, ...this.#refused.slice(0, refused)].sort(byReply) : passed;
      },
    };
  }
}

type IsEarly = (answeredAt: number) => boolean;

/** How many of these, which are in the order of their replies, were answered so early. */
function countWhile(exchanges: readonly Exchange[], isEarly: IsEarly): number {
  const answeredAt = (place: number) => exchanges[place]?.answeredAt ?? Number.POSITIVE_INFINITY;
  return firstThat(0, exchanges.length, (place) => !isEarly(answeredAt(place)));
}

/** What all hypotheses about a bucket have in common. */
interface Decided {
  readonly refused: readonly Exchange[];
  readonly doubtful: SplitBucket['doubtful'];
  /** Each refusal, and what may have spent a token before it: the same for each refill. */
  readonly judgedBy: (split: SplitBucket, hypothesis: Hypothesis) => readonly Judged[];
}

interface Judged {
  readonly refusal: Refusal;
  readonly spent: Spent;
}

function decidedIn({ exchanges, ofUnknown = [] }: Bucket): Decided {
  const refused = exchanges.filter(isRefused);
  const triesLost = exchanges.flatMap((exchange) =>
    Array.from({ length: triesWithoutReply(exchange) }, () => exchange),
  );
  const refusals = refused.map((refusal): Refusal => {
    const simultaneous = refused.filter(
      ({ sentAt, answeredAt }) => sentAt <= refusal.answeredAt && answeredAt >= refusal.sentAt,
    );
    const sentAt = Math.min(...simultaneous.map((each) => each.sentAt));
    const answeredAt = Math.max(...simultaneous.map((each) => each.answeredAt));
    return { ...refusal, sentAt, answeredAt, ownSentAt: refusal.sentAt };
  });
  const known = new Map<string, readonly Judged[]>();
  const judgedBy: Decided['judgedBy'] = (split, { refill: _, ...spending }) =>
    getOrAdd(known, JSON.stringify(spending), () => {
      const spenders = new Spenders(split);
      return refusals.map((refusal) => ({ refusal, spent: spenders.before(refusal) }));
    });
  return { refused, doubtful: [...triesLost, ...ofUnknown], judgedBy };
}
