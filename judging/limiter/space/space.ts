/**
 * All versions of limiters that the decisions permit. A version is not guessed: spans of what is not
 * known are cut in two as long as a half may be contradicted, and a contradicted span is dropped. So
 * what remains holds every limiter of the known families that can have made the decisions.
 */
import { type Decision, joined, type Span, type Version } from './decision.ts';
import { type Family, families } from './families.ts';

export interface Candidate {
  readonly family: Family;
  readonly version: Version;
}

/** A window shorter than this is not told apart from the time that a request takes. */
const shortestWindowMs = 10;
/** Spans are not cut further: as exact as a request over a network, and as a clock's border. */
const finestWindow = 0.008;
const finestPhase = 1 / 128;
/** Of one family, more spans at one time would take longer than the requests. */
const mostSpans = 1_500;
/** Neighbours within this share of the shortest window that remains are one decision. */
const joinedShare = 1 / 200;

/** What remains of one family. */
type Group = readonly Candidate[];

export class Space {
  #groups: Group[] = [];
  readonly #longestMs: number;
  readonly #knownSince: number;
  #most = 0;
  #judged: readonly Decision[] = [];
  /** Blocks are looked into only where nothing else is left, or at the end. */
  areBlocksCut = false;

  constructor(longestMs: number, knownSince = Number.NEGATIVE_INFINITY) {
    this.#longestMs = longestMs;
    this.#knownSince = knownSince;
  }

  get candidates(): readonly Candidate[] {
    return this.#groups.flat();
  }

  /** The decisions, as exact as the windows that remain need them. */
  get judged(): readonly Decision[] {
    return this.#judged;
  }

  /** Drops what the decisions contradict. They are those of before, and perhaps more. */
  update(decisions: readonly Decision[]): void {
    const highest = mostInARow(decisions, this.#knownSince);
    if (highest === undefined) return;
    if (highest > this.#most) this.#begin(this.#most + 1, highest);
    this.#most = Math.max(this.#most, highest);
    const shortest = Math.min(...this.candidates.map(({ version }) => version.windowMs[0]));
    const judged = joined(decisions, shortest * joinedShare);
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
            windowMs: [shortestWindowMs, this.#longestMs],
            phase: family.hasPhase ? [0, 1] : [0, 0],
            refusalsSpend: family.refusals === 'spend',
            knownSince: this.#knownSince,
          },
        },
      ]);
  }
}

/** Cuts spans in two until all are fine, or there are too many. */
function refined(group: Group, decisions: readonly Decision[]): Group {
  let spans = group;
  for (;;) {
    const wide = spans.filter(({ version }) => isWide(version));
    if (wide.length === 0 || spans.length > mostSpans) return spans;
    const halves = wide.flatMap(cut).filter((each) => isPossible(each, decisions));
    spans = [...spans.filter(({ version }) => !isWide(version)), ...halves];
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

function isWide(version: Version): boolean {
  return Math.max(...cutsLeft(version)) > 0;
}

/** How often the spans of the window, the phase and the limit can still be cut in two. */
function cutsLeft({ windowMs, phase, limit }: Version): readonly [number, number, number] {
  return [
    Math.log2(Math.log(windowMs[1] / windowMs[0]) / finestWindow),
    Math.log2((phase[1] - phase[0]) / finestPhase),
    Math.log2(limit[1] - limit[0] + 1),
  ];
}

function cut({ family, version }: Candidate): Candidate[] {
  const { windowMs, phase, limit } = version;
  const left = cutsLeft(version);
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
