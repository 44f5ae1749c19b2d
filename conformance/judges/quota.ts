/**
 * Judges the monthly quota of accounts whose quota is known. Rule: ERR-1. `quotaMonth` leaves open
 * when it starts again, so a message counts for certain only within both of its answers.
 */
import * as verify from '../verify.ts';
import { type Exchange, isAccepted, isMessageSend, isSend } from './exchange.ts';
import type { Judge, Trace } from './judge.ts';
import { earlierUse, judgeNotQueued } from './replay.ts';
import { validityOf } from './validity.ts';

const monthMs = 30 * 86_400_000;
/** So few in all that no limit per minute explains a 429. */
const fewSends = 100;

/** The messages of the account that count for this send: certainly, and perhaps. */
function countedFor({ log }: Trace, send: Exchange): { certain: number; possible: number } {
  const now = new Date(send.sentAt);
  const starts = [Date.UTC(now.getUTCFullYear(), now.getUTCMonth()), send.sentAt - monthMs];
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
    certain: since(Math.max(...starts)).filter(isBefore).length,
    possible: since(Math.min(...starts)).length,
  };
}

const quotas: Judge = (trace, findings) => {
  for (const send of trace.exchanges) {
    const { caller, reply, sender } = send;
    const { quota } = caller;
    const { invalid, open } = validityOf(send, trace.hasExactTimes);
    const isOther = !isMessageSend(send) || reply.status === 0 || earlierUse(trace, send);
    if (isOther || quota === undefined || invalid.length + open.length > 0) continue;
    const { certain, possible } = countedFor(trace, send);
    if (reply.status === 402) {
      findings.judge([send], () => {
        verify.refused(reply, 402, 'quota_exceeded');
        verify.that(possible >= quota, `no 402 before ${quota} messages`, `402 after ${possible}`);
      });
      continue;
    }
    const isExplained = !trace.hasExactTimes || trace.log.filter(isSend).length > fewSends;
    const isThrottled = reply.status === 429 && isExplained;
    if (certain < quota || sender?.is === 'inactive' || isThrottled) {
      findings.require([send], () => {
        if (sender?.is === 'own' && certain < quota && !isThrottled) verify.accepted(reply);
      });
    } else if (reply.status === 403)
      findings.lack('--exhausted-from, as that account may not send from --from');
    else findings.judge([send], () => verify.refused(reply, 402, 'quota_exceeded'));
  }
  judgeNotQueued(trace, findings, [402]);
};

export const quotaJudges = { 'ERR-1': quotas } as const;
