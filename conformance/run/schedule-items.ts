/**
 * The items of a schedule without a control port: the cases, and the recordings that several cases
 * judge together. Their order here is their priority. A *flood* is a recording that needs a full
 * bucket (`full`) and spends it to see the limit enforced. *Idle* recordings leave a bucket empty
 * or unused, so they come last.
 */
import { minuteMs } from '#contract/time.ts';
import { type Bucket, entriesOf, type Spends, sendsIn } from '#judging/limiter/buckets.ts';
import type { Means } from '../target/target.ts';
import type { AnyCase } from './case.ts';
import type { Recording } from './recording.ts';
import type { Item } from './schedule.ts';

/** A case, or recordings. */
export interface RunItem extends Item {
  /** The case to run; undefined for recordings. */
  readonly case?: AnyCase;
  /** The recordings that are made at the same time; empty for a case. */
  readonly recordings: readonly Recording[];
  /** The number of 429s that it provokes. */
  readonly throttled: number;
  /** Its duration in real seconds. */
  readonly seconds: number;
}

/** The duration of a few requests and their replies. */
const secondsOfACase = 0.1;
/** A case with a longer wait does not keep others from running. */
const longWaitSeconds = 2;

export function itemsOf(cases: readonly AnyCase[], means: Means): RunItem[] {
  const all = [...new Set(cases.flatMap(({ recordings = [] }) => recordings))];
  const floods = all.filter(isFlood).toSorted((a, b) => floodRank(a) - floodRank(b));
  const others = all.filter((recording) => !isFlood(recording));
  const first = others.filter(({ inIdleTime }) => !inIdleTime).map((recording) => [recording]);
  const idle = others.filter(({ inIdleTime }) => inIdleTime).map((recording) => [recording]);
  // In sequence, each flood sees what the previous ones left of its bucket. If the timeout does not
  // allow a wait for all buckets, each flood starts as soon as its own bucket allows.
  const areTogether = means.timeoutMs > minuteMs && floods.length > 0;
  const floodGroups = areTogether ? [floods] : floods.map((flood) => [flood]);
  const groups = [...first, ...floodGroups, ...idle];
  const recordingItem = (group: readonly Recording[]) => itemOfRecordings(group, groups);
  return [
    ...[...first, ...floodGroups].map(recordingItem),
    ...cases.toSorted((a, b) => costOf(a) - costOf(b)).map((each) => itemOfCase(each, groups)),
    ...idle.map(recordingItem),
  ];
}

type Groups = readonly (readonly Recording[])[];

function isFlood({ full }: Recording): boolean {
  return full !== undefined;
}

/** The address's flood comes first: its 429s must not affect calls with a key. */
function floodRank({ full }: Recording): number {
  return full?.[0] === 'address' ? 0 : 1;
}

function itemOfRecordings(recordings: readonly Recording[], groups: Groups): RunItem {
  return {
    id: idOfGroup(recordings),
    recordings,
    spends: sum(recordings.map(({ spends }) => spends)),
    full: recordings.flatMap(({ full = [] }) => full),
    after: idsWith(
      recordings.flatMap(({ follows }) => follows ?? []),
      groups,
    ),
    isLong: true,
    throttled: recordings.reduce((total, { throttled = 0 }) => total + throttled, 0),
    seconds: Math.max(...recordings.map(({ seconds = 1 }) => seconds)),
  };
}

function itemOfCase(anyCase: AnyCase, groups: Groups): RunItem {
  const { id, spends, throttled = 0, waits = 0, recordings = [] } = anyCase;
  return {
    id,
    case: anyCase,
    recordings: [],
    spends,
    full: [],
    after: idsWith(recordings, groups),
    isLong: waits > longWaitSeconds,
    throttled,
    seconds: waits + secondsOfACase,
  };
}

/** Cases that mostly wait come first, so that they do not delay the end; observations come last. */
function costOf(anyCase: AnyCase): number {
  const { spends, waits = 0 } = anyCase;
  const observationsLast = 'run' in anyCase ? 500 : 0;
  const waitersFirst = waits > longWaitSeconds ? 1_000 : 0;
  return sendsIn(spends) + observationsLast - waitersFirst;
}

/** The ids of the groups that contain one of these recordings. */
function idsWith(recordings: readonly Recording[], groups: Groups): string[] {
  return groups.filter((group) => recordings.some((each) => group.includes(each))).map(idOfGroup);
}

function idOfGroup(recordings: readonly Recording[]): string {
  return recordings.map(({ name }) => name).join(', ');
}

function sum(all: readonly Spends[]): Spends {
  const total: Partial<Record<Bucket, number>> = {};
  for (const spends of all)
    for (const [bucket, count] of entriesOf(spends)) total[bucket] = (total[bucket] ?? 0) + count;
  return total;
}
