/**
 * CLIENT-3, CLIENT-4, CLIENT-6, CLIENT-7: how a client uses `request_id`. CLIENT-15: no body causes
 * a 400. CLIENT-16: a key is in the `Authorization` header alone.
 */
import { grouped } from '#io/grouped.ts';
import { bodyOf, isSend, requestIdOf } from '../evidence/exchange.ts';
import {
  areADayApart,
  type ClientExchange,
  isInFlight,
  isRefusal,
  isUnresolved,
  mayBeAccepted,
  recipientAndTextOf,
  refusedForGood,
} from './exchange.ts';
import {
  type ClientRecord,
  finding,
  type Intent,
  type Judgement,
  type Judges,
  judgement,
  spanText,
} from './record.ts';

export const requests = {
  'CLIENT-3': keepsItsId,
  'CLIENT-4': givesAnId,
  'CLIENT-6': reusesNoId,
  'CLIENT-7': retriesWithinADay,
  'CLIENT-15': sendsValidBodies,
  'CLIENT-16': keepsItsKey,
} satisfies Judges;

function keepsItsId({ intents }: ClientRecord): Judgement {
  return judgement(
    intents.all.flatMap(retriesOfUncertain),
    ([earlier, retry]) => requestIdOf(earlier) !== requestIdOf(retry),
    ([earlier, retry]) => {
      const id = requestIdOf(retry);
      const change =
        id === undefined ? 'carries no request_id' : `carries the new request_id ${id}`;
      const cause = earlier.isSeen ? `a ${earlier.reply.status}` : 'a reply that it did not see';
      return finding(
        `the retry after ${cause} ${change} instead of ${requestIdOf(earlier)}: keep the id of the message, or it can be sent twice`,
        [earlier, retry],
      );
    },
  );
}

/** An attempt that the service may have queued although the client saw no acceptance. */
interface Uncertain {
  readonly attempt: ClientExchange;
  /** Its caller, `request_id`, recipient and text. */
  readonly key: string;
}

/**
 * Each attempt with the latest uncertain attempt before it. An attempt with the same key is no
 * longer uncertain after a later reply settles it: an acceptance, or a refusal other than a 429,
 * which the service gives before it looks for the id.
 */
function retriesOfUncertain({ attempts }: Intent) {
  const retries: (readonly [uncertain: ClientExchange, retry: ClientExchange])[] = [];
  if (attempts.length < 2) return retries;
  let uncertain: Uncertain[] = [];
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

function givesAnId({ exchanges }: ClientRecord): Judgement {
  const sends = exchanges.filter((exchange) => isSend(exchange) && exchange.fields !== undefined);
  if (!sends.some(lacksId)) return { exercised: sends.length, findings: [] };
  const groups = [
    ...grouped(sends, ({ caller, endpoint }) => `${caller.name} ${endpoint}`).values(),
  ]
    .map((all) => ({ all, withoutId: all.filter(lacksId) }))
    .filter(({ withoutId }) => withoutId.length > 0);
  return {
    exercised: sends.length,
    findings: groups.map(({ all, withoutId }) => {
      const cut = withoutId.length > shownSends ? ` (here are the first ${shownSends})` : '';
      return finding(
        `${withoutId.length} of ${all.length} sends carry no request_id${cut}: give each message one, so that a lost reply can be retried safely`,
        withoutId.slice(0, shownSends),
      );
    }),
  };
}

/** False also for an id that is no text: a service may take its text (`typeCoercion`). */
function lacksId({ fields }: ClientExchange): boolean {
  return (fields?.['request_id'] ?? '') === '';
}

function reusesNoId({ exchanges, intents }: ClientRecord): Judgement {
  return {
    exercised: exchanges.filter(
      (exchange) => isSend(exchange) && requestIdOf(exchange) !== undefined,
    ).length,
    findings: intents.reuses.map(({ first, second }) =>
      finding(
        `the request_id ${requestIdOf(second)} was used ${spanText(second.sentAt - first.sentAt)} before for another message: this one was not sent; give each message an id of its own`,
        [first, second],
      ),
    ),
  };
}

function retriesWithinADay({ intents }: ClientRecord): Judgement {
  return judgement(
    intents.all.flatMap(retriesOfKnownIds),
    ([first, retry]) => areADayApart(first, retry),
    ([first, retry]) =>
      finding(
        `the request_id ${requestIdOf(retry)} is ${spanText(retry.sentAt - first.sentAt)} old: the service has forgotten it after 24 h and may send the message again; look up what became of it instead`,
        [first, retry],
      ),
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

function sendsValidBodies({ exchanges }: ClientRecord): Judgement {
  return judgement(
    exchanges.filter(isSend),
    ({ reply, isForced }) => reply.status === 400 && isForced !== true,
    (send) =>
      finding(
        `the body was refused by validation: ${shortJson(bodyOf(send))}; check it before it is sent`,
        [send],
      ),
  );
}

/** Characters of a refused body's reply that a finding shows. */
const mostShown = 200;

function shortJson(reply: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(reply);
  return text.length > mostShown ? `${text.slice(0, mostShown)}...` : text;
}

function keepsItsKey({ exchanges }: ClientRecord): Judgement {
  const advice =
    'an API key is in the path, the query or the body, where logs record it: send it in the Authorization header alone';
  return judgement(
    exchanges,
    ({ showsKey }) => showsKey,
    (exchange) => finding(advice, [exchange]),
  );
}
