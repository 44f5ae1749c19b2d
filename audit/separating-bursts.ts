/**
 * Sends the bursts that separate most of the versions that remain, for what they cost. A burst
 * separates two versions if they expect different numbers of passes.
 */
import type { Decision, Span } from '#judging/limiter/space/decision.ts';
import type { Cost } from './allowance.ts';
import type { Evidence } from './evidence.ts';
import type { Tools } from './experiments.ts';
import {
  isOpen,
  passesAt,
  type Sample,
  settleUnlessOpen,
  sizeOf,
  surelyNext,
  surelyOver,
  usualLimit,
  usualWindow,
  weighted,
} from './remaining.ts';

/** Bursts end after this many in a row that showed nothing, each at another time of the window. */
const mostIdleBursts = 5;
/** A burst has shown something if less than this share remains: more may come from rounding. */
const mostOfSize = 0.98;
/** After a burst that showed nothing, the next one is planned this part of a window later. */
const idleParts = 12;
/** To plan a burst may take this many times as long as to plan the last one. */
const planningMargin = 1.2;
/** Bursts are planned for this many windows ahead, so also for after the present one. */
const windowsAhead = 1.5;

/** Plans bursts one by one, and sends them. */
export class SeparatingBursts {
  readonly #tools: Tools;
  /** How long the next burst takes to plan: on a busy machine longer than a short window. */
  #planningMs = 0;

  constructor(tools: Tools) {
    this.#tools = tools;
  }

  /** Sends the bursts that separate most of what remains. Leaves `kept` for later steps. */
  async send(kept: Cost): Promise<void> {
    const { run, evidence, recovery } = this.#tools;
    settleUnlessOpen(evidence);
    // For a limit of one request, the times between single requests show everything.
    if (evidence.longestRun === 1) return;
    let idle = 0;
    while (idle < mostIdleBursts && isOpen(evidence)) {
      const before = sizeOf(evidence);
      const best = this.#plan(idle, kept);
      if (best === undefined) return;
      run.doing('the requests that separate most of what remains');
      // A refused lead shows something, too. It has cost a request, so the loop ends.
      if (!(await recovery.askAt(best.lead))) continue;
      await run.until(best.at);
      await recovery.sendUntilRefused({ most: best.count, refusals: 1 });
      idle = sizeOf(evidence) < before * mostOfSize ? 0 : idle + 1;
      settleUnlessOpen(evidence);
    }
  }

  /** `idle`: how many bursts in a row have shown nothing. */
  #plan(idle: number, kept: Cost): Planned | undefined {
    const { run, evidence, allowance } = this.#tools;
    const { replyMs } = run;
    const paceMs = Math.max(run.settings.paceMs, replyMs);
    const windowMs = allowance.windowMs[1];
    const idleMs = (idle * windowMs) / idleParts;
    const begin = run.now();
    const now = begin + this.#planningMs + paceMs + idleMs;
    const requests = allowance.requests - kept.requests;
    const timeMs = allowance.endMs - now - kept.windows * windowMs;
    if (requests < 1 || timeMs <= 0) return undefined;
    const best = bestBurst(evidence, {
      now,
      paceMs,
      replyMs,
      horizonMs: windowMs * windowsAhead,
      requests,
      timeMs,
    });
    this.#planningMs = (run.now() - begin) * planningMargin;
    return best;
  }
}

interface Planned {
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
  /** Times within this are compared. */
  readonly horizonMs: number;
  /** How many requests may still be sent. */
  readonly requests: number;
  /** How long the audit may still take. */
  readonly timeMs: number;
}

type Scored = Planned & { readonly score: number };

/** The burst until a refusal that separates the remaining versions most for what it costs. */
function bestBurst(evidence: Evidence, choice: BurstChoice): Planned | undefined {
  const { now, paceMs, requests } = choice;
  const freshAt = now + Math.max(evidence.blockMs[1], usualWindow(evidence)) * surelyOver;
  const shapes = leadsOf(Math.min(usualLimit(evidence), requests), evidence.windowMs, paceMs);
  const leads = [now, freshAt].flatMap((at) => shapes.map((shape) => shape.map((ms) => at + ms)));
  let best: Scored | undefined;
  for (const lead of [[], ...leads]) {
    const times =
      lead.length === 0 ? timesAlone(choice) : timesAfterLead(lead, evidence.windowMs, choice);
    for (const at of times) {
      const scored = scoreOf(evidence, { lead, at }, choice, best?.score ?? 0);
      if (scored !== undefined && scored.score > (best?.score ?? 0)) best = scored;
    }
  }
  return best;
}

/** The number of times for a burst that are compared: comparing takes time, too. */
const mostTimes = 20;
/** How many times are compared for a burst after a lead whose window may be over. */
const leadTimes = 8;

/** Times for a burst without a lead: all within the horizon. */
function timesAlone({ now, horizonMs, timeMs }: BurstChoice): readonly number[] {
  const latest = Math.min(horizonMs, timeMs);
  return spread(now, now + latest, mostTimes);
}

/** Times for a burst after a lead: where a window that the lead opens may end. */
function timesAfterLead(
  lead: readonly number[],
  [shortest, longest]: Span,
  { now, paceMs, horizonMs, timeMs }: BurstChoice,
): readonly number[] {
  const [begin = now] = lead;
  const earliest = (lead.at(-1) ?? now) + paceMs;
  const end = Math.min(begin + horizonMs, now + timeMs);
  const times = spread(begin + shortest, begin + longest * surelyNext, leadTimes);
  return times.filter((at) => at >= earliest && at <= end);
}

/** The middles of `count` equal parts of a span of time. */
function spread(from: number, to: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, part) => from + ((to - from) * (part + 0.5)) / count);
}

/** A burst that separates less of what remains is not worth its requests. */
const leastSeparated = 0.1;
/** The share of what is left that a burst costs at least. Without it, tiny bursts cost nothing. */
const leastCost = 0.03;

/** The burst with its score. One that separates little, or cannot reach `least`, has none. */
function scoreOf(
  evidence: Evidence,
  { lead, at }: Pick<Planned, 'lead' | 'at'>,
  choice: BurstChoice,
  least: number,
): Scored | undefined {
  const { now, requests, timeMs } = choice;
  if (lead.length >= requests) return undefined;
  const waitCost = leastCost + (at - now) / timeMs;
  // Even if it separated all. Spares the expensive look at its outcomes.
  if (1 / (waitCost + (lead.length + 1) / requests) <= least) return undefined;
  const { separated, expected, count } = outcomesAt(evidence, at, choice, lead);
  if (separated < leastSeparated) return undefined;
  const score = separated ** 2 / (waitCost + (lead.length + expected) / requests);
  return { lead, at, count, score };
}

/** The most requests of a lead that are spread over a window. */
const mostSpread = 20;

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
  const across = Math.min(limit - 1, mostSpread);
  const after = Math.min(limit - 2, mostSpread);
  const leads = [
    row(1, 0, 0),
    row(limit >> 1, 0, 0),
    row(limit, 0, 0),
    row(across, 0, overMs / across),
    [0, ...row(after, shortest, overMs / Math.max(1, after))],
    [0, ...row(Math.ceil(limit / 3), longest / 2, 0)],
  ];
  // For a small limit, some are the same.
  return [...new Map(leads.map((lead) => [String(lead), lead])).values()];
}

/** What the versions that remain expect of a burst at this time, which ends at a refusal. */
function outcomesAt(
  evidence: Evidence,
  at: number,
  { paceMs, replyMs, requests }: Pick<BurstChoice, 'paceMs' | 'replyMs' | 'requests'>,
  lead: readonly number[],
): { readonly separated: number; readonly expected: number; readonly count: number } {
  const sample = weighted(evidence.candidates);
  const versions = sample.map(({ candidate }) => candidate);
  const passes = passesAt(evidence, versions, {
    from: at,
    timeFor: (count) => Math.max(0, count - 1) * paceMs + replyMs,
    // A burst that ends before its refusal separates, too: those that expect fewer passes.
    limit: Math.min(evidence.limit[1] + 1, requests - lead.length),
    before: passesOf(lead, paceMs, replyMs),
  });
  const most = passes.map((span) => span[1] + 1);
  const expected = sample.reduce((sum, { weight }, i) => sum + weight * (most[i] ?? 0), 0);
  const count = Math.min(Math.max(...most), requests - lead.length);
  return { separated: separation(sample, passes), expected, count };
}

/**
 * Requests that are sent at these times and pass. Those that follow each other at once are one
 * decision.
 */
function passesOf(times: readonly number[], paceMs: number, replyMs: number): readonly Decision[] {
  const passes: Decision[] = [];
  for (const at of times) {
    const last = passes.at(-1);
    const to = at + replyMs;
    if (last !== undefined && to - last.to < paceMs + 1)
      passes[passes.length - 1] = { ...last, to, count: last.count + 1 };
    else passes.push({ from: at, to, passed: true, count: 1 });
  }
  return passes;
}

/** How likely two remaining versions with different answers certainly expect different passes. */
function separation(sample: Sample, passes: readonly Span[]): number {
  let separated = 0;
  let all = 0;
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
