/**
 * Judges the fields of every Message body, in a 202, a replay or a read. Rules: RES-1 to RES-6, SVC-4.
 * The shapes of the other two sends are open (`dashboardSendShape`, `externalSendShape`).
 */
import * as verify from '../verify.ts';
import { bodyOf, type Exchange, isMessageSend, isRead } from './exchange.ts';
import type { Judge } from './judge.ts';

export const messageFields = [
  'created_at',
  'device_id',
  'from_number',
  'message_id',
  'request_id',
  'status',
  'to',
];
export const sevenFields = messageFields.join(', ');

export const states = ['queued', 'sending', 'sent', 'delivered', 'failed'];

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const e164 = /^\+[1-9]\d{1,14}$/;
const utcMilliseconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** A target's clock may differ, but not by a time zone. */
const clocksDifferMs = { exact: 10_000, real: 15 * 60_000 };

type Body = Readonly<Record<string, unknown>>;

interface Facts {
  readonly exchange: Exchange;
  /** The message's first body in the run, and the send that it answers. */
  readonly first: Exchange | undefined;
  readonly hasExactTimes: boolean;
  readonly isRecorded: boolean;
}

type Check = (where: string, body: Body, facts: Facts) => void;

const isNew = ({ reply }: Exchange) => reply.status === 202;

function isMessageBody(exchange: Exchange): boolean {
  const { status } = exchange.reply;
  const isMessage =
    (isMessageSend(exchange) && (status === 202 || status === 200)) ||
    (isRead(exchange) && status === 200);
  return isMessage && verify.isObject(exchange.reply.json);
}

function eachBody(check: Check): Judge {
  return ({ exchanges, log, hasExactTimes, recorded }, findings) => {
    const isRecorded = recorded !== undefined;
    const firsts = new Map<unknown, Exchange>();
    for (const exchange of log)
      if (isMessageSend(exchange) && isNew(exchange)) {
        const id = bodyOf(exchange)['message_id'];
        if (!firsts.has(id)) firsts.set(id, exchange);
      }
    for (const exchange of exchanges) {
      if (!isMessageBody(exchange)) continue;
      const where = sourceOf(exchange);
      const first = firsts.get(bodyOf(exchange)['message_id']);
      const proof = first === undefined || first === exchange ? [exchange] : [first, exchange];
      findings.judge(proof, () =>
        check(where, bodyOf(exchange), {
          exchange: exchange,
          first,
          hasExactTimes,
          isRecorded,
        }),
      );
    }
  };
}

function sourceOf(exchange: Exchange): string {
  if (isRead(exchange)) return 'a read';
  return isNew(exchange) ? 'a 202' : 'a replay';
}

const sevenStrings: Check = (where, body) => {
  verify.equal(`field names of ${where}`, Object.keys(body).sort().join(', '), sevenFields);
  for (const [name, value] of Object.entries(body))
    verify.equal(`type of ${name} in ${where}`, typeof value, 'string');
};

const idsAndNumbers: Check = (where, body, { exchange, first, isRecorded }) => {
  const fits = (name: string, form: RegExp, what: string) =>
    verify.that(
      form.test(verify.textOf(body[name])),
      `${what} as ${name} of ${where}`,
      verify.show(body[name]),
    );
  for (const name of ['message_id', 'device_id']) fits(name, uuid, 'a UUID');
  for (const name of ['from_number', 'to']) fits(name, e164, 'an E.164 number');
  // A replay before the recording may have had another body.
  const { fields = {}, sender } = isNew(exchange)
    ? exchange
    : (first ?? (isRecorded ? unknownSend : exchange));
  if (e164.test(verify.textOf(fields['to'])))
    verify.equal(`to of ${where}`, body['to'], fields['to']);
  const { from, from_number: alias } = fields;
  // Both together may mean either one (`bothSenderFields`), and the pool may send in the place of a
  // disconnected SIM (`disconnectedSim`).
  const mayBePool = isRecorded || sender?.is === 'disconnected';
  const isOpen = (from !== undefined && alias !== undefined) || mayBePool;
  if (typeof (from ?? alias) === 'string' && !isOpen)
    verify.equal(`from_number of ${where}`, body['from_number'], from ?? alias);
};

const unknownSend: Pick<Exchange, 'fields' | 'sender'> = {};

const requestId: Check = (where, body, { exchange, first }) => {
  const { request_id: id = '' } = (isRead(exchange) ? first?.fields : exchange.fields) ?? body;
  if (typeof id === 'string' && isWellFormed(id))
    verify.equal(`request_id of ${where}`, body['request_id'], id);
};

const createdAt: Check = (where, body, { exchange, first, hasExactTimes, isRecorded }) => {
  const { created_at: value } = body;
  const createdMs = Date.parse(verify.textOf(value));
  const isTime = utcMilliseconds.test(verify.textOf(value)) && !Number.isNaN(createdMs);
  verify.that(isTime, `created_at of ${where} as YYYY-MM-DDTHH:MM:SS.mmmZ`, verify.show(value));
  if (first !== undefined)
    verify.equal(`created_at of ${where}`, value, bodyOf(first)['created_at']);
  if (!isNew(exchange)) return;
  const differ = Math.abs(createdMs - exchange.sentAt);
  // A recorded simulator may live in another year.
  if (isRecorded && differ > 86_400_000) return;
  verify.that(
    differ <= (hasExactTimes ? clocksDifferMs.exact : clocksDifferMs.real),
    `created_at of ${where} at about ${new Date(exchange.sentAt).toISOString()}`,
    verify.show(value),
  );
};

const status: Check = (where, { status: value }, { first }) => {
  // The status of a held message has an open name (`heldStatus`).
  if (first === undefined || first.fields?.['send_at'] !== undefined) return;
  verify.that(
    states.includes(verify.textOf(value)),
    `one of ${states.join(', ')} as status of ${where}`,
    verify.show(value),
  );
};

const device: Check = (where, body, { exchange, first }) => {
  const { sender } = first ?? exchange;
  if (sender?.is !== 'own' || sender.deviceId === undefined) return;
  verify.sameUuid(`device_id of ${where}`, body['device_id'], sender.deviceId);
};

/** RES-6: the SIM behind the number, and never that of another account. */
const deviceOfTheSim: Judge = (trace, findings) => {
  eachBody(device)(trace, findings);
  const owners = new Map<string, Exchange>();
  let isKnown = false;
  for (const exchange of trace.exchanges) {
    if (!isMessageSend(exchange) || !isNew(exchange) || exchange.sender?.is !== 'own') continue;
    const id = verify.textOf(bodyOf(exchange)['device_id']).toLowerCase();
    const other = owners.get(id) ?? exchange;
    owners.set(id, other);
    isKnown ||=
      exchange.sender.deviceId !== undefined || other.caller.account !== exchange.caller.account;
    const isOfOne = other.caller.account === exchange.caller.account;
    const expected = 'another device_id for a number of another account';
    findings.judgeThat([other, exchange], isOfOne, expected, id);
  }
  const accounts = new Set(trace.exchanges.map(({ caller }) => caller.account));
  if (!isKnown && accounts.size < 2 && findings.broken === undefined) {
    findings.exercised = 0;
    findings.lack('a number of each account (--from, --second-from)');
  }
};

/** SVC-4: every body is JSON; where the rule of the status does not know, of refusals as well. */
const json: Judge = ({ exchanges, recorded }, findings) => {
  const answered = exchanges.filter(({ reply }) => reply.status !== 0);
  const isServed = recorded !== undefined || answered.some(({ reply }) => reply.status < 400);
  for (const exchange of answered) {
    const { endpoint, reply, method } = exchange;
    const isEmpty = method === 'HEAD' || [204, 301, 302, 304, 307, 308].includes(reply.status);
    if (endpoint === undefined || isEmpty || !isServed) continue;
    findings.judge([exchange], () => verify.declaredJson(reply));
  }
};

/** False for halves of surrogate pairs, which UTF-8 cannot carry. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Rules that hold for each Message body of a run, whichever case asked for it. */
export const bodyJudges = {
  'RES-1': eachBody(sevenStrings),
  'RES-2': eachBody(idsAndNumbers),
  'RES-3': eachBody(requestId),
  'RES-4': eachBody(createdAt),
  'RES-5': eachBody(status),
} as const;

export const deviceAndJsonJudges = { 'RES-6': deviceOfTheSim, 'SVC-4': json } as const;
