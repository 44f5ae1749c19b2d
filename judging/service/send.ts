/**
 * Judges which sends are accepted and which are refused for their fields. Rules: SEND-1 to SEND-3,
 * SEND-5 to SEND-7, STATE-1, SVC-2. `validity.ts` says which fields are invalid or open; these
 * judges compare that with the replies.
 */
import { messageMaxCharacters } from '#contract/limits.ts';
import { onceInTurn } from '#io/grouped.ts';
import {
  bodyOf,
  type Exchange,
  isAccepted,
  isMessageSend,
  isRead,
  isUncertain,
  messageIdOf,
} from '../evidence/exchange.ts';
import type { Reply } from '../evidence/reply.ts';
import { requireSevenFields } from './body.ts';
import * as verify from './expectations.ts';
import type { Findings, Judge, Trace } from './judge.ts';
import { namesField } from './named-fields.ts';
import { earlierUse, judgeNotQueued, repeatsAnother } from './replay.ts';
import {
  documentedNames,
  type FieldValidity,
  graphemesIn,
  namesOf,
  validityOf,
} from './validity.ts';

export const sendJudges = {
  'SEND-1': judgeAlias,
  'SEND-2': judgeRequiredFields,
  'SEND-3': judgeNewMessages,
  'SEND-5': judgeAllFields,
  'SEND-6': judgeLength,
  'STATE-1': judgeCreation,
} as const;

/** SEND-7 in part; `pace.ts` judges the rest. */
export const judgeSendAt = judgeFields(
  ['send_at'],
  ({ fields }) => fields?.['send_at'] !== undefined,
);

/** A send whose fields decide its reply, and the validity of its fields. */
interface CheckedSend extends FieldValidity {
  readonly exchange: Exchange;
}

/**
 * Sends that reach validation: with a valid key, not throttled, and with an unused `request_id`.
 */
const checkedSends = onceInTurn((trace: Trace): readonly CheckedSend[] =>
  authorizedSends(trace)
    .filter((send) => send.fields !== undefined && earlierUse(trace, send) === undefined)
    .map((exchange) => {
      const { invalid, open } = validityOf(exchange, trace);
      return { exchange, invalid, open };
    }),
);

function authorizedSends({ exchanges }: Trace): Exchange[] {
  return exchanges.filter(
    (send) =>
      isMessageSend(send) && send.caller.key === 'valid' && ![0, 429].includes(send.reply.status),
  );
}

/** True if the fields, the sender and the quota require a 202. */
function mustBeAccepted({ invalid, open, exchange }: CheckedSend): boolean {
  const { caller, sender, reply } = exchange;
  const mayBeSpent = caller.quota !== undefined && reply.status === 402;
  return invalid.length + open.length === 0 && sender?.is === 'own' && !mayBeSpent;
}

/**
 * A 400 names an invalid field and no valid one; a send of valid fields is accepted. `isShown`:
 * true for an accepted send that exercises the rule.
 */
function judgeFields(names: readonly string[], isShown: (send: Exchange) => boolean): Judge {
  return (trace, findings) => {
    for (const checked of checkedSends(trace)) {
      const { exchange, invalid, open } = checked;
      const { reply } = exchange;
      // A service may name an open field first.
      const mayBeBlamed = [...invalid, ...open].flatMap(namesOf);
      const isInvalid =
        invalid.length > 0 && invalid.flatMap(namesOf).some((name) => names.includes(name));
      if (isInvalid) findings.judge([exchange], () => verify.invalid(reply, ...mayBeBlamed));
      else if (mustBeAccepted(checked))
        findings.require(isShown(exchange), [exchange], () => void verify.accepted(reply));
      if (reply.status !== 400) continue;
      const wronglyBlamed = names.filter(
        (name) => isNamed(reply, name) && !mayBeBlamed.includes(name),
      );
      findings.judge([exchange], () => {
        if (wronglyBlamed.length > 0) failForNames(reply, [...invalid, ...open]);
        if (isInvalid) verify.declaredJson(reply);
      });
    }
  };
}

function isNamed({ json }: Reply, name: string): boolean {
  return namesField(json, name, { readsProse: false });
}

/** Says which names a 400 has, and which of them the fields of the send permit. */
function failForNames(reply: Reply, mayBeNamed: readonly string[]): never {
  const named = documentedNames.filter((name) => isNamed(reply, name));
  const right = mayBeNamed.map((name) => `\`${name}\``).join(' or ');
  const expected =
    right === '' ? 'no 400: all fields are valid' : `a 400 that names ${right} alone`;
  const actual = `it names ${named.join(', ')}: ${verify.describe(reply)}`;
  verify.fail(expected, actual, reply.exchange);
}

/** Sends that lack a required field, or have it wrong, show the rule. Accepted ones do not. */
const isNotShown = () => false;

/** SEND-2: `to`, a sender and `message` are required. */
function judgeRequiredFields(trace: Trace, findings: Findings): void {
  judgeFields(['to', 'from', 'from_number', 'message'], isNotShown)(trace, findings);
  findings.lack('a send without a right number or text');
}

/** SEND-5: any invalid field, and a body that is not a JSON object: a 4xx with a JSON body. */
function judgeAllFields(trace: Trace, findings: Findings): void {
  judgeFields(['to', 'from', 'message', 'request_id', 'send_at'], isNotShown)(trace, findings);
  for (const send of authorizedSends(trace)) {
    const { reply, fields } = send;
    // A field of which the document does not say whether it is valid is accepted or refused.
    const isCrash = trace.recorded === undefined && reply.status === 500;
    findings.alsoRequireThat([send], !isCrash, '202, or a 400 that names a field');
    if (fields !== undefined) continue;
    findings.judge([send], () => {
      verify.that(reply.status >= 400 && reply.status < 500, 'a 4xx', reply);
      verify.declaredJson(reply);
    });
  }
  judgeNotQueued(trace, findings, [400]);
  findings.lack('a send with an invalid field');
}

/** Functions that count the characters of a text, one for each answer of `characterUnit`. */
const counters: readonly ((text: string) => number)[] = [
  (text) => [...text].length,
  (text) => text.length,
  graphemesIn,
];

/** SEND-6: 1,600 characters are accepted and 1,601 are not, in one unit for all messages. */
function judgeLength(trace: Trace, findings: Findings): void {
  judgeFields(['message'], () => true)(trace, findings);
  noticeLongMessages(trace, findings);
  // A service that counts the text as too long says so with a 400 (SEND-5).
  for (const { exchange, invalid } of checkedSends(trace))
    findings.alsoRequireThat(
      [exchange],
      invalid.length > 0 || exchange.reply.status !== 413,
      '202, or a 400 that names message',
    );
  const sized = checkedSends(trace).filter(({ exchange, invalid, open }) => {
    const isDecided = exchange.reply.status === 202 || exchange.reply.status === 400;
    const isOnlyMessage = [...invalid, ...open].every((name) => name === 'message');
    return isDecided && isOnlyMessage && messageIn(exchange).trim() !== '';
  });
  const isExplained = counters.some((count) =>
    sized.every(({ exchange }) => {
      const isShort = count(messageIn(exchange)) <= messageMaxCharacters;
      return isShort === (exchange.reply.status === 202);
    }),
  );
  if (isExplained) return;
  const open = sized.filter((send) => send.open.length > 0).map(({ exchange }) => exchange);
  const proof = open.find(({ reply }) => reply.status === 202) ?? open[0];
  const tooLong = (messageMaxCharacters + 1).toLocaleString('en');
  const expected = `no message of ${tooLong} characters, in any unit`;
  if (proof !== undefined) findings.judgeThat(open, false, expected, proof.reply);
}

function messageIn({ fields }: Exchange): string {
  return verify.textOf(fields?.['message']);
}

/** The document does not show the fields of the other two sends, so a long message is a notice. */
function noticeLongMessages({ exchanges }: Trace, findings: Findings): void {
  for (const send of exchanges) {
    const isOtherSend = send.method === 'POST' && !isMessageSend(send) && isAccepted(send);
    if (isOtherSend && [...messageIn(send)].length > messageMaxCharacters) {
      findings.notice(
        `${send.endpoint} takes a message of more than ${messageMaxCharacters} characters`,
        send,
      );
    }
  }
}

/** SEND-3: a valid new message is 202 with a Message body and a `message_id` of its own. */
function judgeNewMessages(trace: Trace, findings: Findings): void {
  const sends = new Map<string, Exchange>();
  for (const checked of checkedSends(trace)) {
    const { exchange } = checked;
    const id = messageIdOf(exchange);
    const earlier = sends.get(id);
    // Whether or not it must be accepted, a new message is no earlier one.
    const isMessage = trace.recorded === undefined && exchange.reply.status === 202;
    const isNew = mustBeAccepted(checked);
    if (repeatsAnother(trace, exchange) || (!isNew && !isMessage)) continue;
    // A refused send has no id.
    if (id !== '') sends.set(id, exchange);
    if (!isNew) {
      const expected = 'two different message_ids';
      if (earlier !== undefined) findings.judgeThat([earlier, exchange], false, expected, id);
      continue;
    }
    findings.judge(earlier === undefined ? [exchange] : [earlier, exchange], () => {
      const body = verify.accepted(exchange.reply);
      verify.equal('status', body['status'], 'queued');
      requireSevenFields(body, '');
      verify.that(earlier === undefined, 'two different message_ids', id);
    });
  }
  // Neither answer of `emptyRequestId` makes an empty id one that can be repeated.
  for (const send of authorizedSends(trace)) {
    const isNoReplay = send.reply.status !== 200 || isUncertain(send);
    if (send.fields?.['request_id'] === '')
      findings.judgeThat([send], isNoReplay, '202, or a 400 that names request_id', send.reply);
  }
}

/** STATE-1, SVC-2: a send answers queued, and its message can be read at once. */
export function judgeCreation({ exchanges, hasExactTimes }: Trace, findings: Findings): void {
  for (const send of exchanges) {
    if (!isMessageSend(send) || send.reply.status !== 202) continue;
    const messageId = messageIdOf(send);
    const read = exchanges.find(
      (exchange) =>
        isRead(exchange) &&
        exchange.id === messageId &&
        exchange.caller.account === send.caller.account,
    );
    findings.judge(read === undefined ? [send] : [send, read], () => {
      verify.equal('status of the 202', bodyOf(send)['status'], 'queued');
      if (read === undefined) return;
      const body = verify.message(read.reply, 200);
      verify.equal('message_id of the read', body['message_id'], messageId);
      const isAtOnce = hasExactTimes && read.sentAt === send.sentAt;
      if (isAtOnce && send.fields?.['send_at'] === undefined)
        verify.equal('status of a read at the same time', body['status'], 'queued');
    });
  }
}

/** SEND-1: a number under `from_number` gets the same reply as the same number under `from`. */
function judgeAlias(trace: Trace, findings: Findings): void {
  const checked = checkedSends(trace);
  for (const aliasSend of checked) {
    const number = numberUnder(aliasSend, 'from_number');
    if (number === undefined) continue;
    if (trace.recorded !== undefined && aliasSend.invalid.length === 0)
      judgeAliasAlone(aliasSend, findings);
    const fromSend = checked.find((send) => numberUnder(send, 'from') === number);
    if (fromSend !== undefined) judgeBothNames(fromSend, aliasSend, number, findings);
  }
}

/** The sender of a send that has it under this name alone. */
function numberUnder({ exchange }: CheckedSend, name: 'from' | 'from_number'): unknown {
  const { fields = {} } = exchange;
  const hasBoth = fields['from'] !== undefined && fields['from_number'] !== undefined;
  return hasBoth ? undefined : fields[name];
}

/** A recorded alias was read if the send was accepted, or refused for another field. */
function judgeAliasAlone({ exchange, open }: CheckedSend, findings: Findings): void {
  const { reply } = exchange;
  const senderNames = namesOf('from');
  findings.judge([exchange], () => {
    if (reply.status === 202 || open.some((name) => senderNames.includes(name))) return;
    const isMissed = senderNames.some((name) => isNamed(reply, name));
    verify.that(!isMissed, 'from_number read as from', reply);
  });
}

function judgeBothNames(
  fromSend: CheckedSend,
  aliasSend: CheckedSend,
  number: unknown,
  findings: Findings,
): void {
  const [from, alias] = [fromSend.exchange, aliasSend.exchange];
  findings.judge([from, alias], () => {
    if (mustBeAccepted(fromSend)) verify.accepted(from.reply);
    verify.equal('status under the alias', alias.reply.status, from.reply.status);
    if (alias.reply.status !== 202)
      return verify.that(from.reply.status >= 400, 'a refusal', from.reply);
    verify.equal('from_number under `from`', bodyOf(from)['from_number'], number);
    verify.equal('from_number under the alias', bodyOf(alias)['from_number'], number);
    const { device_id } = bodyOf(from);
    verify.equal('device_id under the alias', bodyOf(alias)['device_id'], device_id);
  });
}
