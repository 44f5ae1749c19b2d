/** CLIENT-5, CLIENT-8, CLIENT-9, CLIENT-10: what becomes of an intent, and what is said of it. */
import {
  type Exchange,
  isAccepted,
  isSend,
  isUnresolved,
  messageIdOf,
  requestIdOf,
} from './exchange.ts';
import { type Intent, lastOf } from './intents.ts';
import type { Report } from './intents-file.ts';
import {
  type ClientRecord,
  consecutive,
  type Finding,
  finding,
  type Judgement,
  type Judges,
} from './record.ts';

export const outcomes: Judges = {
  'CLIENT-5': sendsOnce,
  'CLIENT-8': acceptsRefusals,
  'CLIENT-9': givesNothingUp,
  'CLIENT-10': reportsTruthfully,
};

const refusedForGood: readonly number[] = [400, 401, 402, 403, 404];

function sendsOnce({ intents }: ClientRecord): Judgement {
  const judged = intents.all.filter(({ isAttributable }) => isAttributable);
  const findings = judged.flatMap(({ attempts }) => {
    const accepted = new Map<string, Exchange>();
    for (const one of attempts) {
      const id = messageIdOf(one);
      if (isAccepted(one) && id !== undefined && !accepted.has(id)) accepted.set(id, one);
    }
    if (accepted.size < 2) return [];
    return [
      finding(
        `one message was accepted ${accepted.size} times (${[...accepted.keys()].join(', ')}): retry under the same request_id, within 24 h`,
        ...accepted.values(),
      ),
    ];
  });
  return { exercised: judged.length, findings };
}

function acceptsRefusals({ exchanges }: ClientRecord): Judgement {
  const isFinal = ({ status, isSeen }: Exchange) => isSeen && refusedForGood.includes(status);
  const repeats = [
    ...consecutive(
      exchanges,
      ({ caller, method, target, text }) => `${caller}\n${method}\n${target}\n${text}`,
    ),
  ].filter(([refused, later]) => isFinal(refused) && !isNextMonth(refused, later));
  return {
    exercised: exchanges.filter(isFinal).length,
    findings: repeats.map(([refused, again]) =>
      finding(
        `the same request came again after a ${refused.status}, which is final: correct the request, or stop`,
        refused,
        again,
      ),
    ),
  };
}

/** A quota starts again. */
function isNextMonth(refused: Exchange, later: Exchange): boolean {
  const monthOf = ({ atMs }: Exchange) => new Date(atMs).toISOString().slice(0, 7);
  return refused.status === 402 && monthOf(refused) !== monthOf(later);
}

function givesNothingUp({ intents, isPartial, reports }: ClientRecord): Judgement {
  if (isPartial) return { exercised: 0, findings: [] };
  const met = intents.all.filter((one) => one.isAttributable && one.attempts.some(isUnresolved));
  const open = met.filter((intent) => !isSettled(intent) && !isReportedFailed(intent, reports));
  return {
    exercised: met.length,
    findings: open.map((intent) => {
      const last = lastOf(intent);
      const cause = last.isSeen ? `a ${last.status}` : 'a reply that the client did not see';
      return finding(
        `the message was given up after ${cause}: retry it under the same request_id, or report it as failed`,
        last,
      );
    }),
  };
}

/** The client knows what became of it: it saw an acceptance, or a refusal for good. */
function isSettled(intent: Intent): boolean {
  return (
    intent.attempts.some((one) => one.isSeen && isAccepted(one)) || !isUnresolved(lastOf(intent))
  );
}

function isReportedFailed(intent: Intent, reports: ClientRecord['reports']): boolean {
  return (reports ?? []).some((report) => report.reported === 'failed' && isOf(report, intent));
}

function reportsTruthfully({ exchanges, intents, isPartial, reports }: ClientRecord): Judgement {
  const said = (reports ?? []).filter(({ reported }) => reported !== undefined);
  if (isPartial) return { exercised: 0, findings: [] };
  return {
    exercised: said.length,
    findings: said.flatMap((report) => untruth(report, intents.all, exchanges)),
  };
}

function untruth(
  report: Report,
  all: readonly Intent[],
  exchanges: readonly Exchange[],
): readonly Finding[] {
  const attempts = all.filter((intent) => isOf(report, intent)).flatMap((one) => one.attempts);
  const accepted = attempts.filter(isAccepted);
  if (report.reported === 'accepted') {
    if (accepted.length > 0) return [];
    const what = `${report.intent} was reported as accepted, but the service accepted no such message: report what the reply says`;
    return [finding(what, ...attempts)];
  }
  const sent = accepted.filter((one) => !hasFailed(messageIdOf(one), exchanges));
  if (sent.length === 0) return [];
  const what = `${report.intent} was reported as failed, but the service accepted it: retry under the same request_id to learn what became of it`;
  return [finding(what, ...sent)];
}

/** The last status that the client read of the message is `failed`. */
function hasFailed(messageId: string | undefined, exchanges: readonly Exchange[]): boolean {
  const read = exchanges.findLast(
    (one) => one.endpoint === 'read' && messageIdOf(one) === messageId && one.status === 200,
  );
  return read?.reply?.['status'] === 'failed';
}

/** By `request_id` where both have one, else by content. */
function isOf(report: Report, { attempts }: Intent): boolean {
  return attempts.some((one) => {
    if (!isSend(one)) return false;
    const id = requestIdOf(one);
    if (report.request_id !== undefined && id !== undefined) return report.request_id === id;
    const { to, from, from_number: alias, message } = one.body ?? {};
    return to === report.to && (from ?? alias) === report.from && message === report.message;
  });
}
