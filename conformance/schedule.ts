/**
 * The order of a run without a control port: what to start now, and what to wait for. Rules:
 * LIMIT-1 to LIMIT-5. All cases share one account. A case starts when its requests fit into the
 * last minute's limits; a flood starts when its bucket is full. A pure function of the ledger,
 * shared by the run and its dry run.
 */
import { minuteMs } from '../src/ledger/time-units.ts';
import { type Bucket, type BucketLedger, entriesOf, type Spends } from './buckets.ts';
import { longerThanAllowed } from './target.ts';

export interface Item {
  readonly id: string;
  readonly spends: Spends;
  /** Buckets that must be full, and unused by other items. */
  readonly full: readonly Bucket[];
  /** Ids of items that must finish first. */
  readonly after: readonly string[];
  /** True if it mostly waits, so that other items can run at the same time. */
  readonly isLong: boolean;
}

export type Decision<I extends Item> =
  /** `lack`: why it cannot run. */
  | { readonly kind: 'start'; readonly item: I; readonly lack: string | undefined }
  | { readonly kind: 'wait'; readonly ms: number; readonly bucket?: Bucket; readonly item: I }
  /** Nothing can start before a running item finishes. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'done' };

const itemsAtOnce = 4;

export class Schedule<I extends Item> {
  readonly #waiting: I[];
  readonly #running = new Map<string, I>();
  readonly #ledger: BucketLedger;
  readonly #startedAt: number;
  readonly #timeoutMs: number;
  /** By id: why the item cannot run. */
  readonly #lacks = new Map<string, string>();
  /** Buckets that stay unused until the flood that needs them full is over. */
  readonly #reserved = new Set<Bucket>();

  /** `timeoutMs`: the longest wait. */
  constructor(
    items: readonly I[],
    ledger: BucketLedger,
    startedAt: number,
    timeoutMs = Number.POSITIVE_INFINITY,
  ) {
    this.#waiting = [...items];
    this.#ledger = ledger;
    this.#startedAt = startedAt;
    this.#timeoutMs = timeoutMs;
  }

  get running(): readonly I[] {
    return [...this.#running.values()];
  }

  get waiting(): readonly I[] {
    return this.#waiting;
  }

  next(now: number): Decision<I> {
    if (this.#waiting.length === 0 && this.#running.size === 0) return { kind: 'done' };
    if (this.#small().length >= itemsAtOnce) return { kind: 'busy' };
    let shortest: { ms: number; bucket?: Bucket; item: I } | undefined;
    for (const item of this.#waiting) {
      if (!this.#isReady(item)) continue;
      const wait = item.full.length > 0 ? this.#untilFull(item, now) : this.#untilRoom(item, now);
      if (wait === undefined) continue;
      if (wait.ms === 0) return this.#start(item);
      if (shortest === undefined || wait.ms < shortest.ms) shortest = { ...wait, item };
    }
    if (shortest !== undefined && shortest.ms > this.#timeoutMs && this.#running.size === 0) {
      const { item, ms, bucket } = shortest;
      const wait = `needs a wait of ${Math.ceil(ms / 1000)} s for the limit of ${bucket}`;
      this.#lacks.set(item.id, `${wait}, ${longerThanAllowed}`);
      return this.#start(item);
    }
    if (shortest !== undefined) return { kind: 'wait', ...shortest };
    if (this.#running.size > 0) return { kind: 'busy' };
    // The remaining items wait for a dropped item.
    const [first] = this.#waiting;
    return first === undefined ? { kind: 'done' } : this.#start(first);
  }

  finished(item: I): void {
    this.#running.delete(item.id);
    for (const bucket of item.full)
      if (!this.#waiting.some(({ full }) => full.includes(bucket))) this.#reserved.delete(bucket);
  }

  /** Removes items that will not be run. */
  drop(item: I): void {
    const index = this.#waiting.indexOf(item);
    if (index >= 0) this.#waiting.splice(index, 1);
    this.finished(item);
  }

  #start(item: I): Decision<I> {
    this.#waiting.splice(this.#waiting.indexOf(item), 1);
    this.#running.set(item.id, item);
    for (const bucket of item.full) this.#reserved.add(bucket);
    const [lack] = [item.id, ...item.after].flatMap((id) => this.#lacks.get(id) ?? []);
    return { kind: 'start', item, lack };
  }

  #isReady({ after }: I): boolean {
    const open = (id: string) =>
      this.#running.has(id) || this.#waiting.some((item) => item.id === id);
    return !after.some(open);
  }

  /** The running items that are not recordings; a recording takes long but sends little. */
  #small(): readonly I[] {
    return this.running.filter(({ isLong }) => !isLong);
  }

  /** Undefined: not before another item has finished. */
  #untilRoom(item: I, now: number): { ms: number; bucket?: Bucket } | undefined {
    let longest: { ms: number; bucket?: Bucket } = { ms: 0 };
    for (const [bucket, count] of entriesOf(item.spends)) {
      if (this.#reserved.has(bucket)) return undefined;
      const promised = this.running.reduce((sum, { spends }) => sum + (spends[bucket] ?? 0), 0);
      const ms = this.#ledger.waitFor(bucket, count + promised, now);
      // This bucket has had enough small cases; the flood that waits for it goes first.
      if (ms > 0 && this.#waiting.some(({ full }) => full.includes(bucket))) {
        this.#reserved.add(bucket);
        return undefined;
      }
      if (ms > longest.ms) longest = { ms, bucket };
    }
    return longest;
  }

  #untilFull(item: I, now: number): { ms: number; bucket?: Bucket } | undefined {
    // For the first minute, earlier use of the buckets is unknown; small cases run meanwhile.
    const hasOthers = this.#waiting.some(
      (one) =>
        one.full.length === 0 &&
        one.after.length === 0 &&
        !entriesOf(one.spends).some(([bucket]) => this.#reserved.has(bucket)),
    );
    const unknownMs = hasOthers ? Math.max(0, this.#startedAt + minuteMs - now) : 0;
    let longest: { ms: number; bucket?: Bucket } = { ms: 0 };
    for (const bucket of item.full) {
      if (this.running.some(({ spends }) => spends[bucket] !== undefined)) return undefined;
      const ms = Math.max(unknownMs, this.#ledger.waitForQuiet(bucket, now));
      if (ms > longest.ms) longest = { ms, bucket };
    }
    return longest;
  }
}
