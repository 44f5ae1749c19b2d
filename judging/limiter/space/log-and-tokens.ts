/** Limiters that look back from each request: a log of the last N, and a bucket of tokens. */
import { type Decision, spentBefore, type Version } from './decision.ts';

/** At most N requests in any window: a token comes back exactly one window after it was spent. */
export function slidingLog(
  decisions: readonly Decision[],
  version: Version,
  since = 0,
): number | undefined {
  const { limit, windowMs, refusalsSpend, knownSince } = version;
  const [shortest, longest] = windowMs;
  const spent = spentBefore(decisions, refusalsSpend);
  let certain = 0;
  let possible = 0;
  for (let i = since; i < decisions.length; i += 1) {
    const { from, to, passed } = decisions[i] as Decision;
    if (passed) {
      while (certain < i && to - (decisions[certain] as Decision).from >= shortest) certain += 1;
      const isInside = to - from < shortest;
      if (isInside && sum(spent, certain, i + 1) > limit[1]) return i;
      if (!isInside && sum(spent, certain, i) >= limit[1]) return i;
      continue;
    }
    if (from - longest < knownSince) continue;
    while (possible < i && (decisions[possible] as Decision).to <= from - longest) possible += 1;
    if (sum(spent, possible, i) < limit[0]) return i;
  }
  return undefined;
}

function sum(spent: readonly number[], from: number, until: number): number {
  return (spent[until] ?? 0) - (spent[from] ?? 0);
}

/** A token, and a hundredth for rounding. */
const wholeToken = 1.01;

/**
 * A bucket of N tokens that refills evenly within a window. Before each request it holds the least,
 * over all earlier requests, of: N, less what was spent since that request, plus what came back.
 */
export function tokenBucket(decisions: readonly Decision[], version: Version): number | undefined {
  const { limit, windowMs, refusalsSpend, knownSince } = version;
  const [slowest, fastest] = [limit[0] / windowMs[1], limit[1] / windowMs[0]];
  const spent = spentBefore(decisions, refusalsSpend);
  let mostAt = Number.POSITIVE_INFINITY;
  let leastAt = Number.POSITIVE_INFINITY;
  for (const [i, { from, to, passed, count }] of decisions.entries()) {
    const before = spent[i] ?? 0;
    mostAt = Math.min(mostAt, limit[1] + before - fastest * from);
    if (passed) {
      const most = mostAt + fastest * to - (before + count - 1);
      if (most < 2 - wholeToken) return i;
    } else if (from - windowMs[1] >= knownSince) {
      const least = leastAt + slowest * from - before;
      if (least > wholeToken) return i;
    }
    leastAt = Math.min(leastAt, limit[0] + before - slowest * to);
  }
  return undefined;
}
