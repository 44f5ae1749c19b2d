/**
 * What the requests of the first caller show: each decision in order, and the versions of limiters
 * that permit all of them. Requests of other callers that share its limit are among the decisions.
 *
 * What was sent before the audit is unknown, and may still count in a long window. At first the
 * audit assumes that nothing sent before counts. Once windows about as long as those that remain
 * have passed twice, limiters that had counted earlier requests are candidates too. If no other
 * limiter explains the decisions, such limiters are candidates whatever their window.
 */
import { type Decision, hullOf, type Span } from '#judging/limiter/space/decision.ts';
import { blockMs } from '#judging/limiter/space/families.ts';
import { History } from '#judging/limiter/space/history.ts';
import {
  anyLimit,
  type Candidate,
  isPossible,
  type OneVersion,
  Space,
} from '#judging/limiter/space/space.ts';
import { type AuditedExchange, decisionOf, decisionsAtOnce, inOrderOfReplies } from './run.ts';

/** After this many windows, the last ones show the limit, whatever was sent before the audit. */
const coveredWindows = 2;
/**
 * A window up to this many times as long as those that remain may have counted earlier requests:
 * then it can look like another limiter with a shorter window.
 */
const nearWindows = 1.5;
/**
 * `nearWindows` if each request seems to prolong the window: a pause then also ends long windows.
 * Where refusals spend, they also prolong the window, so `nearWindows` is enough.
 */
const nearIfProlonged = 3;
/** How often `mayExplainWith` cuts spans that may hold no possible version. */
const mostLooks = 6;
/** It cuts finer while fewer spans of a family remain than this. */
const manySpans = 4_000;

/** What the decisions so far permit. */
type Found = Pick<Evidence, 'candidates' | 'withoutPast' | 'windowMs' | 'limit'>;

const noSpan: Span = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
const nothingFound: Found = { candidates: [], withoutPast: [], windowMs: noSpan, limit: noSpan };

/** Requests of one test or race that are not among the decisions. */
export type Omitted = readonly AuditedExchange[];

export class Evidence {
  readonly decisions: Decision[] = [];
  /** The exchange of each decision. */
  readonly numbers: number[] = [];
  /** The longest window to look for. */
  readonly longestMs: number;
  /** True if requests that are not among the decisions may have counted. */
  isDoubted = false;
  /** The versions that remain: if nothing before counts, and if anything before may count. */
  readonly #spaces: { withoutPast: Space; withPast: Space };
  /** The number of the decision with which `withoutPast` begins. */
  #since = 0;
  /** The same of `withPast`: nothing that is not among the decisions counts from there on. */
  #trustedSince = 0;
  /** Set by `settle`. */
  #isSettled = false;
  /** `nearWindows` or `nearIfProlonged`, by the versions that remain. */
  #nearFactor = nearWindows;
  /** How many decisions `#found` takes into account. */
  #seen = 0;
  #found = nothingFound;

  constructor(longestMs: number) {
    this.longestMs = longestMs;
    this.#spaces = { withoutPast: this.#allWithoutPast(), withPast: new Space(0) };
  }

  /** The decisions since the last restart. */
  get recent(): readonly Decision[] {
    return this.decisions.slice(this.#since);
  }

  add(exchange: AuditedExchange): void {
    this.decisions.push(decisionOf(exchange));
    this.numbers.push(exchange.number);
  }

  /** Adds requests that were sent at once. */
  addTogether(exchanges: readonly AuditedExchange[]): void {
    this.decisions.push(...decisionsAtOnce(exchanges));
    this.numbers.push(...inOrderOfReplies(exchanges).map(({ number }) => number));
  }

  /** Adds requests that were made before others, and turned out to count. */
  addLate(omitted: readonly AuditedExchange[]): void {
    for (const exchange of omitted) {
      const at = this.#placeOf(exchange);
      this.decisions.splice(at, 0, decisionOf(exchange));
      this.numbers.splice(at, 0, exchange.number);
      if (at < this.#since) this.#since += 1;
      if (at < this.#trustedSince) this.#trustedSince += 1;
    }
    this.#spaces.withoutPast = this.#allWithoutPast();
    this.#spaces.withPast = new Space(this.#trustedFromMs);
    this.#seen = 0;
  }

  /** Starts again after a pause that is long enough: what was sent before it no longer counts. */
  restart(): void {
    this.#since = this.decisions.length;
    if (this.isDoubted) {
      this.#trustedSince = this.#since;
      this.#spaces.withPast = new Space(this.#trustedFromMs);
    }
    this.isDoubted = false;
    this.#isSettled = false;
    this.#spaces.withoutPast = this.#allWithoutPast();
    this.#spaces.withPast.widen(this.longestMs);
  }

  /**
   * Call this when everything is known. From then on, earlier requests in a much longer window no
   * longer explain a contradiction.
   */
  settle(): void {
    // A span of versions that were not excluded may hold none that is possible.
    const isShown = this.candidates.some(({ middle }) => middle !== undefined);
    this.#isSettled ||= isShown && !this.isAfterOthers;
  }

  /** The versions that all decisions so far permit. */
  get candidates(): readonly Candidate[] {
    return this.#latest.candidates;
  }

  /** True if a limiter explains the decisions. */
  get isKnown(): boolean {
    return this.candidates.length > 0;
  }

  /** True if every limiter that explains the decisions is a sliding counter. */
  get isCounter(): boolean {
    const isCounter = this.candidates.every(({ family }) => family.algorithm === 'sliding_counter');
    return isCounter && this.isKnown;
  }

  /** The candidates with nothing before, or all if there are none. The audit plans by these. */
  get withoutPast(): readonly Candidate[] {
    return this.#latest.withoutPast;
  }

  /** The shortest and the longest window that a version permits. */
  get windowMs(): Span {
    return this.#latest.windowMs;
  }

  /** The lowest and the highest limit that a version permits. */
  get limit(): Span {
    return this.#latest.limit;
  }

  /** How long a request counts by the versions that the audit plans by. */
  get knownMs(): number {
    return this.isKnown ? this.#memoryMs(this.withoutPast) : this.longestMs;
  }

  /** True if known limiters explain the decisions only with requests that are not among them. */
  get isAfterOthers(): boolean {
    const isUnexplained = this.#spaces.withoutPast.candidates.length === 0;
    return this.isDoubted || (this.isKnown && isUnexplained);
  }

  /** True if the candidates allow for earlier requests in every window that remains. */
  get isPastCovered(): boolean {
    return this.knownMs * this.#nearFactor <= this.#coveredMs || this.#coveredMs === this.longestMs;
  }

  /** When `isPastCovered` becomes true. */
  get coveredAtMs(): number {
    return (this.decisions[0]?.from ?? 0) + coveredWindows * this.knownMs * this.#nearFactor;
  }

  /**
   * True if a version permits the decisions with these requests inserted. Then what was learned
   * without them is not certain: see `isDoubted`.
   */
  mayExplainWith(omitted: readonly Omitted[]): boolean {
    const decisions = [...this.decisions];
    for (const list of omitted.toReversed())
      decisions.splice(this.#placeOf(list[0]), 0, ...decisionsAtOnce(list));
    const longestMs = Math.min(this.knownMs * this.#nearFactor, this.#coveredMs);
    return [undefined, this.#trustedFromMs].some((knownSince) => {
      const space = new Space(knownSince, { few: manySpans });
      space.widen(knownSince === undefined ? this.longestMs : longestMs);
      // Each look goes further into what is neither excluded nor shown to be possible.
      for (let look = 0; look < mostLooks; look += 1) {
        space.update(decisions.slice(knownSince === undefined ? this.#since : this.#trustedSince));
        const candidates = space.candidates.filter((each) => this.#isNear(each, this.knownMs));
        if (candidates.length === 0) return false;
        if (candidates.some(({ middle }) => middle !== undefined)) return true;
      }
      // Undecided: that is a doubt.
      return true;
    });
  }

  /**
   * True if a window longer than `longestMs` may explain the decisions: it lets its limit pass at
   * first, and as many again in each such window.
   */
  get isLongerPossible(): boolean {
    if (this.#isSettled) return false;
    const passes = this.decisions.filter(({ passed }) => passed).length;
    return passes <= this.longestRun * (2 + this.#lengthMs / this.longestMs);
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

  /** True if a candidate also permits these decisions, after those so far. */
  permits(candidate: OneVersion, further: readonly Decision[]): boolean {
    const { withoutPast, withPast } = this.#spaces;
    const isWithoutPast = candidate.version.knownSince === Number.NEGATIVE_INFINITY;
    const space = isWithoutPast ? withoutPast : withPast;
    return space.permits(candidate, further);
  }

  /** True if a candidate permits `count` more passes in this span, before decision number `at`. */
  couldPass(at: number, count: number, [from, to]: Span): boolean {
    const passes = { from, to, passed: true, count };
    const history = History.of(this.decisions.toSpliced(at, 0, passes).slice(this.#since));
    return this.candidates.some((each) => isPossible(each, history));
  }

  get #latest(): Found {
    if (this.#seen < this.decisions.length) {
      this.#seen = this.decisions.length;
      this.#spaces.withoutPast.update(this.recent);
      // Before the first refusal, nothing is known.
      if (this.#spaces.withoutPast.isBegun) this.#found = this.#search();
    }
    return this.#found;
  }

  /** The versions that permit the decisions, once `withoutPast` has taken them in. */
  #search(): Found {
    const { withoutPast, withPast } = this.#spaces;
    const known = withoutPast.candidates;
    const knownMs = this.#memoryMs(known);
    const isKnown = known.length > 0;
    if (isKnown) {
      const isProlonged = known.every(({ family }) => family.isProlonged);
      this.#nearFactor = isProlonged ? nearIfProlonged : nearWindows;
    }
    const nearMs = isKnown ? knownMs * this.#nearFactor : Number.POSITIVE_INFINITY;
    const coveredMs = Math.min(nearMs, this.#coveredMs);
    withPast.widen(isKnown || this.#isSettled ? coveredMs : this.longestMs);
    withPast.update(this.decisions.slice(this.#trustedSince));
    // After a restart, a known limiter must also explain the decisions from before it.
    if (this.#since > 0 && withPast.candidates.length === 0) return nothingFound;
    const others = withPast.candidates.filter((each) => !isKnown || this.#isNear(each, knownMs));
    const candidates = [...known, ...others];
    const limits = candidates.map(({ version }) => version.limit);
    const bounded = limits.filter(([, most]) => most < anyLimit);
    return {
      candidates,
      withoutPast: isKnown ? known : candidates,
      windowMs: windowOf(candidates),
      limit: hullOf(bounded.length > 0 ? bounded : limits) ?? noSpan,
    };
  }

  /** True if the window is not much longer than `knownMs`: longer ones are not candidates. */
  #isNear({ family, version }: Candidate, knownMs: number): boolean {
    const factor = family.refusals === 'spend' ? nearWindows : this.#nearFactor;
    return version.windowMs[0] <= knownMs * factor;
  }

  /** How long a request counts: for a window, or for the block that a refusal begins. */
  #memoryMs(candidates: readonly Candidate[]): number {
    const [, windowMs] = windowOf(candidates);
    if (candidates.every(({ family }) => family.refusals !== 'block')) return windowMs;
    const [leastBlockMs] = blockMs(History.of(this.recent));
    return Math.max(windowMs, leastBlockMs);
  }

  get #coveredMs(): number {
    return Math.min(this.longestMs, this.#lengthMs / coveredWindows);
  }

  get #lengthMs(): number {
    return (this.decisions.at(-1)?.to ?? 0) - (this.decisions[0]?.from ?? 0);
  }

  /** The number of the first decision after this request. */
  #placeOf(exchange: AuditedExchange | undefined): number {
    const at = this.numbers.findIndex((number) => number > (exchange?.number ?? 0));
    return at < 0 ? this.numbers.length : at;
  }

  /** Before this time, requests that are not among the decisions may have counted. */
  get #trustedFromMs(): number {
    return this.decisions[this.#trustedSince - 1]?.to ?? 0;
  }

  #allWithoutPast(): Space {
    const space = new Space();
    space.widen(this.longestMs);
    return space;
  }
}

function windowOf(candidates: readonly Candidate[]): Span {
  return hullOf(candidates.map(({ version }) => version.windowMs)) ?? noSpan;
}
