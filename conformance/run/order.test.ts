import { describe, expect, test } from 'vitest';
import { allCases } from '../cases/all.ts';
import { type Bucket, BucketLedger } from './budget.ts';
import type { AnyCase } from './case.ts';
import { type Item, itemsOf } from './items.ts';
import { Schedule } from './order.ts';

const item = (id: string, parts: Partial<Item> = {}): Item => ({
  id,
  spends: {},
  fullBuckets: [],
  after: [],
  isLong: false,
  recordings: [],
  throttled: 0,
  seconds: 0,
  spendsForMs: Number.POSITIVE_INFINITY,
  ...parts,
});

function spend(ledger: BucketLedger, bucket: Bucket, times: number, at: number): void {
  for (let i = 0; i < times; i += 1) ledger.note(bucket, at, { isSuccess: true });
}

/** Starts every item that can start, finishes it at once, and returns the order. */
function startedAt(schedule: Schedule, now: number): string[] {
  const ids: string[] = [];
  for (;;) {
    const decision = schedule.next(now);
    if (decision.kind !== 'start') return ids;
    ids.push(decision.item.id);
    schedule.finished(decision.item);
  }
}

describe('a case', () => {
  test('starts while what it spends fits into the last minute', () => {
    const ledger = new BucketLedger();
    spend(ledger, 'send', 117, 0);
    const schedule = new Schedule([item('three', { spends: { send: 3 } })], ledger, 0);
    expect(startedAt(schedule, 1_000)).toEqual(['three']);
  });

  test('waits until enough of the last minute is over, and says for which bucket', () => {
    const ledger = new BucketLedger();
    spend(ledger, 'send', 118, 0);
    const schedule = new Schedule([item('three', { spends: { send: 3 } })], ledger, 0);
    expect(schedule.next(1_000)).toMatchObject({ kind: 'wait', ms: 60_000, bucket: 'send' });
    expect(startedAt(schedule, 61_000)).toEqual(['three']);
  });

  test('counts the requests that running cases will still send', () => {
    const ledger = new BucketLedger();
    spend(ledger, 'tasks', 50, 0);
    const items = [item('one', { spends: { tasks: 8 } }), item('two', { spends: { tasks: 8 } })];
    const schedule = new Schedule(items, ledger, 0);
    expect(schedule.next(1).kind).toBe('start');
    expect(schedule.next(1).kind).toBe('wait');
  });

  test('that spends nothing runs before one that has to wait', () => {
    const ledger = new BucketLedger();
    spend(ledger, 'send', 120, 0);
    const items = [item('send', { spends: { send: 1 } }), item('read')];
    expect(startedAt(new Schedule(items, ledger, 0), 1)).toEqual(['read']);
  });

  test('that judges a recording comes after it', () => {
    const items = [item('case', { after: ['watch'] }), item('watch', { isLong: true })];
    expect(startedAt(new Schedule(items, new BucketLedger(), 0), 0)).toEqual(['watch', 'case']);
  });
});

describe('a flood', () => {
  const flood = item('flood', { fullBuckets: ['send'], isLong: true });

  test('comes at once if nothing else can run', () => {
    expect(startedAt(new Schedule([flood], new BucketLedger(), 0), 0)).toEqual(['flood']);
  });

  test('comes after small cases, a minute into the run, when earlier tokens have returned', () => {
    const cases = ['a', 'b'].map((id) => item(id, { spends: { send: 1 } }));
    const schedule = new Schedule([flood, ...cases], new BucketLedger(), 0);
    expect(startedAt(schedule, 0)).toEqual(['a', 'b', 'flood']);
  });

  test('waits until the small cases have left the bucket alone, for a sliding counter, too', () => {
    const ledger = new BucketLedger();
    const schedule = new Schedule([flood, item('small', { spends: { send: 100 } })], ledger, 0);
    expect(startedAt(schedule, 0).slice(0, 1)).toEqual(['small']);
    spend(ledger, 'send', 100, 5_000);
    const within = (waitMs: number) => new Schedule([flood], ledger, 0, waitMs).next(10_000);
    expect(within(120_000)).toMatchObject({ kind: 'wait', ms: 110_000, bucket: 'send' });
    // A counter would need a longer wait than this.
    expect(within(60_000)).toMatchObject({ kind: 'wait', ms: 56_000, bucket: 'send' });
  });

  test('runs before the cases that wait for the same bucket', () => {
    const ledger = new BucketLedger();
    spend(ledger, 'send', 120, 0);
    const items = [flood, item('small', { spends: { send: 1 } })];
    expect(startedAt(new Schedule(items, ledger, -60_000), 62_000)).toEqual(['flood', 'small']);
    const schedule = new Schedule(items, ledger, -60_000);
    expect(schedule.next(30_000)).toMatchObject({ kind: 'wait', item: { id: 'flood' } });
  });

  test('has its bucket to itself', () => {
    const ledger = new BucketLedger();
    const items = [flood, item('small', { spends: { send: 1 } })];
    const schedule = new Schedule(items, ledger, -60_000);
    expect(schedule.next(0)).toMatchObject({ kind: 'start', item: { id: 'flood' } });
    expect(schedule.next(0).kind).toBe('busy');
  });

  test('waits for what may spend its bucket, but not for what only reads after a while', () => {
    const watch = { spends: { send: 1 }, isLong: true };
    const whole = new Schedule([item('watch', watch), flood], new BucketLedger(), -60_000);
    expect(whole.next(0)).toMatchObject({ kind: 'start', item: { id: 'watch' } });
    expect(whole.next(90_000).kind).toBe('busy');
    const items = [item('watch', { ...watch, spendsForMs: 60_000 }), flood];
    const schedule = new Schedule(items, new BucketLedger(), -60_000);
    schedule.next(0);
    expect(schedule.next(20_000)).toMatchObject({ kind: 'wait', ms: 40_000, bucket: 'send' });
    expect(schedule.next(60_000)).toMatchObject({ kind: 'start', item: { id: 'flood' } });
  });
});

test('a recording leaves a bucket that it empties to the cases that wait to spend from it', () => {
  const [anyCase] = allCases;
  const early = item('early', { spends: { tasks: 50 }, throttled: 2 });
  const later = item('later', {
    spends: { tasks: 1, send: 10 },
    ...(anyCase && { case: anyCase }),
  });
  const judging = { ...later, id: 'judging', after: ['early'] };
  const ledger = new BucketLedger();
  spend(ledger, 'send', 115, 0);
  const schedule = new Schedule([later, judging, early], ledger, 0);
  expect(startedAt(schedule, 1_000)).toEqual([]);
  expect(startedAt(schedule, 61_000)).toEqual(['later', 'early', 'judging']);
});

test('a ledger knows the last minute, and waits for what may not have spent a token', () => {
  const ledger = new BucketLedger();
  ledger.note('send', 0, { isSuccess: true });
  ledger.note('send', 30_000, { isSuccess: false });
  ledger.note('send', 62_000, { isSuccess: true });
  expect(ledger.msUntilRoom('send', 118, 62_000)).toBe(0);
  expect(ledger.msUntilRoom('send', 119, 62_000)).toBe(29_000);
  expect(ledger.msUntilQuiet('send', 62_000)).toBe(29_000);
  expect(ledger.msUntilQuiet('send', 91_000)).toBe(0);
});

test('a ledger that had a refusal in spite of room counts as a sliding counter does', () => {
  const ledger = new BucketLedger();
  spend(ledger, 'send', 120, 30_000);
  expect(ledger.msUntilRoom('send', 60, 92_000)).toBe(0);
  expect(ledger.countAt('send', 90_000)).toBe(60);
  ledger.note('send', 92_000, { isSuccess: false, isWaitedOut: true });
  // At 92 s, 28 of 60 s of the last minute count, so 56 of its 120 requests.
  expect(ledger.msUntilRoom('send', 64, 92_000)).toBe(0);
  expect(ledger.msUntilRoom('send', 70, 92_000)).toBe(3_000);
  expect(ledger.msUntilQuiet('send', 92_000)).toBe(61_000);
});

test('a ledger knows the minutes of a target whose clock is ahead', () => {
  const ledger = new BucketLedger(() => ({ least: 39_000, most: 41_000 }));
  spend(ledger, 'send', 120, 15_000);
  // Its next minute begins at 20 s.
  expect(ledger.countAt('send', 50_000)).toBe(60);
  expect(ledger.msUntilForgotten('send', 50_000)).toBe(30_000);
});

test('a flood that shows a sliding counter shows it of the other buckets, too', () => {
  const ledger = new BucketLedger();
  spend(ledger, 'received', 120, 30_000);
  expect(ledger.msUntilRoom('received', 70, 92_000)).toBe(0);
  ledger.noteSlidingCounter();
  expect(ledger.msUntilRoom('received', 70, 92_000)).toBe(3_000);
});

test('a recording that empties a bucket waits for a running case that spends from it', () => {
  const [anyCase] = allCases as [AnyCase];
  const reader = item('case', { case: anyCase, spends: { tasks: 2 } });
  const emptying = item('early flood', { throttled: 2, spends: { tasks: 50 } });
  const schedule = new Schedule([reader, emptying], new BucketLedger(), 0);
  expect(schedule.next(0)).toMatchObject({ kind: 'start', item: reader });
  expect(schedule.next(0).kind).toBe('busy');
  schedule.finished(reader);
  expect(schedule.next(0)).toMatchObject({ kind: 'start', item: emptying });
});

const capabilities = {
  flags: {},
  hasControl: false,
  isOwn: false,
  isDiscovering: false,
  seed: 1,
  timeoutMs: 120_000,
};

/** The recordings that a case judges, without a control port. */
function recordingsOf(id: string) {
  return allCases.find((each) => each.id === id)?.recordings ?? [];
}

const recordings = [
  ...recordingsOf('LIMIT-4/many-minutes'),
  ...recordingsOf('LIMIT-5/many-minutes'),
];
const [anyCase] = allCases;
const items = anyCase === undefined ? [] : itemsOf([{ ...anyCase, recordings }], capabilities);

function itemWith(name: string) {
  return items.find(({ recordings }) => recordings.some((one) => one.name === name));
}

test('a recording that follows another waits for it', () => {
  const flood = itemWith('flood of received');
  expect(flood?.fullBuckets).toContain('received');
  expect(itemWith('bursts of received')?.after).toEqual([flood?.id]);
});

test('recordings for idle time come last, and their cases wait for them', () => {
  const early = itemWith('an early flood of tasks');
  expect(items.slice(-2)).toEqual([itemWith('an early request for received'), early]);
  expect(items.find(({ case: one }) => one !== undefined)?.after).toContain(early?.id);
});

test('a case that sends again after a wait follows the floods', () => {
  const named = ['SEND-7/nothing-ends-a-hold', 'SEND-7/held-is-not-sent-early', 'LIMIT-1/120-pass'];
  const list = itemsOf(
    allCases.filter(({ id }) => named.includes(id)),
    capabilities,
  );
  const flood = list.find(({ fullBuckets }) => fullBuckets.includes('send'));
  const afterOf = (name: string) => list.find(({ id }) => id === name)?.after;
  expect(afterOf('SEND-7/nothing-ends-a-hold')).toEqual([flood?.id]);
  expect(afterOf('SEND-7/held-is-not-sent-early')).toEqual([]);
});

test('a case that spends much of a limit follows the floods, and comes before small ones', () => {
  const named = ['SEND-3/any-text', 'SEND-4/fifty-at-once', 'LIMIT-1/120-pass'];
  const list = itemsOf(
    allCases.filter(({ id }) => named.includes(id)),
    capabilities,
  );
  const ids = list.filter((one) => one.case !== undefined).map(({ id }) => id);
  expect(ids[0]).toBe('SEND-4/fifty-at-once');
  const flood = list.find(({ fullBuckets }) => fullBuckets.includes('send'));
  expect(list.find(({ id }) => id === ids[0])?.after).toEqual([flood?.id]);
});
