/**
 * Finds every version of the known limiters that permits the decisions. Each family starts with
 * wide spans of its limit, window and phase. A span that the decisions contradict is dropped;
 * others are cut in two and checked again. So the rest contains every limiter of a known family
 * that can have made the decisions.
 *
 * A span is kept whole while the version in its middle is possible: cutting it would drop nothing
 * yet. One with an impossible middle is cut until it is too fine to matter.
 */
import { type Decision, type Span, type Version, withLimit } from './decision.ts';
import { type Family, families } from './families.ts';
import { Histories, type History, type Part, shortestWindowMs } from './history.ts';

/** A version of a family, or a span of them. */
export interface OneVersion {
  readonly family: Family;
  readonly version: Version;
}

/** A span of versions of one family that remains. */
export interface Candidate extends OneVersion {
  /** The version in the middle, with its limits, if it permits the decisions. */
  readonly middle: OneVersion | undefined;
}

/** The shortest window of a limiter that counts by the clock. */
const shortestCounterMs = 100;
/** A wider search reaches at least this many times as far as the one before. */
const leastGrowth = 1.2;
/** More than any limit. */
export const anyLimit = 1e9;
/**
 * How wide a span may stay whose middle is possible: of a window, as a logarithm; of the place
 * where a window begins, as a share of the window or of the time that the decisions take.
 */
const widthIfPossible = { window: 0.1, place: 1 / 8 };
/** How wide a span may stay whose middle is impossible. */
const widthIfImpossible = { window: 0.008, place: 1 / 32 };
/** While a family has fewer spans than this, they are cut finer. */
const fewSpans = 400;
/** Each time that all spans are cut finer, the widths are divided by this. */
const widthDivisor = 4;
/** No window is cut finer than this. */
const finestWindow = 1e-5;
/** How wide the outermost spans may stay: an audit states the numbers at their ends. */
const widthOfOutermost = { window: 0.0005, place: 1 / 256 };
/** After this many cuts, an outermost number is exact enough. */
const mostOutermostCuts = 24;
/** Looking into more spans of one family after a request would take longer than the request. */
const mostChecks = 1_000;

type Widths = typeof widthIfPossible;

export class Space {
  /** What remains of each family, and of each of the spans of windows that it was widened by. */
  #groups: readonly (readonly Candidate[])[] = [];
  readonly #histories = new Histories();
  readonly #knownSince: number;
  readonly #few: number;
  readonly #families: readonly Family[];
  #longestMs = 0;
  /** True after the first refusal: without one, no version is known. */
  isBegun = false;

  /**
   * `knownSince`: before it, others may have spent; without it, they have not. `few`: while a family
   * has fewer spans than this, each update cuts them finer. `of`: the families that are searched.
   */
  constructor(knownSince = Number.NEGATIVE_INFINITY, { few = fewSpans, of = families } = {}) {
    this.#knownSince = knownSince;
    this.#few = few;
    this.#families = of;
  }

  /** Also searches windows up to this length. */
  widen(longestMs: number): void {
    if (longestMs < this.#longestMs * leastGrowth) return;
    const added = this.#families.flatMap((family): Candidate[] => {
      const least = isCounter(family) ? shortestCounterMs : shortestWindowMs;
      // A request before those that are known may have opened windows at any time.
      const isOpened = family.isFromFirst && this.#knownSince !== Number.NEGATIVE_INFINITY;
      const hasPhase = family.hasPhase || isOpened;
      const version: Version = {
        limit: [1, anyLimit],
        windowMs: [Math.max(this.#longestMs, least), longestMs],
        phase: hasPhase ? [0, 1] : [0, 0],
        refusalsSpend: family.refusals === 'spend',
        knownSince: this.#knownSince,
      };
      if (longestMs <= least) return [];
      return [{ family, version, middle: { family, version } }];
    });
    this.#longestMs = longestMs;
    this.#groups = [
      ...this.#groups,
      ...added.map((each) => candidateIn(each, each.version, this.#histories)),
    ];
  }

  get candidates(): readonly Candidate[] {
    return this.#groups.flat();
  }

  /** True if a version that remains also permits these decisions, after those of the last update. */
  permits(one: OneVersion, further: readonly Decision[]): boolean {
    const history = this.#histories.forWindow(one.version.windowMs);
    return history.followedBy(further, (part) => isPossible(one, history, part));
  }

  /** Drops what the decisions contradict. `decisions`: those of the last call, then new ones. */
  update(decisions: readonly Decision[]): void {
    this.isBegun ||= decisions.some(({ passed }) => !passed);
    if (!this.isBegun) return;
    this.#histories.update(decisions);
    this.#groups = this.#groups
      .map((group) => group.flatMap((each) => narrowed(each, this.#histories)))
      .filter((group) => group.length > 0)
      .map((group) => refine(group, this.#histories, this.#few));
  }
}

function isCounter({ algorithm }: Family): boolean {
  return algorithm === 'aligned_window' || algorithm === 'sliding_counter';
}

/** The candidate with the limits that also permit the new decisions; empty if none does. */
function narrowed(candidate: Candidate, histories: Histories): Candidate[] {
  const history = histories.forWindow(candidate.version.windowMs);
  const { changed } = history;
  const span = permitted(candidate, history, changed);
  if (span === undefined) return [];
  const middle = candidate.middle && permitted(candidate.middle, history, changed);
  const isSame = span === candidate && middle === candidate.middle;
  return [isSame ? candidate : { ...span, middle }];
}

/** A part of a span, with the limits that permit all decisions; empty if none does. */
function candidateIn(whole: OneVersion, version: Version, histories: Histories): Candidate[] {
  const history = histories.forWindow(version.windowMs);
  const span = permitted({ ...whole, version }, history, history.whole);
  if (span === undefined) return [];
  return [{ ...span, middle: permitted(middleOf(span), history, history.whole) }];
}

/** Cuts spans in two until all are as fine as they need be, or that takes too long. */
function refine(group: readonly Candidate[], histories: Histories, few: number): Candidate[] {
  let width = widthIfImpossible;
  let spans = cutUntil(width, group, histories);
  // If no middle is possible, most spans are probably impossible: cutting drops them.
  const hasNoPossibleMiddle = () => spans.every(({ middle }) => middle === undefined);
  while ((spans.length < few || hasNoPossibleMiddle()) && width.window > finestWindow) {
    width = { window: width.window / widthDivisor, place: width.place / widthDivisor };
    spans = cutUntil(width, spans, histories);
  }
  return spans.length < few ? refineOutermost(spans, histories) : spans;
}

/** Cuts the spans with the outermost windows and limits, down to `widthOfOutermost`. */
function refineOutermost(group: Candidate[], histories: Histories): Candidate[] {
  let spans = group;
  for (const outer of outermostFirst)
    for (let cuts = 0; cuts < mostOutermostCuts && spans.length > 0; cuts += 1) {
      const edge = spans.reduce((one, other) => (outer(other) < outer(one) ? other : one));
      const { cutsLeft, halves } = nextCut(edge.version, widthOfOutermost, histories.lengthMs);
      if (cutsLeft <= 0 || (edge.middle !== undefined && outer(edge.middle) === outer(edge))) break;
      const cut = halves().flatMap((version) => candidateIn(edge, version, histories));
      spans = [...spans.filter((span) => span !== edge), ...cut];
    }
  return spans;
}

/**
 * The span with the lowest value is the outermost: with the shortest and the longest window, with
 * the lowest and the highest limit.
 */
const outermostFirst: readonly ((one: OneVersion) => number)[] = [
  ({ version }) => version.windowMs[0],
  ({ version }) => -version.windowMs[1],
  ({ version }) => version.limit[0],
  ({ version }) => -version.limit[1],
];

/** Cuts spans whose middle is impossible down to `width`, others to `widthIfPossible`. */
function cutUntil(width: Widths, group: readonly Candidate[], histories: Histories): Candidate[] {
  const done: Candidate[] = [];
  // Takes the last span first, so that the next update continues where this one stops.
  const left = [...group];
  for (let checks = 0; checks < mostChecks; ) {
    const span = left.pop();
    if (span === undefined) break;
    const wanted = span.middle === undefined ? width : widthIfPossible;
    // Windows that a request opens go on until the next one opens others: for a few windows.
    const isBrief = span.family.isFromFirst && span.middle !== undefined;
    const lengthMs = isBrief ? span.version.windowMs[0] : histories.lengthMs;
    const { cutsLeft, halves } = nextCut(span.version, wanted, lengthMs);
    if (cutsLeft <= 0) {
      done.push(span);
      continue;
    }
    checks += 2;
    for (const version of halves()) left.push(...candidateIn(span, version, histories));
  }
  return [...done, ...left];
}

/** The version with the limits that permit the decisions. */
function permitted(one: OneVersion, history: History, part: Part): OneVersion | undefined {
  const { family } = one;
  const limit = family.possibleLimits(history, one.version, part);
  const version = withLimit(one.version, limit);
  return version && (version === one.version ? one : { family, version });
}

/** True if the version permits this part of the decisions. */
export function isPossible(one: OneVersion, history: History, part = history.whole): boolean {
  return one.family.possibleLimits(history, one.version, part) !== undefined;
}

/** The version with the window and the phase in the middle of their spans. */
function middleOf({ family, version }: OneVersion): OneVersion {
  const windowMs = middleWindow(version.windowMs);
  const phase = middlePhase(version.phase);
  return { family, version: { ...version, windowMs: [windowMs, windowMs], phase: [phase, phase] } };
}

const middleWindow = ([least, most]: Span) => Math.sqrt(least * most);
const middlePhase = ([least, most]: Span) => (least + most) / 2;

/** How often the window or the phase, whichever is wider, must be cut in two, and its halves. */
function nextCut(version: Version, widths: Widths, lengthMs: number) {
  const { windowMs, phase } = version;
  const hasPhase = phase[1] > phase[0];
  // A border of a clock's windows is as exact as its window times the number of windows.
  const placeMs = widths.place * Math.min(windowMs[0], lengthMs);
  const windowWidth = hasPhase ? Math.min(widths.window, placeMs / lengthMs) : widths.window;
  const ofWindow = Math.log2(Math.log(windowMs[1] / windowMs[0]) / windowWidth);
  const ofPhase = Math.log2(((phase[1] - phase[0]) * windowMs[1]) / placeMs);
  const halves = (): Version[] =>
    ofWindow >= ofPhase
      ? halvesOf(windowMs, middleWindow(windowMs)).map((each) => ({ ...version, windowMs: each }))
      : halvesOf(phase, middlePhase(phase)).map((each) => ({ ...version, phase: each }));
  return { cutsLeft: Math.max(ofWindow, ofPhase), halves };
}

function halvesOf([least, most]: Span, middle: number): readonly Span[] {
  return [
    [least, middle],
    [middle, most],
  ];
}
