/**
 * What the requests of the first caller show, one after the other: the decisions, and the versions
 * of limiters that they permit. Requests of others that share its limit count, too.
 *
 * What was sent before the audit is not known. First nothing is taken to have counted. Once a window
 * about as long as those that remain has passed twice, limiters that had counted anything before are
 * looked into, too; if none explains the decisions without that, all windows are.
 */
import type { Decision, Span } from '#judging/limiter/space/decision.ts';
import {
  anyLimit,
  type Candidate,
  isPossible,
  type OneVersion,
  Space,
} from '#judging/limiter/space/space.ts';
import type { Exchange } from './exchange.ts';
import { decisionOf } from './run.ts';

/** Of windows that passed so often, the later ones show the limit whatever came before the audit. */
const fewWindows = 2;
/** Windows up to so many times as long as those that remain may have counted what came before. */
const longerWindow = 1.1;

export class Evidence {
  readonly decisions: Decision[] = [];
  /** The exchange of each decision. */
  readonly numbers: number[] = [];
  readonly #longestMs: number;
  /** If nothing was sent before, and if anything may have been. */
  readonly #spaces: { readonly afterNothing: Space; readonly afterAny: Space };
  /** Windows up to this length may have counted what came before, as far as known versions remained. */
  #nearMs: number;
  #isLearned = false;
  #seen = 0;
  #candidates: readonly Candidate[] = [];
  #plain: readonly Candidate[] = [];
  #windowMs: Span = hull([]);
  #limit: Span = hull([]);

  constructor(longestMs: number) {
    this.#longestMs = longestMs;
    this.#nearMs = longestMs;
    this.#spaces = { afterNothing: new Space(), afterAny: new Space(0) };
    this.#spaces.afterNothing.widen(longestMs);
  }

  add(exchange: Exchange): void {
    this.decisions.push(decisionOf(exchange));
    this.numbers.push(exchange.number);
  }

  /** Requests that were sent at once: those that passed came first, as far as one can tell. */
  addTogether(exchanges: readonly Exchange[]): void {
    const [from, to] = timesOf(exchanges);
    for (const outcome of ['passed', 'refused'] as const)
      for (const { number } of exchanges.filter((each) => each.outcome === outcome)) {
        this.decisions.push({ from, to, passed: outcome === 'passed', count: 1 });
        this.numbers.push(number);
      }
  }

  /** The versions that all decisions so far permit. */
  get candidates(): readonly Candidate[] {
    if (this.#seen === this.decisions.length) return this.#candidates;
    this.#seen = this.decisions.length;
    const { afterNothing, afterAny } = this.#spaces;
    afterNothing.update(this.decisions);
    if (!afterNothing.isBegun) return [];
    const known = afterNothing.candidates;
    if (known.length > 0)
      this.#nearMs = hull(known.map(({ version }) => version.windowMs))[1] * longerWindow;
    const isNear = known.length > 0;
    const coveredMs = isNear ? Math.min(this.#nearMs, this.#coveredMs) : this.#coveredMs;
    afterAny.widen(isNear || this.#isLearned ? coveredMs : this.#longestMs);
    afterAny.update(this.decisions);
    const others = afterAny.candidates.filter(
      ({ version }) => !isNear || version.windowMs[0] <= this.#nearMs,
    );
    this.#candidates = [...known, ...others];
    this.#plain = known.length === 0 ? this.#candidates : known;
    this.#windowMs = hull(this.#candidates.map(({ version }) => version.windowMs));
    const limits = this.#candidates.map(({ version }) => version.limit);
    const bounded = limits.filter(([, most]) => most < anyLimit);
    this.#limit = hull(bounded.length > 0 ? bounded : limits);
    return this.#candidates;
  }

  /**
   * All is learned. What contradicts it later is no longer explained by what came before in a much
   * longer window.
   */
  learn(): void {
    // A span of versions that were not excluded may hold none that is possible.
    const isShown = this.candidates.some(({ middle }) => middle !== undefined);
    this.#isLearned ||= isShown && !this.isAfterOthers;
  }

  /** Those after nothing, if there are any: the usual case, from which the rest is planned. */
  get plain(): readonly Candidate[] {
    return this.candidates.length === 0 ? [] : this.#plain;
  }

  /** True if no limiter that is known explains the decisions, unless something came before them. */
  get isAfterOthers(): boolean {
    return this.candidates.length > 0 && this.#spaces.afterNothing.candidates.length === 0;
  }

  /** True if what came before the audit is allowed for in each window that remains. */
  get isPastCovered(): boolean {
    return (
      this.windowMs[1] * longerWindow <= this.#coveredMs || this.#coveredMs === this.#longestMs
    );
  }

  get #coveredMs(): number {
    return Math.min(this.#longestMs, this.#lengthMs / fewWindows);
  }

  get #lengthMs(): number {
    return (this.decisions.at(-1)?.to ?? 0) - (this.decisions[0]?.from ?? 0);
  }

  /** The most that passed in a row. */
  get longestRun(): number {
    let [run, longest] = [0, 0];
    for (const { passed } of this.decisions) {
      run = passed ? run + 1 : 0;
      longest = Math.max(longest, run);
    }
    return longest;
  }

  /**
   * True if a longer window than any that was looked for may explain the answers: it lets no more pass
   * than its limit at first, and as many again in each such time.
   */
  get isLongerPossible(): boolean {
    if (this.#isLearned) return false;
    const passes = this.decisions.filter(({ passed }) => passed).length;
    return passes <= this.longestRun * (2 + this.#lengthMs / this.#longestMs);
  }

  /** The first decision that no version permits which permits all before it; where none remains. */
  get contradiction(): number {
    return this.firstContradicted(this.decisions);
  }

  /** The same for other decisions; their number if a version permits all. */
  firstContradicted(decisions: readonly Decision[]): number {
    return lastThat(decisions.length, (count) => this.isPermitted(decisions.slice(0, count)));
  }

  /** True if a version gives these answers, after nothing. */
  isPermitted(decisions: readonly Decision[]): boolean {
    return decisions.every(({ passed }) => passed) || this.versionsOf(decisions).length > 0;
  }

  /** The versions that permit these decisions, after nothing. */
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
   * How many requests in a row may pass, by each version, up to `limit`. The first one is sent at this
   * time, and the last one after a time for each.
   */
  passesAt(
    from: number,
    timeFor: (count: number) => number,
    versions: readonly OneVersion[],
    limit: number,
  ): readonly number[] {
    const may = this.#next((count: number) => [
      { from, to: from + timeFor(count), passed: true, count },
    ]);
    return versions.map((version) => lastThat(limit, (count) => may(version, count)));
  }

  /**
   * When the next request may pass at the earliest, by each version; no later than `until`. `burst`: what
   * is sent before it.
   */
  firstPasses(
    now: number,
    until: number,
    versions: readonly OneVersion[],
    burst: readonly Decision[] = [],
  ): readonly number[] {
    const steps = 1 << 12;
    const timeOf = (step: number) => now + ((until - now) * step) / steps;
    const may = this.#next((step: number) => [
      ...burst,
      { from: timeOf(step), to: timeOf(step), passed: true, count: 1 },
    ]);
    return versions.map((version) => timeOf(lastThat(steps, (step) => !may(version, step))));
  }

  /** Tells whether a version permits further decisions. Those of one key are made once. */
  #next<Key>(decisionsOf: (key: Key) => readonly Decision[]) {
    const made = new Map<readonly Decision[], Map<Key, readonly Decision[]>>();
    return (version: OneVersion, key: Key): boolean => {
      const judged = this.#spaces.afterNothing.judgedFor(version);
      const ofJudged = made.get(judged) ?? new Map<Key, readonly Decision[]>();
      made.set(judged, ofJudged);
      const decisions = ofJudged.get(key) ?? [...judged, ...decisionsOf(key)];
      ofJudged.set(key, decisions);
      return isPossible(version, decisions, judged.length);
    };
  }

  /**
   * True if so many more may have passed before this decision, by a version that remains. `times`: when;
   * otherwise with the decision before.
   */
  couldPass(at: number, count: number, times?: Span): boolean {
    const last = this.decisions[at - 1];
    if (last === undefined) return true;
    const [from, to] = times ?? [last.from, last.to];
    const decisions = [
      ...this.decisions.slice(0, at),
      { from, to, passed: true, count },
      ...this.decisions.slice(at),
    ];
    return this.candidates.some((each) => isPossible(each, decisions));
  }
}

/** From the first that was sent to the last answer. */
export function timesOf(exchanges: readonly Exchange[]): Span {
  const decisions = exchanges.map(decisionOf);
  return hull(decisions.map(({ from, to }) => [from, to]));
}

/** The highest count that holds, where those below it hold, too; 0 if 1 does not hold. */
function lastThat(limit: number, holds: (count: number) => boolean): number {
  let [low, high] = [0, limit];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function hull(spans: readonly Span[]): Span {
  return [Math.min(...spans.map(([least]) => least)), Math.max(...spans.map(([, most]) => most))];
}
