/**
 * What the requests of the first caller show, one after the other: the decisions, and the versions
 * of limiters that they permit. Requests of others that share its limit count, too.
 *
 * What was sent before the audit is not known. First nothing is taken to have counted. Once a window
 * about as long as those that remain has passed twice, limiters that had counted anything before are
 * looked into, too; if none explains the decisions without that, all windows are.
 */
import { type Decision, firstThat, History, type Span } from '#judging/limiter/space/decision.ts';
import {
  anyLimit,
  type Candidate,
  isPossible,
  type OneVersion,
  Space,
} from '#judging/limiter/space/space.ts';
import { type AuditedExchange, decisionOf } from './run.ts';

/** Of windows that passed so often, the later ones show the limit whatever came before the audit. */
const fewWindows = 2;
/**
 * Windows up to so many times as long as those that remain may have counted what came before: one
 * that did can look like another limiter of a shorter window.
 */
const longerWindow = 1.5;
/**
 * The same where each request seems to prolong the window: a pause ends long windows, too. Those in
 * which refusals spend are prolonged alike, so for them the time above is enough.
 */
const longerPause = 3;

/** So often spans are looked into that may hold no possible version. */
const mostLooks = 6;
/** So many of them are looked into at once. */
const manySpans = 4_000;

export interface Race {
  readonly sent: readonly AuditedExchange[];
  /** The requests that would have passed one by one. */
  readonly most: number;
  readonly passed: number;
}

/** Requests that were sent at once, after so many decisions, and that are not among them. */
export interface Omitted {
  readonly sent: readonly AuditedExchange[];
  readonly at: number;
}

export class Evidence {
  readonly decisions: Decision[] = [];
  /** The exchange of each decision. */
  readonly numbers: number[] = [];
  readonly #longestMs: number;
  /** If nothing was sent before, and if anything may have been. */
  readonly #spaces: { afterNothing: Space; readonly afterAny: Space };
  /** Nothing that came before this decision counts in `afterNothing`. */
  #since = 0;
  /** Windows up to this length may have counted what came before, as far as known versions remained. */
  #nearMs: number;
  #isLearned = false;
  #seen = 0;
  /** True if requests that are not among the decisions may be, too. */
  isDoubted = false;
  #longer = longerWindow;
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

  /** The decisions before which nothing counts, or nothing is taken to have counted. */
  get recent(): readonly Decision[] {
    return this.decisions.slice(this.#since);
  }

  /** After a pause that was long enough, nothing of before counts any more, whatever it was. */
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
   * True if a version permits these requests at once, too, each list before a decision. Then what was
   * learned without them is not certain.
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
      // Where nothing else explains the answers, it must be shown.
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
    const knownMs = hull(known.map(({ version }) => version.windowMs))[1];
    if (known.length > 0) {
      const isPause = known.every(({ family }) => family.isProlonged);
      this.#longer = isPause ? longerPause : longerWindow;
      this.#nearMs = knownMs * this.#longer;
    }
    const isNear = known.length > 0;
    const coveredMs = isNear ? Math.min(this.#nearMs, this.#coveredMs) : this.#coveredMs;
    afterAny.widen(isNear || this.#isLearned ? coveredMs : this.#longestMs);
    afterAny.update(this.decisions);
    const others = afterAny.candidates.filter((each) => !isNear || this.#isNear(each, knownMs));
    // Known limiters that had a past explain all decisions together, too.
    const isUnknown = this.#since > 0 && afterAny.candidates.length === 0;
    this.#candidates = isUnknown ? [] : [...known, ...others];
    this.#plain = known.length === 0 ? this.#candidates : known;
    this.#windowMs = hull(this.#candidates.map(({ version }) => version.windowMs));
    const limits = this.#candidates.map(({ version }) => version.limit);
    const bounded = limits.filter(([, most]) => most < anyLimit);
    this.#limit = hull(bounded.length > 0 ? bounded : limits);
    return this.#candidates;
  }

  /** True if its window is not so much longer than the known ones that a past must be allowed for. */
  #isNear({ family, version }: Candidate, knownMs: number): boolean {
    const longer = family.refusals === 'spend' ? longerWindow : this.#longer;
    return version.windowMs[0] <= knownMs * longer;
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
    const isUnexplained = this.#spaces.afterNothing.candidates.length === 0;
    return this.isDoubted || (this.candidates.length > 0 && isUnexplained);
  }

  /** True if what came before the audit is allowed for in each window that remains. */
  get isPastCovered(): boolean {
    return this.#plainMs * this.#longer <= this.#coveredMs || this.#coveredMs === this.#longestMs;
  }

  /** From then on, it is allowed for. */
  get coveredAtMs(): number {
    return (this.decisions[0]?.from ?? 0) + fewWindows * this.#plainMs * this.#longer;
  }

  get #plainMs(): number {
    const isUnknown = this.candidates.length === 0;
    return isUnknown ? this.#longestMs : hull(this.plain.map(({ version }) => version.windowMs))[1];
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
   * How many requests in a row pass, by each version: least and most, up to `limit`. The first one is
   * sent at this time, and the last one after a time for each. `before`: what passes until then.
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

  /** True if so many more may have passed before this decision, by a version that remains. */
  couldPass(at: number, count: number, [from, to]: Span): boolean {
    const passes = { from, to, passed: true, count };
    const history = History.of(this.decisions.toSpliced(at, 0, passes).slice(this.#since));
    return this.candidates.some((each) => isPossible(each, history));
  }
}

/** In the order of their replies: a window that ends meanwhile lets some pass after a refusal. */
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

/** From the first that was sent to the last answer. */
export function timesOf(exchanges: readonly AuditedExchange[]): Span {
  const decisions = exchanges.map(decisionOf);
  return hull(decisions.map(({ from, to }) => [from, to]));
}

/** The highest count that holds, where those below it hold, too; 0 if 1 does not hold. */
function lastThat(limit: number, holds: (count: number) => boolean): number {
  return firstThat(1, limit + 1, (count) => !holds(count)) - 1;
}

function hull(spans: readonly Span[]): Span {
  return [Math.min(...spans.map(([least]) => least)), Math.max(...spans.map(([, most]) => most))];
}
