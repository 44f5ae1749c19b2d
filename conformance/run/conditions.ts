/**
 * The conditions under which a run means something: the target answers, its answers can be those of
 * the service, and no other client uses the account.
 */
import { messagesOfOthers } from '#judging/limiter/other-traffic.ts';
import type { Result } from '#judging/report/result.ts';
import { Lacking } from '#judging/service/expectations.ts';
import { timedOut } from '../target/connections.ts';
import { ControlFailed } from '../target/control.ts';
import type { Target } from '../target/target.ts';
import { paths, Trial, unknownId } from './case-run.ts';

/** A target that breaks one connection of seven is reachable. */
const mostAttempts = 6;

/** The reason if the target sends no HTTP reply in several tries; undefined if it sends one. */
export async function failureOf(target: Target): Promise<string | undefined> {
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
    if (failure === timedOut) break;
  }
  return failure;
}

/**
 * True if a request with a key, one without a key and one for an unknown message get the same
 * status: such a target is not the service.
 */
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

/** A notice if another client seems to use the account; one, however many cases it disturbs. */
export function otherTraffic({ log, unexplained429s }: Target): Result | undefined {
  const messages = messagesOfOthers(log) ?? 0;
  const throttled = unexplained429s.size;
  const signs: string[] = [];
  if (messages > 0)
    signs.push(`statistics count at least ${messages} messages that this run did not send`);
  if (throttled > 0)
    signs.push(`${throttled} requests were answered 429 although this run had left room for them`);
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
