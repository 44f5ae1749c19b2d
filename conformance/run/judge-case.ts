/**
 * Runs one case and gives it a verdict. A case makes exchanges, and the judges of its rules read
 * them. An observation returns the answer itself. `passed` means that the rule applied at least
 * once.
 */
import type { RuleId } from '#contract/rules.ts';
import { minuteMs } from '#contract/time.ts';
import { type Exchange, isSend, methodOf, requestIdOf } from '#judging/evidence/exchange.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { isFailure, type Result } from '#judging/report/result.ts';
import { judges } from '#judging/service/all.ts';
import {
  describe,
  Lacking,
  PreconditionMissing,
  RuleBroken,
} from '#judging/service/expectations.ts';
import { Findings, type Trace } from '#judging/service/judge.ts';
import { validityOf } from '#judging/service/validity.ts';
import { bearerHeader, RecipientBlocked, SendsExhausted, wallClock } from '../target/client.ts';
import { isBroken, timedOut } from '../target/connections.ts';
import { ControlFailed } from '../target/control-port.ts';
import { type Need, type Target, whyMissing } from '../target/target.ts';
import type { AnyCase, Case, Observation, Seen } from './case.ts';
import { type CaseVerdict, type Found, resultOf } from './case-result.ts';
import { isFlood } from './items.ts';
import { OutOfTime, type UnansweredRequest } from './recorded-requests.ts';
import { recorded } from './recording.ts';
import { paths, Trial } from './trial.ts';

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
  // Flags beyond the usual ones ask for the cases that need them: none is then skipped in silence.
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

/** The most requests of a case that are sent again because none of their tries was answered. */
const mostAskedAgain = 3;
/**
 * The tries of such a request, with another request before and after each. A service that breaks
 * one connection of 50 at random breaks nine in a row, and none of the others, less often than once
 * in 10^15 requests; one that breaks every fifth, less often than once in 10^6.
 */
const triesAgain = 8;
/** Lets the client see that the connection of the other request was closed after its reply. */
const apartMs = 250;

/** Requests that were sent again: several cases may judge the recording that has them. */
const askedAgain = new WeakMap<object, Promise<Found | undefined>>();

/**
 * A request that the service never answers while it answers others, as a failure: every documented
 * request has a reply. Undefined if there is none, or if chance may explain each.
 */
async function silenceIn(trial: Trial): Promise<Found | undefined> {
  if (trial.unanswered.length === 0) return undefined;
  const trace = trial.trace();
  const mayAsk = ({ options, exchange }: UnansweredRequest) =>
    options.localAddress === undefined && isPlain(exchange) && mayRepeat(exchange, trace);
  for (const one of trial.unanswered.filter(mayAsk).slice(0, mostAskedAgain)) {
    const asking = askedAgain.get(one.options) ?? askAgain(trial, one);
    askedAgain.set(one.options, asking);
    const silence = await asking;
    if (silence !== undefined) return silence;
  }
  return undefined;
}

/** Characters that a Bearer key (RFC 6750) and an id may have; nothing in between refuses them. */
const plainKey = /^Bearer [\w.~+/-]{1,256}=*$/;
const plainId = /^[\w.~-]{1,100}$/;
/** No server reads less of a body. */
const shortBytes = 32_768;

/** True for a documented request that no proxy or parser refuses by closing the connection. */
function isPlain({ endpoint, method, id, query, headers, body = '' }: Exchange): boolean {
  const credentials = headers['authorization'];
  return (
    endpoint !== undefined &&
    method === methodOf(endpoint) &&
    (id === undefined || plainId.test(id)) &&
    (credentials === undefined || plainKey.test(credentials)) &&
    headers['transfer-encoding'] === undefined &&
    query.length + Buffer.byteLength(body) <= shortBytes
  );
}

/** True if the request cannot create a second message: a send is a replay, or must be refused. */
function mayRepeat(exchange: Exchange, trace: Trace): boolean {
  const isInvalid = () => validityOf(exchange, trace).invalid.length > 0;
  return (
    !isSend(exchange) ||
    requestIdOf(exchange) !== undefined ||
    exchange.caller.key !== 'valid' ||
    isInvalid()
  );
}

/** Sends a request again, by turns with one that is answered: once if each try takes long. */
async function askAgain(
  trial: Trial,
  { options, exchange }: UnansweredRequest,
): Promise<Found | undefined> {
  const { client, flags, signal, maxSends = Number.POSITIVE_INFINITY } = trial.target;
  const isSlow = exchange.reply.failure === timedOut;
  const most = isSlow ? 1 : triesAgain;
  if (isSend(exchange) && client.sends + most > maxSends) return undefined;
  const known = trial.exchanges.find(({ caller }) => caller.key === 'valid');
  const authorization = known?.headers['authorization'];
  const headers = authorization === undefined ? bearerHeader(flags.apiKey) : { authorization };
  const other = { method: 'GET', path: paths.stats, headers, mayRetry: false };
  const isOtherAnswered = async () => (await client.request(other)).status !== 0;
  let { reply } = exchange;
  let broken = reply.interruptions + Number(isSlow);
  for (let tries = 0; tries < most; tries += 1) {
    if (signal.aborted || !(await isOtherAnswered())) return undefined;
    await wallClock.sleep(apartMs, signal).catch(() => {});
    reply = await trial.request({ ...options, mayRetry: false });
    if (isSlow ? reply.failure !== timedOut || reply.isLate : !isBroken(reply)) return undefined;
    broken += 1;
  }
  if (!(await isOtherAnswered())) return undefined;
  client.hasSeenCrash ||= !isSlow;
  const why = `none, ${broken} times (${reply.failure}), while ${most + 1} others were answered`;
  return { verdict: 'failed', expected: 'a reply', actual: why, broken: reply.exchange };
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
