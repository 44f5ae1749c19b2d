/** CLIENT-5, CLIENT-8, CLIENT-9: what became of an intent, and what its client did about it. */
import {
  consecutive,
  type Exchange,
  firstAcceptances,
  isAccepted,
  isUnresolved,
  messageIdOf,
  refusedForGood,
  wasKnownTo,
} from './exchange.ts';
import { clearAttempts, type Intent, isAttributable, lastOf } from './intents.ts';
import {
  type ClientRecord,
  type Finding,
  finding,
  type Judgement,
  type Judges,
  judgement,
  notExercised,
} from './record.ts';
import { ReportedIntents } from './reported-intents.ts';

export const outcomes: Judges = {
  'CLIENT-5': sendsOnce,
  'CLIENT-8': acceptsRefusals,
  'CLIENT-9': givesNothingUp,
};

function sendsOnce({ intents }: ClientRecord): Judgement {
  const judged = intents.all.map(clearAttempts).filter(({ length }) => length > 0);
  return judgement(
    judged.map(firstAcceptances),
    ({ length }) => length > 1,
    (accepted) => {
      const ids = accepted.map((one) => messageIdOf(one) ?? 'no message_id').join(', ');
      const what = `one message was accepted ${accepted.length} times (${ids}): retry under the same request_id, within 24 h`;
      return finding(what, accepted);
    },
  );
}

function acceptsRefusals({ exchanges }: ClientRecord): Judgement {
  const isFinal = ({ status, isSeen }: Exchange) => isSeen && refusedForGood.includes(status);
  const exercised = exchanges.filter(isFinal).length;
  if (exercised === 0) return notExercised;
  const isRepeat = ([refused, later]: readonly [Exchange, Exchange]) =>
    isFinal(refused) &&
    wasKnownTo(later, refused) &&
    !isNextMonth(refused, later) &&
    // A later success shows that the cause of the refusal was corrected.
    !(later.status >= 200 && later.status < 300);
  const sameRequests = consecutive(exchanges, ({ caller, credential, method, target, text }) =>
    [caller, credential, method, target, text].join('\n'),
  );
  const findings = [...sameRequests].filter(isRepeat).map(([refused, again]) => {
    const what = `the same request came again after a ${refused.status}, which is final: correct the request, or stop`;
    return finding(what, [refused, again]);
  });
  return { exercised, findings };
}

/** The month of the later request has a quota of its own. */
function isNextMonth(refused: Exchange, later: Exchange): boolean {
  const monthOf = ({ atMs }: Exchange) => new Date(atMs).toISOString().slice(0, 7);
  return refused.status === 402 && monthOf(refused) !== monthOf(later);
}

function givesNothingUp({ intents, isPartial, reports = [] }: ClientRecord): Judgement {
  if (isPartial) return notExercised;
  const unresolved = intents.all.filter(
    (intent) => isAttributable(intent) && intent.attempts.some(isUnresolved),
  );
  const reportsOfOutcomes = reports.filter(({ reported }) => reported !== undefined);
  const reported = new Set(
    reportsOfOutcomes.length === 0
      ? []
      : new ReportedIntents(intents.all, reports).of(reportsOfOutcomes),
  );
  const isGivenUp = (intent: Intent) => !isSettled(intent) && !reported.has(intent);
  return judgement(unresolved, isGivenUp, givenUpFinding);
}

/** True if the client saw an acceptance or a final refusal. */
function isSettled(intent: Intent): boolean {
  const sawAcceptance = intent.attempts.some((attempt) => attempt.isSeen && isAccepted(attempt));
  return sawAcceptance || !isUnresolved(lastOf(intent));
}

function givenUpFinding(intent: Intent): Finding {
  const last = lastOf(intent);
  const cause = last.isSeen ? `a ${last.status}` : 'a reply that the client did not see';
  return finding(
    `the message was given up after ${cause}: retry it under the same request_id, or report it as failed, ` +
      'in the intents file (--intents FILE) or in toPassReferee({ intents })',
    [last],
  );
}
