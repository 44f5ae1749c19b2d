/**
 * The versions of limiters that permit the decisions of an audit.
 *
 * Earlier requests, which are not among the decisions, may still count in a long window. So there
 * are two searches: the first assumes that no earlier request counts, the second that any may. Once
 * windows similar to those that the first one found have passed twice, versions with such windows
 * that the second one finds are candidates too. If the first finds nothing, all of them are. The
 * second takes most of the time, and the first requests exclude most of what it would find. So while
 * the first finds several kinds of limiters, the second waits for `Evidence.lookBack`.
 */
import { type Decision, hullOf, type Span } from '#judging/limiter/space/decision.ts';
import { type Algorithm, blockMs } from '#judging/limiter/space/families.ts';
import { History } from '#judging/limiter/space/history.ts';
import { anyLimit, type Candidate, type OneVersion, Space } from '#judging/limiter/space/space.ts';

/**
 * A window is similar to those that remain if it is up to this many times as long: one that counted
 * earlier requests can then look like another limiter with a shorter window.
 */
const similarFactor = 1.5;
/**
 * The same if each request seems to prolong the window: a pause then also ends long windows. Where
 * refusals spend, they also prolong the window, so `similarFactor` is enough.
 */
const similarIfProlonged = 3;
/** `isExplained` cuts what stays open this often: more takes longer than a request does. */
const mostCuts = 6;
/** `isExplained` cuts finer than other searches do: while a family has fewer spans than this. */
const manySpans = 4_000;

const noSpan: Span = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
const nothingFound = foundOf([], []);

interface Explained {
  /** Those since the last restart, for the first search. */
  readonly recent: readonly Decision[];
  /** Those that no earlier request can be missing between, for the second search. */
  readonly complete: readonly Decision[];
  readonly hasRestarted: boolean;
  /** The longest window that was watched for long enough to allow for earlier requests. */
  readonly watchedMs: number;
  /** True if versions with a much longer window may not take the place of the first search's. */
  readonly isSettled: boolean;
  /** True if the second search no longer waits. */
  readonly looksBack: boolean;
}

export class Search {
  found = nothingFound;
  readonly #longestMs: number;
  /** The first search: no earlier request counts. */
  #withoutEarlier: Space;
  /** The second search: any earlier request may count. */
  #withEarlier = new Space(0);
  #factor = similarFactor;

  /** `longestMs`: the longest window to look for. */
  constructor(longestMs: number) {
    this.#longestMs = longestMs;
    this.#withoutEarlier = spaceUpTo(longestMs);
  }

  /** Begins the first search again; with a time before which earlier requests came, both. */
  restart(earlierUntilMs?: number): void {
    this.#withoutEarlier = spaceUpTo(this.#longestMs);
    if (earlierUntilMs !== undefined) this.#withEarlier = new Space(earlierUntilMs);
  }

  /** Lets the second search try all windows. */
  widenWithEarlier(): void {
    this.#withEarlier.widen(this.#longestMs);
  }

  /** True if only the second search finds something. */
  get needsEarlier(): boolean {
    return this.found.candidates.length > 0 && this.#withoutEarlier.candidates.length === 0;
  }

  /** The longest window that is similar to those of limiters that count a request for `memoryMs`. */
  similarMs(memoryMs: number): number {
    return memoryMs * this.#factor;
  }

  /** Takes in the decisions since the last update. */
  update({ recent, complete, hasRestarted, watchedMs, isSettled, looksBack }: Explained): void {
    this.#withoutEarlier.update(recent);
    // Before the first refusal, nothing is known.
    if (!this.#withoutEarlier.isBegun) return;
    const withoutEarlier = this.#withoutEarlier.candidates;
    if (!looksBack && areOfSeveralKinds(withoutEarlier)) {
      this.found = foundOf(withoutEarlier, []);
      return;
    }
    const hasFound = withoutEarlier.length > 0;
    const memoryMs = hasFound ? memoryOf(withoutEarlier, recent) : Number.POSITIVE_INFINITY;
    if (hasFound) {
      const isProlonged = withoutEarlier.every(({ family }) => family.isProlonged);
      this.#factor = isProlonged ? similarIfProlonged : similarFactor;
    }
    // Of the windows that were watched, the second search tries those similar to what the first one
    // found. If the first finds nothing, it tries all that were watched, and all there are if no
    // limiter was settled before.
    const watchedSimilarMs = Math.min(this.similarMs(memoryMs), watchedMs);
    this.#withEarlier.widen(hasFound || isSettled ? watchedSimilarMs : this.#longestMs);
    this.#withEarlier.update(complete);
    const withEarlier = this.#similar(this.#withEarlier.candidates, memoryMs);
    // After a restart, the limiter must also explain the decisions from before it.
    if (hasRestarted && this.#withEarlier.candidates.length === 0) this.found = nothingFound;
    else this.found = foundOf(withoutEarlier, withEarlier);
  }

  /** True if a candidate also permits these decisions, after those so far. */
  permits(candidate: OneVersion, further: readonly Decision[]): boolean {
    const isWithout = candidate.version.knownSince === Number.NEGATIVE_INFINITY;
    const space = isWithout ? this.#withoutEarlier : this.#withEarlier;
    return space.permits(candidate, further);
  }

  /**
   * True if a version with a similar window permits these decisions, or if that stays open.
   * `knownSince`: earlier requests may count before this time; undefined if none counts.
   */
  isExplained(
    decisions: readonly Decision[],
    memoryMs: number,
    longestMs: number,
    knownSince: number | undefined,
  ): boolean {
    const space = new Space(knownSince, { few: manySpans });
    space.widen(longestMs);
    // Each update cuts further what is neither excluded nor shown to be possible.
    for (let cut = 0; cut < mostCuts; cut += 1) {
      space.update(decisions);
      const candidates = this.#similar(space.candidates, memoryMs);
      if (candidates.length === 0) return false;
      if (candidates.some(({ middle }) => middle !== undefined)) return true;
    }
    return true;
  }

  /** Those whose window is at most similar to `memoryMs`. */
  #similar(candidates: readonly Candidate[], memoryMs: number): readonly Candidate[] {
    return candidates.filter(({ family, version }) => {
      const factor = family.refusals === 'spend' ? similarFactor : this.#factor;
      return version.windowMs[0] <= memoryMs * factor;
    });
  }
}

/** True if a limiter of a known kind remains, and another kind beside it. */
export function areOfSeveralKinds(versions: readonly OneVersion[]): boolean {
  const isKnown = versions.some(({ family }) => family.algorithm !== 'none_of_these');
  return isKnown && new Set(versions.map(kindOf)).size > 1;
}

/** What limiters of one kind have in common: their algorithm, and what a refusal does. */
export function kindOf(version: OneVersion): string {
  return `${algorithmOf(version)} ${version.family.refusals}`;
}

/** These decide alike if only one request may pass: each looks at the last one that passed. */
const alikeForOne = ['fixed_window', 'sliding_log', 'token_bucket', 'prolonged_window'];

/** Of limiters that decide alike, one name for all. */
export function algorithmOf({ family, version }: OneVersion): Algorithm {
  const { name, algorithm, refusals } = family;
  const isOfOne = version.limit[1] === 1 && refusals !== 'spend';
  if (!isOfOne || !alikeForOne.includes(name)) return algorithm;
  return refusals === 'block' ? 'fixed_window' : 'token_bucket';
}

/** How long a request counts: for a window, or for the block that a refusal begins. */
export function memoryOf(candidates: readonly Candidate[], recent: readonly Decision[]): number {
  const [, windowMs] = windowOf(candidates);
  if (candidates.every(({ family }) => family.refusals !== 'block')) return windowMs;
  const [leastBlockMs] = blockMs(History.of(recent));
  return Math.max(windowMs, leastBlockMs);
}

/** What the decisions permit: what the first search found, and what the second added. */
function foundOf(withoutEarlier: readonly Candidate[], withEarlier: readonly Candidate[]) {
  const candidates = [...withoutEarlier, ...withEarlier];
  const limits = candidates.map(({ version }) => version.limit);
  const bounded = limits.filter(([, most]) => most < anyLimit);
  return {
    candidates,
    withoutEarlier: withoutEarlier.length > 0 ? withoutEarlier : candidates,
    windowMs: windowOf(candidates),
    limit: hullOf(bounded.length > 0 ? bounded : limits) ?? noSpan,
  };
}

function windowOf(candidates: readonly Candidate[]): Span {
  return hullOf(candidates.map(({ version }) => version.windowMs)) ?? noSpan;
}

function spaceUpTo(longestMs: number): Space {
  const space = new Space();
  space.widen(longestMs);
  return space;
}
