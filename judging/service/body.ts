/**
 * Judges the fields of every Message body, in a 202, a replay or a read. Rules: RES-1 to RES-6,
 * SVC-4. The bodies of the dashboard's and the external send are open (`dashboardSendShape`,
 * `externalSendShape`), so only SVC-4 looks at them. A read of their messages is not open.
 */
import { statuses } from '#contract/message-status.ts';
import { isObject } from '#contract/request-and-reply.ts';
import { dayMs, isoTime, minuteMs, secondMs } from '#contract/time.ts';
import { getOrAdd, onceInTurn } from '#io/grouped.ts';
import {
  bodyOf,
  type Exchange,
  isMessageSend,
  isRead,
  isSend,
  senderNumberOf,
} from '../evidence/exchange.ts';
import { timeIn } from '../evidence/reading.ts';
import * as verify from './expectations.ts';
import { heldStatus } from './histories.ts';
import type { Findings, Judge, Trace } from './judge.ts';
import { e164 } from './validity.ts';

export const bodyJudges = {
  'RES-1': judgeBodies(requireSevenStrings),
  'RES-2': judgeBodies(requireIdsAndNumbers),
  'RES-3': judgeBodies(requireRequestId),
  'RES-4': judgeCreationTimes,
  'RES-5': judgeBodies(requireStatus),
  'RES-6': judgeDevices,
  'SVC-4': judgeJson,
} as const;

const sevenFields = 'created_at, device_id, from_number, message_id, request_id, status, to';
export const messageFields = sevenFields.split(', ');

const knownStatuses: readonly string[] = statuses;
export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const utcMilliseconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** How far a target's clock may differ from ours: never by a time zone. */
const mostClockErrorMs = { exactTimes: 10 * secondMs, estimatedTimes: 15 * minuteMs };

/** One Message body, and what the run knows of its message. */
interface ShownBody {
  readonly body: Readonly<Record<string, unknown>>;
  /** Names the body in failures: "a 202", "a replay" or "a read". */
  readonly source: string;
  /** The exchange that shows the body. */
  readonly exchange: Exchange;
  /** The 202 that accepted the message; undefined if the run did not see it. */
  readonly accepted: Exchange | undefined;
  /** The dashboard's or the external send that accepted the message, of a read alone. */
  readonly openSend: Exchange | undefined;
  /** The acceptance, if it is another exchange, and the exchange. */
  readonly proof: readonly Exchange[];
  readonly hasExactTimes: boolean;
  readonly isRecorded: boolean;
}

/** A judge that runs a check on each Message body. The check throws if the body breaks the rule. */
function judgeBodies(check: (shown: ShownBody) => void): Judge {
  return (trace, findings) => {
    for (const shown of shownBodiesIn(trace)) findings.judge(shown.proof, check, shown);
  };
}

/** The Message bodies of a trace. Computed once for all judges that ask for one trace in turn. */
const shownBodiesIn = onceInTurn(
  ({ exchanges, log, hasExactTimes, recorded }: Trace): readonly ShownBody[] => {
    const isRecorded = recorded !== undefined;
    const acceptedById = new Map<unknown, Exchange>();
    const openSendsById = new Map<unknown, Exchange>();
    for (const send of log) {
      if (!isSend(send) || send.reply.status !== 202) continue;
      const byId = isAcceptance(send) ? acceptedById : openSendsById;
      getOrAdd(byId, bodyOf(send)['message_id'], () => send);
    }
    return exchanges.filter(hasMessageBody).map((exchange) => {
      const body = bodyOf(exchange);
      const source = sourceOf(exchange);
      const accepted = acceptedById.get(body['message_id']);
      const mayBeOpen = accepted === undefined && !isRecorded && isRead(exchange);
      const openSend = mayBeOpen ? openSendsById.get(body['message_id']) : undefined;
      const first = accepted ?? openSend ?? exchange;
      const proof = first === exchange ? [exchange] : [first, exchange];
      return { body, source, exchange, accepted, openSend, proof, hasExactTimes, isRecorded };
    });
  },
);

function isAcceptance(exchange: Exchange): boolean {
  return isMessageSend(exchange) && exchange.reply.status === 202;
}

function hasMessageBody(exchange: Exchange): boolean {
  const { status, json } = exchange.reply;
  const isMessage = (isMessageSend(exchange) || isRead(exchange)) && status === 200;
  return (isMessage || isAcceptance(exchange)) && isObject(json);
}

function sourceOf(exchange: Exchange): string {
  if (isRead(exchange)) return 'a read';
  return isAcceptance(exchange) ? 'a 202' : 'a replay';
}

/** Requires exactly the seven fields. `what`: names the body. */
export function requireSevenFields(body: Readonly<Record<string, unknown>>, what: string): void {
  let known = 0;
  let others = 0;
  for (const name in body) {
    if (messageFields.includes(name)) known += 1;
    else others += 1;
  }
  if (known === messageFields.length && others === 0) return;
  verify.equal(`field names${what}`, Object.keys(body).sort().join(', '), sevenFields);
}

function requireSevenStrings({ body, source, exchange }: ShownBody): void {
  requireSevenFields(body, ` of ${source}`);
  // Of two fields of one name, a reader of JSON keeps the last.
  const names = exchange.reply.text.match(/"\w+"\s*:/g) ?? [];
  if (names.length > messageFields.length)
    verify.equal(`fields of ${source}`, names.join(' '), sevenFields);
  for (const name in body) {
    if (typeof body[name] !== 'string')
      verify.equal(`type of ${name} in ${source}`, typeof body[name], 'string');
  }
}

function requireIdsAndNumbers(shown: ShownBody): void {
  const { body, source, exchange, accepted, openSend, isRecorded } = shown;
  const requireForm = (name: string, form: RegExp, what: string) => {
    const value = body[name];
    if (!form.test(verify.textOf(value)))
      verify.fail(`${what} as ${name} of ${source}`, verify.show(value));
  };
  for (const name of ['message_id', 'device_id']) requireForm(name, uuid, 'a UUID');
  for (const name of ['from_number', 'to']) requireForm(name, e164, 'an E.164 number');
  // The original of a recorded replay may be missing, and have had another body.
  const isSendUnknown = isRecorded && accepted === undefined && !isAcceptance(exchange);
  const send = isAcceptance(exchange) ? exchange : (accepted ?? exchange);
  const { to, from, from_number: alias } = isSendUnknown ? {} : (send.fields ?? {});
  const recipient = openSend?.fields?.['to'] ?? to;
  if (e164.test(verify.textOf(recipient))) verify.equal(`to of ${source}`, body['to'], recipient);
  // The pool may send instead of a disconnected SIM (`disconnectedSim`).
  const mayBePool = isRecorded || send.sender?.is === 'disconnected';
  // With both names, either number may be meant (`bothSenderFields`).
  const isOpen = (from !== undefined && alias !== undefined) || mayBePool;
  if (typeof (from ?? alias) === 'string' && !isOpen)
    verify.equal(`from_number of ${source}`, body['from_number'], from ?? alias);
}

function requireRequestId({ body, source, exchange, accepted }: ShownBody): void {
  const fields = isRead(exchange) ? accepted?.fields : exchange.fields;
  const { request_id: sent = '' } = fields ?? body;
  if (typeof sent === 'string' && !halfOfPair.test(sent))
    verify.equal(`request_id of ${source}`, body['request_id'], sent);
}

/** Half of a surrogate pair. UTF-8 cannot carry it, so the reply may show another character. */
const halfOfPair = /\p{Surrogate}/u;

/** RES-4: each time is right in itself, and all times of a run are those of one clock. */
function judgeCreationTimes(trace: Trace, findings: Findings): void {
  judgeBodies(requireCreatedAt)(trace, findings);
  if (trace.recorded !== undefined || trace.hasExactTimes) return;
  // A send that was tried again may have been accepted at its first try.
  const sends = trace.exchanges.filter((send) => isAcceptance(send) && !send.isRetried);
  const aheadOf = (send: Exchange, at: number) =>
    Date.parse(verify.textOf(bodyOf(send)['created_at'])) - at;
  const [fast] = sends.toSorted((a, b) => aheadOf(b, b.answeredAt) - aheadOf(a, a.answeredAt));
  const [slow] = sends.toSorted((a, b) => aheadOf(a, a.sentAt) - aheadOf(b, b.sentAt));
  if (fast === undefined || slow === undefined) return;
  const apartMs = aheadOf(fast, fast.answeredAt) - aheadOf(slow, slow.sentAt);
  if (apartMs <= mostClockErrorMs.exactTimes) return;
  const actual = `clocks ${Math.round(apartMs / secondMs)} s apart`;
  findings.judgeThat([slow, fast], false, 'times of creation by one clock', actual);
}

function requireCreatedAt(shown: ShownBody): void {
  const { body, source, exchange, accepted, openSend, hasExactTimes, isRecorded } = shown;
  const { created_at: value } = body;
  const createdMs = Date.parse(verify.textOf(value));
  const isTime = utcMilliseconds.test(verify.textOf(value)) && !Number.isNaN(createdMs);
  if (!isTime)
    verify.fail(`created_at of ${source} as YYYY-MM-DDTHH:MM:SS.mmmZ`, verify.show(value));
  if (accepted !== undefined)
    verify.equal(`created_at of ${source}`, value, bodyOf(accepted)['created_at']);
  const creation = openSend ?? exchange;
  if (creation.reply.status !== 202) return;
  // A recorder's clock may be wrong by hours: only a `Date` tells.
  const stamped = isRecorded ? timeIn(exchange.reply.headers['date'] ?? '') : creation.sentAt;
  if (Number.isNaN(stamped)) return;
  const differenceMs = Math.min(
    Math.abs(createdMs - creation.sentAt),
    Math.abs(createdMs - stamped),
  );
  // The clock of a recorded simulator may show another year.
  if (isRecorded && differenceMs > dayMs) return;
  if (differenceMs > mostClockErrorMs[hasExactTimes ? 'exactTimes' : 'estimatedTimes'])
    verify.fail(`created_at of ${source} at about ${isoTime(creation.sentAt)}`, verify.show(value));
}

function requireStatus({ body: { status }, source, accepted }: ShownBody): void {
  const isDueAtOnce = accepted !== undefined && accepted.fields?.['send_at'] === undefined;
  const permitted = isDueAtOnce ? knownStatuses : [...knownStatuses, heldStatus];
  if (!permitted.includes(verify.textOf(status)))
    verify.fail(`one of ${permitted.join(', ')} as status of ${source}`, verify.show(status));
}

/** RES-6: `device_id` is the SIM that has the sender number, and belongs to one account. */
function judgeDevices(trace: Trace, findings: Findings): void {
  judgeBodies(requireDevice)(trace, findings);
  const firstSends = new Map<string, Exchange>();
  let isJudged = false;
  for (const send of trace.exchanges.filter(isAcceptance)) {
    if (send.sender?.is !== 'own') continue;
    const deviceId = verify.textOf(bodyOf(send)['device_id']).toLowerCase();
    const first = getOrAdd(firstSends, deviceId, () => send);
    const isSameAccount = first.caller.account === send.caller.account;
    isJudged ||= send.sender.deviceId !== undefined || !isSameAccount;
    const expected = 'another device_id for a number of another account';
    findings.judgeThat([first, send], isSameAccount, expected, deviceId);
  }
  const accounts = new Set(trace.exchanges.map(({ caller }) => caller.account));
  // Sends of one account, whose device ids are not known, do not show that the rule holds.
  if (!isJudged && accounts.size < 2 && findings.broken === undefined) {
    findings.exercised = 0;
    findings.lack('a number of each account (--from, --second-from)');
  }
}

function requireDevice({ body, source, exchange, accepted, openSend }: ShownBody): void {
  // The other sends may name their sender in another way, so the read shows from which they sent.
  const isSameNumber = openSend && senderNumberOf(openSend) === body['from_number'];
  const { sender } = accepted ?? (isSameNumber ? openSend : exchange);
  if (sender?.is === 'own' && sender.deviceId !== undefined)
    verify.sameUuid(`device_id of ${source}`, body['device_id'], sender.deviceId);
}

/** SVC-4: every body is JSON; that of a refusal only if the target is known to serve requests. */
function judgeJson({ exchanges, recorded }: Trace, findings: Findings): void {
  const answered = exchanges.filter(({ reply }) => reply.status !== 0);
  const isServed = recorded !== undefined || answered.some(({ reply }) => reply.status < 400);
  for (const exchange of answered) {
    const { endpoint, reply, method } = exchange;
    const isEmpty = method === 'HEAD' || [204, 301, 302, 304, 307, 308].includes(reply.status);
    if (endpoint === undefined || isEmpty || !isServed) continue;
    findings.judge([exchange], () => verify.declaredJson(reply));
  }
}
