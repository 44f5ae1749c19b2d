/**
 * Finds every version of the known limiters that permits the decisions. Each family starts with
 * wide spans of its limit, window and phase. A span that the decisions contradict is dropped; others
 * are cut in two and checked again. So the rest contains every limiter of a known family that can
 * have made the decisions.
 *
 * A span is kept whole while the version in its middle is possible: cutting it would drop nothing
 * yet. One with an impossible middle is cut until it is too fine to matter.
 */
import { type Decision, joined, type Span, type Version } from './decision.ts';
import { type Family, families } from './families.ts';

/** A span of versions of one family. */
export interface Candidate {
  readonly family: Family;
  readonly version: Version;
  /** True if the version in the middle of the span permits the decisions. */
  readonly isShown: boolean;
}

/** The shortest window that is considered: a request takes about as long. */
const shortestWindowMs = 10;
/** The shortest window of a limiter that counts by the clock. */
const shortestCounterMs = 100;
/** The upper end of the span of all limits that were not seen yet. Such a span is not cut. */
const anyLimit = 1e9;
/**
 * How wide a span may stay whose middle is possible: of a window, as a logarithm; of the place where
 * a window begins, as a share of the window or of the time that the decisions take.
 */
const coarse = { window: 0.1, place: 1 / 8 };
/** How wide a span may stay whose middle is impossible. */
const fine = { window: 0.008, place: 1 / 32 };
/** The same while few remain, so that the numbers become exact. */
const finest = { window: 0.0005, place: 1 / 256 };
const few = 100;
/** Cutting more spans of one family would take longer than the requests do. */
const mostSpans = 1_500;
/** Requests within this share of the shortest remaining window are joined to one decision. */
const joinedShare = 1 / 200;

type Widths = typeof coarse;

export class Space {
  /** What remains, for each family and each span of limits that it began with. */
  #groups: (readonly Candidate[])[] = [];
  readonly #longestMs: number;
  readonly #knownSince: number;
  #most = 0;
  #judged: readonly Decision[] = [];
  /** True after the first refusal: without one, no version is known. */
  isBegun = false;

  constructor(longestMs: number, knownSince = Number.NEGATIVE_INFINITY) {
    this.#longestMs = longestMs;
    this.#knownSince = knownSince;
  }

  get candidates(): readonly Candidate[] {
    return this.#groups.flat();
  }

  /** The decisions at the last update, as `joined` returned them. */
  get judged(): readonly Decision[] {
    return this.#judged;
  }

  /** Joins decisions that the remaining windows need not tell apart: fewer are judged faster. */
  joined(decisions: readonly Decision[]): Decision[] {
    const shortest = Math.min(...this.candidates.map(({ version }) => version.windowMs[0]));
    return joined(decisions, shortest * joinedShare);
  }

  /** Drops what the decisions contradict. `decisions`: those of the last call, then new ones. */
  update(decisions: readonly Decision[]): void {
    const highest = mostInARow(decisions, this.#knownSince);
    if (highest === undefined) return;
    const isFirst = !this.isBegun;
    this.isBegun = true;
    // A burst of a whole limit is the usual one, so that limit is looked into apart from the others.
    if (highest > this.#most + 1) this.#begin(this.#most + 1, highest - 1);
    if (highest > this.#most) this.#begin(highest, highest);
    this.#most = Math.max(this.#most, highest);
    // If others have spent before, no burst shows how high the limit may be.
    if (isFirst && this.#knownSince !== Number.NEGATIVE_INFINITY)
      this.#begin(highest + 1, anyLimit);
    const judged = this.joined(decisions);
    const since = Math.max(0, firstDifference(this.#judged, judged));
    this.#groups = this.#groups
      .map((group) =>
        group.flatMap((each) => checked(above(each, this.#most), judged, since)),
      )
      .filter((group) => group.length > 0)
      .map((group) => cutDown(group, judged));
    this.#judged = judged;
  }

  #begin(least: number, most: number): void {
    for (const family of families) {
      const version: Version = {
        limit: [least, most],
        windowMs: [isCounter(family) ? shortestCounterMs : shortestWindowMs, this.#longestMs],
        phase: family.hasPhase ? [0, 1] : [0, 0],
        refusalsSpend: family.refusals === 'spend',
        knownSince: this.#knownSince,
      };
      this.#groups.push([{ family, version, isShown: true }]);
    }
  }
}

function isCounter({ algorithm }: Family): boolean {
  return algorithm === 'aligned_window' || algorithm === 'sliding_counter';
}

/** The span, if it may hold a version that permits the decisions. */
function checked(candidate: Candidate, decisions: readonly Decision[], since = 0): Candidate[] {
  if (!isPossible(candidate, decisions, since)) return [];
  const { family, version, isShown } = candidate;
  const middle = { family, version: middleOf(version) };
  return [{ family, version, isShown: isShown && isPossible(middle, decisions, since) }];
}

/** Cuts spans in two until all are as fine as they need be, or there are too many. */
function cutDown(
  group: readonly Candidate[],
  decisions: readonly Decision[],
): readonly Candidate[] {
  const lengthMs = (decisions.at(-1)?.to ?? 0) - (decisions[0]?.from ?? 0);
  let spans = group;
  for (;;) {
    const shown = spans.length < few ? finest : coarse;
    const hidden = spans.length < few ? finest : fine;
    const isDone = ({ version, isShown }: Candidate) =>
      widest(version, isShown ? shown : hidden, lengthMs).cutsLeft <= 0;
    const wide = spans.filter((each) => !isDone(each));
    if (wide.length === 0 || spans.length > mostSpans) return spans;
    const halves = wide.flatMap(({ family, version, isShown }) =>
      widest(version, isShown ? shown : hidden, lengthMs)
        .halves()
        .flatMap((half) => checked({ family, version: half, isShown: true }, decisions)),
    );
    spans = [...spans.filter(isDone), ...halves];
  }
}

function firstDifference(before: readonly Decision[], now: readonly Decision[]): number {
  const at = now.findIndex((each, i) => {
    const other = before[i];
    return other?.to !== each.to || other.count !== each.count || other.from !== each.from;
  });
  return at < 0 ? now.length : at;
}

/** `since`: the version permits the decisions before. */
export function isPossible(
  { family, version }: Pick<Candidate, 'family' | 'version'>,
  decisions: readonly Decision[],
  since = 0,
): boolean {
  return family.contradiction(decisions, version, since) === undefined;
}

/** The most requests that passed before a refusal; undefined without a refusal. */
function mostInARow(decisions: readonly Decision[], knownSince: number): number | undefined {
  let [most, passes, isSeen] = [0, 0, false];
  for (const { passed, count } of decisions) {
    if (passed) passes += count;
    most = Math.max(most, passes);
    if (!passed) isSeen = true;
    // Without what came before, a later run of passes may show a higher limit.
    if (!passed && knownSince === Number.NEGATIVE_INFINITY) break;
    if (!passed) passes = 0;
  }
  return isSeen ? most : undefined;
}

/** A span of limits that were not seen begins above those that were. */
function above(candidate: Candidate, seen: number): Candidate {
  const { version } = candidate;
  if (version.limit[1] !== anyLimit) return candidate;
  return { ...candidate, version: { ...version, limit: [seen + 1, anyLimit] } };
}

/** The version in the middle of its spans: one limiter. */
function middleOf(version: Version): Version {
  const windowMs = middleWindow(version.windowMs);
  const phase = middlePhase(version.phase);
  const limit = version.limit[1] === anyLimit ? version.limit[0] : middleLimit(version.limit);
  return { ...version, windowMs: [windowMs, windowMs], phase: [phase, phase], limit: [limit, limit] };
}

const middleWindow = ([least, most]: Span) => Math.sqrt(least * most);
const middlePhase = ([least, most]: Span) => (least + most) / 2;
const middleLimit = ([least, most]: Span) => Math.floor((least + most) / 2);

/** The span of a version that is the widest: how often it must be cut in two, and its halves. */
function widest(version: Version, widths: Widths, lengthMs: number) {
  const { windowMs, phase, limit } = version;
  const hasPhase = phase[1] > phase[0];
  // A border of a clock's windows is as exact as its window times the number of windows.
  const placeMs = widths.place * Math.min(windowMs[0], lengthMs);
  const windowWidth = hasPhase ? Math.min(widths.window, placeMs / lengthMs) : widths.window;
  const isAny = limit[1] === anyLimit;
  const cuts = [
    Math.log2(Math.log(windowMs[1] / windowMs[0]) / windowWidth),
    Math.log2(((phase[1] - phase[0]) * windowMs[1]) / placeMs),
    isAny ? 0 : Math.log2(limit[1] - limit[0] + 1),
  ] as const;
  const cutsLeft = Math.max(...cuts);
  const halves = (): Version[] => {
    if (cutsLeft === cuts[0])
      return halvesOf(windowMs, middleWindow(windowMs)).map((half) => ({ ...version, windowMs: half }));
    if (cutsLeft === cuts[1])
      return halvesOf(phase, middlePhase(phase)).map((half) => ({ ...version, phase: half }));
    const middle = middleLimit(limit);
    return [
      { ...version, limit: [limit[0], middle] },
      { ...version, limit: [middle + 1, limit[1]] },
    ];
  };
  return { cutsLeft, halves };
}

function halvesOf([least, most]: Span, middle: number): readonly Span[] {
  return [
    [least, middle],
    [middle, most],
  ];
}
