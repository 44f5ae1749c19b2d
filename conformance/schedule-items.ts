/**
 * The items of a schedule without a control port: the cases, and the recordings that they judge.
 */
import { type Bucket, minuteMs, type Spends } from './buckets.ts';
import { type AnyCase, idOf, spendsOf } from './case.ts';
import type { Recording } from './recording.ts';
import type { Item } from './schedule.ts';
import type { Means } from './target.ts';

export interface CaseItem extends Item {
  readonly kind: 'case';
  readonly one: AnyCase;
}

/** Recordings that are made together, in this order. */
export interface RecordingItem extends Item {
  readonly kind: 'recordings';
  readonly after: string[];
  readonly recordings: readonly Recording[];
}

export type RunItem = CaseItem | RecordingItem;

export function itemsOf(cases: readonly AnyCase[], means: Means): RunItem[] {
  const recordings = [...new Set(cases.flatMap(({ recordings: own = [] }) => own))];
  // The address's flood comes first: its 429s must not affect calls with a key.
  const rank = ({ full }: Recording) => Number(full?.[0] !== 'address');
  const floods = recordings
    .filter(({ full }) => full !== undefined)
    .toSorted((a, b) => rank(a) - rank(b));
  // In sequence, each flood sees what the previous ones left of its bucket. If the timeout does not
  // allow a wait for all buckets, each flood starts as soon as its own bucket allows.
  const groups = means.timeoutMs > minuteMs ? [floods] : floods.map((flood) => [flood]);
  const others = recordings.filter(({ full }) => full === undefined);
  const items: RunItem[] = [
    ...others.filter(({ inIdleTime }) => !inIdleTime).map((one) => [one]),
    ...groups.filter((group) => group.length > 0),
  ].map(recordingItem);
  const last = others.filter(({ inIdleTime }) => inIdleTime).map((one) => recordingItem([one]));
  const itemWith = (recording: Recording) =>
    [...items, ...last].find(
      (item) => item.kind === 'recordings' && item.recordings.includes(recording),
    )?.id;
  for (const item of items)
    if (item.kind === 'recordings')
      item.after.push(
        ...item.recordings.flatMap(({ follows }) => (follows && itemWith(follows)) ?? []),
      );
  const isLong = (one: AnyCase) => (one.cost.waits ?? 0) > 2;
  // Items that mostly wait start first, so that they do not delay the end.
  const costOf = (one: AnyCase) =>
    (one.cost.sends ?? 0) + ('rule' in one ? 0 : 500) - (isLong(one) ? 1_000 : 0);
  for (const one of cases.toSorted((a, b) => costOf(a) - costOf(b)))
    items.push({
      kind: 'case',
      one,
      id: idOf(one),
      spends: spendsOf(one),
      full: [],
      after: [...new Set((one.recordings ?? []).flatMap((recording) => itemWith(recording) ?? []))],
      isLong: isLong(one),
    });
  return [...items, ...last];
}

function recordingItem(recordings: readonly Recording[]): RecordingItem {
  const full = recordings.flatMap((one) => one.full ?? []) as Bucket[];
  return {
    kind: 'recordings',
    recordings,
    id: recordings.map(({ name }) => name).join(', '),
    spends: full.length > 0 ? {} : sum(recordings.map(({ spends }) => spends)),
    full,
    after: [],
    isLong: true,
  };
}

function sum(all: readonly Spends[]): Spends {
  const total: Partial<Record<Bucket, number>> = {};
  for (const spends of all)
    for (const [bucket, count] of Object.entries(spends) as [Bucket, number][])
      total[bucket] = (total[bucket] ?? 0) + count;
  return total;
}
