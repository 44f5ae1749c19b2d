/**
 * Simulates a schedule without sending requests, to estimate its requests and duration.
 */
import { BucketLedger, entriesOf, sendsIn } from './buckets.ts';
import type { AnyCase } from './case.ts';
import { Schedule } from './schedule.ts';
import { itemsOf, type RunItem } from './schedule-items.ts';
import type { Means } from './target.ts';

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
    if (decision.kind === 'done') return { ...total, seconds: now / 1000 };
    if (decision.kind === 'busy') {
      untilNext();
      continue;
    }
    const { item } = decision;
    if (decision.kind === 'wait') {
      const next = Math.min(...running.map(({ until }) => until));
      if (next <= now + decision.ms) untilNext();
      else now += decision.ms;
    } else if (decision.lack !== undefined) {
      if (item.one !== undefined) skipped.set(item.one, decision.lack);
      schedule.finished(item);
    } else {
      for (const [bucket, count] of entriesOf(item.spends))
        for (let i = 0; i < count; i += 1) ledger.note(bucket, now, true);
      running.push({ item, until: now + item.seconds * 1000 });
      total.sends += sendsIn(item.spends);
      total.throttled += item.throttled;
    }
  }
}
