/** What the versions that remain leave open, and what they expect of further requests. */
import { grouped } from '#io/grouped.ts';
import {
  type Decision,
  firstThat,
  type Span,
  type Version,
} from '#judging/limiter/space/decision.ts';
import type { Candidate, OneVersion } from '#judging/limiter/space/space.ts';
import type { Evidence } from './evidence.ts';
import { areOfSeveralKinds, kindOf } from './search.ts';

/** A window that is known to within 5 % counts as one number. */
export const sameWindow = 1.05;
/** So after this many of the longest windows, a window is over. */
export const surelyOver = sameWindow;
/** Only after this many has the next window begun too: its first request may come late. */
export const surelyNext = 1.1;
/** The next request is sent and answered within this time. */
const nextMarginMs = 20;
/** The most remaining versions that are compared with each other. */
const mostSampled = 48;

/** True while the versions that remain disagree about something that is asked. */
export function isOpen(evidence: Evidence): boolean {
  return (evidence.isKnown && !evidence.allowsForEarlier) || disagrees(evidence);
}

/** If nothing is open, earlier requests no longer explain a contradiction. */
export function settleUnlessOpen(evidence: Evidence): void {
  if (!isOpen(evidence)) evidence.settle();
}

/** True while the versions that remain differ in kind, limit or window. */
export function disagrees(evidence: Evidence): boolean {
  const { candidates, windowMs } = evidence;
  if (candidates.every(({ family }) => family.algorithm === 'none_of_these')) return false;
  return disagreesOnKind(evidence) || windowMs[1] / windowMs[0] > sameWindow;
}

/** True while the versions that remain differ in kind or limit. */
function disagreesOnKind({ candidates, limit }: Evidence): boolean {
  return areOfSeveralKinds(candidates) || limit[0] < limit[1];
}

/** True if nothing is open but the window: where replies are slow, it stays known as a span. */
export function isKindCertain(evidence: Evidence): boolean {
  return evidence.isKnown && evidence.allowsForEarlier && !disagreesOnKind(evidence);
}

/** True if the whole limit returns at once, at the end of a window. */
export function hasEndingWindow({ family: { name } }: OneVersion): boolean {
  return name === 'fixed_window' || name === 'aligned_window';
}

/** True if each refusal certainly begins a block, and how long it takes is known. */
export function isBlockKnown({ candidates, isKnown, blockMs }: Evidence): boolean {
  const [least, most] = blockMs;
  return isKnown && candidates.every(isBlocking) && most / least < surelyNext;
}

/** True if the first refusal begins a block. */
export function isBlocking({ family }: OneVersion): boolean {
  return family.refusals === 'block';
}

/** True for a window of the clock: its place is known, while that of others depends on requests. */
export function isOfTheClock({ family }: OneVersion): boolean {
  return family.name === 'aligned_window';
}

/** The soonest time from `from` on when this share of a window of the clock is over, by all of these. */
export function timeInWindow(windows: readonly OneVersion[], share: number, from: number): number {
  const times = windows.map(({ version: { windowMs, phase } }) => {
    const ms = windowMs[1];
    const begin = phase[1] + share;
    return (Math.ceil(from / ms - begin) + begin) * ms;
  });
  return Math.max(...times);
}

/** How much remains: it falls with each request that shows something. */
export function sizeOf({ candidates }: Evidence): number {
  return candidates.reduce((sum, { version: { windowMs, phase, limit } }) => {
    const places = phase[1] > phase[0] ? phase[1] - phase[0] : 1;
    return sum + Math.log(windowMs[1] / windowMs[0]) * places * (limit[1] - limit[0] + 1);
  }, 0);
}

/** The fewest that must pass between these times, of as many as may, and the most that may. */
export function passesIn(evidence: Evidence, [from, to]: Span): Span {
  const limit = 2 * usualLimit(evidence);
  const row = { from, timeFor: () => to - from, limit };
  const passes = passesAt(evidence, evidence.candidates, row);
  return [Math.min(...passes.map(([least]) => least)), Math.max(...passes.map(([, most]) => most))];
}

/**
 * The longest wait after which the next request is refused by all that remains, and the shortest
 * after which it passes by all.
 */
export function nextPass(evidence: Evidence, now: number, mostMs: number): Span {
  const decisionAfter = (ms: number, passed: boolean) => [
    { from: now + ms - nextMarginMs, to: now + ms + nextMarginMs, passed, count: 1 },
  ];
  const after = (holds: (ms: number) => boolean) => firstThat(0, Math.ceil(mostMs), holds);
  const may = (ms: number, passed: boolean) =>
    evidence.candidates.some((each) => evidence.permits(each, decisionAfter(ms, passed)));
  const first = after((ms) => may(ms, true));
  const last = after((ms) => !may(ms, false));
  return [Math.max(0, first - 1), last];
}

/** The median of the windows that remain; each family has the same weight. */
export function usualWindow(evidence: Evidence): number {
  return usual(evidence, ({ windowMs }) => windowMs[1]);
}

/** The median of the limits that remain; each family has the same weight. */
export function usualLimit(evidence: Evidence): number {
  return usual(evidence, ({ limit }) => limit[1]);
}

/** The limit to plan by: more may have passed at first, where a window ended meanwhile. */
export function plannedLimit(evidence: Evidence, firstPasses: number): number {
  return Math.min(firstPasses, usualLimit(evidence) || firstPasses);
}

function usual({ withoutEarlier }: Evidence, numberOf: (version: Version) => number): number {
  const rows = weighted(withoutEarlier)
    .map(({ candidate, weight }) => ({ value: numberOf(candidate.version), weight }))
    .sort((one, other) => one.value - other.value);
  let sum = 0;
  for (const { value, weight } of rows) {
    sum += weight;
    if (sum >= 0.5) return value;
  }
  return 0;
}

/** Requests in a row. */
interface Row {
  /** When the first one is sent. */
  readonly from: number;
  /** How long `count` of them take. */
  readonly timeFor: (count: number) => number;
  /** No more are sent. */
  readonly limit: number;
  /** What passed before them. */
  readonly before?: readonly Decision[];
}

/** How many requests of a row pass by each version: the least and the most. */
export function passesAt(
  evidence: Evidence,
  versions: readonly OneVersion[],
  { from, timeFor, limit, before = [] }: Row,
): readonly Span[] {
  const passes = (count: number): readonly Decision[] =>
    count === 0 ? before : [...before, { from, to: from + timeFor(count), passed: true, count }];
  const refusal = (count: number): readonly Decision[] => {
    const to = from + timeFor(count);
    return [...passes(count - 1), { from: to - timeFor(1), to, passed: false, count: 1 }];
  };
  return versions.map((version) => {
    const most = lastThat(limit, (count) => evidence.permits(version, passes(count)));
    return [lastThat(most, (count) => !evidence.permits(version, refusal(count))), most];
  });
}

/** The highest count up to `limit` that holds, if all below it hold; 0 if none does. */
function lastThat(limit: number, holds: (count: number) => boolean): number {
  return firstThat(1, limit + 1, (count) => !holds(count)) - 1;
}

interface Sampled {
  /** The version in the middle of a candidate, if it is possible; otherwise the candidate. */
  readonly candidate: OneVersion;
  readonly weight: number;
  /** What it answers to the question that is open. */
  readonly answer: string;
}

export type Sample = readonly Sampled[];

/** A sample; each family counts the same, however many spans it has. */
export function weighted(candidates: readonly Candidate[]): Sample {
  const sample = knownSamples.get(candidates) ?? sampleOf(candidates);
  knownSamples.set(candidates, sample);
  return sample;
}

const knownSamples = new WeakMap<readonly Candidate[], Sample>();

/** First the kind of the limiter is asked, then its numbers. */
function sampleOf(candidates: readonly Candidate[]): Sample {
  const groups = grouped(candidates, ({ family }) => `${family.name} ${family.refusals}`);
  const size = Math.ceil(mostSampled / groups.size);
  const kinds = new Set(candidates.map(kindOf));
  return [...groups.values()].flatMap((group) => {
    const certain = group.filter(({ middle }) => middle !== undefined);
    const spans = certain.length > 0 ? certain : group;
    const step = Math.ceil(spans.length / size);
    const sample = spans.filter((_, i) => i % step === step >> 1);
    // A span that is the only one has nothing beside it that a burst could separate it from.
    const versions = candidates.length === 1 ? sample.flatMap(halvesOf) : sample.map(pointOf);
    return versions.map((each, i) => ({
      candidate: each,
      weight: 1 / groups.size / versions.length,
      answer: kinds.size > 1 ? kindOf(each) : `${i}`,
    }));
  });
}

const pointOf = (candidate: Candidate): OneVersion => candidate.middle ?? candidate;

/** The versions in the middle of the halves of a span, by their windows. */
function halvesOf({ family, version }: Candidate): readonly OneVersion[] {
  const [least, most] = version.windowMs;
  return [0.25, 0.75].map((share) => {
    const windowMs = least * (most / least) ** share;
    return { family, version: { ...version, windowMs: [windowMs, windowMs] } };
  });
}
