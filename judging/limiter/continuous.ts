/**
 * The model of a continuous refill: a bucket of N tokens gets a token back every 60/N seconds.
 *
 * With a limit of 6, and 6 requests at once: the next one passes after 10 s, and two after 20 s.
 */
import { minuteMs } from '#contract/time.ts';
import type { Exchange } from '../evidence/exchange.ts';
import type { Excess, SplitBucket } from './bucket.ts';

/** A continuous refill lets N requests pass, plus N for each minute that they take. */
export function continuousExcess({ granted, limit, spanErrorMs }: SplitBucket): Excess | undefined {
  for (const [i, { sentAt }] of granted.entries()) {
    let latest = sentAt;
    for (const [n, exchange] of granted.slice(i).entries()) {
      latest = Math.max(latest, exchange.answeredAt);
      const most = limit + ((latest - sentAt + spanErrorMs) * limit) / minuteMs;
      if (n + 1 > most) return { exchange, passed: n + 1, spanMs: latest - sentAt };
    }
  }
  return undefined;
}

/** A token, and a hundredth for rounding. */
const wholeToken = 1.01;

/** True if the bucket certainly held a token for the refused request. */
export function continuousHadToken(
  bucket: SplitBucket,
  refusal: Exchange,
  spenders: readonly Exchange[],
): boolean {
  const { limit, granted, knownSince, refusalsSpend, spanErrorMs } = bucket;
  const returnedSince = (at: number) => ((refusal.sentAt - spanErrorMs - at) * limit) / minuteMs;
  const latestFirst = spenders.map(({ answeredAt }) => answeredAt).toSorted((a, b) => b - a);
  const isFilled = latestFirst.every((spentAt, i) => {
    const remaining = limit - (i + 1);
    return remaining >= 1 || remaining + returnedSince(spentAt) > wholeToken;
  });
  if (!isFilled) return false;
  // The bucket may have been empty where the record begins. Unknown refusals that spend may even
  // have left less than nothing.
  const atStart = refusalsSpend ? -limit : 0;
  if (atStart + returnedSince(knownSince) - spenders.length > wholeToken) return true;
  // It had a token for each request that passed.
  return granted.some((pass) => {
    const later = spenders.filter(
      (spender) => spender !== pass && spender.answeredAt + spanErrorMs >= pass.sentAt,
    );
    return returnedSince(pass.answeredAt) - later.length > wholeToken;
  });
}
