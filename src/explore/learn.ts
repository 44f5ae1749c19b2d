/**
 * Learns from two runs without faults where the client calls the service, and which messages it
 * gets accepted. A client that fails or differs without faults cannot be explored.
 */
import { agreedIntents, type KnownIntents } from './points.ts';
import { type RawRun, type Run, type RunClient, runOf } from './run.ts';
import { type Point, pointKey, pointText } from './schedule.ts';
import { acceptedIn, type Expected, equalAccepted, totalOf } from './verdict.ts';

export interface Learned {
  readonly subject: Subject;
  readonly known: KnownIntents;
  readonly expected: Expected;
  readonly run: Run;
}

/** Why the client cannot be explored: one line, and the end of the client's output. */
export interface Problem {
  readonly line: string;
  readonly tail: string;
}

/** What the client under test is: a command of its own, or a function in this process. */
export type Subject = 'command' | 'client';

const remedies: Readonly<Record<Subject, string>> = {
  command: 'does it use SMSTWIN_BASE_URL? --env NAME=base_url sets a variable of its own',
  client: 'it must use the fetch that it is given',
};

export interface LearnOptions {
  readonly subject?: Subject | undefined;
  /** Of an earlier learning; they keep their numbers. */
  readonly intents?: KnownIntents;
}

export async function learn(
  runClient: RunClient,
  { subject = 'client', intents = {} }: LearnOptions = {},
): Promise<Learned | Problem> {
  const first = await runClient([], intents);
  const one = judged(first, undefined, subject);
  if (isProblem(one)) return one;
  const second = await runClient([], intents);
  const other = judged(second, undefined, subject);
  if (isProblem(other))
    return differing(subject, `passed, then did not: ${other.line}`, other.tail);
  const difference = differenceOf(one.trace, other.trace);
  if (difference !== undefined) return differing(subject, difference, '');
  const accepted = acceptedIn(exchangesOf(first));
  const isStable = equalAccepted(accepted, acceptedIn(exchangesOf(second)));
  return {
    subject,
    known: agreedIntents(first.intents, second.intents),
    expected: { accepted: isStable ? accepted : undefined, total: totalOf(accepted) },
    run: one,
  };
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

function judged(raw: RawRun, expected: Expected | undefined, subject: Subject): Run | Problem {
  const run = runOf(raw, [], expected, false);
  const { ending, trace, failures } = run;
  const { tail } = ending;
  if (ending.kind === 'timeout') {
    return { line: `the ${subject} does not end without any fault: ${ending.how}`, tail };
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

function differing(subject: Subject, how: string, tail: string): Problem {
  return { line: `the ${subject} differs between runs without any fault: ${how}`, tail };
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
