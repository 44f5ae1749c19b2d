/** CLIENT-5, CLIENT-8, CLIENT-9: the outcome of each intent, and how its client reacted to it. */
import { isSend, requestIdOf } from '../evidence/exchange.ts';
import { ReportedIntents } from './client-10-reports.ts';
import {
  areADayApart,
  type ClientExchange,
  consecutive,
  firstAcceptances,
  isAccepted,
  isUnresolved,
  mayBeAccepted,
  messageIdOf,
  readIdOf,
  refusedForGood,
  statusIn,
  unrecorded,
  wasKnownTo,
} from './exchange.ts';
import {
  attributableAttempts,
  type ClientRecord,
  type Finding,
  finding,
  type Intent,
  isAttributable,
  type Judgement,
  type Judges,
  judgement,
  lastAttempt,
  type Notice,
  notExercised,
} from './record.ts';

export const outcomes = {
  'CLIENT-5': sendsOnce,
  'CLIENT-8': acceptsRefusals,
  'CLIENT-9': givesUpNoIntent,
} satisfies Judges;

function sendsOnce({ intents, reads }: ClientRecord): Judgement {
  const judged = intents.all.map(attributableAttempts).filter(({ length }) => length > 0);
  const failedReads = new Map<string, ClientExchange>();
  for (const read of reads) {
    if (![unrecorded, 'failed'].includes(statusIn(read))) continue;
    // A message whose id is not recorded may be any that was read.
    for (const id of ['', readIdOf(read)]) if (!failedReads.has(id)) failedReads.set(id, read);
  }
  const wasRepeatable = (earlier: ClientExchange, later: ClientExchange) => {
    const id = earlier.lacksBody ? '' : messageIdOf(earlier);
    const read = id === undefined ? undefined : failedReads.get(id);
    return read !== undefined && wasKnownTo(later, read);
  };
  const notices: Notice[] = [];
  const judgedSends = judgement(
    judged.map((attempts) => {
      const accepted = firstAcceptances(attempts);
      if (accepted.length < 2) return accepted;
      return accepted.filter((one, index) => {
        const earlier = accepted.slice(0, index);
        const original = earlier.find((other) => isBrokenReplay(other, one));
        if (original !== undefined) notices.push(brokenReplayNotice(original, one));
        const isResent = index > 0 && earlier.every((other) => wasRepeatable(other, one));
        return original === undefined && !isResent;
      });
    }),
    ({ length }) => length > 1,
    (accepted) => {
      const ids = accepted.map((one) => messageIdOf(one) ?? 'no message_id').join(', ');
      const what = `one message was accepted ${accepted.length} times (${ids}): retry under the same request_id, within 24 h`;
      return finding(what, accepted);
    },
  );
  return { ...judgedSends, notices };
}

/** True if the service accepted one id of one caller again within a day: its fault (SEND-4). */
function isBrokenReplay(original: ClientExchange, later: ClientExchange): boolean {
  return (
    later.reply.status === 202 &&
    requestIdOf(original) !== undefined &&
    requestIdOf(original) === requestIdOf(later) &&
    original.caller.name === later.caller.name &&
    original.endpoint === later.endpoint &&
    !areADayApart(original, later)
  );
}

function brokenReplayNotice(original: ClientExchange, later: ClientExchange): Notice {
  const what = `the service accepted request_id ${requestIdOf(later)} twice within 24 hours (SEND-4): that is no fault of the client`;
  return { what, exchanges: [original, later] };
}

function acceptsRefusals({ exchanges }: ClientRecord): Judgement {
  const isFinal = ({ reply, isSeen, method, body, lacksBody }: ClientExchange) => {
    const isRequestKnown = method === 'GET' || body !== '' || !lacksBody;
    return isSeen && refusedForGood.includes(reply.status) && isRequestKnown;
  };
  const refusals = exchanges.filter(isFinal);
  if (refusals.length === 0) return notExercised;
  const isRepeat = ([refused, later]: readonly [ClientExchange, ClientExchange]) =>
    isFinal(refused) &&
    wasKnownTo(later, refused) &&
    !isNextMonth(refused, later) &&
    // A later success shows that the cause of the refusal was corrected.
    !(later.reply.status >= 200 && later.reply.status < 300);
  // Most requests have a target that was never refused, so no key is made of them.
  const refusedTargets = new Set(refusals.map(({ target }) => target));
  const sameRequests = consecutive(exchanges, (one) =>
    refusedTargets.has(one.target) ? requestKeyOf(one) : undefined,
  );
  const findings = [...sameRequests].filter(isRepeat).map(([refused, again]) => {
    const what = `the same request came again after a ${refused.reply.status}, which is final: correct the request, or stop`;
    return finding(what, [refused, again]);
  });
  return { exercised: refusals.length, findings };
}

/** Equal for requests that say the same, however their JSON is written. */
function requestKeyOf({ caller, method, target, headers, fields, body }: ClientExchange): string {
  const said = fields === undefined ? body : Object.entries(fields).sort();
  return JSON.stringify([
    caller.name,
    caller.credential,
    method,
    target,
    headers['content-type'],
    said,
  ]);
}

/** True if the quota was renewed since the refusal: the later request came in another month. */
function isNextMonth(refused: ClientExchange, later: ClientExchange): boolean {
  const monthOf = ({ sentAt }: ClientExchange) => new Date(sentAt).toISOString().slice(0, 7);
  return refused.reply.status === 402 && monthOf(refused) !== monthOf(later);
}

function givesUpNoIntent(record: ClientRecord): Judgement {
  const { intents, isPartial, reports = [], exchanges } = record;
  if (isPartial) return notExercised;
  const unresolved = intents.all.filter(
    (intent) => isAttributable(intent) && intent.attempts.some(isUnresolved),
  );
  const ended = reports.filter(({ reported }) => reported !== undefined);
  const all = ended.length === 0 ? undefined : new ReportedIntents(intents.all, reports);
  const intentsOf = (isUnknown: boolean) =>
    new Set(all?.of(ended.filter(({ reported }) => (reported === 'unknown') === isUnknown)));
  const [reported, unknown] = [intentsOf(false), intentsOf(true)];
  // A client that saw each reply knows what became of its message.
  const isUnknown = (intent: Intent) =>
    unknown.has(intent) && intent.attempts.some(({ isSeen }) => !isSeen);
  const isGivenUp = (intent: Intent) =>
    !isSettled(intent) && !reported.has(intent) && !isUnknown(intent);
  const lastSends = new Map<unknown, ClientExchange>();
  for (const send of unresolved.length === 0 ? [] : exchanges)
    if (isSend(send)) lastSends.set(send.fields?.['to'], send);
  return judgement(unresolved, isGivenUp, (intent) => givenUpFinding(intent, lastSends));
}

/** True if the client saw an acceptance or a final refusal. */
function isSettled(intent: Intent): boolean {
  const sawAcceptance = intent.attempts.some((attempt) => attempt.isSeen && isAccepted(attempt));
  return sawAcceptance || !isUnresolved(lastAttempt(intent));
}

/** `lastSends`: the last send to each recipient. */
function givenUpFinding(intent: Intent, lastSends: ReadonlyMap<unknown, ClientExchange>): Finding {
  const last = lastAttempt(intent);
  const unseen = last.isGarbled
    ? 'a reply whose body was garbled'
    : 'a reply that did not reach the client whole';
  const cause = last.isSeen ? `a ${last.reply.status}` : unseen;
  const similar = last.fields && lastSends.get(last.fields['to']);
  const accepted = isAccepted(last) ? 'it was accepted' : 'it may have been accepted';
  const twice =
    !mayBeAccepted(last) || similar === undefined || similar.number <= last.number
      ? ''
      : `; ${accepted}, and exchange ${similar.number} is a similar send to the same recipient: if both are one message, it was sent twice`;
  const isAllSeen = intent.attempts.every(({ isSeen }) => isSeen);
  const report = isAllSeen
    ? 'failed (unknown is for a reply that it did not see)'
    : 'failed or unknown';
  return finding(
    `the message was given up after ${cause}${twice}: retry it under the same request_id, or report it as ${report} ` +
      'in a line of its own: --intents FILE, SMSTWIN_INTENTS, the control port or toPassReferee({ intents })',
    [last],
  );
}
