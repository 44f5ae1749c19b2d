/**
 * Runs one case and gives it a verdict: `passed` only if the case's precondition came true.
 */
import type { AnyCase, Case, Seen } from './case.ts';
import { RecipientBlocked, type Reply, SendsExhausted } from './client.ts';
import { ControlFailed } from './control.ts';
import type { Exchange } from './exchange.ts';
import { otherBefore, runsOf } from './flood-lines.ts';
import { judges } from './judges/all.ts';
import { Findings } from './judges/judge.ts';
import { recorded } from './recording.ts';
import { isFailure, type Result } from './result.ts';
import type { Target } from './target.ts';
import { Trial } from './trial.ts';
import { describe, Lacking, PreconditionMissing, RuleBroken } from './verify.ts';

const keptFirst = 10;
const keptLast = 20;

/**
 * Runs the case a second time if a connection broke and nothing was proven: a restarted target may
 * have lost earlier data, and a message without a `request_id` is never sent again by itself.
 */
export async function runCase(one: AnyCase, target: Target): Promise<Ran> {
  const first = await runOnce(one, target);
  if (isSettled(first)) return first;
  const second = await runOnce(one, target);
  if (isSettled(second) || second.result.verdict === 'skipped') return second;
  const interruptions = first.trial.interruptions + second.trial.interruptions;
  const reason = `the connection broke ${interruptions} times in two attempts`;
  return { ...second, result: { ...second.result, verdict: 'not_exercised', reason } };
}

/** A case that ran, and the record of what it did. */
export interface Ran {
  readonly result: Result;
  readonly trial: Trial;
}

function isSettled({ result, trial }: Ran): boolean {
  return trial.interruptions === 0 || result.verdict === 'passed';
}

/**
 * Judges the exchanges of a case once more, and makes no new ones: the run's log knows more now, such
 * as what other clients of the account spent.
 */
export function judgeAgain(one: Case, { result, trial }: Ran): Result {
  const { durationMs } = result;
  trial.exercised = 0;
  try {
    const heard = judgeTrace(one, trial, undefined);
    return { ...resultOf(one, heard ?? judged(trial), trial), durationMs };
  } catch (error) {
    return { ...resultOf(one, verdictOf(error), trial), durationMs };
  }
}

async function runOnce(one: AnyCase, target: Target): Promise<Ran> {
  // A case that provokes 429s does not wait them out.
  const trial = new Trial(target, one.throttled === undefined ? one.spends : {});
  const started = performance.now();
  let found: Found;
  try {
    if ('run' in one) found = sighted(await one.run(trial, await trial.account(one.account)));
    else found = (await judgeExchanges(one, trial)) ?? judged(trial);
  } catch (error) {
    found = target.signal.aborted
      ? { verdict: 'not_exercised', reason: 'the run was interrupted' }
      : verdictOf(error);
  }
  if (!('run' in one) && !isFailure(found.verdict) && trial.unusable !== undefined)
    found = brokenBy(trial.unusable);
  return { result: resultOf(one, found, trial, performance.now() - started), trial };
}

/** Makes the exchanges of a case and lets the judges of its rules look at them. */
async function judgeExchanges(one: Case, trial: Trial): Promise<Found | undefined> {
  let failure: unknown;
  try {
    for (const recording of one.recordings ?? []) await recorded(trial, recording);
    await one.steps?.(trial, await trial.account(one.account));
  } catch (error) {
    // What came before may show why the steps could not go on.
    failure = error;
  }
  return judgeTrace(one, trial, failure);
}

/** `failure` is why the steps could not go on; the judges' own finding comes before it. */
function judgeTrace(one: Case, trial: Trial, failure: unknown): Found | undefined {
  const judgements = [one.subject, ...(one.also ?? [])].map((rule) => {
    const findings = new Findings();
    judges[rule](trial.trace(), findings);
    return findings;
  });
  const broken = judgements.find((one) => one.broken !== undefined);
  trial.proof = broken?.proof ?? [];
  const heard = judgements.find((judgement) => judgement.firstNotice !== undefined)?.firstNotice;
  if (heard !== undefined && broken === undefined)
    return { verdict: 'notice', reason: heard.text, broken: heard.exchange.reply.exchange };
  const error = broken?.broken ?? failure;
  if (error !== undefined) throw error;
  trial.exercised = judgements[0]?.exercised ?? 0;
  const missing = judgements[0]?.missing;
  if (trial.exercised === 0 && missing !== undefined) throw missing;
  return undefined;
}

type Found = Pick<
  Result,
  'verdict' | 'reason' | 'expected' | 'actual' | 'broken' | 'seen' | 'parts'
>;

/** No rule holds for a reply that no client can read. */
function brokenBy(reply: Reply): Found {
  return {
    verdict: 'failed',
    expected: 'replies that a client can read',
    actual: describe(reply),
    broken: reply.exchange,
  };
}

function judged(trial: Trial): Found {
  if (trial.exercised > 0) return { verdict: 'passed' };
  const throttled = trial.exchanges.filter(({ reply }) => reply.status === 429).length;
  const reason =
    throttled === 0
      ? 'its precondition never came true'
      : `${throttled} of its requests were answered 429, and waiting did not help`;
  return { verdict: 'not_exercised', reason };
}

function sighted(seen: Seen): Found {
  if ('undetermined' in seen) return { verdict: 'not_exercised', reason: seen.undetermined };
  const { answer, parts = {} } = seen;
  return {
    verdict: 'observed',
    seen: answer,
    ...(Object.keys(parts).length > 0 && { parts }),
  };
}

function verdictOf(error: unknown): Found {
  if (error instanceof RuleBroken)
    return {
      verdict: error.spelling ? 'spelling' : 'failed',
      expected: error.expected,
      actual: error.actual,
      ...(error.exchange === undefined ? {} : { broken: error.exchange }),
    };
  if (error instanceof PreconditionMissing)
    return { verdict: 'not_exercised', reason: error.message };
  if (error instanceof Lacking) return { verdict: 'skipped', reason: `needs ${error.message}` };
  if (error instanceof RecipientBlocked || error instanceof SendsExhausted)
    return { verdict: 'skipped', reason: error.message };
  if (error instanceof ControlFailed)
    return {
      verdict: 'error',
      reason: `an operation of the control port failed: ${error.message}`,
    };
  return {
    verdict: 'error',
    reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}

export function notRun(one: AnyCase, reason: string): Result {
  return resultOf(one, { verdict: 'not_exercised', reason });
}

export function skipped(one: AnyCase, reason: string): Result {
  return resultOf(one, { verdict: 'skipped', reason });
}

function resultOf(one: AnyCase, found: Found, trial?: Trial, durationMs = 0): Result {
  const all = trial?.shown ?? [];
  const kept =
    all.length <= keptFirst + keptLast
      ? all
      : [...all.slice(0, keptFirst), ...all.slice(-keptLast)];
  const clean = (text: string) => trial?.target.client.masks.clean(text) ?? text;
  return {
    id: one.id,
    subject: one.subject,
    kind: 'run' in one ? 'assumption' : 'rule',
    sends: trial?.said ?? one.sends,
    ...('run' in one ? {} : { demands: one.demands }),
    ...found,
    ...(found.reason === undefined ? {} : { reason: clean(found.reason) }),
    ...(found.actual === undefined ? {} : { actual: clean(found.actual) }),
    ...(trial === undefined || found.broken === undefined ? {} : floodOf(trial, found.broken)),
    exercised: trial?.exercised ?? 0,
    durationMs: Math.round((durationMs + (trial?.recordedMs ?? 0)) * 10) / 10,
    exchanges: kept,
    omitted: all.length - kept.length,
  };
}

/** A failure that many exchanges prove: their times and statuses, and the one to compare with. */
function floodOf({ proof }: Trial, broken: Exchange): Pick<Result, 'timeline' | 'before'> {
  if (proof.length <= 2) return {};
  const before = otherBefore(proof, broken);
  return { timeline: runsOf(proof), ...(before === undefined ? {} : { before }) };
}
