/** What the versions that remain leave open, and the requests that would separate them. */
import { grouped } from '#io/grouped.ts';
import type { Span, Version } from '#judging/limiter/space/decision.ts';
import type { Candidate, OneVersion } from '#judging/limiter/space/space.ts';
import type { Evidence } from './evidence.ts';

/** A burst that separates less of what remains is not worth its requests. */
const leastSeparated = 0.1;
/** The share of what is left that a burst costs in any case. */
const leastCost = 0.03;
/** So many times of a burst are compared. */
const mostTimes = 20;
/** So many of what remains show what separates it. */
const mostSampled = 48;

/** True while the versions that remain disagree about something that is asked. */
export function isOpen(evidence: Evidence): boolean {
  return (evidence.candidates.length > 0 && !evidence.isPastCovered) || disagrees(evidence);
}

/** The same of what is known without what was sent before the audit. */
export function disagrees({ candidates, windowMs, limit }: Evidence): boolean {
  if (candidates.every(({ family }) => family.algorithm === 'none_of_these')) return false;
  const kinds = new Set(candidates.map(kindOf));
  return kinds.size > 1 || limit[0] < limit[1] || windowMs[1] / windowMs[0] > 1.05;
}

function kindOf({ family: { algorithm, refusals } }: OneVersion): string {
  return `${algorithm} ${refusals}`;
}

/** How much remains: it falls with each request that shows something. */
export function sizeOf({ candidates }: Evidence): number {
  return candidates.reduce((sum, { version: { windowMs, phase, limit } }) => {
    const places = phase[1] > phase[0] ? phase[1] - phase[0] : 1;
    return sum + Math.log(windowMs[1] / windowMs[0]) * places * (limit[1] - limit[0] + 1);
  }, 0);
}

/** The most that may pass between these times. */
export function mostPasses(evidence: Evidence, [from, to]: Span): number {
  const limit = 2 * usualLimit(evidence);
  const passes = evidence.passesAt(from, () => to - from, evidence.candidates, limit);
  return Math.max(...passes.map(([, most]) => most));
}

/** As long as half of the windows that remain, where each family counts the same. */
export function usualWindow(evidence: Evidence): number {
  return usual(evidence, ({ windowMs }) => windowMs[1]);
}

/** As high as half of the limits that remain. */
export function usualLimit(evidence: Evidence): number {
  return usual(evidence, ({ limit }) => limit[1]);
}

function usual({ plain }: Evidence, numberOf: (version: Version) => number): number {
  const rows = weighted(plain)
    .map(({ candidate, weight }) => ({ value: numberOf(candidate.version), weight }))
    .sort((one, other) => one.value - other.value);
  let sum = 0;
  for (const { value, weight } of rows) {
    sum += weight;
    if (sum >= 0.5) return value;
  }
  return 0;
}

export interface Planned {
  readonly at: number;
  /** The burst ends at a refusal, or after so many requests. */
  readonly count: number;
  /** How likely two of what remains expect different outcomes. */
  readonly separated: number;
}

export interface BurstChoice {
  readonly now: number;
  readonly paceMs: number;
  /** Times within this are compared. */
  readonly horizonMs: number;
  /** Requests that are left. */
  readonly requests: number;
  /** Time that is left. */
  readonly timeMs: number;
}

/** When to ask until a refusal, so that what remains is separated most for what that takes. */
export function bestBurst(
  evidence: Evidence,
  { now, paceMs, horizonMs, requests, timeMs }: BurstChoice,
): Planned | undefined {
  let best: (Planned & { readonly score: number }) | undefined;
  for (let step = 0; step < mostTimes; step += 1) {
    const waitMs = (Math.min(horizonMs, timeMs) * step) / (mostTimes - 1);
    const { separated, expected, count } = outcomesAt(evidence, now + waitMs, paceMs);
    if (count > requests || separated < leastSeparated) continue;
    const score = separated ** 2 / (leastCost + waitMs / timeMs + expected / requests);
    if (score > (best?.score ?? 0)) best = { at: now + waitMs, count, separated, score };
  }
  return best;
}

interface Sampled {
  readonly span: OneVersion;
  /** The version in its middle, if it is possible. */
  readonly candidate: OneVersion;
  readonly weight: number;
  /** What it answers to the question that is open. */
  readonly answer: string;
}

type Sample = readonly Sampled[];

/** How likely two of what remains that answer differently surely have different outcomes. */
function separation(sample: Sample, ...outcomes: readonly (readonly Span[])[]): number {
  let [separated, all] = [0, 0];
  for (const [i, one] of sample.entries())
    for (const [j, other] of sample.entries()) {
      if (one.answer === other.answer) continue;
      all += one.weight * other.weight;
      if (outcomes.some((spans) => areApart(spans[i] as Span, spans[j] as Span)))
        separated += one.weight * other.weight;
    }
  return all === 0 ? 0 : separated / all;
}

function areApart(one: Span, other: Span): boolean {
  return one[1] < other[0] || other[1] < one[0];
}

/** What the versions that remain expect of a burst at this time, which ends at a refusal. */
function outcomesAt(evidence: Evidence, at: number, paceMs: number) {
  const sample = weighted(evidence.candidates);
  const passes = evidence.passesAt(
    at,
    (count) => Math.max(0, count - 1) * paceMs,
    sample.map(({ candidate }) => candidate),
    evidence.limit[1] + 1,
  );
  const most = passes.map((span) => span[1] + 1);
  const expected = sample.reduce((sum, { weight }, i) => sum + weight * (most[i] ?? 0), 0);
  return { separated: separation(sample, passes), expected, count: Math.max(...most) };
}

/** A sample; each family counts the same, however many spans it has. */
function weighted(candidates: readonly Candidate[]): Sample {
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
    const shown = group.filter(({ middle }) => middle !== undefined);
    const known = shown.length > 0 ? shown : group;
    const step = Math.ceil(known.length / size);
    const sample = known.filter((_, i) => i % step === step >> 1);
    return sample.map((each, i) => ({
      span: each,
      candidate: each.middle ?? each,
      weight: 1 / groups.size / sample.length,
      answer: kinds.size > 1 ? kindOf(each) : `${i}`,
    }));
  });
}
