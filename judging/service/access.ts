/**
 * Judges credentials and sender numbers. Rules: AUTH-1 to AUTH-5, ERR-2, SVC-1. A target that
 * refuses everything proves nothing, so a judge of refusals first requires that the target accepts
 * a valid key or the account's own number.
 */
import {
  bodyOf,
  type Exchange,
  isAccepted,
  isMessageSend,
  isSend,
  methodOf,
  type Sender,
} from '../evidence/exchange.ts';
import { isSuccess } from '../evidence/reply.ts';
import { uuid } from './body.ts';
import * as verify from './expectations.ts';
import type { Findings, Trace } from './judge.ts';
import { earlierUse } from './replay.ts';
import { validityOf } from './validity.ts';

export const accessJudges = {
  'AUTH-1': judgeCredentials,
  'AUTH-2': judgeCreatedKeys,
  'AUTH-3': judgeRefusedKeys,
  'AUTH-4': judgeUnknownNumbers,
  'AUTH-5': judgeForbiddenNumbers,
  'ERR-2': judgeInactiveSims,
  'SVC-1': judgeRoutes,
} as const;

const invalidKey = 'auth_invalid_keyy';
const notFound = 'from_number_not_found';
const denied = 'from_number_access_deniedd';

/** AUTH-1: nothing but `Authorization: Bearer <key>` is a credential. */
function judgeCredentials(trace: Trace, findings: Findings): void {
  if (!acceptsValidKeys(trace, findings)) return;
  for (const exchange of answered(trace)) {
    if (exchange.caller.key === 'missing')
      findings.judge([exchange], () => verify.status(exchange.reply, 401));
  }
  // Another method or spelling of a path may be refused in any way.
  for (const exchange of trace.exchanges.filter(({ caller }) => caller.key === 'missing')) {
    const { endpoint, method, reply } = exchange;
    const isMessage = bodyOf(exchange)['message_id'] !== undefined;
    const isShown = isMessage || (method === 'HEAD' && endpoint === 'read');
    findings.alsoRequireThat([exchange], !(isShown && isSuccess(reply)), 'nothing without a key');
  }
}

/**
 * Documented requests that were answered, and not throttled. A router may refuse a path whose id is
 * no UUID before it looks at the key.
 */
function answered({ exchanges }: Trace): Exchange[] {
  return exchanges.filter(({ endpoint, method, id, reply: { status } }) => {
    const isDocumented = endpoint !== undefined && method === methodOf(endpoint);
    return isDocumented && (!id || uuid.test(id)) && ![0, 429].includes(status);
  });
}

function acceptsValidKeys(trace: Trace, findings: Findings): boolean {
  if (trace.recorded !== undefined) return true;
  const valid = answered(trace).filter(({ caller }) => caller.key === 'valid');
  if (!valid.some(({ reply }) => isSuccess(reply))) {
    findings.judge(valid, () => verify.given(() => verify.fail('a key that is accepted', 'none')));
    return false;
  }
  for (const exchange of valid) {
    findings.alsoRequireThat(
      [exchange],
      exchange.reply.status !== 401,
      'a valid key that is accepted',
    );
  }
  return true;
}

/** AUTH-2: a key has the chosen name, is shown once, and works in addition to the others. */
function judgeCreatedKeys(trace: Trace, findings: Findings): void {
  for (const { key, name, creation, shown } of trace.createdKeys) {
    findings.judge([], () => {
      verify.equal('name at creation', Object(creation).name, name);
      verify.that(shown[0]?.text.includes(name) === true, 'the name in the list', 'none');
      const isHidden = shown.every(({ text }) => !text.includes(key));
      verify.that(isHidden, 'lists without the full key', 'the key is in one');
    });
  }
  const valid = answered(trace).filter(({ caller }) => caller.key === 'valid');
  const keys = new Set(valid.map(({ headers }) => headers['authorization']));
  findings.judge(valid.slice(-1), () => {
    const isAnyAccepted = valid.some(({ reply }) => reply.status === 200);
    verify.given(() => verify.that(isAnyAccepted, 'a key that is accepted', 'none'));
    for (const { reply } of valid) verify.status(reply, 200);
    verify.given(() => verify.that(keys.size > 1, 'two keys', 'one'));
  });
}

/** The form of a key that a Bearer scheme can carry (RFC 6750). */
const bearerForm = /^Bearer [\w.~+/-]+=*$/;

/** AUTH-3: a missing, wrong or revoked key is 401 with its code, whatever else is wrong. */
function judgeRefusedKeys(trace: Trace, findings: Findings): void {
  if (!acceptsValidKeys(trace, findings)) return;
  for (const exchange of answered(trace)) {
    const { caller, headers, reply } = exchange;
    const credentials = headers['authorization'];
    const isMissing = caller.key === 'missing' && credentials === undefined;
    const isWrong = caller.key !== 'valid' && /^Bearer ./.test(credentials ?? '');
    // RFC 6750 answers a malformed header with 400.
    if (isWrong && !bearerForm.test(credentials ?? ''))
      findings.judge([exchange], () => verify.status(reply, 401, 400));
    else if (isMissing || isWrong)
      findings.judge([exchange], () => verify.refused(reply, 401, invalidKey));
  }
}

/** AUTH-4: an unknown sender number is refused with its code. */
function judgeUnknownNumbers(trace: Trace, findings: Findings): void {
  if (!acceptsOwnNumber(trace, findings)) return;
  for (const send of sendsFrom(trace, 'unknown'))
    findings.judge([send], () => verify.refused(send.reply, 403, notFound));
  const ownDeviceIds = sendsFrom(trace, 'own').filter(isAccepted).map(deviceIdOf);
  for (const send of sendsFrom(trace, 'altered')) {
    // The number may be another one of the account, on a device of its own. A strict number check
    // may refuse it with a 400 (`numberCheck`).
    const isOtherOwn = send.reply.status === 202 && !ownDeviceIds.includes(deviceIdOf(send));
    if (!isOtherOwn && send.reply.status !== 503)
      findings.judge([send], () => verify.status(send.reply, 403, 400));
  }
  requireRefusedEverywhere(trace, findings, 'unknown');
  findings.lack('a send from an unknown number');
}

function acceptsOwnNumber(trace: Trace, findings: Findings): boolean {
  if (trace.recorded !== undefined) return true;
  const sends = sendsFrom(trace, 'own');
  if (sends.some(isAccepted)) return true;
  findings.judge(sends, () =>
    verify.given(() => verify.fail('a message that is accepted', 'none')),
  );
  return false;
}

/**
 * Sends with a valid key whose sender number has one of these relations to the account, and that
 * nothing else refuses or answers first.
 */
function sendsFrom(trace: Trace, ...relations: Sender['is'][]): Exchange[] {
  return relations.flatMap((relation) => anySendsFrom(trace, relation).filter(isMessageSend));
}

/** The same of all three endpoints, and for one relation. */
function anySendsFrom(trace: Trace, relation: Sender['is']): Exchange[] {
  const isFrom = (send: Exchange) =>
    isSend(send) && send.caller.key === 'valid' && send.sender?.is === relation;
  return answered(trace).filter((one) => isFrom(one) && isPlain(trace, one));
}

/** True for a send that its other fields did not refuse, and that is not a replay. */
function isPlain(trace: Trace, send: Exchange): boolean {
  const { invalid, open } = validityOf(send, trace);
  const isOther = (name: string) => name !== 'from' && name !== 'from_number';
  const refusing = isAccepted(send) ? invalid : [...invalid, ...open];
  const isSound = send.fields !== undefined && !refusing.some(isOther);
  return trace.recorded !== undefined || (isSound && earlierUse(trace, send) === undefined);
}

function deviceIdOf(send: Exchange): unknown {
  return bodyOf(send)['device_id'];
}

/** AUTH-5: a number that exists, but that the account may not use, is refused with its code. */
function judgeForbiddenNumbers(trace: Trace, findings: Findings): void {
  if (!acceptsOwnNumber(trace, findings)) return;
  for (const send of sendsFrom(trace, 'denied'))
    findings.judge([send], () => verify.refused(send.reply, 403, denied));
  for (const send of sendsFrom(trace, 'foreign')) {
    const isHidden = verify.codeOf(send.reply) === notFound;
    findings.require(!isHidden, [send], () => requireForeignRefusal(send));
    if (isHidden) findings.lack('a target that reveals that the number exists');
  }
  requireRefusedEverywhere(trace, findings, 'foreign');
  requireOwnNumbersAccepted(trace, findings);
  findings.lack("a send from a number that is not the account's");
}

/** The document shows the codes of one endpoint, but the others refuse the number, too. */
function requireRefusedEverywhere(
  trace: Trace,
  findings: Findings,
  relation: 'unknown' | 'foreign',
): void {
  for (const send of trace.recorded === undefined ? anySendsFrom(trace, relation) : [])
    findings.alsoRequireThat([send], send.reply.status >= 400, 'a refusal at each endpoint');
}

/** Another account's number may be refused with either code (`foreignNumber`). */
function requireForeignRefusal({ reply }: Exchange): void {
  verify.refused(reply, 403, verify.codeOf(reply) === notFound ? notFound : denied);
}

function requireOwnNumbersAccepted(trace: Trace, findings: Findings): void {
  for (const send of sendsFrom(trace, 'own')) {
    const isRefused = [403, 503].includes(send.reply.status);
    findings.alsoRequireThat([send], !isRefused, 'a message from its own number');
  }
}

/** ERR-2: a number whose SIM is deactivated is 503 with its code, on each of the three sends. */
function judgeInactiveSims(trace: Trace, findings: Findings): void {
  for (const send of anySendsFrom(trace, 'inactive')) {
    findings.judge([send], () => {
      verify.refused(send.reply, 503, 'device_inactive');
      verify.declaredJson(send.reply);
    });
  }
  requireOwnNumbersAccepted(trace, findings);
  findings.lack('a send from a deactivated SIM');
}

/** SVC-1: through the SIM of the sender, or through the pool if the account has none connected. */
function judgeRoutes(trace: Trace, findings: Findings): void {
  for (const send of sendsFrom(trace, 'own', 'pool')) {
    const { sender, fields = {}, reply } = send;
    const isSimKnown = sender?.is !== 'own' || sender.deviceId !== undefined;
    findings.require(isSimKnown, [send], () => {
      const body = verify.accepted(reply);
      verify.equal('from_number', body['from_number'], fields['from'] ?? fields['from_number']);
      const deviceId = deviceIdOf(send);
      if (sender?.deviceId !== undefined) verify.sameUuid('device_id', deviceId, sender.deviceId);
      verify.that(uuid.test(verify.textOf(deviceId)), 'a device_id', verify.show(deviceId));
    });
  }
  for (const send of sendsFrom(trace, 'foreign'))
    findings.judge([send], () => requireForeignRefusal(send));
}
