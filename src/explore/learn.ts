/**
 * Learns from two runs without faults where the client calls the service, and which messages it
 * gets accepted. A client that fails or differs without faults cannot be explored.
 */
import { agreedIntents, type KnownIntents } from './points.ts';
import { type RawRun, type Run, type RunClient, runOf } from './run.ts';
import { type Point, pointKey } from './schedule.ts';
import { acceptedIn, type Expected, equalAccepted, totalOf } from './verdict.ts';

export interface Learned {
  readonly known: KnownIntents;
  readonly expected: Expected;
  readonly run: Run;
}

/** Why the client cannot be explored: one line, and the end of the client's output. */
export interface Problem {
  readonly line: string;
  readonly tail: string;
}

/** `intents` come from an earlier learning and keep their numbers. */
export async function learn(
  runClient: RunClient,
  intents: KnownIntents = {},
): Promise<Learned | Problem> {
  const first = await runClient([], intents);
  const one = judged(first, undefined);
  if (isProblem(one)) return one;
  const second = await runClient([], intents);
  const other = judged(second, undefined);
  if (isProblem(other)) return differing(`passed, then did not: ${other.line}`, other.tail);
  const difference = differenceOf(one.trace, other.trace);
  if (difference !== undefined) return differing(difference, '');
  const accepted = acceptedIn(exchangesOf(first));
  const isStable = equalAccepted(accepted, acceptedIn(exchangesOf(second)));
  return {
    known: agreedIntents(first.intents, second.intents),
    expected: { accepted: isStable ? accepted : undefined, total: totalOf(accepted) },
    run: one,
  };
}

/** Judges a later run without faults; undefined if it passes like the first two. */
export function controlProblem(raw: RawRun, { expected }: Learned): Problem | undefined {
  const run = judged(raw, expected);
  return isProblem(run) ? differing(`passed, then did not: ${run.line}`, run.tail) : undefined;
}

export function isProblem(value: Learned | Run | Problem): value is Problem {
  return 'line' in value;
}

function judged(raw: RawRun, expected: Expected | undefined): Run | Problem {
  const run = runOf(raw, [], expected, false);
  const { ending, trace, failures } = run;
  const { tail } = ending;
  if (ending.kind === 'timeout') {
    return { line: `the command does not end without any fault: ${ending.how}`, tail };
  }
  if (ending.kind === 'failed') {
    return { line: `the command fails without any fault: ${ending.how}`, tail };
  }
  if (trace.length === 0) {
    const line =
      'the command made no request to the service: does it use SMSTWIN_BASE_URL? ' +
      '--env NAME=base_url sets a variable of its own';
    return { line, tail };
  }
  const [failure] = failures;
  if (failure === undefined) return run;
  const line = `the client fails without any fault: ${failure.cause}: ${failure.what}`;
  return { line, tail };
}

function differing(how: string, tail: string): Problem {
  return { line: `the command differs between runs without any fault: ${how}`, tail };
}

/**
 * Sends must be equal, attempt by attempt. How often a client reads may depend on time.
 */
function differenceOf(one: readonly Point[], other: readonly Point[]): string | undefined {
  const [ours, theirs] = [keysOf(one), keysOf(other)];
  const left = [...ours].find((key) => !theirs.has(key));
  const right = [...theirs].find((key) => !ours.has(key));
  const key = left ?? right;
  return key === undefined ? undefined : `only one of two made the request ${key}`;
}

function keysOf(trace: readonly Point[]): Set<string> {
  return new Set(trace.map((point) => pointKey(isRead(point) ? { ...point, attempt: 1 } : point)));
}

function isRead({ endpoint }: Point): boolean {
  return !endpoint.endsWith('send');
}

function exchangesOf({ seen }: RawRun) {
  return seen.map(({ exchange }) => exchange);
}
