/**
 * Judges the monthly quota of accounts whose quota is known. Rule: ERR-1. `quotaMonth` leaves open
 * when it starts again, so a message counts for certain only within both of its answers.
 */
import * as verify from '../verify.ts';
import { type Exchange, isAccepted, isMessageSend, isSend } from './exchange.ts';
import type { Judge, Trace } from './judge.ts';
import { earlierUse, notQueued } from './replay.ts';
import { validityOf } from './validity.ts';

const monthMs = 30 * 86_400_000;
/** So few in all that no limit per minute explains a 429. */
const fewSends = 100;

/** The messages of the account that count for this send: certainly, and perhaps. */
function countedFor({ log }: Trace, one: Exchange): { certain: number; possible: number } {
  const now = new Date(one.sentAt);
  const starts = [Date.UTC(now.getUTCFullYear(), now.getUTCMonth()), one.sentAt - monthMs];
  const accepted = log.filter(
    (other) =>
      other !== one &&
      isSend(other) &&
      (isAccepted(other) || other.reply.status === 0) &&
      other.caller.account === one.caller.account &&
      other.sentAt <= one.answeredAt,
  );
  const since = (start: number) => accepted.filter(({ sentAt }) => sentAt >= start);
  const isBefore = (other: Exchange) =>
    isAccepted(other) && other.answeredAt <= one.sentAt && log.indexOf(other) < log.indexOf(one);
  return {
    certain: since(Math.max(...starts)).filter(isBefore).length,
    possible: since(Math.min(...starts)).length,
  };
}

const quotas: Judge = (trace, findings) => {
  for (const one of trace.exchanges) {
    const { caller, reply, sender } = one;
    const { quota } = caller;
    const { invalid, open } = validityOf(one, trace.hasExactTimes);
    const isOther = !isMessageSend(one) || reply.status === 0 || earlierUse(trace, one);
    if (isOther || quota === undefined || invalid.length + open.length > 0) continue;
    const { certain, possible } = countedFor(trace, one);
    if (reply.status === 402) {
      findings.judge([one], () => {
        verify.refused(reply, 402, 'quota_exceeded');
        verify.that(possible >= quota, `no 402 before ${quota} messages`, `402 after ${possible}`);
      });
      continue;
    }
    const isExplained = !trace.hasExactTimes || trace.log.filter(isSend).length > fewSends;
    const isThrottled = reply.status === 429 && isExplained;
    if (certain < quota || sender?.is === 'inactive' || isThrottled) {
      findings.require([one], () => {
        if (sender?.is === 'own' && certain < quota && !isThrottled) verify.accepted(reply);
      });
    } else if (reply.status === 403)
      findings.lack('--exhausted-from, as that account may not send from --from');
    else findings.judge([one], () => verify.refused(reply, 402, 'quota_exceeded'));
  }
  notQueued(trace, findings, [402]);
};

export const quotaJudges = { 'ERR-1': quotas } as const;
