/** Limiters that look back from each request: a log of the last N, and a bucket of tokens. */
import { type Decision, type Span, spanOf, spentBefore, type Version } from './decision.ts';

/** At most N requests in any window: a token comes back exactly one window after it was spent. */
export function slidingLog(
  decisions: readonly Decision[],
  { limit, windowMs, refusalsSpend, knownSince }: Version,
  since = 0,
): Span | undefined {
  const [shortest, longest] = windowMs;
  const spent = spentBefore(decisions, refusalsSpend);
  let [least, most] = limit;
  let certain = 0;
  let possible = 0;
  for (let i = since; i < decisions.length && least <= most; i += 1) {
    const { from, to, passed } = decisions[i] as Decision;
    if (passed) {
      while (certain < i && to - (decisions[certain] as Decision).from >= shortest) certain += 1;
      const isInside = to - from < shortest;
      least = Math.max(least, sum(spent, certain, isInside ? i + 1 : i) + (isInside ? 0 : 1));
      continue;
    }
    if (from - longest < knownSince) continue;
    while (possible < i && (decisions[possible] as Decision).to <= from - longest) possible += 1;
    most = Math.min(most, sum(spent, possible, i));
  }
  return spanOf(least, most);
}

function sum(spent: readonly number[], from: number, until: number): number {
  return (spent[until] ?? 0) - (spent[from] ?? 0);
}

/** A hundredth of a token, for rounding. */
const rounding = 0.01;

/**
 * A bucket of N tokens that refills evenly within a window. Since each earlier request, at most N and
 * what came back can have been spent; where that one was refused, less than one and what came back.
 * And where a request is refused, that much was spent since one of them, or since the bucket was
 * empty: it never holds less than nothing, whatever came before.
 */
export function tokenBucket(
  decisions: readonly Decision[],
  { limit, windowMs, refusalsSpend, knownSince }: Version,
  since = 0,
): Span | undefined {
  const [shortest, longest] = windowMs;
  const spent = spentBefore(decisions, refusalsSpend);
  let [least, most] = limit;
  for (let i = since; i < decisions.length && least <= most; i += 1) {
    const { from, to, passed, count } = decisions[i] as Decision;
    const before = spent[i] as number;
    if (passed) {
      for (let j = i; j >= 0; j -= 1) {
        const earlier = decisions[j] as Decision;
        const needed = before - (spent[j] as number) + count - rounding;
        const back = (to - earlier.from) / shortest;
        if (before + count <= back * least) break;
        const bound = earlier.passed ? needed / (1 + back) : (needed - 1) / back;
        least = Math.max(least, Math.ceil(bound));
      }
      continue;
    }
    let explained = 0;
    for (let j = i - 1; j >= -1 && explained < most; j -= 1) {
      const since = decisions[j]?.to ?? knownSince;
      const back = Math.max(0, from - since) / longest;
      const missing = 1 + rounding + before - (spent[j + 1] as number);
      most = Math.min(most, Math.max(explained, Math.floor(missing / back)));
      const wasFull = missing + (spent[j + 1] as number) - (spent[Math.max(0, j)] as number);
      explained = Math.max(explained, Math.floor(wasFull / (1 + back)));
    }
  }
  return spanOf(least, most);
}
