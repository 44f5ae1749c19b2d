/**
 * Runs the selected cases. With a control port each case has its own accounts: cases that neither
 * move time nor empty a shared bucket run in parallel, the others one by one. Without one, all
 * cases share one account, and the schedule (`order.ts`) decides what starts when.
 */
import { workOn } from '#io/event-loop.ts';
import { isFailure, type Result, type Run, type Verdict } from '#judging/report/result.ts';
import type { SkipReason, Target } from '../target/target.ts';
import { sendsIn } from './budget.ts';
import { type AnyCase, type Case, runsAlone } from './case.ts';
import { notRun, skipped } from './case-result.ts';
import { answersAllAlike, otherTraffic, slowMachine, whyUnreachable } from './conditions.ts';
import { judgeAgain, type Ran, runCase } from './judge-case.ts';
import { type Execute, runScheduled } from './run-scheduled.ts';
import { casesToSkip, type Profile } from './select.ts';

interface RunOptions {
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
  const { signal } = options;
  const failure = await whyUnreachable(target);
  if (failure !== undefined && !signal.aborted) {
    return unreached(
      cases,
      `${target.client.baseUrl} is not reachable: ${failure}; start it, or name another address`,
    );
  }
  const isUniform = !signal.aborted && (await answersAllAlike(target));
  const suite = new Suite(cases, target, options, isUniform);
  await suite.runCases();
  const traffic = target.hasControl ? undefined : otherTraffic(target);
  if (traffic?.verdict === 'notice') suite.judgeFailuresAgain();
  if (options.recheck) await suite.recheck();
  const slow = target.hasControl ? undefined : slowMachine(target);
  const notices = [traffic, slow].filter((notice) => notice !== undefined);
  const results = [...suite.results(), ...notices];
  return {
    results,
    isReachable: suite.isReachable,
    isInterrupted: signal.aborted,
    isBudgetReached: target.client.budgetReached || suite.isOutOfTime,
  };
}

/** The cases of one run: their results so far, and the reason if no more of them are run. */
class Suite {
  readonly #cases: readonly AnyCase[];
  readonly #target: Target;
  readonly #options: RunOptions;
  /** True if the target gives the same answer to every request. */
  readonly #isUniform: boolean;
  /** The cases to skip, each with the reason. */
  readonly #skips: ReadonlyMap<AnyCase, SkipReason>;
  readonly #results = new Map<string, Result>();
  /** Failed cases that may pass once the whole run is known; see `judgeFailuresAgain`. */
  readonly #failed = new Map<Case, Ran>();
  #stopReason: string | undefined;
  /** False once the target no longer answers. */
  isReachable = true;
  /** True once a case was skipped for a wait that `--timeout` does not cover. */
  isOutOfTime = false;

  constructor(cases: readonly AnyCase[], target: Target, options: RunOptions, isUniform: boolean) {
    this.#cases = cases;
    this.#target = target;
    this.#options = options;
    this.#isUniform = isUniform;
    this.#skips = casesToSkip(cases, target, options.profile);
  }

  /** The results in the order of the cases. */
  results(): Result[] {
    return this.#cases.flatMap(({ id }) => this.#results.get(id) ?? []);
  }

  async runCases(): Promise<void> {
    const first = this.#cases.filter(({ isLast }) => isLast !== true);
    const last = this.#cases.filter(({ isLast }) => isLast === true);
    const execute = (anyCase: AnyCase, skip?: SkipReason) => this.#execute(anyCase, skip);
    const isSkipped = (anyCase: AnyCase) => this.#skips.has(anyCase);
    await workOn(first.filter(isSkipped).values(), 1, execute);
    const runnable = first.filter((anyCase) => !isSkipped(anyCase));
    await this.#runInOrder(runnable, this.#target, execute);
    await workOn(last.values(), 1, execute);
  }

  async #runInOrder(cases: readonly AnyCase[], target: Target, execute: Execute): Promise<void> {
    if (target.control !== undefined) {
      const { together, alone } = arrange(cases);
      await target.control.holdTime(() => workOn(together.values(), casesAtOnce, execute));
      await workOn(alone.values(), 1, execute);
    } else {
      const isStopped = () => this.#isStopped;
      await runScheduled(cases, target, { execute, isStopped, print: this.#options.onWait });
    }
  }

  get #isStopped(): boolean {
    return this.#stopReason !== undefined || this.#options.signal.aborted;
  }

  async #execute(anyCase: AnyCase, skip = this.#skips.get(anyCase)): Promise<void> {
    const { signal, bail } = this.#options;
    if (signal.aborted) this.#stopReason ??= 'the run was interrupted';
    const judged = await this.#resultOf(anyCase, skip);
    const isMeaningless = this.#isUniform && isSuccess(judged.verdict);
    const result = isMeaningless ? { ...judged, ...meaningless } : judged;
    this.#report(result);
    if (bail && isFailure(result.verdict)) this.#stopReason ??= 'stopped by --bail';
    const hadReply = result.exchanges.at(-1)?.status !== 0;
    if (!this.#isStopped && !hadReply) await this.#stopIfUnreachable();
  }

  async #stopIfUnreachable(): Promise<void> {
    const failure = await whyUnreachable(this.#target);
    if (failure === undefined || this.#options.signal.aborted) return;
    this.#stopReason = 'the target no longer answers';
    this.isReachable = false;
  }

  async #resultOf(anyCase: AnyCase, skip: SkipReason | undefined): Promise<Result> {
    if (this.#stopReason !== undefined) return notRun(anyCase, this.#stopReason);
    this.isOutOfTime ||= skip?.isOutOfTime === true;
    if (skip !== undefined) return skipped(anyCase, skip);
    const ran = await runCase(anyCase, this.#target);
    this.isOutOfTime ||= ran.isOutOfTime;
    const mayChange = !('run' in anyCase) && !this.#target.hasControl;
    if (mayChange && isFailure(ran.result.verdict)) this.#failed.set(anyCase, ran);
    return ran.result;
  }

  #report(result: Result): void {
    this.#results.set(result.id, result);
    this.#options.onResult(result, this.#results.size, this.#cases.length);
  }

  /**
   * Judges failed cases again by the whole run, and replaces the results of those that do not fail.
   * Statistics often show another client only after its messages made a limit look too small.
   */
  judgeFailuresAgain(): void {
    for (const [failedCase, ran] of this.#failed) {
      if (!ran.isProven) continue;
      const result = judgeAgain(failedCase, ran);
      if (!isFailure(result.verdict)) this.#report(result);
    }
  }

  /** `--recheck`: runs the failed cases once more, one at a time. One that passes is `flaky`. */
  async recheck(): Promise<void> {
    const { onResult } = this.#options;
    // Recordings belong to a target: under a new one they are made once more.
    const target: Target = { ...this.#target, waits: new Set() };
    const failures = this.results().filter(({ verdict }) => isFailure(verdict));
    for (const [index, before] of failures.entries()) {
      if (this.#isStopped) break;
      const failedCase = this.#cases.filter(({ id }) => id === before.id);
      await this.#runInOrder(failedCase, target, async (anyCase) => {
        const result = afterRecheck(before, (await runCase(anyCase, target)).result);
        this.#results.set(result.id, result);
        onResult(result, index + 1, failures.length);
      });
    }
  }
}

/** The result of a run that could not begin: every case is not exercised. */
export function unreached(cases: readonly AnyCase[], reason: string): Run {
  const results = cases.map((anyCase) => notRun(anyCase, reason));
  const state = { isReachable: false, isInterrupted: false, isBudgetReached: false };
  return { results, unreached: reason, ...state };
}

/** Replaces a success on a target that gives the same answer to every request. */
const meaningless = {
  verdict: 'not_exercised',
  reason: 'the target gives the same answer to every request, so nothing can be judged',
} as const;

function isSuccess(verdict: Verdict): boolean {
  return verdict === 'passed' || verdict === 'observed';
}

/** Sorts cases first, then observations, then what provokes 429s; in each group by sends. */
function arrange(cases: readonly AnyCase[]): { together: AnyCase[]; alone: AnyCase[] } {
  const rankOf = (anyCase: AnyCase) => {
    if (anyCase.throttled !== undefined) return 2;
    return 'run' in anyCase ? 1 : 0;
  };
  const sorted = cases.toSorted(
    (a, b) => rankOf(a) - rankOf(b) || sendsIn(a.spends) - sendsIn(b.spends),
  );
  return {
    together: sorted.filter((anyCase) => !runsAlone(anyCase)),
    alone: sorted.filter(runsAlone),
  };
}

/** The result of a case after it was run again. */
function afterRecheck(before: Result, after: Result): Result {
  if (isFailure(after.verdict)) return before;
  const reason = `${before.verdict}, and ${after.verdict.replace('_', ' ')} when judged again`;
  return isSuccess(after.verdict) ? { ...before, verdict: 'flaky', reason } : before;
}
