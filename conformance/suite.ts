/**
 * Runs the selected cases. With a control port each case has its own accounts: cases that do not
 * touch time or shared buckets run in parallel, the others one by one. Without one, all cases share
 * one account, and the schedule decides the order.
 */
import { sendsIn } from './buckets.ts';
import { type AnyCase, type Case, runsAlone } from './case.ts';
import { ControlFailed } from './control.ts';
import { messagesOfOthers } from './judges/other-traffic.ts';
import { unaffordable } from './plan.ts';
import { isFailure, type Result, type Verdict } from './result.ts';
import { judgeAgain, notRun, type Ran, runCase, skipped } from './run-case.ts';
import { runScheduled } from './run-scheduled.ts';
import { longerThanAllowed, type Profile, type Target } from './target.ts';
import { paths, Trial } from './trial.ts';
import { Lacking } from './verify.ts';

export interface Run {
  readonly results: Result[];
  /** The reason if the run could not begin. */
  readonly unreached?: string;
  reachable: boolean;
  interrupted: boolean;
  /** The budget of sends, or of time, kept a case from running. */
  budgetReached: boolean;
  /** True if it need not exercise every rule. */
  readonly mayMiss?: boolean;
}

export interface RunOptions {
  readonly bail: boolean;
  /** Judges each failure once more. */
  readonly recheck: boolean;
  readonly signal: AbortSignal;
  readonly profile: Profile;
  readonly onResult: (result: Result, done: number, total: number) => void;
  /** Called with a line that says what the run waits for. */
  readonly onWait: (line: string) => void;
}

const casesAtOnce = 8;

export async function runSuite(
  cases: readonly AnyCase[],
  target: Target,
  options: RunOptions,
): Promise<Run> {
  const run: Run = { results: [], reachable: true, interrupted: false, budgetReached: false };
  const missing = unaffordable(cases, target, options.profile);
  const byId = new Map<string, Result>();
  const failed = new Map<Case, Ran>();
  let stopped: string | undefined;
  const resultOf = async (one: AnyCase, lack: string | undefined) => {
    if (stopped !== undefined) return notRun(one, stopped);
    if (lack !== undefined) return skipped(one, lack);
    const ran = await runCase(one, target);
    const mayChange = !('run' in one) && !target.hasControl;
    if (mayChange && isFailure(ran.result.verdict)) failed.set(one, ran);
    return ran.result;
  };
  const execute = async (one: AnyCase, lack = missing.get(one)) => {
    if (options.signal.aborted) stopped ??= 'the run was interrupted';
    const found = await resultOf(one, lack);
    const result = alike && counts(found.verdict) ? { ...found, ...meaningless } : found;
    byId.set(one.id, result);
    options.onResult(result, byId.size, cases.length);
    if (options.bail && isFailure(result.verdict)) stopped ??= 'stopped by --bail';
    const inDoubt = stopped === undefined && !options.signal.aborted && lastUnanswered(result);
    if (inDoubt && (await failureOf(target)) !== undefined && !options.signal.aborted) {
      stopped = 'the target no longer answers';
      run.reachable = false;
    }
  };
  const failure = await failureOf(target);
  if (failure !== undefined && !options.signal.aborted) {
    return unreached(cases, `${target.client.baseUrl} is not reachable: ${failure}`);
  }
  const alike = failure === undefined && (await answersAllAlike(target));
  const first = cases.filter((one) => one.isLast !== true);
  const last = cases.filter((one) => one.isLast === true);
  const isStopped = () => stopped !== undefined || options.signal.aborted;
  if (target.hasControl) {
    const { together, alone } = arrange(first);
    await inTurn(together, casesAtOnce, execute);
    await inTurn(alone, 1, execute);
  } else {
    await runScheduled(first, missing, target, { execute, isStopped, say: options.onWait });
  }
  await inTurn(last, 1, execute);
  const { onResult } = options;
  const traffic = target.hasControl ? undefined : otherTraffic(target);
  if (traffic !== undefined)
    for (const result of acquitted(failed)) {
      byId.set(result.id, result);
      onResult(result, byId.size, cases.length);
    }
  if (options.recheck) {
    const again = await recheck(cases, byId, target, options, isStopped);
    for (const [id, result] of again) byId.set(id, result);
  }
  run.results.push(...cases.flatMap((one) => byId.get(one.id) ?? []));
  if (traffic !== undefined) run.results.push(traffic);
  run.interrupted = options.signal.aborted;
  const isOutOfTime = ({ verdict, reason = '' }: Result) =>
    verdict === 'skipped' && reason.endsWith(longerThanAllowed);
  run.budgetReached = target.client.budgetReached || run.results.some(isOutOfTime);
  return run;
}

/** The result of a run that could not begin: every case is not exercised. */
export function unreached(cases: readonly AnyCase[], reason: string): Run {
  const results = cases.map((one) => notRun(one, reason));
  return { results, unreached: reason, reachable: false, interrupted: false, budgetReached: false };
}

/** Said once, whatever it keeps from being exercised. */
function otherTraffic({ log, strange429s }: Target): Result | undefined {
  const messages = messagesOfOthers(log) ?? 0;
  const signs = [
    ...(messages > 0
      ? [`statistics count at least ${messages} messages that this run did not send`]
      : []),
    ...(strange429s.size > 0
      ? [`${strange429s.size} requests were answered 429 although this run had left room for them`]
      : []),
  ];
  if (signs.length === 0) return undefined;
  return {
    id: 'LIMIT-7/other-traffic',
    subject: 'LIMIT-7',
    kind: 'rule',
    sends: 'nothing: it looks at the statistics and at all 429s',
    verdict: 'notice',
    reason: `another client seems to use the account: ${signs.join('; ')}. Keep it off for a full run`,
    exercised: 0,
    durationMs: 0,
    exchanges: [],
    omitted: 0,
  };
}

/**
 * The cases that do not fail once the whole run is known. Statistics often show another client only
 * after its messages made a limit look too small.
 */
function acquitted(failed: ReadonlyMap<Case, Ran>): Result[] {
  return [...failed]
    .filter(([, { isProven }]) => isProven)
    .map(([one, ran]) => judgeAgain(one, ran))
    .filter(({ verdict }) => !isFailure(verdict));
}

const meaningless = {
  verdict: 'not_exercised',
  reason: 'the target gives the same answer to every request, so nothing can be judged',
} as const;

function counts(verdict: Verdict): boolean {
  return verdict === 'passed' || verdict === 'observed';
}

/**
 * Requests with a key, without a key and for an unknown path: a target that answers all of them
 * alike is not the service.
 */
async function answersAllAlike(target: Target): Promise<boolean> {
  const trial = new Trial(target);
  try {
    const { key } = await trial.account({ sims: 0 });
    const unknown = paths.read('00000000-0000-4000-8000-000000000000');
    const replies = [
      await trial.get(paths.stats, key),
      await trial.get(paths.stats, undefined),
      await trial.get(unknown, key),
    ];
    const [first] = replies;
    // Status 0 stands for replies that exceed a bound, too: these fail each case by themselves.
    return first?.status !== 0 && replies.every(({ status }) => status === first?.status);
  } catch (error) {
    if (error instanceof Lacking || error instanceof ControlFailed) return false;
    throw error;
  }
}

/** Sorts cheap cases first, and rules before observations. */
function arrange(cases: readonly AnyCase[]): { together: AnyCase[]; alone: AnyCase[] } {
  const costOf = (one: AnyCase) =>
    sendsIn(one.spends) + 1_000 * (one.throttled ?? 0) + ('run' in one ? 500 : 0);
  const sorted = cases.toSorted((a, b) => costOf(a) - costOf(b));
  return {
    together: sorted.filter((one) => !runsAlone(one)),
    alone: sorted.filter(runsAlone),
  };
}

/** A target that breaks one connection of seven is reachable. */
const mostAttempts = 6;

/** Why the target sends no HTTP reply in spite of some tries; undefined if it sends one. */
async function failureOf(target: Target): Promise<string | undefined> {
  let failure = '';
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const key = target.flags.apiKey;
    const reply = await target.client.request({
      method: 'GET',
      path: paths.stats,
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      retried: false,
    });
    if (reply.status !== 0 || reply.unusable === true) return undefined;
    failure = reply.failure ?? 'no reply';
    if (failure === 'timed out') break;
  }
  return failure;
}

async function inTurn<T>(items: readonly T[], width: number, one: (item: T) => Promise<void>) {
  let next = 0;
  const worker = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await one(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

function lastUnanswered(result: Result): boolean {
  return result.exchanges.at(-1)?.status === 0;
}

/**
 * `--recheck`: judges each failure once more, one case at a time; one that passes then is `flaky`.
 * Returns the failures, by case id, with the verdict after the second judgement.
 */
async function recheck(
  cases: readonly AnyCase[],
  first: ReadonlyMap<string, Result>,
  target: Target,
  { onWait: say, onResult }: RunOptions,
  isStopped: () => boolean,
): Promise<Map<string, Result>> {
  const failing = cases.filter((one) => isFailure(first.get(one.id)?.verdict ?? 'passed'));
  // Recordings belong to a target: under a new one they are made once more.
  const again: Target = { ...target, waits: new Set() };
  const results = new Map<string, Result>();
  for (const one of failing) {
    if (isStopped()) break;
    const execute = async (judged: AnyCase) => {
      const before = first.get(judged.id);
      if (before === undefined) return;
      const result = weighed(before, (await runCase(judged, again)).result);
      results.set(result.id, result);
      onResult(result, results.size, failing.length);
    };
    if (target.hasControl) await execute(one);
    // The schedule waits until the account's buckets allow the case.
    else await runScheduled([one], new Map(), again, { execute, isStopped, say });
  }
  return results;
}

function weighed(before: Result, after: Result): Result {
  if (isFailure(after.verdict)) return before;
  const reason = `${before.verdict}, and ${after.verdict.replace('_', ' ')} when judged again`;
  const isDecided = after.verdict === 'passed' || after.verdict === 'observed';
  return isDecided ? { ...before, verdict: 'flaky', reason } : before;
}
