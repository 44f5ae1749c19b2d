/**
 * Finds every version of the known limiters that permits the decisions. Each family starts with
 * wide spans of its limit, window and phase. A span that the decisions contradict is dropped; the
 * others are cut in two and checked again. So the rest contains every limiter of a known family
 * that can have made the decisions.
 */
import { type Decision, joined, type Span, type Version } from './decision.ts';
import { type Family, families } from './families.ts';

export interface Candidate {
  readonly family: Family;
  readonly version: Version;
}

/** The shortest window that is considered: a request takes about as long. */
const shortestWindowMs = 10;
/** The shortest window of a limiter that counts by the clock. */
const shortestCounterMs = 100;
/** Spans are cut down to these widths: of a window, as a logarithm; of a phase, as a share. */
const finestWindow = 0.008;
const finestPhase = 1 / 128;
/** Multiply these widths, one after the other; the smaller ones while at most `fewSpans` remain. */
const finer = [1, 1 / 4, 1 / 16];
const fewSpans = 100;
/** The upper end of the span of all limits that were not seen yet. Such a span is not cut. */
const anyLimit = 1e9;
/** Cutting more spans of one family would take longer than the requests do. */
const mostSpans = 1_500;
/** Requests within this share of the shortest remaining window are joined to one decision. */
const joinedShare = 1 / 200;

/** What remains of one family. */
type Group = readonly Candidate[];

export class Space {
  #groups: Group[] = [];
  readonly #longestMs: number;
  readonly #knownSince: number;
  #most = 0;
  #judged: readonly Decision[] = [];
  /** True after the first refusal: without one, no version is known. */
  isBegun = false;
  /** Blocks are looked into only where nothing else is left, or at the end. */
  areBlocksCut = false;

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
    this.#groups = this.#groups.map((group) => group.map((each) => above(each, this.#most)));
    const judged = this.joined(decisions);
    const since = Math.max(0, firstDifference(this.#judged, judged));
    const left = this.#groups
      .map((group) => group.filter((each) => isPossible(each, judged, since)))
      .filter((group) => group.length > 0);
    // How long a block lasts contradicts it; the window behind it matters only where it is left.
    this.areBlocksCut ||= left.every(([first]) => first?.family.refusals === 'block');
    this.#groups = left
      .map((group) =>
        group[0]?.family.refusals === 'block' && !this.areBlocksCut
          ? group
          : refined(group, judged),
      )
      .filter((group) => group.length > 0);
    this.#judged = judged;
  }

  #begin(least: number, most: number): void {
    for (const family of families)
      this.#groups.push([
        {
          family,
          version: {
            limit: [least, most],
            windowMs: [isCounter(family) ? shortestCounterMs : shortestWindowMs, this.#longestMs],
            phase: family.hasPhase ? [0, 1] : [0, 0],
            refusalsSpend: family.refusals === 'spend',
            knownSince: this.#knownSince,
          },
        },
      ]);
  }
}

function isCounter({ algorithm }: Family): boolean {
  return algorithm === 'aligned_window' || algorithm === 'sliding_counter';
}

/** Cuts spans in two until all are fine, or there are too many. */
function refined(group: Group, decisions: readonly Decision[]): Group {
  let spans = group;
  for (const fine of finer)
    for (;;) {
      const wide = spans.filter(({ version }) => isWide(version, fine));
      if (spans.length > (fine === 1 ? mostSpans : fewSpans)) return spans;
      if (wide.length === 0) break;
      const halves = wide
        .flatMap((each) => cut(each, fine))
        .filter((each) => isPossible(each, decisions));
      spans = [...spans.filter(({ version }) => !isWide(version, fine)), ...halves];
    }
  return spans;
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
  { family, version }: Candidate,
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
  const { family, version } = candidate;
  if (version.limit[1] !== anyLimit) return candidate;
  return { family, version: { ...version, limit: [seen + 1, anyLimit] } };
}

function isWide(version: Version, fine: number): boolean {
  return Math.max(...cutsLeft(version, fine)) > 0;
}

/** How often the spans of the window, the phase and the limit can still be cut in two. */
function cutsLeft(
  { windowMs, phase, limit }: Version,
  fine: number,
): readonly [number, number, number] {
  return [
    Math.log2(Math.log(windowMs[1] / windowMs[0]) / (finestWindow * fine)),
    Math.log2((phase[1] - phase[0]) / (finestPhase * fine)),
    limit[1] === anyLimit ? 0 : Math.log2(limit[1] - limit[0] + 1),
  ];
}

function cut({ family, version }: Candidate, fine: number): Candidate[] {
  const { windowMs, phase, limit } = version;
  const left = cutsLeft(version, fine);
  const most = Math.max(...left);
  if (most === left[0])
    return halvesOf(windowMs, Math.sqrt(windowMs[0] * windowMs[1])).map((half) => ({
      family,
      version: { ...version, windowMs: half },
    }));
  if (most === left[1])
    return halvesOf(phase, (phase[0] + phase[1]) / 2).map((half) => ({
      family,
      version: { ...version, phase: half },
    }));
  const middle = Math.floor((limit[0] + limit[1]) / 2);
  const halves: Span[] = [
    [limit[0], middle],
    [middle + 1, limit[1]],
  ];
  return halves.map((half) => ({ family, version: { ...version, limit: half } }));
}

function halvesOf([least, most]: Span, middle: number): Span[] {
  return [
    [least, middle],
    [middle, most],
  ];
}
