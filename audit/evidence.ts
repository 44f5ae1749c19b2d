/**
 * What the requests of the first caller show: each decision in order, and the versions of limiters
 * that permit all of them. Requests of other callers that share its limit are among the decisions.
 */
import type { Decision, Span } from '#judging/limiter/space/decision.ts';
import { blockMs } from '#judging/limiter/space/families.ts';
import { History } from '#judging/limiter/space/history.ts';
import { type Candidate, isPossible, type OneVersion } from '#judging/limiter/space/space.ts';
import { type AuditedExchange, decisionOf, decisionsAtOnce, inOrderOfReplies } from './run.ts';
import { memoryOf, Search } from './search.ts';

/** After this many windows, the last ones show the limit, whatever was sent before the audit. */
const watchedWindows = 2;

/** Requests of one test or race that are not among the decisions. */
export type Omitted = readonly AuditedExchange[];

export class Evidence {
  readonly decisions: Decision[] = [];
  /** The number of the exchange of each decision. */
  readonly numbers: number[] = [];
  /** The longest window to look for. */
  readonly longestMs: number;
  /** True if requests that are not among the decisions may have counted. */
  mayLackRequests = false;
  readonly #search: Search;
  /** From the decision with this index on, each request that counts is among the decisions. */
  #completeFrom = 0;
  /** The index of the first decision since the last restart: at or after `#completeFrom`. */
  #recentFrom = 0;
  /** How many decisions the search has taken in. 0: it must take in all of them again. */
  #searched = 0;
  /** Set by `settle`, until a restart. */
  #isSettled = false;
  /** Set by `lookBack`, until a restart. */
  #looksBack = false;

  constructor(longestMs: number) {
    this.longestMs = longestMs;
    this.#search = new Search(longestMs);
  }

  /** The decisions since the last restart. */
  get recent(): readonly Decision[] {
    return this.decisions.slice(this.#recentFrom);
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
    for (const exchange of inOrderOfReplies(omitted)) {
      const at = this.#indexAfter(exchange);
      this.decisions.splice(at, 0, decisionOf(exchange));
      this.numbers.splice(at, 0, exchange.number);
      if (at < this.#recentFrom) this.#recentFrom += 1;
      if (at < this.#completeFrom) this.#completeFrom += 1;
    }
    this.#search.restart(this.#completeSinceMs);
    this.#searched = 0;
  }

  /** Starts again after a pause that is long enough: what was sent before it no longer counts. */
  restart(): void {
    this.#recentFrom = this.decisions.length;
    if (this.mayLackRequests) this.#completeFrom = this.#recentFrom;
    this.#search.restart(this.mayLackRequests ? this.#completeSinceMs : undefined);
    this.#search.widenWithEarlier();
    this.mayLackRequests = false;
    this.#isSettled = false;
    this.#looksBack = false;
  }

  /**
   * Call this when everything is known. From then on, earlier requests in a much longer window no
   * longer explain a contradiction.
   */
  settle(): void {
    // A span of versions that were not excluded may hold none that is possible.
    const isShown = this.candidates.some(({ middle }) => middle !== undefined);
    this.#isSettled ||= isShown && !this.isIncomplete;
  }

  /** From now on, earlier requests are allowed for, even while several kinds of limiters remain. */
  lookBack(): void {
    if (!this.#looksBack) this.#searched = 0;
    this.#looksBack = true;
  }

  /** The versions that all decisions so far permit. */
  get candidates(): readonly Candidate[] {
    return this.#updated().found.candidates;
  }

  /** The candidates if nothing sent before counts; all if there are none. The plan is for these. */
  get withoutEarlier(): readonly Candidate[] {
    return this.#updated().found.withoutEarlier;
  }

  /** The shortest and the longest window of a candidate. */
  get windowMs(): Span {
    return this.#updated().found.windowMs;
  }

  /** The lowest and the highest limit of a candidate. */
  get limit(): Span {
    return this.#updated().found.limit;
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

  /** How long a request counts by the versions that the audit plans by. */
  get memoryMs(): number {
    return this.isKnown ? memoryOf(this.withoutEarlier, this.recent) : this.longestMs;
  }

  /** How long the first refusal blocks, if the limiter blocks at all. */
  get blockMs(): Span {
    return blockMs(History.of(this.recent));
  }

  /** True if requests may have counted, or must have, that are not among the decisions. */
  get isIncomplete(): boolean {
    return this.mayLackRequests || this.#updated().needsEarlier;
  }

  /**
   * True if the candidates allow for earlier requests in every window that remains: the audit has
   * taken `watchedWindows` of the longest of them.
   */
  get allowsForEarlier(): boolean {
    const similarMs = this.#search.similarMs(this.memoryMs);
    return similarMs <= this.#watchedMs || this.#watchedMs === this.longestMs;
  }

  /** When `allowsForEarlier` becomes true. */
  get allowsForEarlierAtMs(): number {
    const similarMs = this.#search.similarMs(this.memoryMs);
    return (this.decisions[0]?.from ?? 0) + watchedWindows * similarMs;
  }

  /**
   * True if a version permits the decisions with these requests inserted, or if that stays open.
   * Then what was learned without them is not certain: see `mayLackRequests`.
   */
  isConsistentWith(omitted: readonly Omitted[]): boolean {
    const decisions = [...this.decisions];
    let completeFrom = this.#completeFrom;
    const lastFirst = omitted.toSorted((one, other) => numberOf(other) - numberOf(one));
    for (const list of lastFirst) {
      const at = this.#indexAfter(list[0]);
      const inserted = decisionsAtOnce(list);
      decisions.splice(at, 0, ...inserted);
      if (at < completeFrom) completeFrom += inserted.length;
    }
    const { memoryMs } = this;
    // After a restart, the limiter must also explain the decisions from before it.
    const hasRestarted = this.#recentFrom > 0;
    if (!hasRestarted && this.#search.isExplained(decisions, memoryMs, this.longestMs, undefined))
      return true;
    const complete = decisions.slice(completeFrom);
    const longestMs = Math.min(this.#search.similarMs(memoryMs), this.#watchedMs);
    return this.#search.isExplained(complete, memoryMs, longestMs, this.#completeSinceMs);
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
    return this.#search.permits(candidate, further);
  }

  /** True if a candidate permits `count` more passes in this span, before the decision `at`. */
  couldPass(at: number, count: number, [from, to]: Span): boolean {
    const passes = { from, to, passed: true, count };
    const history = History.of(this.decisions.toSpliced(at, 0, passes).slice(this.#recentFrom));
    return this.candidates.some((each) => isPossible(each, history));
  }

  /** The search, once it has taken in all decisions. It works only when it is asked. */
  #updated(): Search {
    if (this.#searched < this.decisions.length) {
      this.#searched = this.decisions.length;
      this.#search.update({
        recent: this.recent,
        complete: this.decisions.slice(this.#completeFrom),
        hasRestarted: this.#recentFrom > 0,
        watchedMs: this.#watchedMs,
        isSettled: this.#isSettled,
        looksBack: this.#looksBack,
      });
    }
    return this.#search;
  }

  /** The longest window that the decisions show, whatever was sent before the audit. */
  get #watchedMs(): number {
    return Math.min(this.longestMs, this.#lengthMs / watchedWindows);
  }

  get #lengthMs(): number {
    return (this.decisions.at(-1)?.to ?? 0) - (this.decisions[0]?.from ?? 0);
  }

  /** The index of the first decision after this request. */
  #indexAfter(exchange: AuditedExchange | undefined): number {
    const at = this.numbers.findIndex((number) => number > (exchange?.number ?? 0));
    return at < 0 ? this.numbers.length : at;
  }

  /** Before this time, requests that are not among the decisions may have counted. */
  get #completeSinceMs(): number {
    return this.decisions[this.#completeFrom - 1]?.to ?? 0;
  }
}

function numberOf([first]: Omitted): number {
  return first?.number ?? 0;
}
