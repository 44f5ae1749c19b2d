/**
 * Explains an audit that fits no known limiter, or in which nothing was refused: the first answer
 * that contradicts all known limiters, and each fault of a known limiter that would explain it.
 * Also finds the requests that show a limiter.
 */
import { type Decision, firstThat, type Span } from '#judging/limiter/space/decision.ts';
import { rareFamilies, windowsWithBucket } from '#judging/limiter/space/families.ts';
import { type Candidate, Space } from '#judging/limiter/space/space.ts';
import type { Evidence } from './evidence.ts';
import { spacingOf } from './queue.ts';
import type { AuditedExchange } from './run.ts';
import {
  type Advice,
  type AlgorithmValue,
  certain,
  list,
  rangeText,
  type Statement,
  undetermined,
} from './statement.ts';

/** How often the spans of rare limiters are cut: once, after the audit, so more than a search does. */
const rareCuts = 8;
/** Two limiters at once can look like one whose window is shorter or longer by this factor. */
const besideWindow = 1.25;
/** Of two limiters at once, one possible version is enough: spans are cut finer only below this. */
const fewOfTwo = 20;
/** Requests that follow each other within this time are one burst. */
const atOnceMs = 50;
/** The most answers that count as exceptions of a limiter that sometimes fails open. */
const mostExceptions = 4;
/** The most requests that are tried as the exception, or as the first after a restart. */
const mostTried = 8;
/** One pass right after a refusal may come from the end of a window. This many do not. */
const oftenMixed = 2;

/**
 * What is known if no request was refused, or only some of those `atOnce`. Errors may be how this
 * limiter refuses.
 */
export function withoutRefusal(
  exchanges: readonly AuditedExchange[],
  atOnce: readonly AuditedExchange[],
  advice: Advice,
): Statement<AlgorithmValue> {
  const passed = [...exchanges, ...atOnce].filter(({ outcome }) => outcome === 'passed');
  const error = passed.findLast(({ status }) => status >= 400);
  const alike = passed.filter(({ status }) => status === error?.status);
  const before = passed.filter(({ number }) => number < (alike[0]?.number ?? 1)).length;
  const wait = error?.headers['retry-after'];
  if (error !== undefined && (before > 0 || wait !== undefined)) {
    const saying = wait === undefined ? '' : ` with Retry-After ${wait}`;
    return undetermined(
      `${before} passed, then ${alike.length} were answered ${error.status}${saying}: if that is how it refuses, add ${advice('refused', `${error.status}`)}`,
      alike.map(({ number }) => number),
    );
  }
  const refused = atOnce.filter(({ outcome }) => outcome === 'refused');
  if (refused.length > 0) {
    const lastAtMs = exchanges.at(-1)?.answeredAtMs ?? 0;
    const perSecond = (1_000 * exchanges.length) / (lastAtMs - (exchanges[0]?.sentAtMs ?? 0));
    return undetermined(
      `${exchanges.length} requests passed one by one, ${rangeText([perSecond, perSecond])} a second, but of ${atOnce.length} at once ${refused.length} were refused: replies are too slow for an audit, which asks one by one, to reach this limit${spacingNote(exchanges)}`,
      refused.map(({ number }) => number),
    );
  }
  const count = exchanges.length + atOnce.length;
  const together = atOnce.length > 0 ? `, ${atOnce.length} of them at once,` : '';
  const errors =
    error === undefined
      ? ''
      : `; ${alike.length} were answered ${error.status}: is this the right request?`;
  const sentence = `no request of ${count}${together} was refused${errors}${spacingNote(exchanges)}`;
  return certain('no_limit_seen', sentence);
}

/** A note if requests pass at even intervals: a queue may delay them. Empty otherwise. */
function spacingNote(exchanges: readonly AuditedExchange[]): string {
  const spacing = spacingOf(exchanges);
  if (spacing === undefined) return '';
  const { firstMs, gapMs, gapsMs } = spacing;
  return `, but after the first (${rangeText([firstMs, firstMs])} ms) they were answered ${rangeText(gapsMs)} ms apart: something delays them to ${rangeText([1_000 / gapMs, 1_000 / gapMs])} a second, as a leaky_queue does`;
}

/** The first answer that no known limiter gives, and the faults that would explain it. */
export function whyNone(evidence: Evidence): readonly [sentence: string, shown: readonly number[]] {
  const { decisions, numbers, longestMs } = evidence;
  const contradiction = firstContradicted(decisions, longestMs);
  // The search over all answers is coarser than over their beginnings: it may find no such answer.
  const isFound = contradiction < decisions.length;
  const faults = isFound ? faultsOf(evidence, contradiction) : known(severalCounters(evidence));
  const causes = faults.length === 1 ? 'a possible cause' : 'possible causes';
  const words =
    faults.length === 0 ? '' : `; ${causes}: ${list(faults.map(({ sentence }) => sentence))}`;
  const ofFaults = [...faults.flatMap(({ shown }) => shown), ...turningPoints(evidence)];
  const noKnown = 'no known limiter answers like this one';
  if (!isFound) return [`${noKnown}${words}`, ofFaults];
  const number = numbers[contradiction] ?? 0;
  const before = numbers[contradiction - 1] ?? 0;
  const [must, did] =
    decisions[contradiction]?.passed === false ? ['pass', 'was refused'] : ['be refused', 'passed'];
  const sentence = `${noKnown}: by the answers before it, request #${number} had to ${must}, but it ${did}${words}`;
  return [sentence, [before, number, ...ofFaults]];
}

interface Fault {
  readonly sentence: string;
  readonly shown: readonly number[];
}

/** The faults with which a known limiter would give all answers. */
function faultsOf(evidence: Evidence, contradiction: number): readonly Fault[] {
  return known(
    failsOpen(evidence, contradiction),
    restarts(evidence, contradiction),
    secondLimit(evidence, contradiction),
    severalCounters(evidence),
  );
}

function known(...faults: readonly (Fault | undefined)[]): readonly Fault[] {
  return faults.filter((each) => each !== undefined);
}

/** Failing open: without one pass, or a few, a known limiter gives all answers. */
function failsOpen(evidence: Evidence, contradiction: number): Fault | undefined {
  const shown = oneException(evidence, contradiction) ?? fewExceptions(evidence);
  if (shown === undefined) return undefined;
  const which = shown.map((number) => `#${number}`).join(', ');
  const sentence = `it fails open now and then (without ${which}, all answers fit a known limiter)`;
  return { sentence, shown };
}

/** The pass of the last ones before the contradiction without which all answers fit. */
function oneException(evidence: Evidence, contradiction: number): readonly number[] | undefined {
  const { decisions, numbers, longestMs } = evidence;
  const first = firstOfRun(evidence, contradiction);
  const passes = Array.from({ length: contradiction - first + 1 }, (_, i) => contradiction - i);
  const at = [...passes.slice(0, mostTried), first].find(
    (each) =>
      decisions[each]?.passed === true && isPermitted(decisions.toSpliced(each, 1), longestMs),
  );
  return at === undefined ? undefined : [numbers[at] ?? 0];
}

/** Each first contradiction in turn, if all are passes, until the answers that are left fit. */
function fewExceptions({ decisions, numbers, longestMs }: Evidence): readonly number[] | undefined {
  let left = decisions.map((decision, i) => ({ decision, number: numbers[i] ?? 0 }));
  const shown: number[] = [];
  for (;;) {
    const answers = left.map(({ decision }) => decision);
    if (isPermitted(answers, longestMs)) return shown;
    const at = firstContradicted(answers, longestMs);
    const exception = left[at];
    if (exception?.decision.passed !== true || shown.length === mostExceptions) return undefined;
    shown.push(exception.number);
    left = left.toSpliced(at, 1);
  }
}

/** How many decisions come before the first contradiction; all of them if there is none. */
function firstContradicted(decisions: readonly Decision[], longestMs: number): number {
  const isBroken = (count: number) => !isPermitted(decisions.slice(0, count), longestMs);
  return firstThat(1, decisions.length + 1, isBroken) - 1;
}

/** True if a version permits these decisions, with nothing before them. */
function isPermitted(decisions: readonly Decision[], longestMs: number): boolean {
  return decisions.every(({ passed }) => passed) || versionsOf(decisions, longestMs).length > 0;
}

/** The versions that permit these decisions, with nothing before them. */
function versionsOf(decisions: readonly Decision[], longestMs: number): readonly Candidate[] {
  const space = new Space();
  space.widen(longestMs);
  space.update(decisions);
  return space.candidates;
}

/**
 * The versions that permit the answers since the audit began anew, if it did: what came before them
 * may have been a restart, a change of the limit, or a first window of its own kind.
 */
export function versionsSinceRestart({ decisions, recent, longestMs }: Evidence) {
  return recent.length < decisions.length ? versionsOf(recent, longestMs) : [];
}

/** The rare versions that certainly permit the decisions since the last restart. */
export function rareLimiters({ recent, longestMs }: Evidence): readonly Candidate[] {
  const space = new Space(Number.NEGATIVE_INFINITY, { of: rareFamilies });
  space.widen(longestMs);
  // Each update cuts further what is neither excluded nor shown to be possible.
  for (let cut = 0; cut < rareCuts; cut += 1) space.update(recent);
  return space.candidates.filter(({ middle }) => middle !== undefined);
}

/**
 * True if a window and a bucket of as many tokens at once may have made all decisions. Such a
 * limiter looks like one of the two until one request needs what the other refuses.
 */
export function mayHaveBucket({ recent, limit, windowMs }: Evidence): boolean {
  // Limiters of one request decide alike.
  if (limit[0] !== limit[1] || limit[0] === 1) return false;
  const [shortest, longest] = windowMs;
  const span: Span = [shortest / besideWindow, longest * besideWindow];
  const of = windowsWithBucket(limit[0], span);
  const space = new Space(Number.NEGATIVE_INFINITY, { of, few: fewOfTwo });
  space.widen(span[1]);
  // Each update cuts further what is neither excluded nor shown to be possible.
  for (let cut = 0; cut < rareCuts; cut += 1) {
    space.update(recent);
    if (space.candidates.some(({ middle }) => middle !== undefined)) return true;
  }
  return space.candidates.length > 0;
}

/** The first of the passes in a row before a decision. */
function firstOfRun({ decisions }: Evidence, at: number): number {
  return decisions.findLastIndex(({ passed }, i) => i < at && !passed) + 1;
}

/** A restart: a known limiter that forgets what was spent, once, gives all answers. */
function restarts(evidence: Evidence, contradiction: number): Fault | undefined {
  const { decisions, numbers, longestMs } = evidence;
  const refusal = decisions.findIndex(({ passed }, i) => i > contradiction && !passed);
  const end = refusal < 0 ? decisions.length : refusal;
  const first = firstOfRun(evidence, contradiction);
  const versions = versionsOf(decisions.slice(0, contradiction), longestMs);
  const limits = versions.flatMap(({ version }) => version.limit);
  const starts = [contradiction, ...limits.map((limit) => end - limit)];
  const tried = [...new Set(starts)].filter(
    (at) => at >= Math.max(1, first) && at <= contradiction,
  );
  for (const at of tried.slice(0, mostTried)) {
    if (!isPermitted(forgetting(decisions, at), longestMs)) continue;
    const number = numbers[at] ?? 0;
    return {
      sentence: `it restarted, and forgot what was spent (all answers fit one that forgets before #${number})`,
      shown: [number],
    };
  }
  return undefined;
}

/** Longer than any window: after this time, a limiter has forgotten everything. */
const foreverMs = 100_000_000;

function forgetting(decisions: readonly Decision[], since: number): readonly Decision[] {
  return decisions.map((each, i) =>
    i < since ? each : { ...each, from: each.from + foreverMs, to: each.to + foreverMs },
  );
}

/** Several counters: passes right after a refusal, too few of them for a new window. */
function severalCounters({ decisions, numbers, longestRun }: Evidence): Fault | undefined {
  const mixed: number[] = [];
  for (const [i, { from, passed }] of decisions.entries()) {
    const last = decisions[i - 1];
    if (!passed || last === undefined || last.passed || from - last.to > atOnceMs) continue;
    const next = decisions.findIndex((each, at) => at > i && !each.passed);
    if (next < 0 || (next - i) * 2 > longestRun) continue;
    mixed.push(numbers[i - 1] ?? 0, numbers[i] ?? 0);
  }
  if (mixed.length < 2 * oftenMixed) return undefined;
  return {
    sentence: `several counters share the requests, such as one of each process (#${mixed[1]} passed right after #${mixed[0]} was refused, and #${mixed[3]} after #${mixed[2]})`,
    shown: mixed,
  };
}

/**
 * A second limit: a known limiter gives all answers except the refusals from a certain one on. That
 * refusal may come before the contradiction, because a longer window may explain it at first.
 */
function secondLimit(evidence: Evidence, contradiction: number): Fault | undefined {
  const { decisions, numbers, longestMs } = evidence;
  const isRefusal = (at: number) => decisions[at]?.passed === false;
  // The first refusals are those of the limiter whose answers are left.
  const begins = Array.from({ length: contradiction + 1 }, (_, i) => contradiction - i)
    .filter((at) => isRefusal(at) && (at === contradiction || !isRefusal(at - 1)))
    .slice(0, -1);
  for (const begin of begins.slice(0, mostTried)) {
    const left = decisions.filter(({ passed }, i) => passed || i < begin);
    if (!isPermitted(left, longestMs)) continue;
    const passes = decisions.slice(0, begin).filter(({ passed }) => passed);
    const beganMs = passes[0]?.from ?? 0;
    const seconds = (((decisions[begin]?.to ?? beganMs) - beganMs) / 1_000).toFixed(1);
    return {
      sentence: `it has a second limit over a longer time (${passes.length} had passed in ${seconds} s)`,
      shown: [numbers[begin] ?? 0],
    };
  }
  return undefined;
}

/** The requests around each change between passes and refusals: the model follows from them. */
export function turningPoints({ decisions, numbers }: Evidence): number[] {
  return numbers.filter(
    (_, i) =>
      decisions[i]?.passed !== decisions[i + 1]?.passed ||
      decisions[i]?.passed !== decisions[i - 1]?.passed,
  );
}
