/**
 * What a run without a control port starts as one: a case, or recordings that are made together.
 * All cases and recordings become items here, in the order in which the schedule (`order.ts`) tries
 * them.
 */
import { minuteMs, secondMs } from '#contract/time.ts';
import type { Capabilities } from '../target/target.ts';
import { type Bucket, entriesOf, limitOf, type Spends, sendsIn } from './budget.ts';
import type { AnyCase } from './case.ts';
import type { Recording } from './recording.ts';
import { usesSecondAccount } from './trial.ts';

export interface Item {
  readonly id: string;
  /** What it spends of the first account's limits, and of the address's. */
  readonly spends: Spends;
  /** Buckets that must be full, and that no other item may use meanwhile. Only floods have any. */
  readonly fullBuckets: readonly Bucket[];
  /** Ids of items that must finish first. */
  readonly after: readonly string[];
  /** True if it mostly waits, so that other items can run at the same time. */
  readonly isLong: boolean;
  /** The case to run; undefined for recordings. */
  readonly case?: AnyCase;
  /** The recordings that are made at the same time; empty for a case. */
  readonly recordings: readonly Recording[];
  /** The number of 429s that it provokes. */
  readonly throttled: number;
  /** Its duration in real seconds, as planned. */
  readonly seconds: number;
  /** After this time of its start it spends no more; infinity if that is unknown. */
  readonly spendsForMs: number;
}

/** The planned duration of a few requests and their replies. */
const secondsOfACase = 0.1;
/** A case with a longer wait counts as mostly waiting. */
const longWaitSeconds = 2;

export function itemsOf(cases: readonly AnyCase[], capabilities: Capabilities): Item[] {
  const all = [...new Set(cases.flatMap(({ recordings = [] }) => recordings))];
  const floods = all.filter(isFlood).toSorted((a, b) => floodRank(a) - floodRank(b));
  const others = all.filter((recording) => !isFlood(recording)).map((recording) => [recording]);
  const first = others.filter(([recording]) => !recording?.isForIdleTime);
  const idle = others.filter(([recording]) => recording?.isForIdleTime);
  // In sequence, each flood sees what the previous ones left of its bucket. If the timeout does not
  // allow a wait for all buckets, each flood starts as soon as its own bucket allows.
  const areTogether = capabilities.timeoutMs > minuteMs && floods.length > 0;
  const floodGroups = areTogether ? [floods] : floods.map((flood) => [flood]);
  const groups = [...first, ...floodGroups, ...idle];
  const recordingItem = (group: readonly Recording[]) => itemOfRecordings(group, groups);
  return [
    ...[...first, ...floodGroups].map(recordingItem),
    ...cases.toSorted(byRankAndSends).map((each) => {
      const item = itemOfCase(each, groups);
      return usesSecondAccount(each.account, capabilities) ? { ...item, spends: {} } : item;
    }),
    ...idle.map(recordingItem),
  ];
}

/**
 * A case that spends this share of a limit is large. It comes before small ones, which take each
 * token that comes back, and after the floods, which need a full bucket.
 */
const leastLargeShare = 0.25;

function isLarge({ spends }: AnyCase): boolean {
  return entriesOf(spends).some(([bucket, count]) => count >= limitOf(bucket) * leastLargeShare);
}

/**
 * True if it sends, waits, and sends again. It comes after the floods, too: a late replay or refusal
 * may have spent a token, so a flood would have to wait for another minute.
 */
function sendsAgainLate({ spends, waitSeconds = 0 }: AnyCase): boolean {
  return waitSeconds > longWaitSeconds && sendsIn(spends) > 1;
}

type Groups = readonly (readonly Recording[])[];

export function isFlood({ fullBuckets }: Recording): boolean {
  return fullBuckets !== undefined;
}

/**
 * The flood of the address comes first: its 429s must not affect calls with a key. Each later flood
 * asks the endpoints that are not flooded yet, and a request for received messages costs nothing.
 */
const firstFloods: readonly (Bucket | undefined)[] = ['address', 'tasks', 'received'];

function floodRank({ fullBuckets }: Recording): number {
  const rank = firstFloods.indexOf(fullBuckets?.[0]);
  return rank < 0 ? firstFloods.length : rank;
}

function itemOfRecordings(recordings: readonly Recording[], groups: Groups): Item {
  return {
    id: idOfGroup(recordings),
    recordings,
    spends: sum(recordings.map(({ spends }) => spends)),
    fullBuckets: recordings.flatMap(({ fullBuckets = [] }) => fullBuckets),
    after: idsWith(
      recordings.flatMap(({ follows }) => follows ?? []),
      groups,
    ),
    isLong: true,
    throttled: recordings.reduce((total, { throttled = 0 }) => total + throttled, 0),
    seconds: Math.max(...recordings.map(({ seconds = 1 }) => seconds)),
    spendsForMs:
      secondMs *
      Math.max(
        ...recordings.map(({ spendsForSeconds = Number.POSITIVE_INFINITY }) => spendsForSeconds),
      ),
  };
}

function itemOfCase(anyCase: AnyCase, groups: Groups): Item {
  const { id, spends, throttled = 0, waitSeconds = 0, recordings = [] } = anyCase;
  const isAfterFloods = isLarge(anyCase) || sendsAgainLate(anyCase);
  return {
    id,
    case: anyCase,
    recordings: [],
    spends,
    fullBuckets: [],
    after: [...idsWith(recordings, groups), ...(isAfterFloods ? floodsIn(groups) : [])],
    isLong: waitSeconds > longWaitSeconds,
    throttled,
    seconds: waitSeconds + secondsOfACase,
    spendsForMs: Number.POSITIVE_INFINITY,
  };
}

function byRankAndSends(a: AnyCase, b: AnyCase): number {
  return rankOf(a) - rankOf(b) || sendsIn(a.spends) - sendsIn(b.spends);
}

/**
 * Large cases come first. Cases that mostly wait follow, so that they do not delay the end;
 * observations come last.
 */
function rankOf(anyCase: AnyCase): number {
  if (isLarge(anyCase)) return -1;
  const isObservation = 'run' in anyCase;
  if ((anyCase.waitSeconds ?? 0) > longWaitSeconds) return isObservation ? 1 : 0;
  return isObservation ? 3 : 2;
}

/** The ids of the groups that contain one of these recordings. */
function idsWith(recordings: readonly Recording[], groups: Groups): string[] {
  return groups.filter((group) => recordings.some((each) => group.includes(each))).map(idOfGroup);
}

/** The ids of the groups that flood a bucket. */
function floodsIn(groups: Groups): string[] {
  return groups.filter((group) => group.some(isFlood)).map(idOfGroup);
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
