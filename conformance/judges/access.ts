/**
 * Judges credentials and sender numbers. Rules: AUTH-1 to AUTH-5, ERR-2, SVC-1.
 */
import * as verify from '../verify.ts';
import { bodyOf, type Exchange, isAccepted, isMessageSend } from './exchange.ts';
import type { Findings, Judge, Trace } from './judge.ts';

const invalidKey = 'auth_invalid_keyy';
const notFound = 'from_number_not_found';
const denied = 'from_number_access_deniedd';
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Requests to documented endpoints that were answered, and not throttled. */
function answered({ exchanges }: Trace): Exchange[] {
  return exchanges.filter(
    ({ endpoint, reply }) => endpoint !== undefined && ![0, 429].includes(reply.status),
  );
}

function hasScheme({ headers }: Exchange): boolean {
  return /^Bearer ./.test(headers['authorization'] ?? '');
}

/** A valid key must be accepted somewhere, or a refusal of others proves nothing. */
function validKeysWork(trace: Trace, findings: Findings): boolean {
  if (trace.recorded !== undefined) return true;
  const valid = answered(trace).filter(({ caller }) => caller.key === 'valid');
  if (!valid.some(({ reply }) => reply.status >= 200 && reply.status < 300)) {
    findings.judge(valid, () => verify.given(() => verify.fail('a key that is accepted', 'none')));
    return false;
  }
  for (const exchange of valid)
    findings.requireThat([exchange], exchange.reply.status !== 401, 'a valid key that is accepted');
  return true;
}

/** AUTH-1: nothing but `Authorization: Bearer <key>` is a credential. */
const everyEndpointAsks: Judge = (trace, findings) => {
  if (!validKeysWork(trace, findings)) return;
  for (const exchange of answered(trace))
    if (exchange.caller.key === 'missing')
      findings.judge([exchange], () => verify.status(exchange.reply, 401));
};

/** AUTH-3: a missing, wrong or revoked key is 401 with its code, whatever else is wrong. */
const refusedKeys: Judge = (trace, findings) => {
  if (!validKeysWork(trace, findings)) return;
  for (const exchange of answered(trace)) {
    const isMissing =
      exchange.caller.key === 'missing' && exchange.headers['authorization'] === undefined;
    if (isMissing || (hasScheme(exchange) && exchange.caller.key !== 'valid'))
      findings.judge([exchange], () => verify.refused(exchange.reply, 401, invalidKey));
  }
};

/** AUTH-2: a key has the chosen name, is shown once, and works beside the others. */
const keysOfAnAccount: Judge = (trace, findings) => {
  for (const { key, name, creation: made, shown } of trace.createdKeys)
    findings.judge([], () => {
      verify.equal('name at creation', Object(made).name, name);
      verify.that(shown[0]?.text.includes(name) === true, 'the name in the list', 'none');
      const isHidden = shown.every(({ text }) => !text.includes(key));
      verify.that(isHidden, 'lists without the full key', 'the key is in one');
    });
  const valid = answered(trace).filter(({ caller }) => caller.key === 'valid');
  const keys = new Set(valid.map(({ headers }) => headers['authorization']));
  findings.judge(valid.slice(-1), () => {
    const isAccepted = valid.some(({ reply }) => reply.status === 200);
    verify.given(() => verify.that(isAccepted, 'a key that is accepted', 'none'));
    for (const { reply } of valid) verify.status(reply, 200);
    verify.given(() => verify.that(keys.size > 1, 'two keys', 'one'));
  });
};

/** Sends whose sender number decides the reply: everything else about them is right. */
function sendsFrom(trace: Trace, ...kinds: string[]): Exchange[] {
  return answered(trace).filter(
    (send) =>
      isMessageSend(send) && send.caller.key === 'valid' && kinds.includes(send.sender?.is ?? ''),
  );
}

/** A number of the account's own must be accepted, or a refusal of others proves nothing. */
function ownNumberWorks(trace: Trace, findings: Findings): boolean {
  if (trace.recorded !== undefined) return true;
  const own = sendsFrom(trace, 'own');
  if (own.some(isAccepted)) return true;
  findings.judge(own, () => verify.given(() => verify.fail('a message that is accepted', 'none')));
  return false;
}

const unknownNumbers: Judge = (trace, findings) => {
  if (!ownNumberWorks(trace, findings)) return;
  for (const send of sendsFrom(trace, 'unknown'))
    findings.judge([send], () => verify.refused(send.reply, 403, notFound));
  // A service with a strict number check may refuse this number earlier (`numberCheck`).
  // It may also be another number of the account, on a device of its own.
  const ownDevices = sendsFrom(trace, 'own')
    .filter(isAccepted)
    .map((send) => bodyOf(send)['device_id']);
  for (const send of sendsFrom(trace, 'altered')) {
    const isAnother = send.reply.status === 202 && !ownDevices.includes(bodyOf(send)['device_id']);
    if (!isAnother && send.reply.status !== 503)
      findings.judge([send], () => verify.status(send.reply, 403, 400));
  }
};

/** Another account's number may be refused with either code (`foreignNumber`). */
function foreignRefusal({ reply }: Exchange): void {
  verify.refused(reply, 403, verify.codeOf(reply) === notFound ? notFound : denied);
}

const forbiddenNumbers: Judge = (trace, findings) => {
  if (!ownNumberWorks(trace, findings)) return;
  for (const send of sendsFrom(trace, 'denied'))
    findings.judge([send], () => verify.refused(send.reply, 403, denied));
  for (const send of sendsFrom(trace, 'foreign')) {
    const isHidden = verify.codeOf(send.reply) === notFound;
    findings[isHidden ? 'require' : 'judge']([send], () => foreignRefusal(send));
    if (isHidden) findings.lack('a target that reveals that the number exists');
  }
  ownNumbersAreAccepted(trace, findings);
};

const inactiveSims: Judge = (trace, findings) => {
  for (const send of sendsFrom(trace, 'inactive'))
    findings.judge([send], () => {
      verify.refused(send.reply, 503, 'device_inactive');
      verify.declaredJson(send.reply);
    });
  ownNumbersAreAccepted(trace, findings);
};

function ownNumbersAreAccepted(trace: Trace, findings: Findings): void {
  for (const send of sendsFrom(trace, 'own')) {
    const isRefused = [403, 503].includes(send.reply.status);
    findings.requireThat([send], !isRefused, 'a message from its own number');
  }
}

/** SVC-1: through the SIM that was named, or through the pool if the account has none connected. */
const simsAndPool: Judge = (trace, findings) => {
  for (const send of sendsFrom(trace, 'own', 'pool')) {
    const { sender, fields = {} } = send;
    const isOpen = sender?.is === 'own' && sender.deviceId === undefined;
    findings[isOpen ? 'require' : 'judge']([send], () => {
      const body = verify.accepted(send.reply);
      verify.equal('from_number', body['from_number'], fields['from'] ?? fields['from_number']);
      if (sender?.deviceId !== undefined)
        verify.sameUuid('device_id', body['device_id'], sender.deviceId);
      const { device_id } = bodyOf(send);
      verify.that(uuid.test(verify.textOf(device_id)), 'a device_id', verify.show(device_id));
    });
  }
  for (const send of sendsFrom(trace, 'foreign'))
    findings.judge([send], () => foreignRefusal(send));
};

export const accessJudges = {
  'AUTH-1': everyEndpointAsks,
  'AUTH-2': keysOfAnAccount,
  'AUTH-3': refusedKeys,
  'AUTH-4': unknownNumbers,
  'AUTH-5': forbiddenNumbers,
  'ERR-2': inactiveSims,
  'SVC-1': simsAndPool,
} as const;
