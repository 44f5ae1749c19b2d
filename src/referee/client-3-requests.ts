/**
 * CLIENT-3, CLIENT-4, CLIENT-6, CLIENT-7: how a client uses `request_id`. CLIENT-15: no body causes
 * a 400. CLIENT-16: a key is in the `Authorization` header alone.
 */
import { dayMs } from '../ledger/time-units.ts';
import {
  type Exchange,
  grouped,
  isAccepted,
  isInFlight,
  isRefusal,
  isSend,
  isUnresolved,
  messageOf,
  refusedForGood,
  requestIdOf,
} from './exchange.ts';
import type { Intent } from './intents.ts';
import {
  type ClientRecord,
  finding,
  type Judgement,
  type Judges,
  judgement,
  spanText,
} from './record.ts';

export const requests: Judges = {
  'CLIENT-3': keepsItsId,
  'CLIENT-4': givesAnId,
  'CLIENT-6': reusesNoId,
  'CLIENT-7': retriesWithinADay,
  'CLIENT-15': sendsValidBodies,
  'CLIENT-16': keepsItsKey,
};

function keepsItsId({ intents }: ClientRecord): Judgement {
  return judgement(
    intents.all.flatMap(retriesOfUncertain),
    ([earlier, retry]) => requestIdOf(earlier) !== requestIdOf(retry),
    ([earlier, retry]) => {
      const id = requestIdOf(retry);
      const change =
        id === undefined ? 'carries no request_id' : `carries the new request_id ${id}`;
      const cause = earlier.isSeen ? `a ${earlier.status}` : 'a reply that it did not see';
      return finding(
        `the retry after ${cause} ${change} instead of ${requestIdOf(earlier)}: keep the id of the message, or it can be sent twice`,
        [earlier, retry],
      );
    },
  );
}

/**
 * Each attempt with the latest one before it that the service may have queued. A refusal of the same
 * message under the same id says that it did not, but for a 429: that comes before the service looks
 * for the id.
 */
function retriesOfUncertain({ attempts }: Intent) {
  const retries: (readonly [uncertain: Exchange, retry: Exchange])[] = [];
  if (attempts.length < 2) return retries;
  const uncertain: { readonly key: string; readonly place: number; readonly one: Exchange }[] = [];
  const settledAt = new Map<string, number>();
  const isOpen = ({ key, place }: (typeof uncertain)[number]) => place > (settledAt.get(key) ?? -1);
  for (const [place, one] of attempts.entries()) {
    const earlier = uncertain.findLast((each) => isOpen(each) && !isInFlight(each.one, one));
    if (earlier !== undefined) retries.push([earlier.one, one]);
    const id = requestIdOf(one);
    if (id === undefined || (one.isSeen && one.status === 429)) continue;
    const key = `${one.caller}\n${id}\n${messageOf(one)}`;
    if (isUnresolved(one) && !isRefusal(one)) uncertain.push({ key, place, one });
    else settledAt.set(key, place);
  }
  return retries;
}

function givesAnId({ exchanges }: ClientRecord): Judgement {
  const sends = exchanges.filter((one) => isSend(one) && one.text !== '');
  const groups = [...grouped(sends, ({ caller, endpoint }) => `${caller} ${endpoint}`).values()]
    .map((own) => ({ own, bare: own.filter((send) => requestIdOf(send) === undefined) }))
    .filter(({ bare }) => bare.length > 0);
  return {
    exercised: sends.length,
    findings: groups.map(({ own, bare }) =>
      finding(
        `${bare.length} of ${own.length} sends carry no request_id: give each message one, so that a lost reply can be retried safely`,
        bare.slice(0, 20),
      ),
    ),
  };
}

function reusesNoId({ exchanges, intents }: ClientRecord): Judgement {
  return {
    exercised: exchanges.filter((one) => isSend(one) && requestIdOf(one) !== undefined).length,
    findings: intents.reuses.map(({ first, second }) =>
      finding(
        `the request_id ${requestIdOf(second)} was used ${spanText(second.atMs - first.atMs)} before for another message: this one was not sent; give each message an id of its own`,
        [first, second],
      ),
    ),
  };
}

function retriesWithinADay({ intents }: ClientRecord): Judgement {
  return judgement(
    intents.all.flatMap(retriesOfHeld),
    ([first, retry]) => retry.atMs - first.atMs > dayMs,
    ([first, retry]) =>
      finding(
        `the request_id ${requestIdOf(retry)} is ${spanText(retry.atMs - first.atMs)} old: the service has forgotten it after 24 h and may send the message again; look up what became of it instead`,
        [first, retry],
      ),
  );
}

/** Each attempt under an id that the service may hold, with the first such attempt. */
function retriesOfHeld({ attempts }: Intent) {
  const retries: (readonly [first: Exchange, retry: Exchange])[] = [];
  const held = new Map<string, Exchange>();
  if (attempts.length < 2) return retries;
  for (const one of attempts) {
    const requestId = requestIdOf(one);
    if (requestId === undefined) continue;
    const id = `${requestId}\n${messageOf(one)}`;
    const first = held.get(id);
    if (first !== undefined) retries.push([first, one]);
    // A refusal says that the service holds no message under the id.
    if (refusedForGood.includes(one.status)) held.delete(id);
    else if (first === undefined && isHeld(one)) held.set(id, one);
  }
  return retries;
}

/** The service accepted it, or may have, as far as the client knows. */
function isHeld(send: Exchange): boolean {
  const { status, isSeen } = send;
  return isAccepted(send) || (!isSeen && (status === 0 || status >= 500));
}

function sendsValidBodies({ exchanges }: ClientRecord): Judgement {
  return judgement(
    exchanges.filter(isSend),
    ({ status, isForced }) => status === 400 && isForced !== true,
    (send) =>
      finding(
        `the body was refused by validation: ${shown(send.reply)}; check it before it is sent`,
        [send],
      ),
  );
}

function shown(reply: Readonly<Record<string, unknown>> | undefined): string {
  const text = JSON.stringify(reply ?? {});
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

function keepsItsKey({ exchanges }: ClientRecord): Judgement {
  const what =
    'an API key is in the path, the query or the body, where logs record it: send it in the Authorization header alone';
  return judgement(
    exchanges,
    ({ showsKey }) => showsKey,
    (one) => finding(what, [one]),
  );
}
