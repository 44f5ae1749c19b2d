/**
 * What the requests of the first caller show, one after the other: the decisions, and the versions
 * of limiters that they permit. Requests of others that share its limit count, too.
 *
 * What was sent before the audit is not known. First nothing is taken to count; if that contradicts
 * a later burst, the evidence starts at the next mark: a burst after a recovery or a pause.
 */
import type { Decision, Span } from '#judging/limiter/space/decision.ts';
import {
  type Candidate,
  isPossible,
  type OneVersion,
  Space,
} from '#judging/limiter/space/space.ts';
import type { Exchange } from './exchange.ts';
import { decisionOf } from './run.ts';

export class Evidence {
  readonly decisions: Decision[] = [];
  /** The exchange of each decision. */
  readonly numbers: number[] = [];
  readonly #longestMs: number;
  /** Places in `decisions` before which nothing may count any more. */
  readonly #marks: number[] = [];
  #start = 0;
  #isPastUnknown = false;
  #space: Space;
  #seen = 0;
  #candidates: readonly Candidate[] = [];

  constructor(longestMs: number) {
    this.#longestMs = longestMs;
    this.#space = new Space(longestMs);
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

  /** The next request, or the last one, may be the first that counts. */
  mark(place: 'next' | 'last'): void {
    this.#marks.push(this.decisions.length - (place === 'last' ? 1 : 0));
  }

  /** The versions that all decisions so far permit; blocks as long as nothing else is left. */
  get candidates(): readonly Candidate[] {
    if (this.#seen !== this.decisions.length) this.#update();
    return this.#candidates;
  }

  #update(): void {
    this.#seen = this.decisions.length;
    this.#refresh();
    while (this.#space.isBegun && !this.#isPastUnknown && this.#isRefuted) {
      const next = this.#marks.find((mark) => mark > this.#start);
      this.#isPastUnknown = next === undefined;
      this.#start = next ?? 0;
      this.#space = new Space(this.#longestMs, this.#isPastUnknown ? this.#firstAt : undefined);
      this.#refresh();
    }
  }

  get #isRefuted(): boolean {
    return this.#candidates.length === 0 || this.#isFirstShort;
  }

  get #firstAt(): number {
    return this.decisions[0]?.from ?? 0;
  }

  #refresh(): void {
    this.#space.update(this.decisions.slice(this.#start));
    const { candidates } = this.#space;
    this.#candidates =
      this.#start === 0
        ? candidates
        : candidates.filter((each) => isPossible(this.#ofPast(each), this.decisions));
  }

  /**
   * True if a longer window than any that was looked for may explain the answers: it lets no more pass
   * than its limit at first, and as many again in each such time.
   */
  get isLongerPossible(): boolean {
    let [passes, run, longestRun] = [0, 0, 0];
    for (const { passed } of this.decisions) {
      run = passed ? run + 1 : 0;
      passes += passed ? 1 : 0;
      longestRun = Math.max(longestRun, run);
    }
    const lengthMs = (this.decisions.at(-1)?.to ?? 0) - this.#firstAt;
    return passes <= longestRun * (2 + lengthMs / this.#longestMs);
  }

  /** The first decision that no version permits which permits all before it; where none remains. */
  get contradiction(): number {
    const isPermitted = (count: number) => {
      const space = new Space(this.#longestMs);
      space.update(this.decisions.slice(0, count));
      return !space.isBegun || space.candidates.length > 0;
    };
    return lastThat(this.decisions.length - 1, isPermitted);
  }

  /** The same version, if others may have spent before the first decision. */
  #ofPast({ family, version }: Candidate): OneVersion {
    return { family, version: { ...version, knownSince: this.#firstAt } };
  }

  /**
   * True if the audit began with a pause that is long enough, or if a burst after one met the same
   * limit as an earlier one: what came before that one had not spent, or it would have been shorter.
   */
  get isConfirmed(): boolean {
    const [most = 0, second = 0] = [...this.#burstsWithin(1)].sort((one, other) => other - one);
    const isEmptyFirst = this.#start === 0 && this.#firstAt >= this.#pauseMs;
    return isEmptyFirst || this.#isPastUnknown || second >= most - this.#blur;
  }

  /** True if a burst after a pause was longer than the first one, so that something came before. */
  get #isFirstShort(): boolean {
    const [first = 0, ...later] = this.#burstsWithin(1 / 8);
    return !this.#isPastUnknown && later.some((each) => first < each - this.#blur);
  }

  /** Where tokens come back one by one, a slower burst is longer by what came back meanwhile. */
  get #blur(): number {
    const isSteady = this.#candidates.every(({ family }) => !isContinuous(family.algorithm));
    return isSteady ? 0 : 1 + Math.ceil(Math.max(0, ...this.#burstsWithin(1)) / 16);
  }

  /** After so long a pause, nothing counts any more. */
  get #pauseMs(): number {
    const [least, most] = hull(this.#candidates.map(({ version }) => version.windowMs));
    const isProlonged = this.#candidates.every(({ family }) => family.isProlonged);
    const isCounter = this.#candidates.some(({ family }) => family.algorithm === 'sliding_counter');
    // A request that passes after a pause shows by itself that a prolonged window is over.
    return isProlonged ? least : most * (isCounter ? 2 : 1);
  }

  /**
   * How many passed in each burst within a share of a window: the first, and those after a long pause.
   * A border of a clock's windows lies rarely in a quick one.
   */
  #burstsWithin(share: number): readonly number[] {
    const [least] = hull(this.#candidates.map(({ version }) => version.windowMs));
    const pauseMs = this.#pauseMs;
    return this.decisions.flatMap(({ from, passed }, i) => {
      const before = this.decisions[i - 1];
      if (i < this.#start || !passed) return [];
      if (i > this.#start && (before === undefined || from - before.to < pauseMs)) return [];
      const length = this.decisions.slice(i).findIndex((each) => !each.passed);
      const refusal = this.decisions[i + length];
      return length > 0 && refusal !== undefined && refusal.to - from < least * share
        ? [length]
        : [];
    });
  }

  /** The shortest and the longest window that a version permits. */
  get windowMs(): Span {
    return hull(this.candidates.map(({ version }) => version.windowMs));
  }

  /** The lowest and the highest limit that a version permits. */
  get limit(): Span {
    return hull(this.candidates.map(({ version }) => version.limit));
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
      const judged = this.#space.judgedFor(version);
      const ofJudged = made.get(judged) ?? new Map<Key, readonly Decision[]>();
      made.set(judged, ofJudged);
      const decisions = ofJudged.get(key) ?? [...judged, ...decisionsOf(key)];
      ofJudged.set(key, decisions);
      return isPossible(version, decisions, judged.length);
    };
  }

  /** True if so many more may have passed before this decision, by a version that remains. */
  couldPass(at: number, count: number): boolean {
    const last = this.decisions[at - 1];
    if (last === undefined) return true;
    const decisions = [
      ...this.decisions.slice(0, at),
      { ...last, passed: true, count },
      ...this.decisions.slice(at),
    ];
    return this.candidates.some((each) =>
      isPossible(this.#start === 0 ? each : this.#ofPast(each), decisions),
    );
  }
}

function isContinuous(algorithm: Candidate['family']['algorithm']): boolean {
  return algorithm === 'token_bucket' || algorithm === 'sliding_counter';
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
