/**
 * The order of a run without a control port: what to start now, and what to wait for. Rules:
 * LIMIT-1 to LIMIT-5. All cases share one account, so a case starts when its requests fit into the
 * limits of the last minute. A flood, which spends a whole limit to see it enforced, starts when
 * its bucket is full. *Idle* recordings leave a bucket empty or unused, so they come last. Only the
 * ledger and the time decide, so a dry run uses the same schedule.
 */
import { minuteMs } from '#contract/time.ts';
import { type Lack, type Means, tooLong } from '../target/target.ts';
import { type Bucket, type BucketLedger, entriesOf, type Spends, sendsIn } from './budget.ts';
import type { AnyCase } from './case.ts';
import type { Recording } from './recording.ts';

/** What is started as one: a case, or recordings that cases judge. */
export interface Item {
  readonly id: string;
  readonly spends: Spends;
  /** Buckets that must be full, and unused by other items. Only floods have any. */
  readonly full: readonly Bucket[];
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
  /** Its duration in real seconds. */
  readonly seconds: number;
}

export type Decision =
  /** `lack`: why it cannot run. */
  | { readonly kind: 'start'; readonly item: Item; readonly lack: Lack | undefined }
  | ({ readonly kind: 'wait'; readonly item: Item } & Wait)
  /** Nothing can start before a running item finishes. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'done' };

/** The time until an item can start, and the bucket that it waits for. */
interface Wait {
  readonly ms: number;
  readonly bucket?: Bucket;
}

/** Running items that are not long. */
const itemsAtOnce = 4;

export class Schedule {
  readonly #waiting: Item[];
  readonly running = new Set<Item>();
  readonly #ledger: BucketLedger;
  readonly #startedAt: number;
  readonly #longestWaitMs: number;
  /** Why an item cannot run, by its id. */
  readonly #lacks = new Map<string, Lack>();
  /** Buckets that stay unused until the flood that needs them full is over. */
  readonly #reserved = new Set<Bucket>();

  constructor(
    items: readonly Item[],
    ledger: BucketLedger,
    startedAt: number,
    longestWaitMs = Number.POSITIVE_INFINITY,
  ) {
    this.#waiting = [...items];
    this.#ledger = ledger;
    this.#startedAt = startedAt;
    this.#longestWaitMs = longestWaitMs;
  }

  get waiting(): readonly Item[] {
    return this.#waiting;
  }

  /** Decides what to do now. An item that it starts counts as running until `finished`. */
  next(now: number): Decision {
    const [first] = this.#waiting;
    const isRunning = this.running.size > 0;
    if (first === undefined) return { kind: isRunning ? 'busy' : 'done' };
    if ([...this.running].filter(({ isLong }) => !isLong).length >= itemsAtOnce)
      return { kind: 'busy' };
    const soonest = this.#soonest(now);
    if (soonest?.ms === 0) return this.#start(soonest.item);
    if (soonest !== undefined && (isRunning || soonest.ms <= this.#longestWaitMs))
      return { kind: 'wait', ...soonest };
    if (isRunning) return { kind: 'busy' };
    // All that is left waits too long.
    if (soonest !== undefined) this.#lacks.set(soonest.item.id, lackOf(soonest));
    return this.#start(soonest?.item ?? first);
  }

  finished(item: Item): void {
    this.running.delete(item);
    for (const bucket of item.full) if (!this.#isAwaitedFull(bucket)) this.#reserved.delete(bucket);
  }

  #start(item: Item): Decision {
    this.#waiting.splice(this.#waiting.indexOf(item), 1);
    this.running.add(item);
    for (const bucket of item.full) this.#reserved.add(bucket);
    const [lack] = [item.id, ...item.after].flatMap((id) => this.#lacks.get(id) ?? []);
    return { kind: 'start', item, lack };
  }

  /** The first item that can start now, otherwise the one with the shortest wait. */
  #soonest(now: number): (Wait & { readonly item: Item }) | undefined {
    let soonest: (Wait & { readonly item: Item }) | undefined;
    for (const item of this.#waiting) {
      if (!this.#isReady(item)) continue;
      const isFlood = item.full.length > 0;
      if (!isFlood) this.#reserveForFlood(item, now);
      const wait = isFlood ? this.#untilFull(item, now) : this.#untilRoom(item, now);
      if (wait === undefined) continue;
      if (wait.ms === 0) return { ...wait, item };
      if (soonest === undefined || wait.ms < soonest.ms) soonest = { ...wait, item };
    }
    return soonest;
  }

  #isReady({ after }: Item): boolean {
    return ![...this.running, ...this.#waiting].some(({ id }) => after.includes(id));
  }

  /**
   * Reserves a bucket once it has no room for the item while a flood waits for it: the bucket has
   * had enough small cases, and the flood goes first.
   */
  #reserveForFlood({ spends }: Item, now: number): void {
    for (const [bucket, count] of entriesOf(spends)) {
      if (this.#reserved.has(bucket)) return;
      if (!this.#isAwaitedFull(bucket) || this.#msUntilRoom(bucket, count, now) === 0) continue;
      this.#reserved.add(bucket);
      return;
    }
  }

  #isAwaitedFull(bucket: Bucket): boolean {
    return this.#waiting.some(({ full }) => full.includes(bucket));
  }

  /** The wait until every bucket has room for the item; undefined while one is reserved. */
  #untilRoom({ spends }: Item, now: number): Wait | undefined {
    const entries = entriesOf(spends);
    if (entries.some(([bucket]) => this.#reserved.has(bucket))) return undefined;
    return longestOf(
      entries.map(([bucket, count]) => ({ bucket, ms: this.#msUntilRoom(bucket, count, now) })),
    );
  }

  /** Counts the requests that running items may still send. */
  #msUntilRoom(bucket: Bucket, count: number, now: number): number {
    const promised = [...this.running].reduce((sum, { spends }) => sum + (spends[bucket] ?? 0), 0);
    return this.#ledger.waitFor(bucket, count + promised, now);
  }

  /** The wait until the buckets of a flood are full; undefined while a running item spends one. */
  #untilFull({ full }: Item, now: number): Wait | undefined {
    const isSpent = (bucket: Bucket) =>
      [...this.running].some(({ spends }) => spends[bucket] !== undefined);
    if (full.some(isSpent)) return undefined;
    // For the first minute, earlier use of the buckets is unknown; small cases run meanwhile.
    const unknownMs = this.#hasSmallCase() ? Math.max(0, this.#startedAt + minuteMs - now) : 0;
    const msUntilFull = (bucket: Bucket) =>
      Math.max(unknownMs, this.#ledger.waitForQuiet(bucket, now));
    return longestOf(full.map((bucket) => ({ bucket, ms: msUntilFull(bucket) })));
  }

  /** True if an item is waiting that needs no flood and no reserved bucket. */
  #hasSmallCase(): boolean {
    return this.#waiting.some(
      ({ full, after, spends }) =>
        full.length === 0 &&
        after.length === 0 &&
        !entriesOf(spends).some(([bucket]) => this.#reserved.has(bucket)),
    );
  }
}

/** The longest of these waits; no wait if there are none. */
function longestOf(waits: readonly Wait[]): Wait {
  return waits.reduce((longest, wait) => (wait.ms > longest.ms ? wait : longest), { ms: 0 });
}

function lackOf({ ms, bucket }: Wait): Lack {
  const wait = `a wait of ${Math.ceil(ms / 1000)} s for the limit of ${bucket}`;
  return { reason: `needs ${tooLong(wait)}`, isOutOfTime: true };
}

/** The duration of a few requests and their replies. */
const secondsOfACase = 0.1;
/** A case with a longer wait does not keep others from running. */
const longWaitSeconds = 2;

export function itemsOf(cases: readonly AnyCase[], means: Means): Item[] {
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

function itemOfRecordings(recordings: readonly Recording[], groups: Groups): Item {
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

function itemOfCase(anyCase: AnyCase, groups: Groups): Item {
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
