/**
 * A limiter that delays before it refuses: a queue which lets one request leave in each gap, such as
 * nginx `limit_req` with `burst`. A request leaves a gap after the one before it, or at once if the
 * queue is empty. It is refused if as many wait as may. Requests one by one are never refused: they
 * show the gap. Many at once, sent to an empty queue, show how many may wait.
 */
import type { Span } from '#judging/limiter/space/decision.ts';
import type { Evidence } from './evidence.ts';
import type { KeyTest } from './keyed-by.ts';
import type { Subjects } from './keys.ts';
import type { Races } from './race.ts';
import {
  type AuditedExchange,
  inOrderOfReplies,
  quantile,
  type Run,
  type Subject,
  tookMs,
} from './run.ts';
import {
  type AlgorithmValue,
  certain,
  rangeText,
  refillStatement,
  undetermined,
  windowStatement,
} from './statement.ts';

/** What is known of a queue. */
export interface Queue {
  /** How many may be in it, the one that leaves included. */
  readonly limit: Span;
  /** The time between two that leave. */
  readonly gapMs: Span;
  /** True if a request took a place that a refusal before it would have taken, had it counted. */
  readonly areRefusalsFree: boolean;
  /** The requests that were sent at once. */
  readonly atOnce: readonly AuditedExchange[];
}

/** How often a test is made that may show nothing on a busy machine. */
const mostTests = 3;
/** In gaps after a queue was filled: when it refuses, and when it has a place again. */
const stillFull = 0.6;
const againFree = 1.25;
/** After this many gaps, a queue that delayed requests one by one is empty. */
const emptyingGaps = 3;
/** A queue is empty after this many times as long as it takes to empty it. */
const surelyEmpty = 1.2;
/** So many replies one by one show the gap to 5 %, as each request may have waited for all of one. */
export const enoughForGap = 30;
/** Fewer requests do not show that something spaces them. */
const fewestSpaced = 8;
/** Most replies are spaced evenly: all but so many of the shortest, and of the longest. */
const unevenShare = 0.1;
/** Even gaps differ by at most this share. */
const mostUneven = 0.2;
/** Nearly all requests wait in a queue, each for most of a gap. */
const waitingShare = 0.8;
const mostOfGap = 0.7;
/** A service that is slow, without a queue, is as slow at the first request. */
const quickShare = 0.5;

/** Replies to requests one by one, if something delays them: the first, and the time between them. */
export interface Spacing {
  readonly firstMs: number;
  /** The usual one, and those that nearly all are between. */
  readonly gapMs: number;
  readonly gapsMs: Span;
}

/** Undefined if nothing seems to delay these: a queue is empty before the first. */
export function spacingOf(exchanges: readonly AuditedExchange[]): Spacing | undefined {
  const [first, ...later] = exchanges;
  if (first === undefined || later.length < fewestSpaced) return undefined;
  const gaps = gapsOf(exchanges);
  const least = quantile(unevenShare, gaps);
  const gapMs = quantile(0.5, gaps);
  const most = quantile(1 - unevenShare, gaps);
  const waited = later.filter((each) => tookMs(each) > mostOfGap * gapMs);
  const isEven = most - least < mostUneven * gapMs;
  const isQueue = isEven && waited.length > waitingShare * later.length;
  const firstMs = tookMs(first);
  if (!isQueue || firstMs > quickShare * gapMs) return undefined;
  return { firstMs, gapMs, gapsMs: [least, most] };
}

/** The times between replies. */
function gapsOf(exchanges: readonly AuditedExchange[]): readonly number[] {
  const times = exchanges.map(({ answeredAtMs }) => answeredAtMs);
  return times.slice(1).map((time, i) => time - (times[i] ?? time));
}

/**
 * The queue that delayed these requests one by one, and refused some of those `atOnce`. Undefined if
 * no queue did.
 */
export function queueOf(
  oneByOne: readonly AuditedExchange[],
  atOnce: readonly AuditedExchange[],
): Queue | undefined {
  const refused = refusedIn(atOnce);
  const passed = inOrderOfReplies(atOnce).filter(({ outcome }) => outcome === 'passed');
  const gapMs = gapOf(oneByOne);
  if (gapMs === undefined || passed.length < 2 || refused.length === 0) return undefined;
  const begin = Math.min(...atOnce.map(({ sentAtMs }) => sentAtMs));
  const areSpaced = passed.every(({ answeredAtMs }, i) => answeredAtMs - begin >= i * gapMs[0]);
  // If the way there and back took a gap, requests one by one came too late to wait.
  const doWait = quantile(0.5, refused.map(tookMs)) < quickShare * gapMs[0];
  if (gapMs[0] > gapMs[1] || !areSpaced || !doWait) return undefined;
  // While those at once arrived, so many may have left.
  const left = Math.floor((lastReplyMs(refused) - begin) / gapMs[0]);
  const limit: Span = [Math.max(1, passed.length - left), passed.length];
  return { limit, gapMs, areRefusalsFree: false, atOnce };
}

/** The gap of a queue that delayed these: each left after its start and before its reply. */
function gapOf(oneByOne: readonly AuditedExchange[]): Span | undefined {
  const [first, ...later] = oneByOne;
  if (first === undefined || later.length < fewestSpaced) return undefined;
  const gaps = gapsOf(oneByOne);
  const usualMs = quantile(0.5, gaps);
  let [lateMs, least, most] = [0, 0, Number.POSITIVE_INFINITY];
  for (const [i, { sentAtMs, answeredAtMs }] of later.entries()) {
    // One that came late may have met an empty queue, so all after it left later.
    lateMs += Math.max(0, (gaps[i] ?? 0) - usualMs);
    least = Math.max(least, (sentAtMs - first.answeredAtMs - lateMs) / (i + 1));
    most = Math.min(most, (answeredAtMs - first.sentAtMs) / (i + 1));
  }
  return [least, most];
}

function refusedIn(exchanges: readonly AuditedExchange[]): readonly AuditedExchange[] {
  return exchanges.filter(({ outcome }) => outcome === 'refused');
}

export function refusedOf({ atOnce }: Queue): readonly AuditedExchange[] {
  return refusedIn(atOnce);
}

/** True if no refusal of a queue stated a wait, which others at once might contradict. */
export function isSilent(queue: Queue): boolean {
  return refusedOf(queue).every(({ headers }) => headers['retry-after'] === undefined);
}

function lastReplyMs(exchanges: readonly AuditedExchange[]): number {
  return Math.max(...exchanges.map(({ answeredAtMs }) => answeredAtMs));
}

export class QueueTests {
  done: readonly KeyTest[] = [];
  /** Set if a queue delays requests. */
  found: Queue | undefined;
  readonly #run: Run;
  readonly #subjects: Subjects;
  readonly #evidence: Evidence;
  readonly #races: Races;

  constructor(run: Run, subjects: Subjects, evidence: Evidence, races: Races) {
    this.#run = run;
    this.#subjects = subjects;
    this.#evidence = evidence;
    this.#races = races;
  }

  /** Looks for a queue, if one seems to delay requests one by one. True if one does. */
  async lookForDelays(): Promise<boolean> {
    if (spacingOf(this.#run.exchanges) === undefined) return false;
    if (await this.learn()) return true;
    const { atOnceForLimit: atOnce } = this.#races;
    const passed = atOnce.filter(({ outcome }) => outcome === 'passed');
    this.#evidence.addTogether(passed);
    this.#evidence.mayLackRequests ||= passed.length < atOnce.length;
    return false;
  }

  /**
   * Sends many at once, after no request one by one was refused. If a queue explains the answers,
   * learns who shares it; false if none does.
   */
  async learn(): Promise<boolean> {
    const oneByOne = this.#run.exchanges.slice(0, enoughForGap);
    await this.#run.until(this.#run.now() + emptyingGaps * this.#run.replyMs);
    const atOnce = await this.#races.findLimit();
    this.found = queueOf(oneByOne, atOnce);
    if (this.found === undefined) return false;
    this.#run.doing('whether refused requests count in the queue');
    for (let test = 0; test < mostTests && !this.found.areRefusalsFree; test += 1)
      this.found = await this.#withRefusals(this.found);
    this.#run.doing('who shares the queue');
    for (const other of this.#subjects.others) {
      let found: KeyTest | undefined;
      for (let test = 0; test < mostTests && found === undefined; test += 1)
        found = await this.#test(other, this.found);
      if (found !== undefined) this.done = [...this.done, found];
    }
    return true;
  }

  /** Fills the empty queue of the first; when that began, and what was sent. */
  async #fill({ limit, gapMs }: Queue) {
    await this.#run.until(this.#run.now() + limit[1] * gapMs[1] * surelyEmpty);
    const begin = this.#run.now();
    const filling = this.#run.race(this.#subjects.first, limit[1] + 1);
    // This may fail before it is awaited, when the budget ends: unhandled, that ends the process.
    filling.catch(() => {});
    return { begin, filling };
  }

  /**
   * Has one request refused by a full queue, just before it has a place again, and sends another just
   * after: a refusal that counts, in whatever way, takes that place.
   */
  async #withRefusals(queue: Queue): Promise<Queue> {
    const [gapMs] = queue.gapMs;
    const { begin, filling } = await this.#fill(queue);
    await this.#run.until(begin + stillFull * gapMs);
    const [early] = await this.#run.race(this.#subjects.first, 1);
    await this.#run.until(begin + againFree * queue.gapMs[1]);
    const [late] = await this.#run.race(this.#subjects.first, 1);
    await filling;
    if (early === undefined || late === undefined) return queue;
    const wayMs = quantile(0.5, refusedIn(queue.atOnce).map(tookMs));
    const isInTime = late.sentAtMs + wayMs < early.sentAtMs + gapMs;
    const areRefusalsFree = early.outcome === 'refused' && late.outcome === 'passed' && isInTime;
    return { ...queue, areRefusalsFree };
  }

  /**
   * Fills the queue of the first, and asks the other. One that shares it is refused. One that has its
   * own is answered at once, before those that wait in the first. Undefined if neither is seen.
   */
  async #test(other: Subject, queue: Queue): Promise<KeyTest | undefined> {
    const { limit, gapMs } = queue;
    const { begin, filling } = await this.#fill(queue);
    await this.#run.until(begin + Math.min(this.#run.settings.paceMs, gapMs[0] / 2));
    const [asked] = await this.#run.race(other, 1);
    const filled = await filling;
    if (asked === undefined) return undefined;
    const refused = refusedIn(filled);
    const isFull = refused.length > 0 && lastReplyMs(refused) <= asked.sentAtMs;
    const isQuick = tookMs(asked) < quickShare * gapMs[0];
    const isBeforeOthers = asked.answeredAtMs < begin + (limit[0] - 1) * gapMs[0];
    const isShared = asked.outcome === 'refused';
    const isOwn = asked.outcome === 'passed' && isFull && isQuick && isBeforeOthers;
    if (!isOwn && !isShared) return undefined;
    const exchanges = [...filled, asked].map(({ number }) => number);
    return { subject: other, isShared, isClear: true, exchanges, own: isShared ? [] : [[asked]] };
  }
}

/** The time until a full queue is empty. */
export function windowOf({ limit, gapMs }: Queue): Span {
  return [limit[0] * gapMs[0], limit[1] * gapMs[1]];
}

/** The statements about a queue. */
export function queueFacts(queue: Queue) {
  const { limit, gapMs, areRefusalsFree, atOnce } = queue;
  const shown = atOnce.map(({ number }) => number);
  const passed = atOnce.filter(({ outcome }) => outcome === 'passed').length;
  const [leastMs, mostMs] = windowOf(queue);
  const seconds: Span = [leastMs / 1_000, mostMs / 1_000];
  const gap = rangeText(gapMs, ' ms');
  const sentence = `a queue that delays: one leaves every ${gap}; of ${atOnce.length} at once ${passed} passed, the others were refused`;
  const places =
    limit[0] < limit[1]
      ? undetermined(rangeText(limit), shown)
      : certain(limit[0], `${limit[0]} in the queue, the one that leaves included`, shown);
  return {
    algorithm: certain<AlgorithmValue>('leaky_queue', sentence, shown),
    limit: places,
    window_seconds: windowStatement(seconds, shown),
    burst: places,
    refill_per_second: refillStatement([1_000 / gapMs[1], 1_000 / gapMs[0]], 'requests', shown),
    refusals_spend: areRefusalsFree
      ? certain(false, 'refused requests do not count', shown)
      : undetermined('the requests do not tell whether refusals count', shown),
  };
}
