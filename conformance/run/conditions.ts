/**
 * The conditions under which the results of a run can be trusted: the target answers, its answers
 * can be those of the service, no other client uses the account, and this machine is fast enough.
 */
import { type LimitedEndpoint, ruleOfLimit, type SendEndpoint } from '#contract/limits.ts';
import { minuteMs } from '#contract/time.ts';
import { counted } from '#io/terminal.ts';
import { type Exchange, isSend } from '#judging/evidence/exchange.ts';
import { decidedBy } from '#judging/limiter/bucket.ts';
import { unexplained } from '#judging/limiter/explained.ts';
import { messagesOfOthers } from '#judging/limiter/other-traffic.ts';
import type { Result } from '#judging/report/result.ts';
import { Lacking } from '#judging/service/expectations.ts';
import { bearerHeader } from '../target/client.ts';
import { timedOut } from '../target/connections.ts';
import { ControlFailed } from '../target/control-port.ts';
import type { Target } from '../target/target.ts';
import { limitOf } from './budget.ts';
import { paths, Trial, unknownId } from './trial.ts';

/** Several, because a target that breaks some connections is reachable all the same. */
const attempts = 6;
/** A target that stays silent for this long does not answer; a busy machine may be late once. */
const silenceMs = 5_000;

/** Why the target sends no HTTP reply, after several attempts; undefined if it sends one. */
export async function whyUnreachable(target: Target): Promise<string | undefined> {
  const startedAt = performance.now();
  let failure = '';
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const reply = await target.client.request({
      method: 'GET',
      path: paths.stats,
      headers: bearerHeader(target.flags.apiKey),
      mayRetry: false,
    });
    if (reply.status !== 0 || reply.isUnusable === true) return undefined;
    failure = reply.failure ?? 'no reply';
    if (failure === timedOut && performance.now() - startedAt >= silenceMs) break;
  }
  return failure;
}

/** True if requests with a key, without one and for an unknown id get the same status. */
export async function answersAllAlike(target: Target): Promise<boolean> {
  const trial = new Trial(target);
  try {
    const { key } = await trial.account({ sims: 0 });
    const replies = [
      await trial.get(paths.stats, key),
      await trial.get(paths.stats, undefined),
      await trial.get(paths.read(unknownId), key),
    ];
    const [first] = replies;
    // Replies that exceed a bound have status 0 too. They fail each case by themselves.
    return first?.status !== 0 && replies.every(({ status }) => status === first?.status);
  } catch (error) {
    if (error instanceof Lacking || error instanceof ControlFailed) return false;
    throw error;
  }
}

/**
 * Looks for another client of the account. Returns one notice for all cases that it may disturb; a
 * failure if sends were refused although there was room, and the statistics show no other client.
 */
export function otherTraffic({ log, waitedOut, startedAt, client }: Target): Result | undefined {
  const otherMessages = messagesOfOthers(log);
  // By now the log has the requests that were still in flight when a 429 came.
  const refused = [...waitedOut].filter((each) => !isExplained(each, log, startedAt));
  const refusedSends = refused.filter(isSend);
  const [refusedSend] = refusedSends;
  if (otherMessages === 0 && client.lag.times === 0 && refusedSend !== undefined)
    return brokenLimit(refusedSend, refusedSends.length);
  const messages = otherMessages ?? 0;
  const signs: string[] = [];
  if (messages > 0)
    signs.push(`statistics count at least ${messages} messages that this run did not send`);
  if (refused.length > 0) {
    signs.push(
      `${refused.length} requests were answered 429 although this run had left room for them`,
    );
  }
  if (signs.length === 0) return undefined;
  const limitsMore = 'the service limits more than the requests of a minute';
  let cause = `another client uses the account, or ${limitsMore}`;
  if (messages > 0) cause = 'another client seems to use the account';
  else if (otherMessages === 0)
    cause = `${limitsMore}, as no other client sent, or this machine was late`;
  return notice(
    'LIMIT-7/other-traffic',
    'it looks at the statistics and at all 429s',
    `${cause}: ${signs.join('; ')}. Keep other clients off for a full run`,
  );
}

/** Only requests that are at most this old can explain a 429. */
const explainsForMs = 3 * minuteMs;

/**
 * True if the run's own requests may explain a 429, as a permitted limiter counts them. What was
 * spent before the run may explain it in its first minute.
 */
function isExplained(refused: Exchange, log: readonly Exchange[], startedAt: number): boolean {
  const { caller, sentAt, ahead } = refused;
  const endpoint = refused.endpoint as LimitedEndpoint;
  if (sentAt - startedAt <= minuteMs) return true;
  const recent = log.filter(
    (each) =>
      each.endpoint === endpoint &&
      each.caller.account === caller.account &&
      each.sentAt > sentAt - explainsForMs,
  );
  const bucket = {
    endpoint,
    limit: limitOf(endpoint),
    isOfAddress: false,
    exchanges: decidedBy(recent, refused.answeredAt),
    knownSince: Math.max(startedAt, sentAt - explainsForMs),
    hasExactTimes: false,
    spanErrorMs: 0,
    ahead,
  };
  return unexplained(bucket) === undefined;
}

/** A failure of LIMIT-1 to LIMIT-3: the service refuses more than its limit of a minute does. */
function brokenLimit({ endpoint, reply }: Exchange, times: number): Result {
  const subject = ruleOfLimit[endpoint as SendEndpoint];
  return {
    id: `${subject}/room-in-the-minute`,
    subject,
    kind: 'rule',
    verdict: 'failed',
    sends: 'nothing: it looks at all 429s of the run, and at the statistics',
    expected: 'no 429 while this run leaves room in its minute',
    actual: `${counted(times, 'send')} answered 429, and the statistics count no message of another client`,
    exercised: 1,
    durationMs: 0,
    exchanges: [reply.exchange],
    broken: reply.exchange,
    omitted: 0,
  };
}

/** A notice if this process stood still during the run: times from then on prove nothing. */
export function slowMachine({ client }: Target): Result | undefined {
  const { times, longestMs } = client.lag;
  if (times === 0) return undefined;
  const longest = (longestMs / 1_000).toFixed(1);
  return notice(
    'LIMIT-7/slow-machine',
    'it measures how late the harness itself is',
    `this machine is too busy: the harness stood still ${counted(times, 'time')} for a second or longer, at most for ${longest} s. No limit was judged by what it measured meanwhile; run it again on a quieter machine`,
  );
}

function notice(id: `LIMIT-7/${string}`, looksAt: string, reason: string): Result {
  return {
    id,
    subject: 'LIMIT-7',
    kind: 'rule',
    verdict: 'notice',
    reason,
    sends: `nothing: ${looksAt}`,
    exercised: 0,
    durationMs: 0,
    exchanges: [],
    omitted: 0,
  };
}
