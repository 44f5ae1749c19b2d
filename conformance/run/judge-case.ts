/**
 * Runs one case and gives it a verdict. A case makes exchanges, and the judges of its rules read
 * them. An observation returns the answer itself. `passed` means that the rule applied at least
 * once.
 */
import type { RuleId } from '#contract/rules.ts';
import { minuteMs } from '#contract/time.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { isFailure, type Result } from '#judging/report/result.ts';
import { judges } from '#judging/service/all.ts';
import {
  describe,
  Lacking,
  PreconditionMissing,
  RuleBroken,
} from '#judging/service/expectations.ts';
import { Findings } from '#judging/service/judge.ts';
import { RecipientBlocked, SendsExhausted } from '../target/client.ts';
import { ControlFailed } from '../target/control-port.ts';
import { type Need, type Target, whyMissing } from '../target/target.ts';
import type { AnyCase, Case, Observation, Seen } from './case.ts';
import { type CaseVerdict, type Found, resultOf } from './case-result.ts';
import { isFlood } from './items.ts';
import { OutOfTime } from './recorded-requests.ts';
import { recorded } from './recording.ts';
import { silenceIn } from './silence.ts';
import { Trial } from './trial.ts';

/**
 * Runs a case. Runs it a second time if a connection broke and it did not pass: a restarted target
 * may have lost earlier data, and the client never repeats a send without a `request_id`.
 */
export async function runCase(anyCase: AnyCase, target: Target): Promise<Ran> {
  const first = await runOnce(anyCase, target);
  if (isSettled(first)) return first;
  const second = await runOnce(anyCase, target);
  if (isSettled(second) || second.result.verdict === 'skipped') return second;
  const interruptions = first.trial.interruptions + second.trial.interruptions;
  const reason = `the connection broke ${interruptions} times in two attempts`;
  return { ...second, result: { ...second.result, verdict: 'not_exercised', reason } };
}

/** A case that ran, and the record of what it did. */
export interface Ran {
  readonly result: Result;
  readonly trial: Trial;
  /** True if the exchanges themselves prove a failure. */
  readonly isProven: boolean;
  /** True if it was skipped for a wait that `--timeout` does not cover. */
  readonly isOutOfTime: boolean;
  /** A request of its own that is never answered, as a failure. */
  readonly silence?: Found | undefined;
}

function isSettled({ result, trial, silence }: Ran): boolean {
  return trial.interruptions === 0 || result.verdict === 'passed' || silence !== undefined;
}

/**
 * Judges the exchanges of a case once more, and makes no new ones: the run's log knows more now,
 * such as what other clients of the account spent.
 */
export function judgeAgain(
  ruleCase: Case,
  { result, trial, silence }: Pick<Ran, 'result' | 'trial' | 'silence'>,
): Result {
  const judgement = { ...judgementOf(ruleCase, trial), silence };
  const found = finalVerdict(ruleCase, judgement, trial);
  return { ...resultOf(ruleCase, { ...judgement, found }, trial), durationMs: result.durationMs };
}

async function runOnce(anyCase: AnyCase, target: Target): Promise<Ran> {
  // A case that provokes 429s does not wait them out.
  const trial = new Trial(target, anyCase.throttled === undefined ? anyCase.spends : {});
  const started = performance.now();
  const judgement = await ('run' in anyCase
    ? observe(anyCase, trial)
    : makeAndJudge(anyCase, trial));
  const durationMs = performance.now() - started;
  const found = finalVerdict(anyCase, judgement, trial);
  const result = resultOf(anyCase, { ...judgement, found }, trial, durationMs);
  const { proof = [], isOutOfTime = false, silence } = judgement;
  return { result, trial, isProven: proof.length > 0, isOutOfTime, silence };
}

/** Every full run meets these needs. */
const usualNeeds: readonly Need[] = ['key', 'sender', 'discover'];

/** What the judges found, unless the run itself decides. */
function finalVerdict(anyCase: AnyCase, judgement: Judgement, trial: Trial): Found {
  const { found, isError, isLacking, silence } = judgement;
  const { needs, mayUse = [], recordings = [] } = anyCase;
  const { target, unusableReply } = trial;
  const isInterrupted = isError === true && target.signal.aborted;
  // A reply that no client can read fails a rule's case; an observation says itself what it saw.
  const mayFail = !('run' in anyCase) && (isInterrupted || !isFailure(found.verdict));
  if (mayFail && unusableReply !== undefined) return brokenBy(unusableReply);
  if (mayFail && silence !== undefined) return silence;
  if (isInterrupted) return { verdict: 'not_exercised', reason: 'the run was interrupted' };
  // A user who gives flags beyond the usual ones asks for the cases that need them, so such a case
  // is not silently skipped if the target does not show what it needs.
  const isFloodInTime = recordings.some(isFlood) && target.timeoutMs > minuteMs;
  const isAskedForByFlags =
    isFloodInTime ||
    needs.some((need) => !usualNeeds.includes(need)) ||
    mayUse.some((need) => whyMissing(target, need) === undefined);
  if (isLacking && isAskedForByFlags && !trial.hasControl)
    return { ...found, verdict: 'not_exercised' };
  return found;
}

async function observe(observation: Observation, trial: Trial): Promise<Judgement> {
  try {
    const seen = await observation.run(trial, await trial.account(observation.account));
    return { found: observed(seen) };
  } catch (error) {
    return lackingOrBroken(error);
  }
}

/** Makes the exchanges of a case and lets the judges of its rules look at them. */
async function makeAndJudge(ruleCase: Case, trial: Trial): Promise<Judgement> {
  let failure: unknown;
  try {
    for (const recording of ruleCase.recordings ?? []) await recorded(trial, recording);
    await ruleCase.steps?.(trial, await trial.account(ruleCase.account));
  } catch (error) {
    // The exchanges before the error may break a rule, and so show why the steps could not go on.
    failure = error;
  }
  const silence = await silenceIn(trial);
  return { ...judgementOf(ruleCase, trial, failure), silence };
}

/** What the judges of a case found in its exchanges. */
interface Judgement extends CaseVerdict {
  /** True if an error gave the verdict; an interruption of the run may have caused it. */
  readonly isError?: true;
  /** True if the target did not show what the case needs, although the flags are there. */
  readonly isLacking?: boolean;
  /** True if the case needs a wait that `--timeout` does not cover. */
  readonly isOutOfTime?: boolean;
  /** A request of the case that is never answered, as a failure. */
  readonly silence?: Found | undefined;
}

/**
 * What the judges find: a broken rule, otherwise a notice, otherwise `failure`, which is why the
 * steps could not go on, otherwise whether the rule was exercised.
 */
function judgementOf(ruleCase: Case, trial: Trial, failure?: unknown): Judgement {
  try {
    const own = judged(ruleCase.subject, trial);
    const all = [own, ...(ruleCase.also ?? []).map((rule) => judged(rule, trial))];
    const broken = all.find((findings) => findings.broken !== undefined);
    if (broken !== undefined)
      return { found: verdictOf(broken.broken), proof: broken.proof, isError: true };
    const firstNotice = all.find((findings) => findings.firstNotice !== undefined)?.firstNotice;
    if (firstNotice !== undefined) return { found: noticeOf(firstNotice) };
    if (failure !== undefined) return lackingOrBroken(failure);
    const { exercised, missing } = own;
    const { evidence } = ruleCase;
    if (exercised > 0 && evidence?.isIn(trial.trace()) === false)
      return { found: { verdict: 'not_exercised', reason: `no ${evidence.what} was seen` } };
    if (exercised > 0) return { found: { verdict: 'passed' }, exercised };
    if (missing !== undefined) return lackingOrBroken(missing);
    return { found: unexercised(trial) };
  } catch (error) {
    return lackingOrBroken(error);
  }
}

function lackingOrBroken(error: unknown): Judgement {
  const isOutOfTime = error instanceof OutOfTime;
  const isLacking = error instanceof Lacking && !isOutOfTime;
  return { found: verdictOf(error), isError: true, isLacking, isOutOfTime };
}

/** What the judge of a rule finds in the exchanges of a case. */
export function judged(rule: RuleId, trial: Trial): Findings {
  const findings = new Findings();
  judges[rule](trial.trace(), findings);
  return findings;
}

function noticeOf({ text, exchange }: NonNullable<Findings['firstNotice']>): Found {
  return { verdict: 'notice', reason: text, broken: exchange.reply.exchange };
}

function brokenBy(reply: Reply): Found {
  return {
    verdict: 'failed',
    expected: 'replies that a client can read',
    actual: describe(reply),
    broken: reply.exchange,
  };
}

function unexercised(trial: Trial): Found {
  const throttled = trial.exchanges.filter(({ reply }) => reply.status === 429).length;
  const reason =
    throttled === 0
      ? 'its precondition never came true'
      : `${throttled} of its requests were answered 429, and waiting did not help`;
  return { verdict: 'not_exercised', reason };
}

function observed(seen: Seen): Found {
  if ('undetermined' in seen) return { verdict: 'not_exercised', reason: seen.undetermined };
  const { answer, parts = {} } = seen;
  return { verdict: 'observed', seen: answer, ...(Object.keys(parts).length > 0 && { parts }) };
}

function verdictOf(error: unknown): Found {
  if (error instanceof RuleBroken) {
    return {
      verdict: error.isOnlySpelling ? 'spelling' : 'failed',
      expected: error.expected,
      actual: error.actual,
      ...(error.exchange !== undefined && { broken: error.exchange }),
    };
  }
  if (error instanceof PreconditionMissing)
    return { verdict: 'not_exercised', reason: error.message };
  if (error instanceof Lacking) return { verdict: 'skipped', reason: `needs ${error.message}` };
  if (error instanceof RecipientBlocked || error instanceof SendsExhausted)
    return { verdict: 'skipped', reason: error.message };
  if (error instanceof ControlFailed) {
    return {
      verdict: 'error',
      reason: `the control port cannot prepare the case: ${error.message}`,
    };
  }
  return {
    verdict: 'error',
    reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}
