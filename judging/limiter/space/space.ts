/**
 * Finds every version of the known limiters that permits the decisions. Each family starts with
 * wide spans of its limit, window and phase. A span that the decisions contradict is dropped;
 * others are cut in two and checked again. So the rest contains every limiter of a known family
 * that can have made the decisions.
 *
 * A span is kept whole while the version in its middle is possible: cutting it would drop nothing
 * yet. One with an impossible middle is cut until it is too fine to matter.
 */
import {
  type Decision,
  Decisions,
  History,
  type Part,
  type Span,
  type Version,
} from './decision.ts';
import { type Family, families } from './families.ts';

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

/** The shortest window that is considered: a request takes about as long. */
const shortestWindowMs = 10;
/** The shortest window of a limiter that counts by the clock. */
const shortestCounterMs = 100;
/** The longest window grows by this share at least. */
const leastWider = 1.2;
/** More than any limit. */
export const anyLimit = 1e9;
/**
 * How wide a span may stay whose middle is possible: of a window, as a logarithm; of the place
 * where a window begins, as a share of the window or of the time that the decisions take.
 */
const coarse = { window: 0.1, place: 1 / 8 };
/** How wide a span may stay whose middle is impossible. */
const fine = { window: 0.008, place: 1 / 32 };
/** While few remain, they are cut finer, down to this width of a window. */
const usuallyFew = 400;
const finer = 4;
const hairline = 1e-5;
/** How exact the outermost numbers become. */
const finest = { window: 0.0005, place: 1 / 256 };
/** After this many cuts, one number is exact enough. */
const mostTrims = 24;
/** Looking into more spans of one family after a request would take longer than the request. */
const mostChecks = 2_000;
/** Requests within this share of the shortest remaining window are judged as one. */
const joinedShare = 1 / 200;
/** Windows of each level are this many times as long as those of the previous one. */
const levelStep = 4;
const levels = 12;

type Widths = typeof coarse;

export class Space {
  /** What remains of each family, and of each of the spans of windows that it was widened by. */
  #groups: readonly (readonly Candidate[])[] = [];
  readonly #judged = new Judged();
  readonly #knownSince: number;
  readonly #few: number;
  #longestMs = 0;
  /** True after the first refusal: without one, no version is known. */
  isBegun = false;

  /**
   * `knownSince`: before it, others may have spent; without it, they have not. `few`: while fewer
   * spans of a family remain, each update cuts them finer.
   */
  constructor(knownSince = Number.NEGATIVE_INFINITY, few = usuallyFew) {
    this.#knownSince = knownSince;
    this.#few = few;
  }

  /** Also searches windows up to this length. */
  widen(longestMs: number): void {
    if (longestMs < this.#longestMs * leastWider) return;
    const added = families.flatMap((family): Candidate[] => {
      const least = isCounter(family) ? shortestCounterMs : shortestWindowMs;
      const version: Version = {
        limit: [1, anyLimit],
        windowMs: [Math.max(this.#longestMs, least), longestMs],
        phase: family.hasPhase ? [0, 1] : [0, 0],
        refusalsSpend: family.refusals === 'spend',
        knownSince: this.#knownSince,
      };
      // Unless nothing came before, it answers like a counter of the clock.
      const isAlike = family.isFromFirst && this.#knownSince !== Number.NEGATIVE_INFINITY;
      if (longestMs <= least || isAlike) return [];
      return [{ family, version, middle: { family, version } }];
    });
    this.#longestMs = longestMs;
    this.#groups = [
      ...this.#groups,
      ...added.map((each) => half(each, each.version, this.#judged)),
    ];
  }

  get candidates(): readonly Candidate[] {
    return this.#groups.flat();
  }

  /** True if a version that remains also permits these decisions, after those of the last update. */
  permits(one: OneVersion, further: readonly Decision[]): boolean {
    const { history } = this.#judged.forWindow(one.version.windowMs);
    return history.followedBy(further, (part) => isPossible(one, history, part));
  }

  /** Drops what the decisions contradict. `decisions`: those of the last call, then new ones. */
  update(decisions: readonly Decision[]): void {
    this.isBegun ||= decisions.some(({ passed }) => !passed);
    if (!this.isBegun) return;
    this.#judged.update(decisions);
    this.#groups = this.#groups
      .map((group) => group.flatMap((each) => narrowed(each, this.#judged)))
      .filter((group) => group.length > 0)
      .map((group) => cutDown(group, this.#judged, this.#few));
  }
}

function isCounter({ algorithm }: Family): boolean {
  return algorithm === 'aligned_window' || algorithm === 'sliding_counter';
}

/** The span with the limits that also permit the new decisions; undefined if none does. */
function narrowed(candidate: Candidate, judged: Judged): Candidate[] {
  const { history, known } = judged.forWindow(candidate.version.windowMs);
  const part = { ...history.whole, since: known };
  const span = permitted(candidate, history, part);
  if (span === undefined) return [];
  const middle = candidate.middle && permitted(candidate.middle, history, part);
  const isSame = span === candidate && middle === candidate.middle;
  return [isSame ? candidate : { ...span, middle }];
}

/** A half of a span, with the limits that permit all decisions; nothing if none does. */
function half(whole: OneVersion, version: Version, judged: Judged): Candidate[] {
  const { history } = judged.forWindow(version.windowMs);
  const span = permitted({ ...whole, version }, history, history.whole);
  if (span === undefined) return [];
  return [{ ...span, middle: permitted(middleOf(span), history, history.whole) }];
}

/** Cuts spans in two until all are as fine as they need be, or that takes too long. */
function cutDown(group: readonly Candidate[], judged: Judged, few: number): readonly Candidate[] {
  let [spans, hidden] = [cutTo(coarse, fine, group, judged), fine];
  // Where none is shown to be possible, the many probably are not.
  const isHidden = () => spans.every(({ middle }) => middle === undefined);
  while ((spans.length < few || isHidden()) && hidden.window > hairline) {
    hidden = { window: hidden.window / finer, place: hidden.place / finer };
    spans = cutTo(coarse, hidden, spans, judged);
  }
  return spans.length < few ? trimmed(spans, judged) : spans;
}

/** Cuts the spans with the outermost windows and limits: the numbers follow from them. */
function trimmed(group: readonly Candidate[], judged: Judged): readonly Candidate[] {
  let spans = group;
  for (const outer of outers)
    for (let cuts = 0; cuts < mostTrims && spans.length > 0; cuts += 1) {
      const edge = spans.reduce((one, other) => (outer(other) < outer(one) ? other : one));
      const { cutsLeft, halves } = widest(edge.version, finest, judged.lengthMs);
      if (cutsLeft <= 0 || (edge.middle !== undefined && outer(edge.middle) === outer(edge))) break;
      const cut = halves().flatMap((version) => half(edge, version, judged));
      spans = [...spans.filter((span) => span !== edge), ...cut];
    }
  return spans;
}

/** Which of two spans is farther out, by one number each. */
const outers: readonly ((one: OneVersion) => number)[] = [
  ({ version }) => version.windowMs[0],
  ({ version }) => -version.windowMs[1],
  ({ version }) => version.limit[0],
  ({ version }) => -version.limit[1],
];

/** `shown`: how fine spans must be whose middle is possible; `hidden`: the others. */
function cutTo(
  shown: Widths,
  hidden: Widths,
  group: readonly Candidate[],
  judged: Judged,
): readonly Candidate[] {
  const done: Candidate[] = [];
  // The last ones first: where there was no time for them, they are looked into at the next update.
  const left = [...group];
  for (let checks = 0; checks < mostChecks; ) {
    const span = left.pop();
    if (span === undefined) break;
    const isShown = span.middle !== undefined;
    const { cutsLeft, halves } = widest(span.version, isShown ? shown : hidden, judged.lengthMs);
    if (cutsLeft <= 0) {
      done.push(span);
      continue;
    }
    checks += 2;
    for (const version of halves()) left.push(...half(span, version, judged));
  }
  return [...done, ...left];
}

interface Level {
  readonly history: History;
  /** The number of groups that were there before the last update. */
  known: number;
}

/** The decisions in groups of several widths: long windows need not tell close ones apart. */
class Judged {
  readonly #decisions = new Decisions();
  readonly #levels = Array.from({ length: levels }, (_, level): Level => {
    const withinMs = shortestWindowMs * levelStep ** level * joinedShare;
    return { history: new History(this.#decisions, withinMs), known: 0 };
  });

  update(decisions: readonly Decision[]): void {
    // The last group may still grow.
    for (const each of this.#levels) each.known = Math.max(0, each.history.groups.length - 1);
    for (const decision of decisions.slice(this.#decisions.all.length)) {
      this.#decisions.add(decision);
      for (const { history } of this.#levels) history.add();
    }
  }

  get lengthMs(): number {
    const { all } = this.#decisions;
    return (all.at(-1)?.to ?? 0) - (all[0]?.from ?? 0);
  }

  forWindow([shortest]: Span): Level {
    const level = Math.floor(Math.log(shortest / shortestWindowMs) / Math.log(levelStep));
    return this.#levels[Math.max(0, Math.min(levels - 1, level))] as Level;
  }
}

/** The version with the limits that permit the decisions. */
function permitted(one: OneVersion, history: History, part: Part): OneVersion | undefined {
  const { family, version } = one;
  const limit = family.possibleLimits(history, version, part);
  if (limit === undefined) return undefined;
  const isSame = limit[0] === version.limit[0] && limit[1] === version.limit[1];
  return isSame ? one : { family, version: { ...version, limit } };
}

export function isPossible(
  { family, version }: OneVersion,
  history: History,
  part = history.whole,
): boolean {
  return family.possibleLimits(history, version, part) !== undefined;
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
function widest(version: Version, widths: Widths, lengthMs: number) {
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
