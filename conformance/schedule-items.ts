/**
 * The items of a schedule without a control port: the cases, and the recordings that they judge.
 */
import { minuteMs } from '../src/ledger/time-units.ts';
import { type Bucket, entriesOf, type Spends, sendsIn } from './buckets.ts';
import type { AnyCase } from './case.ts';
import type { Recording } from './recording.ts';
import type { Item } from './schedule.ts';
import type { Means } from './target.ts';

export interface RunItem extends Item {
  /** The case to run. */
  readonly one?: AnyCase;
  /** Or recordings that are made together, in this order. */
  readonly recordings: readonly Recording[];
  readonly throttled: number;
  /** Its duration in real seconds. */
  readonly seconds: number;
}

/** Of a few requests and their replies. */
const secondsOfACase = 0.1;

export function itemsOf(cases: readonly AnyCase[], means: Means): RunItem[] {
  const all = [...new Set(cases.flatMap(({ recordings = [] }) => recordings))];
  // The address's flood comes first: its 429s must not affect calls with a key.
  const rank = ({ full }: Recording) => Number(full?.[0] !== 'address');
  const floods = all.filter(({ full }) => full !== undefined).toSorted((a, b) => rank(a) - rank(b));
  const others = all.filter(({ full }) => full === undefined).map((one) => [one]);
  const groups = [
    ...others.filter(([one]) => !one?.inIdleTime),
    // In sequence, each flood sees what the previous ones left of its bucket. If the timeout does not
    // allow a wait for all buckets, each flood starts as soon as its own bucket allows.
    ...(means.timeoutMs > minuteMs && floods.length > 0 ? [floods] : floods.map((one) => [one])),
  ];
  const idle = others.filter(([one]) => one?.inIdleTime);
  const idsWith = (recordings: readonly Recording[]) =>
    [...groups, ...idle]
      .filter((group) => recordings.some((one) => group.includes(one)))
      .map(idOfGroup);
  const itemOf = (recordings: readonly Recording[]): RunItem => ({
    id: idOfGroup(recordings),
    recordings,
    spends: sum(recordings.map(({ spends }) => spends)),
    full: recordings.flatMap(({ full = [] }) => full),
    after: idsWith(recordings.flatMap(({ follows }) => follows ?? [])),
    isLong: true,
    throttled: recordings.reduce((most, { throttled = 0 }) => most + throttled, 0),
    seconds: Math.max(...recordings.map(({ seconds = 1 }) => seconds)),
  });
  const isLong = ({ waits = 0 }: AnyCase) => waits > 2;
  // Items that mostly wait start first, so that they do not delay the end.
  const costOf = (one: AnyCase) =>
    sendsIn(one.spends) + ('run' in one ? 500 : 0) - (isLong(one) ? 1_000 : 0);
  const caseItems = cases
    .toSorted((a, b) => costOf(a) - costOf(b))
    .map((one) => ({
      id: one.id,
      one,
      recordings: [],
      spends: one.spends,
      full: [],
      after: idsWith(one.recordings ?? []),
      isLong: isLong(one),
      throttled: one.throttled ?? 0,
      seconds: (one.waits ?? 0) + secondsOfACase,
    }));
  return [...groups.map(itemOf), ...caseItems, ...idle.map(itemOf)];
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
