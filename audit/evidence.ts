/**
 * What the requests of the first caller show: each decision in order, and the versions of limiters
 * that permit all of them. Requests of other callers that share its limit are among the decisions.
 *
 * What was sent before the audit is unknown, and may still count in a long window. At first the
 * audit takes it that nothing counts. Once windows about as long as those that remain have passed
 * twice, limiters that had counted earlier requests are candidates too. If no other limiter
 * explains the decisions, such limiters are candidates whatever their window.
 */
import { type Decision, firstThat, History, type Span } from '#judging/limiter/space/decision.ts';
import { blockMs } from '#judging/limiter/space/families.ts';
import {
  anyLimit,
  type Candidate,
  isPossible,
  type OneVersion,
  Space,
} from '#judging/limiter/space/space.ts';
import { type AuditedExchange, decisionOf } from './run.ts';

/** After this many windows, the last ones show the limit, whatever was sent before the audit. */
const fewWindows = 2;
/**
 * A window up to this many times as long as those that remain may have counted earlier requests:
 * then it can look like another limiter with a shorter window.
 */
const longerWindow = 1.5;
/**
 * The same if each request seems to prolong the window, because a pause also ends long windows.
 * Where refusals spend, they prolong the window alike, so `longerWindow` is enough.
 */
const longerPause = 3;

/** How often `isDoubtedBy` cuts spans that may hold no possible version. */
const mostLooks = 6;
/** It cuts finer while fewer spans of a family remain than this. */
const manySpans = 4_000;

export interface Race {
  readonly sent: readonly AuditedExchange[];
  /** The requests that would have passed one by one. */
  readonly most: number;
  readonly passed: number;
}

/** Requests that are not among the decisions. `at`: how many decisions came before them. */
export interface Omitted {
  readonly sent: readonly AuditedExchange[];
  readonly at: number;
}

export class Evidence {
  readonly decisions: Decision[] = [];
  /** The exchange of each decision. */
  readonly numbers: number[] = [];
  readonly #longestMs: number;
  /** The versions that remain: if nothing before counts, and if anything before may count. */
  readonly #spaces: { afterNothing: Space; readonly afterAny: Space };
  /** The number of the decision with which `afterNothing` begins. */
  #since = 0;
  /** Set by `learn`. */
  #isLearned = false;
  /** How many decisions `#candidates` and the fields after it take into account. */
  #seen = 0;
  /** True if requests that are not among the decisions may have counted. */
  isDoubted = false;
  /** `longerWindow` or `longerPause`, by the versions that remain. */
  #longer = longerWindow;
  #candidates: readonly Candidate[] = [];
  #plain: readonly Candidate[] = [];
  #windowMs: Span = hull([]);
  #limit: Span = hull([]);

  constructor(longestMs: number) {
    this.#longestMs = longestMs;
    this.#spaces = { afterNothing: new Space(), afterAny: new Space(0) };
    this.#spaces.afterNothing.widen(longestMs);
  }

  /** The decisions since the last restart. */
  get recent(): readonly Decision[] {
    return this.decisions.slice(this.#since);
  }

  /** Starts again after a pause that is long enough: what was sent before it no longer counts. */
  restart(): void {
    this.#since = this.decisions.length;
    this.isDoubted = false;
    this.#spaces.afterNothing = new Space();
    this.#spaces.afterNothing.widen(this.#longestMs);
    this.#spaces.afterAny.widen(this.#longestMs);
  }

  add(exchange: AuditedExchange): void {
    this.decisions.push(decisionOf(exchange));
    this.numbers.push(exchange.number);
  }

  /** Requests that were sent at once. */
  addTogether(exchanges: readonly AuditedExchange[]): void {
    this.decisions.push(...decisionsAtOnce(exchanges));
    this.numbers.push(...inOrderOfReplies(exchanges).map(({ number }) => number));
  }

  /**
   * True if a version permits the decisions with these requests inserted, each list at its place.
   * Then what was learned without them is not certain.
   */
  isDoubtedBy(omitted: readonly Omitted[]): boolean {
    let decisions: readonly Decision[] = this.decisions;
    for (const { sent, at } of omitted.toReversed())
      decisions = decisions.toSpliced(at, 0, ...decisionsAtOnce(sent));
    const longestMs = Math.min(this.#plainMs * this.#longer, this.#coveredMs);
    const isDoubted = [undefined, 0].some((knownSince) => {
      const space = new Space(knownSince, manySpans);
      space.widen(knownSince === undefined ? this.#longestMs : longestMs);
      // Each look goes further into what is neither excluded nor shown to be possible.
      for (let look = 0; look < mostLooks; look += 1) {
        space.update(knownSince === undefined ? decisions.slice(this.#since) : decisions);
        const candidates = space.candidates.filter((each) => this.#isNear(each, this.#plainMs));
        if (candidates.length === 0) return false;
        if (candidates.some(({ middle }) => middle !== undefined)) return true;
      }
      // Undecided. That is a doubt, unless no version explains the decisions themselves.
      return this.candidates.length > 0;
    });
    this.isDoubted ||= isDoubted;
    return isDoubted;
  }

  /** The versions that all decisions so far permit. */
  get candidates(): readonly Candidate[] {
    if (this.#seen === this.decisions.length) return this.#candidates;
    this.#seen = this.decisions.length;
    const { afterNothing, afterAny } = this.#spaces;
    afterNothing.update(this.recent);
    if (!afterNothing.isBegun) return [];
    const known = afterNothing.candidates;
    const knownMs = this.#memoryMs(known);
    const isKnown = known.length > 0;
    if (isKnown) {
      const isProlonged = known.every(({ family }) => family.isProlonged);
      this.#longer = isProlonged ? longerPause : longerWindow;
    }
    const nearMs = isKnown ? knownMs * this.#longer : Number.POSITIVE_INFINITY;
    const coveredMs = Math.min(nearMs, this.#coveredMs);
    afterAny.widen(isKnown || this.#isLearned ? coveredMs : this.#longestMs);
    afterAny.update(this.decisions);
    const others = afterAny.candidates.filter((each) => !isKnown || this.#isNear(each, knownMs));
    // After a restart, a known limiter must also explain the decisions from before it.
    const isUnknown = this.#since > 0 && afterAny.candidates.length === 0;
    this.#candidates = isUnknown ? [] : [...known, ...others];
    this.#plain = known.length === 0 ? this.#candidates : known;
    this.#windowMs = hull(this.#candidates.map(({ version }) => version.windowMs));
    const limits = this.#candidates.map(({ version }) => version.limit);
    const bounded = limits.filter(([, most]) => most < anyLimit);
    this.#limit = hull(bounded.length > 0 ? bounded : limits);
    return this.#candidates;
  }

  /** True if the window is not much longer than `knownMs`: longer ones are not candidates. */
  #isNear({ family, version }: Candidate, knownMs: number): boolean {
    const longer = family.refusals === 'spend' ? longerWindow : this.#longer;
    return version.windowMs[0] <= knownMs * longer;
  }

  /**
   * Call this when everything is known. From then on, earlier requests in a much longer window no
   * longer explain a contradiction.
   */
  learn(): void {
    // A span of versions that were not excluded may hold none that is possible.
    const isShown = this.candidates.some(({ middle }) => middle !== undefined);
    this.#isLearned ||= isShown && !this.isAfterOthers;
  }

  /** The candidates with nothing before, or all if there are none. The audit plans by these. */
  get plain(): readonly Candidate[] {
    return this.candidates.length === 0 ? [] : this.#plain;
  }

  /** True if known limiters explain the decisions only with requests that are not among them. */
  get isAfterOthers(): boolean {
    const isUnexplained = this.#spaces.afterNothing.candidates.length === 0;
    return this.isDoubted || (this.candidates.length > 0 && isUnexplained);
  }

  /** True if the candidates allow for earlier requests in every window that remains. */
  get isPastCovered(): boolean {
    return this.#plainMs * this.#longer <= this.#coveredMs || this.#coveredMs === this.#longestMs;
  }

  /** When `isPastCovered` becomes true. */
  get coveredAtMs(): number {
    return (this.decisions[0]?.from ?? 0) + fewWindows * this.#plainMs * this.#longer;
  }

  get #plainMs(): number {
    const isUnknown = this.candidates.length === 0;
    return isUnknown ? this.#longestMs : this.#memoryMs(this.plain);
  }

  /** How long a request can matter: for a window, or for the block that a refusal begins. */
  #memoryMs(candidates: readonly Candidate[]): number {
    const [, windowMs] = hull(candidates.map(({ version }) => version.windowMs));
    if (candidates.every(({ family }) => family.refusals !== 'block')) return windowMs;
    const [leastBlockMs] = blockMs(History.of(this.recent));
    return Math.max(windowMs, leastBlockMs);
  }

  get #coveredMs(): number {
    return Math.min(this.#longestMs, this.#lengthMs / fewWindows);
  }

  get #lengthMs(): number {
    return (this.decisions.at(-1)?.to ?? 0) - (this.decisions[0]?.from ?? 0);
  }

  /** The most requests that passed in a row. */
  get longestRun(): number {
    let [run, longest] = [0, 0];
    for (const { passed } of this.decisions) {
      run = passed ? run + 1 : 0;
      longest = Math.max(longest, run);
    }
    return longest;
  }

  /**
   * True if a window longer than `#longestMs` may explain the decisions: it lets its limit pass at
   * first, and as many again in each such window.
   */
  get isLongerPossible(): boolean {
    if (this.#isLearned) return false;
    const passes = this.decisions.filter(({ passed }) => passed).length;
    return passes <= this.longestRun * (2 + this.#lengthMs / this.#longestMs);
  }

  /** The number of the first decision that contradicts every version; for use if none remains. */
  get contradiction(): number {
    return this.firstContradicted(this.decisions);
  }

  /** The number of these decisions before the first contradiction; all if there is none. */
  firstContradicted(decisions: readonly Decision[]): number {
    return lastThat(decisions.length, (count) => this.isPermitted(decisions.slice(0, count)));
  }

  /** True if a version permits these decisions, with nothing before them. */
  isPermitted(decisions: readonly Decision[]): boolean {
    return decisions.every(({ passed }) => passed) || this.versionsOf(decisions).length > 0;
  }

  /** The versions that permit these decisions, with nothing before them. */
  versionsOf(decisions: readonly Decision[]): readonly Candidate[] {
    const space = new Space();
    space.widen(this.#longestMs);
    space.update(decisions);
    return space.candidates;
  }

  /** The shortest and the longest window that a version permits. */
  get windowMs(): Span {
    return this.candidates.length === 0 ? hull([]) : this.#windowMs;
  }

  /** The lowest and the highest limit that a version permits. */
  get limit(): Span {
    return this.candidates.length === 0 ? hull([]) : this.#limit;
  }

  /**
   * How many requests in a row pass by each version: the least and the most, up to `limit`. The
   * first is sent at `from`, and `count` requests take `timeFor(count)`. `before`: what passed
   * before them.
   */
  passesAt(
    from: number,
    timeFor: (count: number) => number,
    versions: readonly OneVersion[],
    limit: number,
    before: readonly Decision[] = [],
  ): readonly Span[] {
    const passes = (count: number): readonly Decision[] =>
      count === 0 ? before : [...before, { from, to: from + timeFor(count), passed: true, count }];
    const refusal = (count: number): readonly Decision[] => {
      const at = from + timeFor(count);
      return [...passes(count - 1), { from: at, to: at, passed: false, count: 1 }];
    };
    const { afterNothing, afterAny } = this.#spaces;
    return versions.map((version) => {
      const space = version.version.knownSince === 0 ? afterAny : afterNothing;
      const most = lastThat(limit, (count) => space.permits(version, passes(count)));
      return [lastThat(most, (count) => !space.permits(version, refusal(count))), most];
    });
  }

  /** True if a candidate permits `count` more passes in this span, before decision number `at`. */
  couldPass(at: number, count: number, [from, to]: Span): boolean {
    const passes = { from, to, passed: true, count };
    const history = History.of(this.decisions.toSpliced(at, 0, passes).slice(this.#since));
    return this.candidates.some((each) => isPossible(each, history));
  }
}

/** In the order of their replies: if a window ends meanwhile, passes can follow a refusal. */
function decisionsAtOnce(exchanges: readonly AuditedExchange[]): Decision[] {
  let from = Number.POSITIVE_INFINITY;
  const decisions = inOrderOfReplies(exchanges).map(decisionOf);
  for (const [i, each] of [...decisions.entries()].toReversed()) {
    from = Math.min(from, each.from);
    decisions[i] = { ...each, from };
  }
  return decisions;
}

function inOrderOfReplies(exchanges: readonly AuditedExchange[]): readonly AuditedExchange[] {
  return exchanges
    .filter(({ outcome }) => outcome !== 'broken')
    .toSorted((one, other) => one.answeredAtMs - other.answeredAtMs);
}

/** The span from the first request to the last reply. */
export function timesOf(exchanges: readonly AuditedExchange[]): Span {
  const decisions = exchanges.map(decisionOf);
  return hull(decisions.map(({ from, to }) => [from, to]));
}

/** The highest count up to `limit` that holds, if all below it hold; 0 if none does. */
function lastThat(limit: number, holds: (count: number) => boolean): number {
  return firstThat(1, limit + 1, (count) => !holds(count)) - 1;
}

function hull(spans: readonly Span[]): Span {
  return [Math.min(...spans.map(([least]) => least)), Math.max(...spans.map(([, most]) => most))];
}
