/** What the versions that remain leave open, and the requests that would separate them. */
import { grouped } from '#io/grouped.ts';
import {
  type Decision,
  firstThat,
  type Span,
  type Version,
} from '#judging/limiter/space/decision.ts';
import type { Algorithm } from '#judging/limiter/space/families.ts';
import type { Candidate, OneVersion } from '#judging/limiter/space/space.ts';
import type { Evidence } from './evidence.ts';

/** A window that is known to within 5 % counts as one number. */
export const sameWindow = 1.05;
/** A burst that separates less of what remains is not worth its requests. */
const leastSeparated = 0.1;
/** The share of the requests and the time left that a burst costs in any case. */
const leastCost = 0.03;
/** The number of times for a burst that are compared. */
const mostTimes = 20;
/** How many times are compared for a burst after a lead whose window may be over. */
const leadTimes = 8;
/** After this many windows the next one has surely begun. */
const surelyAfter = 1.1;
/** The most requests of a lead that are spread over a window. */
const mostSpread = 20;
/** After this many windows, a window is surely over. */
const surelyOver = 1.05;
/** The next request is sent and answered within this time. */
const nextMarginMs = 20;
/** The most remaining versions that are compared with each other. */
const mostSampled = 48;

/** True while the versions that remain disagree about something that is asked. */
export function isOpen(evidence: Evidence): boolean {
  return (evidence.candidates.length > 0 && !evidence.isPastCovered) || disagrees(evidence);
}

/** True while the versions that remain differ in kind, limit or window. */
export function disagrees({ candidates, windowMs, limit }: Evidence): boolean {
  if (candidates.every(({ family }) => family.algorithm === 'none_of_these')) return false;
  const kinds = new Set(candidates.map(kindOf));
  return kinds.size > 1 || limit[0] < limit[1] || windowMs[1] / windowMs[0] > sameWindow;
}

function kindOf(version: OneVersion): string {
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
  const passes = passesAt(evidence, from, () => to - from, evidence.candidates, limit);
  return Math.max(...passes.map(([, most]) => most));
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
  const [first, last] = [after((ms) => may(ms, true)), after((ms) => !may(ms, false))];
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

function usual({ withoutPast }: Evidence, numberOf: (version: Version) => number): number {
  const rows = weighted(withoutPast)
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
  /** When single requests are sent before the burst, all of which may pass. */
  readonly lead: readonly number[];
  readonly at: number;
  /** The burst ends at a refusal, or after this many requests. */
  readonly count: number;
}

interface BurstChoice {
  readonly now: number;
  readonly paceMs: number;
  /** How long a reply takes: the limiter decides within it. */
  readonly replyMs: number;
  /** After this time, a request passes again. */
  readonly restMs: number;
  /** Times within this are compared. */
  readonly horizonMs: number;
  /** How many requests may still be sent. */
  readonly requests: number;
  /** How long the audit may still take. */
  readonly timeMs: number;
}

/** The burst until a refusal that separates the remaining versions most for what it costs. */
export function bestBurst(
  evidence: Evidence,
  { now, paceMs, replyMs, restMs, horizonMs, requests, timeMs }: BurstChoice,
): Planned | undefined {
  let best: (Planned & { readonly score: number }) | undefined;
  const [shortest, longest] = evidence.windowMs;
  const freshAt = now + Math.max(restMs, usualWindow(evidence)) * surelyOver;
  const shapes = leadsOf(Math.min(usualLimit(evidence), requests), evidence.windowMs, paceMs);
  const leads = [now, freshAt].flatMap((at) => shapes.map((shape) => shape.map((ms) => at + ms)));
  for (const lead of [[], ...leads]) {
    const [begin = now] = lead;
    const [soonest, latest] =
      lead.length === 0 ? [0, Math.min(horizonMs, timeMs)] : [shortest, longest * surelyAfter];
    const times = lead.length === 0 ? mostTimes : leadTimes;
    for (let step = 0; step < times; step += 1) {
      const at = begin + soonest + ((latest - soonest) * (step + 0.5)) / times;
      if (at - now > timeMs || at - begin > horizonMs) break;
      if (at < (lead.at(-1) ?? 0) + paceMs) continue;
      const leastScored = leastCost + (at - now) / timeMs + (lead.length + 1) / requests;
      // Even if it separated all, another is better.
      if (best !== undefined && 1 / leastScored <= best.score) continue;
      const { separated, expected, count } = outcomesAt(evidence, at, { paceMs, replyMs }, lead);
      if (lead.length + count > requests || separated < leastSeparated) continue;
      const cost = leastCost + (at - now) / timeMs + (lead.length + expected) / requests;
      const score = separated ** 2 / cost;
      if (score > (best?.score ?? 0)) best = { lead, at, count, score };
    }
  }
  return best;
}

/**
 * What may be sent before a burst, to see what of it has returned by then: one request; half of the
 * limit, or all of it; requests as far apart as the windows that remain; and one that opens a
 * window, with others where it may end or in its middle. None of them is refused, so no block
 * begins before the burst.
 */
function leadsOf(limit: number, [shortest, longest]: Span, paceMs: number): readonly number[][] {
  const row = (count: number, from: number, gapMs: number) =>
    Array.from({ length: Math.max(0, count) }, (_, i) => from + i * Math.max(paceMs, gapMs));
  if (limit === 1) return [[0]];
  const overMs = longest - shortest;
  const [spread, after] = [Math.min(limit - 1, mostSpread), Math.min(limit - 2, mostSpread)];
  const leads = [
    row(1, 0, 0),
    row(limit >> 1, 0, 0),
    row(limit, 0, 0),
    row(spread, 0, overMs / spread),
    [0, ...row(after, shortest, overMs / Math.max(1, after))],
    [0, ...row(Math.ceil(limit / 3), longest / 2, 0)],
  ];
  // For a small limit, some are the same.
  return [...new Map(leads.map((lead) => [String(lead), lead])).values()];
}

interface Sampled {
  /** The version in the middle of a candidate, if it is possible; otherwise the candidate. */
  readonly candidate: OneVersion;
  readonly weight: number;
  /** What it answers to the question that is open. */
  readonly answer: string;
}

type Sample = readonly Sampled[];

/** How likely two remaining versions with different answers certainly expect different passes. */
function separation(sample: Sample, passes: readonly Span[]): number {
  let [separated, all] = [0, 0];
  for (const [i, one] of sample.entries()) {
    for (const [j, other] of sample.entries()) {
      if (one.answer === other.answer) continue;
      all += one.weight * other.weight;
      if (areApart(passes[i] as Span, passes[j] as Span)) separated += one.weight * other.weight;
    }
  }
  return all === 0 ? 0 : separated / all;
}

function areApart(one: Span, other: Span): boolean {
  return one[1] < other[0] || other[1] < one[0];
}

/**
 * How many requests in a row pass by each version: the least and the most, up to `limit`. The first
 * is sent at `from`, and `count` requests take `timeFor(count)`. `before`: what passed before them.
 */
function passesAt(
  evidence: Evidence,
  from: number,
  timeFor: (count: number) => number,
  versions: readonly OneVersion[],
  limit: number,
  before: readonly Decision[] = [],
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

/** What the versions that remain expect of a burst at this time, which ends at a refusal. */
function outcomesAt(
  evidence: Evidence,
  at: number,
  { paceMs, replyMs }: Pick<BurstChoice, 'paceMs' | 'replyMs'>,
  lead: readonly number[],
) {
  const sample = weighted(evidence.candidates);
  const passes = passesAt(
    evidence,
    at,
    (count) => Math.max(0, count - 1) * paceMs + replyMs,
    sample.map(({ candidate }) => candidate),
    evidence.limit[1] + 1,
    passesOf(lead, paceMs),
  );
  const most = passes.map((span) => span[1] + 1);
  const expected = sample.reduce((sum, { weight }, i) => sum + weight * (most[i] ?? 0), 0);
  return { separated: separation(sample, passes), expected, count: Math.max(...most) };
}

/** Requests that pass at these times. Those that follow each other at once are one decision. */
function passesOf(times: readonly number[], paceMs: number): readonly Decision[] {
  const passes: Decision[] = [];
  for (const at of times) {
    const last = passes.at(-1);
    if (last !== undefined && at - last.to < paceMs + 1)
      passes[passes.length - 1] = { ...last, to: at, count: last.count + 1 };
    else passes.push({ from: at, to: at, passed: true, count: 1 });
  }
  return passes;
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
    const certain = group.filter(({ middle }) => middle !== undefined);
    const spans = certain.length > 0 ? certain : group;
    const step = Math.ceil(spans.length / size);
    const sample = spans.filter((_, i) => i % step === step >> 1);
    return sample.map((each, i) => ({
      candidate: each.middle ?? each,
      weight: 1 / groups.size / sample.length,
      answer: kinds.size > 1 ? kindOf(each) : `${i}`,
    }));
  });
}
