/**
 * Gathers the exchanges that are judged together, in bounded memory: those of one message or one
 * `request_id` (`Groups`), and those that one limit counts (`Buckets`). Each class decides when a
 * group is judged.
 */
import { dayMs, hourMs, minuteMs } from '#contract/time.ts';
import type { Clocks } from '../evidence/clock-offset.ts';
import type { Exchange } from '../evidence/exchange.ts';
import type { Recorded, Trace } from '../service/judge.ts';

/** The number of exchanges that fill a generation. */
const mostInGeneration = 18_000;
const mostInGroup = 400;
/** A full group keeps this many of its first exchanges, and drops the same number after them. */
const keptFirst = 50;
const longestQuietMs = dayMs + hourMs;

/** A plain array, because tens of thousands of groups are held. */
type Group = Exchange[];

/**
 * A group is judged when nothing was added to it for a day, when there is no more room, or at the
 * end. A long group loses exchanges from its middle. That is safe: a judge of recorded traffic
 * never concludes anything from a missing exchange.
 *
 * Groups have two generations: one that is added to becomes recent. When the recent generation is
 * full, the older one is judged, and the recent one becomes the older one.
 */
export class Groups {
  #recent = new Map<string, Group>();
  /** Groups without an exchange since `#recent` began. */
  #older = new Map<string, Group>();
  readonly #judge: (exchanges: readonly Exchange[]) => void;
  /** The number of exchanges in `#recent`. */
  #added = 0;
  /** When the groups that were quiet for a day were last judged. */
  #quietEndedAt = Number.NEGATIVE_INFINITY;

  constructor(judge: (exchanges: readonly Exchange[]) => void) {
    this.#judge = judge;
  }

  add(key: string, exchange: Exchange): void {
    const { sentAt } = exchange;
    const group = this.#recent.get(key) ?? this.#makeRecent(key);
    if (group === undefined) this.#recent.set(key, [exchange]);
    // Most groups stay small: a list to which one is pushed gets room for many more.
    else if (group.length < 4) this.#recent.set(key, [...group, exchange]);
    else if (group.push(exchange) > mostInGroup) group.splice(keptFirst, keptFirst);
    if (++this.#added > mostInGeneration) this.#endOlder();
    if (sentAt - this.#quietEndedAt < hourMs) return;
    this.#quietEndedAt = sentAt;
    const isQuiet = (one: Exchange) => one.sentAt < sentAt - longestQuietMs;
    for (const groups of [this.#older, this.#recent])
      for (const [name, other] of groups) if (other.every(isQuiet)) this.#end(groups, name);
  }

  endAll(): void {
    this.#endOlder();
    this.#endOlder();
  }

  /** Moves a group from the older to the recent generation. Undefined if there is none. */
  #makeRecent(key: string): Group | undefined {
    const group = this.#older.get(key);
    if (group === undefined) return undefined;
    this.#older.delete(key);
    this.#recent.set(key, group);
    this.#added += group.length;
    return group;
  }

  #endOlder(): void {
    for (const group of this.#older.values()) this.#judge(inOrder(group));
    this.#older = this.#recent;
    this.#recent = new Map();
    this.#added = 0;
  }

  #end(groups: Map<string, Group>, name: string): void {
    const group = groups.get(name) ?? [];
    groups.delete(name);
    this.#judge(inOrder(group));
  }
}

/** The exchanges of one limit that are not judged yet. */
interface Bucket {
  readonly exchanges: Exchange[];
  /** All traffic of the bucket is known from this time on. */
  readonly since: number;
}

/** `isFlood`: some exchanges of the time that the others cover may be missing. */
type JudgeBucket = (exchanges: readonly Exchange[], since: number, isFlood: boolean) => void;

/** The number of exchanges at which a bucket is judged. */
const mostInBucket = 1_500;
/** A recorder may write an exchange this much later than others that were sent after it. */
const mostLateMs = 2 * minuteMs;

/**
 * A bucket is judged when it is full, when nothing can be added to its time any more, or at the
 * end. A full bucket keeps its last minutes, which explain later exchanges.
 */
export class Buckets {
  /** By host, endpoint and owner. */
  readonly #buckets = new Map<string, Bucket>();
  readonly #judge: JudgeBucket;
  /** When the latest exchange so far was sent. */
  #latest = Number.NEGATIVE_INFINITY;
  /** When idle buckets were last judged. */
  #idleEndedAt = Number.NEGATIVE_INFINITY;

  constructor(judge: JudgeBucket) {
    this.#judge = judge;
  }

  /** `knownSince`: when the recording began. */
  add(host: string, exchange: Exchange, knownSince: number): void {
    const { endpoint, caller, sentAt } = exchange;
    this.#latest = Math.max(this.#latest, sentAt);
    if (endpoint === undefined) return;
    const name = `${host} ${endpoint} ${caller.account ?? caller.address ?? ''}`;
    const bucket = this.#buckets.get(name) ?? { exchanges: [], since: knownSince };
    if (bucket.exchanges.push(exchange) === 1) this.#buckets.set(name, bucket);
    if (bucket.exchanges.length >= mostInBucket) this.#endPart(name, bucket);
    if (this.#latest - this.#idleEndedAt >= minuteMs) this.#endIdle();
  }

  endAll(): void {
    for (const [name, bucket] of this.#buckets) this.#end(name, bucket);
  }

  /** Judges buckets that get no more exchanges of their time, however late the recorder writes. */
  #endIdle(): void {
    this.#idleEndedAt = this.#latest;
    for (const [name, bucket] of this.#buckets) {
      const last = bucket.exchanges.at(-1)?.answeredAt ?? 0;
      if (last <= this.#latest - 2 * mostLateMs) this.#end(name, bucket);
    }
  }

  #end(name: string, { exchanges, since }: Bucket): void {
    this.#buckets.delete(name);
    this.#judge(inOrder(exchanges), since, false);
  }

  /** Judges the exchanges before which no more can come, and keeps the last minutes of them. */
  #endPart(name: string, { exchanges, since }: Bucket): void {
    const until = this.#latest - mostLateMs;
    const all = inOrder(exchanges);
    const settled = all.filter(({ sentAt }) => sentAt <= until);
    // In a flood, most exchanges are so recent that others may still be written between them.
    const isFlood = settled.length < all.length / 2;
    this.#judge(isFlood ? all : settled, since, isFlood);
    const keptFrom = isFlood ? this.#latest : until - mostLateMs;
    const kept = all.filter(({ sentAt }) => sentAt > keptFrom);
    this.#buckets.set(name, { exchanges: kept, since: Math.max(since, keptFrom) });
  }
}

/**
 * The exchanges with times by the clock of the first one: wide enough for any difference of the
 * clocks that their replies permit. Those whose clock cannot be compared are left out.
 */
export function byOneClock(exchanges: readonly Exchange[], clocks: Clocks): readonly Exchange[] {
  const clock = exchanges[0]?.clock;
  const own = clocks.of(clock);
  const moved = exchanges.flatMap((one): Exchange[] => {
    if (one.clock === clock) return [one];
    const ahead = own.behind(clocks.of(one.clock));
    if (ahead === undefined) return [];
    const [sentAt, answeredAt] = [one.sentAt - ahead.most, one.answeredAt - ahead.least];
    return [{ ...one, sentAt, answeredAt, clock, ahead: own.widest }];
  });
  return inOrder(moved);
}

/** Sorts exchanges by the time when they were sent. */
export function inOrder(exchanges: readonly Exchange[]): readonly Exchange[] {
  if (exchanges.length === 1) return exchanges;
  const isSorted = exchanges.every(
    ({ sentAt }, i) => sentAt >= (exchanges[i - 1]?.sentAt ?? sentAt),
  );
  return isSorted ? exchanges : exchanges.toSorted((a, b) => a.sentAt - b.sentAt);
}

// Made once, because each group has traces of its own.
const noItems: readonly never[] = [];
const noAnswer = () => undefined;

/**
 * What the judges of each rule see of a group of recorded exchanges. Rules that look at the same
 * exchanges share one trace, and what their judges computed for it.
 */
export class GroupTraces {
  readonly #whole: Trace;
  /** The last trace of a part of the group. */
  #part: Trace;

  /** `since`: all traffic of the group is known from this time on. */
  constructor(group: readonly Exchange[], since: number, recorded: Recorded) {
    this.#whole = {
      exchanges: group,
      log: group,
      listings: noItems,
      createdKeys: noItems,
      knownSince: since,
      hasExactTimes: false,
      recorded,
      assumption: noAnswer,
    };
    this.#part = this.#whole;
  }

  /** The trace of the exchanges that fit; undefined if none does. */
  of(fits: (one: Exchange) => boolean): Trace | undefined {
    const { exchanges: group } = this.#whole;
    const [only] = group;
    if (only !== undefined && group.length === 1) return fits(only) ? this.#whole : undefined;
    if (group.every(fits)) return this.#whole;
    const exchanges = group.filter(fits);
    if (exchanges.length === 0) return undefined;
    if (!areEqual(exchanges, this.#part.exchanges)) this.#part = { ...this.#whole, exchanges };
    return this.#part;
  }
}

function areEqual(some: readonly Exchange[], others: readonly Exchange[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at]);
}
