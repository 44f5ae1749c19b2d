/**
 * Simulates a schedule without sending requests, to estimate its requests and duration.
 */
import { type Bucket, BucketLedger, type Spends } from './buckets.ts';
import type { AnyCase } from './case.ts';
import { Schedule } from './schedule.ts';
import { itemsOf, type RunItem } from './schedule-items.ts';
import type { Means } from './target.ts';

/** The time of a request and its reply. */
const secondsPerRequest = 0.02;
const requestsOfACase = 5;

/** Adds cases that would wait too long to `skipped`, with the reason. */
export function simulateSchedule(
  cases: readonly AnyCase[],
  skipped: Map<AnyCase, string>,
  means: Means,
): { sends: number; throttled: number; seconds: number } {
  const ledger = new BucketLedger();
  const runnable = cases.filter((one) => !skipped.has(one));
  const schedule = new Schedule(itemsOf(runnable, means), ledger, 0, means.timeoutMs);
  const running: { readonly item: RunItem; readonly until: number }[] = [];
  const total = { sends: 0, throttled: 0 };
  let now = 0;
  const untilNext = () => {
    running.sort((a, b) => a.until - b.until);
    const next = running.shift();
    if (next === undefined) return;
    now = Math.max(now, next.until);
    schedule.finished(next.item);
  };
  for (;;) {
    const decision = schedule.next(now);
    if (decision.kind === 'done') break;
    if (decision.kind === 'busy') {
      untilNext();
      continue;
    }
    const { item } = decision;
    if (decision.kind === 'wait') {
      const next = Math.min(...running.map(({ until }) => until));
      if (next <= now + decision.ms) untilNext();
      else now += decision.ms;
      continue;
    }
    if (decision.lack !== undefined) {
      if (item.kind === 'case') skipped.set(item.one, decision.lack);
      schedule.finished(item);
      continue;
    }
    const spends = item.kind === 'case' ? [item.spends] : item.recordings.map((one) => one.spends);
    for (const one of spends) note(one);
    running.push({ item, until: now + secondsOf(item) * 1000 });
    if (item.kind === 'case') total.throttled += item.one.cost.throttled ?? 0;
    else for (const one of item.recordings) total.throttled += one.throttled ?? 0;
  }
  return { ...total, seconds: now / 1000 };

  function note(spends: Spends): void {
    for (const [bucket, count] of Object.entries(spends) as [Bucket, number][]) {
      for (let i = 0; i < count; i += 1) ledger.note(bucket, now, true);
      if (bucket.endsWith('send')) total.sends += count;
    }
  }
}

function secondsOf(item: RunItem): number {
  if (item.kind === 'recordings') return Math.max(...item.recordings.map(({ seconds }) => seconds));
  return (item.one.cost.waits ?? 0) + requestsOfACase * secondsPerRequest;
}
