/**
 * Learns from two runs without faults where the client calls the service, and which messages it
 * gets accepted. A client that fails or differs without faults cannot be explored. A third run
 * answers 429 and measures how long the client waits by itself: `throttle` then asks for more, so
 * that a client which ignores `Retry-After` is early.
 */

import { type FaultName, faultsAt } from './fault-names.ts';
import { agreedIntents, type KnownIntents } from './points.ts';
import { type Run, type RunClient, runOf } from './run.ts';
import { type Point, pointKey, pointText, type Schedule } from './schedule.ts';
import { acceptedIn, type Expected, equalAccepted, type RawRun, totalOf } from './verdict.ts';

export interface Learned {
  readonly subject: Explored;
  readonly known: KnownIntents;
  readonly expected: Expected;
  readonly run: Run;
  /** The seconds that `throttle` asks for. */
  readonly throttleWaits: readonly number[];
}

/** Why the client cannot be explored: one line, and the end of the client's output. */
export interface Problem {
  readonly line: string;
  readonly tail: string;
}

/** What the client under test is: a command of its own, or a function in this process. */
export type Subject = 'command' | 'client';

interface Explored {
  readonly name: Subject;
  readonly isScaled: boolean;
}

const remedies: Readonly<Record<Subject, string>> = {
  command: 'does it use SMSTWIN_BASE_URL? --env NAME=base_url sets a variable of its own',
  client: 'it must use the fetch that it is given',
};

export interface LearnOptions {
  readonly subject?: Subject | undefined;
  /** Of an earlier learning; they keep their numbers. */
  readonly intents?: KnownIntents;
  /** The seconds that `throttle` asks for; by default they are measured. */
  readonly throttleWaits?: readonly number[] | undefined;
  /** Faults that will be tried: without `throttle` its wait is not measured. */
  readonly faults: readonly FaultName[];
  /** True if the client runs on a scaled clock. */
  readonly isScaled?: boolean | undefined;
}

export async function learn(
  runClient: RunClient,
  options: LearnOptions,
): Promise<Learned | Problem> {
  const { intents = {} } = options;
  const subject = { name: options.subject ?? 'client', isScaled: options.isScaled === true };
  const first = await runClient([], intents, []);
  const one = judged(first, undefined, subject);
  if (isProblem(one)) return one;
  const second = await runClient([], intents, []);
  const other = judged(second, undefined, subject);
  if (isProblem(other))
    return differing(subject, `passed, then did not: ${other.line}`, other.tail);
  const difference = differenceOf(one.trace, other.trace);
  if (difference !== undefined) return differing(subject, difference, '');
  const accepted = acceptedIn(exchangesOf(first));
  const isStable = equalAccepted(accepted, acceptedIn(exchangesOf(second)));
  const known = agreedIntents(first.intents, second.intents);
  return {
    subject,
    known,
    expected: { accepted: isStable ? accepted : undefined, total: totalOf(accepted) },
    run: one,
    throttleWaits: options.throttleWaits ?? [
      await measuredWait(one, options.faults, runClient, known),
    ],
  };
}

const longestWaitSeconds = 120;

/**
 * More seconds than twice the wait of the client after a 429 that asks for one second: the longest
 * that it makes at any endpoint.
 */
async function measuredWait(
  { trace }: Run,
  faults: readonly FaultName[],
  runClient: RunClient,
  known: KnownIntents,
): Promise<number> {
  const first = new Map(trace.map((at) => [at.endpoint, at] as const).reverse());
  const probe: Schedule = [...first.values()].flatMap((at) =>
    faultsAt(at.endpoint, faults).includes('throttle') ? [{ at, fault: 'throttle' } as const] : [],
  );
  if (probe.length === 0) return 1;
  const { seen } = await runClient(probe, known, [1]);
  const atMs = new Map(
    seen.flatMap(({ point, exchange }) =>
      point ? [[pointKey(point), exchange.atMs] as const] : [],
    ),
  );
  const waits = probe.map(({ at }) => {
    const [refusedMs, retriedMs] = [at, { ...at, attempt: at.attempt + 1 }].map((point) =>
      atMs.get(pointKey(point)),
    );
    return (retriedMs ?? 0) - (refusedMs ?? 0);
  });
  const seconds = Math.ceil((2 * Math.max(0, ...waits)) / 1_000) + 1;
  return Math.min(seconds, longestWaitSeconds);
}

/** Judges a later run without faults; undefined if it passes like the first two. */
export function controlProblem(raw: RawRun, { expected, subject }: Learned): Problem | undefined {
  const run = judged(raw, expected, subject);
  if (!isProblem(run)) return undefined;
  return differing(subject, `passed, then did not: ${run.line}`, run.tail);
}

export function isProblem(value: Learned | Run | Problem): value is Problem {
  return 'line' in value;
}

function judged(
  raw: RawRun,
  expected: Expected | undefined,
  { name: subject, isScaled }: Explored,
): Run | Problem {
  const run = runOf(raw, [], expected, false);
  const { ending, trace, failures } = run;
  const { tail } = ending;
  if (ending.kind === 'timeout') {
    const line = `the ${subject} does not end without any fault: ${ending.how}`;
    return { line: isScaled ? `${line}; ${tryLess}` : line, tail };
  }
  if (ending.kind === 'failed') {
    return { line: `the ${subject} fails without any fault: ${ending.how}`, tail };
  }
  if (trace.length === 0) {
    return { line: `the ${subject} made no request to the service: ${remedies[subject]}`, tail };
  }
  const [failure] = failures;
  if (failure === undefined) return run;
  const line = `the client fails without any fault: ${failure.cause}: ${failure.what}`;
  return { line, tail };
}

/** A scaled clock shortens the client's own timeouts, which a busy machine then reaches. */
export const tryLess = 'try a lower --rate';

function differing({ name, isScaled }: Explored, how: string, tail: string): Problem {
  const line = `the ${name} differs between runs without any fault: ${how}`;
  return { line: isScaled ? `${line}; ${tryLess}` : line, tail };
}

/**
 * Sends must be equal, attempt by attempt. How often a client reads may depend on time.
 */
function differenceOf(one: readonly Point[], other: readonly Point[]): string | undefined {
  const missing = missingIn(other, one) ?? missingIn(one, other);
  return missing && `only one of two made the request ${pointText(missing)}`;
}

/** The first of the points that the other trace lacks. */
function missingIn(trace: readonly Point[], points: readonly Point[]): Point | undefined {
  const keys = new Set(trace.map(keyOf));
  return points.find((point) => !keys.has(keyOf(point)));
}

function keyOf(point: Point): string {
  return pointKey(isRead(point) ? { ...point, attempt: 1 } : point);
}

function isRead({ endpoint }: Point): boolean {
  return !endpoint.endsWith('send');
}

function exchangesOf({ seen }: RawRun) {
  return seen.map(({ exchange }) => exchange);
}
