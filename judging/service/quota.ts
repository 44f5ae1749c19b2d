/**
 * Judges the monthly quota of accounts whose quota is known. Rule: ERR-1. `quotaMonth` leaves open
 * when the count starts again, so a message counts for certain only if both answers count it.
 */
import { dayMs } from '#contract/time.ts';
import { type Exchange, isAccepted, isMessageSend, isSend } from '../evidence/exchange.ts';
import type { Reply } from '../evidence/reply.ts';
import * as verify from './expectations.ts';
import type { Findings, Trace } from './judge.ts';
import { earlierUse, judgeNotQueued } from './replay.ts';
import { validityOf } from './validity.ts';

export const quotaJudges = { 'ERR-1': judgeQuotas } as const;

function judgeQuotas(trace: Trace, findings: Findings): void {
  for (const send of trace.exchanges) {
    const { quota } = send.caller;
    if (quota === undefined) continue;
    const { invalid, open } = validityOf(send, trace);
    const isNewMessage = isMessageSend(send) && earlierUse(trace, send) === undefined;
    const isValid = invalid.length + open.length === 0;
    if (isNewMessage && isValid && send.reply.status !== 0) judgeSend(trace, send, quota, findings);
    // The document shows the code of one endpoint, but the others queue no message beyond it either,
    // nor does a send that might have been refused.
    else if (isAccepted(send) && (isNewMessage || (isSend(send) && !isMessageSend(send)))) {
      const isWithin = countedFor(trace, send).certain < quota;
      findings.alsoRequireThat([send], isWithin, `no message beyond a quota of ${quota}`);
    }
    if (send.method === 'GET')
      findings.alsoRequireThat([send], send.reply.status !== 402, 'no 402 for a GET');
  }
  judgeNotQueued(trace, findings, [402]);
}

/** Up to this number of sends in all, no limit per minute explains a 429. */
const fewSends = 100;
/** A limit per minute asks for no longer wait (ERR-3). */
const longestWaitSeconds = 61;
const senderCodes = ['from_number_not_found', 'from_number_access_deniedd'];

function judgeSend(trace: Trace, send: Exchange, quota: number, findings: Findings): void {
  const { reply, sender } = send;
  const { certain, possible } = countedFor(trace, send);
  const isWithin = certain < quota;
  const mayBeThrottled = !trace.hasExactTimes || trace.log.filter(isSend).length > fewSends;
  // A 429 with a longer wait, or without one, is a wrong answer to a spent quota.
  const waitSeconds = verify.waitIn(reply);
  const isThrottled =
    mayBeThrottled && waitSeconds !== undefined && waitSeconds <= longestWaitSeconds;
  if (reply.status === 402) {
    findings.judge([send], () => {
      verify.refused(reply, 402, 'quota_exceeded');
      verify.that(possible >= quota, `no 402 before ${quota} messages`, `402 after ${possible}`);
    });
  } else if (isWithin && sender?.is === 'own' && !isThrottled)
    findings.alsoRequire([send], () => void verify.accepted(reply));
  // Another reply than 402 may have a cause that comes before the quota.
  else if (isWithin || sender?.is === 'inactive' || isThrottled) return;
  else if (reply.status === 403 && sender?.is !== 'own' && refusesSender(reply))
    findings.lack('--exhausted-from, as that account may not send from --from');
  else findings.judge([send], () => verify.refused(reply, 402, 'quota_exceeded'));
}

/** True if the reply refuses the number rather than the quota. */
function refusesSender(reply: Reply): boolean {
  const code = verify.codeOf(reply) ?? '';
  return senderCodes.some((known) => verify.isNear(code, known));
}

/** The messages of the account that count against the quota for this send. */
function countedFor({ log }: Trace, send: Exchange): { certain: number; possible: number } {
  const now = new Date(send.sentAt);
  const monthStarts = [Date.UTC(now.getUTCFullYear(), now.getUTCMonth()), send.sentAt - 30 * dayMs];
  const accepted = log.filter(
    (other) =>
      other !== send &&
      isSend(other) &&
      (isAccepted(other) || other.reply.status === 0) &&
      other.caller.account === send.caller.account &&
      other.sentAt <= send.answeredAt,
  );
  const since = (start: number) => accepted.filter(({ sentAt }) => sentAt >= start);
  const isBefore = (other: Exchange) =>
    isAccepted(other) && other.answeredAt <= send.sentAt && log.indexOf(other) < log.indexOf(send);
  return {
    certain: since(Math.max(...monthStarts)).filter(isBefore).length,
    possible: since(Math.min(...monthStarts)).length,
  };
}
