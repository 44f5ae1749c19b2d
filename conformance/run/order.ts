/**
 * The order of a run without a control port: what to start now, and what to wait for. Rules:
 * LIMIT-1 to LIMIT-5. All cases share one account, so a case starts when its requests fit into the
 * limits of the last minute. A flood, which spends a whole limit to see it enforced, starts when
 * its bucket is full. *Idle* recordings leave a bucket empty or unused, so they come last. Only the
 * ledger and the time decide, so a dry run uses the same schedule.
 */
import { minuteMs, secondMs } from '#contract/time.ts';
import { type SkipReason, tooLong } from '../target/target.ts';
import { type Bucket, type BucketLedger, entriesOf } from './budget.ts';
import type { Item } from './items.ts';

export type Decision =
  /** `skip`: why the item must be skipped; undefined if it can run. */
  | { readonly kind: 'start'; readonly item: Item; readonly skip: SkipReason | undefined }
  | ({ readonly kind: 'wait'; readonly item: Item } & Wait)
  /** Nothing can start before a running item finishes. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'done' };

/** The time until an item can start, and the bucket that it waits for. */
interface Wait {
  readonly ms: number;
  readonly bucket?: Bucket;
}

/** How many items run at the same time, besides those that mostly wait. */
const itemsAtOnce = 4;

export class Schedule {
  readonly #waiting: Item[];
  /** What runs, each with the time of its start. */
  readonly #running = new Map<Item, number>();
  readonly #ledger: BucketLedger;
  readonly #startedAt: number;
  readonly #longestWaitMs: number;
  /** Why items are skipped, by their ids. */
  readonly #skips = new Map<string, SkipReason>();
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

  get running(): readonly Item[] {
    return [...this.#running.keys()];
  }

  /** Decides what to do now. An item that it starts counts as running until `finished`. */
  next(now: number): Decision {
    const [first] = this.#waiting;
    const isRunning = this.running.length > 0;
    if (first === undefined) return { kind: isRunning ? 'busy' : 'done' };
    if (this.running.filter(({ isLong }) => !isLong).length >= itemsAtOnce) return { kind: 'busy' };
    const soonest = this.#soonest(now);
    if (soonest?.ms === 0) return this.#start(soonest.item, now);
    if (soonest !== undefined && (isRunning || soonest.ms <= this.#longestWaitMs))
      return { kind: 'wait', ...soonest };
    if (isRunning) return { kind: 'busy' };
    // Every item that is left would wait too long.
    if (soonest !== undefined) this.#skips.set(soonest.item.id, tooLongToWait(soonest));
    return this.#start(soonest?.item ?? first, now);
  }

  finished(item: Item): void {
    this.#running.delete(item);
    for (const bucket of item.fullBuckets)
      if (!this.#isAwaitedFull(bucket)) this.#reserved.delete(bucket);
  }

  #start(item: Item, now: number): Decision {
    this.#waiting.splice(this.#waiting.indexOf(item), 1);
    this.#running.set(item, now);
    for (const bucket of item.fullBuckets) this.#reserved.add(bucket);
    const [skip] = [item.id, ...item.after].flatMap((id) => this.#skips.get(id) ?? []);
    return { kind: 'start', item, skip };
  }

  /** The first item that can start now, otherwise the one with the shortest wait. */
  #soonest(now: number): (Wait & { readonly item: Item }) | undefined {
    let soonest: (Wait & { readonly item: Item }) | undefined;
    for (const item of this.#waiting) {
      if (!this.#isReady(item) || this.#emptiesWanted(item)) continue;
      const isFlood = item.fullBuckets.length > 0;
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

  /** True if it is a recording that empties a bucket from which cases spend, or still wait to. */
  #emptiesWanted({ id, case: isCase, throttled, fullBuckets, spends }: Item): boolean {
    if (isCase !== undefined || throttled === 0 || fullBuckets.length > 0) return false;
    const wants = (other: Item) =>
      entriesOf(spends).some(([name]) => (other.spends[name] ?? 0) > 0);
    return [...this.running, ...this.#waiting].some(
      (other) => other.case !== undefined && !other.after.includes(id) && wants(other),
    );
  }

  /**
   * Reserves a bucket for a waiting flood once the bucket has no room left for the item: enough
   * small cases have used it, and more of them would delay the flood.
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
    return this.#waiting.some(({ fullBuckets }) => fullBuckets.includes(bucket));
  }

  /** The wait until every bucket has room for the item; undefined while one is reserved. */
  #untilRoom({ spends }: Item, now: number): Wait | undefined {
    const entries = entriesOf(spends);
    if (entries.some(([bucket]) => this.#reserved.has(bucket))) return undefined;
    return longestOf(
      entries.map(([bucket, count]) => ({ bucket, ms: this.#msUntilRoom(bucket, count, now) })),
    );
  }

  /** The wait until `count` requests fit, besides those that running items may still send. */
  #msUntilRoom(bucket: Bucket, count: number, now: number): number {
    const expected = this.running.reduce((sum, { spends }) => sum + (spends[bucket] ?? 0), 0);
    return this.#ledger.msUntilRoom(bucket, count + expected, now);
  }

  /**
   * The wait until the buckets of a flood are full; undefined while an item spends one that may do
   * so until its end.
   */
  #untilFull({ fullBuckets }: Item, now: number): Wait | undefined {
    // For the first minute, earlier use of the buckets is unknown; small cases run meanwhile.
    const unknownMs = this.#hasSmallCase() ? this.#startedAt + minuteMs - now : 0;
    const msUntilFull = (bucket: Bucket) =>
      Math.max(
        unknownMs,
        this.#ledger.msUntilQuiet(bucket, now),
        this.#msUntilForgotten(bucket, now),
        this.#msWhileSpent(bucket, now),
      );
    const longest = longestOf(fullBuckets.map((bucket) => ({ bucket, ms: msUntilFull(bucket) })));
    return longest.ms === Number.POSITIVE_INFINITY ? undefined : longest;
  }

  /**
   * The wait until a sliding counter, too, has forgotten what came before: it shows a limit exactly
   * only then. No wait if it is longer than a wait may be.
   */
  #msUntilForgotten(bucket: Bucket, now: number): number {
    const ms = this.#ledger.msUntilForgotten(bucket, now);
    return ms <= this.#longestWaitMs ? ms : 0;
  }

  /** For how long running items may still spend of the bucket; infinity if that is unknown. */
  #msWhileSpent(bucket: Bucket, now: number): number {
    const ends = [...this.#running]
      .filter(([{ spends }]) => spends[bucket] !== undefined)
      .map(([{ spendsForMs }, startedAt]) => startedAt + spendsForMs - now);
    return Math.max(0, ...ends);
  }

  /** True if an item is waiting that needs no flood and no reserved bucket. */
  #hasSmallCase(): boolean {
    return this.#waiting.some(
      ({ fullBuckets, after, spends }) =>
        fullBuckets.length === 0 &&
        after.length === 0 &&
        !entriesOf(spends).some(([bucket]) => this.#reserved.has(bucket)),
    );
  }
}

/** The longest of these waits; no wait if there are none. */
function longestOf(waits: readonly Wait[]): Wait {
  return waits.reduce((longest, wait) => (wait.ms > longest.ms ? wait : longest), { ms: 0 });
}

function tooLongToWait({ ms, bucket }: Wait): SkipReason {
  const wait = `a wait of ${Math.ceil(ms / secondMs)} s for the limit of ${bucket}`;
  return { reason: `needs ${tooLong(wait)}`, isOutOfTime: true };
}
