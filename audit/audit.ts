/**
 * `smstwin/audit`: learns what a rate limiter does, and whether what it says is true. It asks a
 * function of the caller's, on a clock of the caller's: with fake timers an hour takes
 * milliseconds.
 */
import { Evidence } from './evidence.ts';
import type { Subjects } from './keys.ts';
import { Races } from './race.ts';
import {
  type AuditedExchange,
  type Reply,
  Run,
  Stopped,
  type StopReason,
  type Subject,
} from './run.ts';
import { type Advice, optionAdvice, type Statements } from './statement.ts';
import { type Seen, statementsOf } from './statements.ts';
import { Steps } from './steps.ts';

export type { AuditedExchange, Headers, Reply, StopReason, Subject } from './run.ts';
export type { AlgorithmValue, RetryAfter, Statement, Statements } from './statement.ts';

/** What to ask, and how far. */
export interface AuditOptions {
  /** Sends one request for a caller, such as `caller-1`, and gives its reply. */
  readonly request: (subject: Subject) => Promise<Reply>;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Default: a timer. With fake timers, what moves them. */
  readonly sleep?: ((ms: number) => Promise<unknown>) | undefined;
  /** The longest window to look for, in milliseconds. Default two minutes. */
  readonly maxWindow?: number | undefined;
  /** Requests at most. Default 2,000. */
  readonly budget?: number | undefined;
  /** The statuses that mean "too many". Default 429. */
  readonly refused?: readonly number[] | undefined;
  /** Names of callers. Default `caller-1` and `caller-2`. */
  readonly callers?: readonly string[] | undefined;
  /** What differs between callers. Default `address`. */
  readonly callersDifferBy?: string | undefined;
  /**
   * Paths that may share the limit; the first one is asked most. Default `/` alone: then `keyed_by`
   * is never certain. `['/', '/other', '/?x=1']` also tries another path and another query.
   */
  readonly paths?: readonly string[] | undefined;
  /** Requests per second at most, except in a race. Default 50. */
  readonly rate?: number | undefined;
  /** How long the audit may take, in milliseconds. Default: no bound. */
  readonly timeout?: number | undefined;
}

/** What an audit has learned. */
export interface AuditResult {
  /** The number of requests that were sent. */
  readonly requests: number;
  /** How long the audit took, by its own clock. */
  readonly seconds: number;
  /** One statement for each question. */
  readonly statements: Statements;
  /** All requests, in the order in which they were sent. */
  readonly exchanges: readonly AuditedExchange[];
  /** Why it ended before all was learned. */
  readonly stopped?: StopReason | undefined;
}

/** For the command: what only it knows. */
export interface AuditSettings extends AuditOptions {
  /** Subjects that may share the limit of the first. */
  readonly others?: readonly Subject[];
  /** What differs between the first subject and another. */
  readonly differencesOf?: (subject: Subject) => readonly string[];
  /** What may tell callers apart: `keyed_by` is certain only if each of them was tried. */
  readonly differences?: readonly string[];
  /** How answers name an option to set. Default: as `audit()` names it. */
  readonly advice?: Advice;
  /** Called before each request. */
  readonly onProgress?: (exchanges: readonly AuditedExchange[], doing: string) => void;
  /** Interrupts the audit. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Resolves when all is learned that can be, or when the budget or the time has ended. Throws a
 * RangeError for a number that no audit can have.
 */
export async function audit(options: AuditOptions): Promise<AuditResult> {
  for (const name of ['maxWindow', 'budget', 'rate', 'timeout'] as const) {
    const value = options[name] ?? 1;
    if (!(value > 0)) throw new RangeError(`${name}: expected a number above 0; got ${value}`);
  }
  return learn(options);
}

/** What `audit` does, with the settings that only the command gives and has checked. */
export async function learn(options: AuditSettings): Promise<AuditResult> {
  const { maxWindow = twoMinutesMs, callersDifferBy: by = 'address' } = options;
  const { callers = ['caller-1', 'caller-2'], paths = ['/'] } = options;
  const [caller = 'caller-1', ...otherCallers] = callers;
  const [path = '/', ...otherPaths] = paths;
  const {
    others = [
      ...otherCallers.map((other) => ({ caller: other, path })),
      ...otherPaths.map((other) => ({ caller, path: other })),
    ],
    differencesOf = (other) => (other.path === path ? [by] : differencesIn(other.path, path)),
    differences = [by, 'path', 'query'],
    advice = optionAdvice,
  } = options;
  const run = newRun(options);
  const evidence = new Evidence(maxWindow * roomForWindow);
  const first = { caller, path };
  const asked = await askAll(run, { first, others, differencesOf }, evidence);
  evidence.lookBack();
  const { exchanges, requests } = run;
  const given = { others, differencesOf, differences, advice };
  const statements = statementsOf({ ...given, ...asked.seen, exchanges, evidence });
  const seconds = Math.round(run.now()) / 1_000;
  return { requests, seconds, statements, exchanges, stopped: asked.stopped };
}

const twoMinutesMs = 120_000;
/** The pause before the first burst: earlier requests no longer count in a shorter window. */
const firstPauseMs = 2_200;

/** The longest window is looked for with this room: a limiter's own may be a bit longer. */
const roomForWindow = 1.05;

type Asked = Pick<Seen, 'keyTests' | 'races' | 'atOnceForLimit' | 'queue'>;

/**
 * Takes the steps of `steps.ts`. Takes them again, after a pause, if requests that are not among
 * the decisions may have counted.
 */
async function askAll(
  run: Run,
  subjects: Subjects,
  evidence: Evidence,
): Promise<{ readonly seen: Asked; readonly stopped: StopReason | undefined }> {
  const { longestMs } = evidence;
  const races = new Races(run, subjects.first, evidence);
  const newSteps = () => new Steps(run, subjects, evidence, races);
  let steps = newSteps();
  let stopped: StopReason | undefined;
  try {
    run.doing('a pause, so that short windows begin empty');
    await run.until(Math.min(firstPauseMs, longestMs));
    await steps.take();
    if (evidence.isKnown) steps.keyTests.noteUncountedRequests(races.unexplained);
    if (evidence.isIncomplete) {
      // A sliding counter looks back two windows.
      const until = Math.max(2 * longestMs, run.now() + longestMs);
      const seconds = Math.ceil((until - run.now()) / 1_000);
      run.doing(`a pause of ${seconds} s, so that what others sent no longer counts`);
      await run.until(until);
      evidence.restart();
      steps = newSteps();
      await steps.take();
    }
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    stopped = error.reason;
  }
  // Again: a race may have come after the first check, and the audit may have stopped before it.
  steps.keyTests.noteUncountedRequests(races.unexplained);
  const { atOnceForLimit } = races;
  return {
    seen: {
      keyTests: [...steps.keyTests.done, ...steps.queueTests.done],
      races: races.finish(),
      atOnceForLimit,
      queue: steps.queueTests.found,
    },
    stopped,
  };
}

function newRun({ request, now = Date.now, rate = 50, ...options }: AuditSettings): Run {
  const sleep = options.sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)));
  return new Run({
    request,
    now,
    sleep: async (ms) => void (await sleep(Math.ceil(ms))),
    refused: options.refused ?? [429],
    budget: options.budget ?? 2_000,
    paceMs: 1_000 / rate,
    timeoutMs: options.timeout ?? Number.POSITIVE_INFINITY,
    onProgress: options.onProgress,
    signal: options.signal,
  });
}

/** Which parts of the address differ. */
export function differencesIn(other: string, path: string): readonly string[] {
  const [otherName, otherQuery] = other.split('?');
  const [name, query] = path.split('?');
  const differences: string[] = [];
  if (otherName !== name) differences.push('path');
  if (otherQuery !== query) differences.push('query');
  return differences;
}
