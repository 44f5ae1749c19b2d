/**
 * CLIENT-3, CLIENT-4, CLIENT-6, CLIENT-7: how a client uses `request_id`. CLIENT-8: it does not
 * repeat a request that was refused for good. CLIENT-15: no body causes a 400. CLIENT-16: a key is
 * in the `Authorization` header alone.
 */
import { dayMs } from '#contract/time.ts';
import { grouped } from '#io/grouped.ts';
import { bodyOf, requestIdOf } from '../evidence/exchange.ts';
import { isSuccess } from '../evidence/reply.ts';
import {
  areADayApart,
  type ClientExchange,
  consecutive,
  isInFlight,
  isRefusal,
  isUnresolved,
  mayBeAccepted,
  recipientAndTextOf,
  recipientOf,
  refusedForGood,
  wasKnownTo,
} from './exchange.ts';
import { IntentNames } from './intent-names.ts';
import {
  type ClientRecord,
  finding,
  type Intent,
  type Judgement,
  type Judges,
  judgement,
  notExercised,
  spanText,
} from './record.ts';

export const requests = {
  'CLIENT-3': keepsItsId,
  'CLIENT-4': givesAnId,
  'CLIENT-6': reusesNoId,
  'CLIENT-7': retriesWithinADay,
  'CLIENT-8': acceptsRefusals,
  'CLIENT-15': sendsValidBodies,
  'CLIENT-16': keepsItsKey,
} satisfies Judges;

function keepsItsId({ intents, unclear }: ClientRecord): Judgement {
  return judgement(
    intents.all.flatMap(retriesOfUncertain).filter((pair) => !unclear.mayDecide(...pair)),
    ([earlier, retry]) => requestIdOf(earlier) !== requestIdOf(retry),
    ([earlier, retry]) => {
      const id = requestIdOf(retry);
      const change =
        id === undefined ? 'carries no request_id' : `carries the new request_id ${id}`;
      const cause = earlier.isSeen ? `a ${earlier.reply.status}` : 'a reply that it did not see';
      const first = requestIdOf(earlier);
      const look = looksOf(first) === looksOf(id) ? ', which only looks the same' : '';
      return finding(
        `the retry after ${cause} ${change} instead of ${first}${look}: keep the id of the message, or it can be sent twice`,
        [earlier, retry],
      );
    },
  );
}

/** Equal for ids that a reader can hardly tell apart: the service compares each character. */
function looksOf(id: string | undefined): string | undefined {
  return id?.normalize().trim();
}

/**
 * Each attempt with the latest uncertain one before it: the service may have queued that although
 * the client saw no acceptance. It is settled by a later reply to one with the same key: an
 * acceptance, or a refusal other than a 429, which the service gives before it looks for the id.
 */
function retriesOfUncertain({ attempts }: Intent) {
  const retries: (readonly [uncertain: ClientExchange, retry: ClientExchange])[] = [];
  if (attempts.length < 2) return retries;
  let uncertain: { readonly attempt: ClientExchange; readonly key: string }[] = [];
  for (const attempt of attempts) {
    const earlier = uncertain.findLast((one) => !isInFlight(one.attempt, attempt));
    if (earlier !== undefined) retries.push([earlier.attempt, attempt]);
    const id = requestIdOf(attempt);
    if (id === undefined || (attempt.isSeen && attempt.reply.status === 429)) continue;
    const key = `${attempt.caller.name}\n${id}\n${recipientAndTextOf(attempt)}`;
    if (isUnresolved(attempt) && !isRefusal(attempt)) uncertain.push({ attempt, key });
    else uncertain = uncertain.filter((one) => one.key !== key);
  }
  return retries;
}

/** A finding on CLIENT-4 lists this many sends at most. */
const shownSends = 20;

function givesAnId(record: ClientRecord): Judgement {
  const sends = record.sends.filter(({ fields }) => fields !== undefined);
  const groups = grouped(sends, ({ caller, endpoint }) => `${caller.name} ${endpoint}`);
  const findings = [...groups.values()].flatMap((all) => {
    const without = all.filter(lacksId);
    const cut = without.length > shownSends ? ` (here are the first ${shownSends})` : '';
    const what = `${without.length} of ${all.length} sends carry no request_id${cut}: give each message one, so that a lost reply can be retried safely`;
    return without.length === 0 ? [] : [finding(what, without.slice(0, shownSends))];
  });
  return { exercised: sends.length, findings };
}

/** False also for an id that is no text: a service may take its text (`typeCoercion`). */
function lacksId({ fields }: ClientExchange): boolean {
  return (fields?.['request_id'] ?? '') === '';
}

function reusesNoId({ sends, intents }: ClientRecord): Judgement {
  const named = sends.filter((send) => requestIdOf(send) !== undefined);
  // Without a key, a send that was accepted all the same may be another account's.
  const reuses = intents.reuses.filter(
    ({ second: { caller, reply } }) => caller.account !== undefined || reply.status !== 202,
  );
  const findings = reuses.map(({ first, second }) => {
    const fate = second.reply.status === 202 ? 'was sent all the same' : 'was not sent';
    const what = `the request_id ${requestIdOf(second)} was used ${spanText(second.sentAt - first.sentAt)} before for another message: this one ${fate}; give each message an id of its own`;
    return finding(what, [first, second]);
  });
  return { exercised: named.length, findings };
}

function retriesWithinADay(record: ClientRecord): Judgement {
  const { exchanges, intents, unclear, isCutAtStart } = record;
  // An acceptance before the record may end an intent up to a day after the record begins.
  const knownFromMs = isCutAtStart ? (exchanges[0]?.sentAt ?? 0) + dayMs : 0;
  const pairs = intents.all
    .flatMap(retriesOfKnownIds)
    .filter((pair) => pair[0].sentAt >= knownFromMs && !unclear.mayDecide(...pair));
  return judgement(
    pairs,
    (pair) => areADayApart(...pair),
    ([first, retry]) => {
      const what = `the request_id ${requestIdOf(retry)} is ${spanText(retry.sentAt - first.sentAt)} old: the service has forgotten it after 24 h and may send the message again; look up what became of it instead`;
      return finding(what, [first, retry]);
    },
  );
}

/** Each attempt whose id the service may know from earlier, with the first attempt of that id. */
function retriesOfKnownIds({ attempts }: Intent) {
  const retries: (readonly [first: ClientExchange, retry: ClientExchange])[] = [];
  if (attempts.length < 2) return retries;
  const firstOf = new Map<string, ClientExchange>();
  for (const attempt of attempts) {
    const id = requestIdOf(attempt);
    if (id === undefined) continue;
    const key = `${id}\n${recipientAndTextOf(attempt)}`;
    const first = firstOf.get(key);
    if (first !== undefined) retries.push([first, attempt]);
    // After a final refusal no message is known under the id, so a later send is not a retry.
    if (refusedForGood.includes(attempt.reply.status)) firstOf.delete(key);
    // A 202 shows that the service knew no message under the id before.
    else if (attempt.reply.status === 202 || (first === undefined && mayBeAccepted(attempt)))
      firstOf.set(key, attempt);
  }
  return retries;
}

function acceptsRefusals({ exchanges, unclear, reports }: ClientRecord): Judgement {
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
    !unclear.areBetween(refused, later) &&
    // Another id may be a correction, if the answer is another one.
    (haveSameId(refused, later) || refused.reply.status === later.reply.status) &&
    // A later success shows that the cause of the refusal was corrected.
    !isSuccess(later.reply);
  // Most requests have another target or recipient than any refused one: no key is made of them.
  const refusedTargets = new Set(refusals.map(({ target }) => target));
  const refusedRecipients = new Set(refusals.map(recipientOf));
  const names = new IntentNames(reports);
  const sameRequests = consecutive(exchanges, (one) =>
    refusedTargets.has(one.target) && refusedRecipients.has(recipientOf(one))
      ? requestKeyOf(one, names)
      : undefined,
  );
  const findings = [...sameRequests].filter(isRepeat).map(([refused, again]) => {
    const under = haveSameId(refused, again) ? '' : ' under another request_id';
    const what = `the same request came again${under} after a ${refused.reply.status}, which is final: correct the request, or stop`;
    return finding(what, [refused, again]);
  });
  return { exercised: refusals.length, findings };
}

function haveSameId(one: ClientExchange, other: ClientExchange): boolean {
  return requestIdOf(one) === requestIdOf(other);
}

/**
 * Equal for requests that say the same, however their JSON is written, and under whatever id: but
 * two that the client's file gives different names are two messages.
 */
function requestKeyOf(one: ClientExchange, names: IntentNames): string {
  const { caller, method, target, headers, fields, body } = one;
  const id = requestIdOf(one);
  const intent = id === undefined ? undefined : names.of(one, id);
  const named =
    fields &&
    Object.entries({ ...fields, request_id: intent }).sort(([a], [b]) => (a < b ? -1 : 1));
  const said = named === undefined ? body : JSON.stringify(named);
  const { name, credential } = caller;
  return [name, credential, method, target, headers['content-type'], said].join('\n');
}

/** True if the quota was renewed since the refusal: the later request came in another month. */
function isNextMonth(refused: ClientExchange, later: ClientExchange): boolean {
  const monthOf = ({ sentAt }: ClientExchange) => new Date(sentAt).toISOString().slice(0, 7);
  return refused.reply.status === 402 && monthOf(refused) !== monthOf(later);
}

/** Characters of a refused body's reply that a finding shows. */
const mostShown = 200;

function sendsValidBodies({ sends }: ClientRecord): Judgement {
  const isInvalid = ({ reply, isForced }: ClientExchange) => reply.status === 400 && !isForced;
  return judgement(sends, isInvalid, (send) => {
    const text = JSON.stringify(bodyOf(send));
    const shown = text.length > mostShown ? `${text.slice(0, mostShown)}...` : text;
    return finding(`the body was refused by validation: ${shown}; check it before it is sent`, [
      send,
    ]);
  });
}

function keepsItsKey({ exchanges }: ClientRecord): Judgement {
  const advice =
    'an API key is in the path, the query or the body, where logs record it: send it in the Authorization header alone';
  const isShown = ({ showsKey }: ClientExchange) => showsKey;
  return judgement(exchanges, isShown, (exchange) => finding(advice, [exchange]));
}
