/**
 * Judges which sends are accepted and which are refused for their fields. Rules: SEND-1 to SEND-3,
 * SEND-5 to SEND-7, STATE-1, SVC-2.
 */
import * as verify from '../verify.ts';
import { sevenFields } from './body.ts';
import {
  bodyOf,
  type Exchange,
  isAccepted,
  isMessageSend,
  isRead,
  messageIdOf,
} from './exchange.ts';
import type { Findings, Judge, Trace } from './judge.ts';
import { earlierUse, judgeNotQueued } from './replay.ts';
import { type FieldValidity, graphemesIn, namesOf, validityOf } from './validity.ts';

interface Checked extends FieldValidity {
  readonly exchange: Exchange;
}

/**
 * The sends whose validation decides the reply: with a valid key, not throttled, and with a
 * `request_id` that was not used before.
 */
function checkedSends(trace: Trace): Checked[] {
  return trace.exchanges
    .filter(
      (send) =>
        isMessageSend(send) &&
        send.caller.key === 'valid' &&
        send.fields !== undefined &&
        ![0, 429].includes(send.reply.status) &&
        earlierUse(trace, send) === undefined,
    )
    .map((exchange) => ({ exchange, ...validityOf(exchange, trace.hasExactTimes) }));
}

/** True if the send must be accepted, as far as its fields and its sender go. */
function mustBeAccepted({ invalid, open, exchange }: Checked): boolean {
  const { caller, sender, reply } = exchange;
  const mayBeSpent = caller.quota !== undefined && reply.status === 402;
  return invalid.length + open.length === 0 && sender?.is === 'own' && !mayBeSpent;
}

function accepts({ exchange }: Checked, findings: Findings): void {
  findings.judge([exchange], () => {
    verify.accepted(exchange.reply);
  });
}

/** Invalid values of some fields are 400 and name the field; valid ones are not. */
function judgeFields(fields: readonly string[] | undefined): Judge {
  return (trace, findings) => {
    const checked = checkedSends(trace);
    for (const checkedSend of checked) {
      const { exchange, invalid, open } = checkedSend;
      const { reply } = exchange;
      const wrong = invalid.filter((name) => fields === undefined || fields.includes(name));
      if (wrong.length > 0)
        findings.judge([exchange], () => verify.invalid(reply, ...invalid.flatMap(namesOf)));
      else if (mustBeAccepted(checkedSend)) accepts(checkedSend, findings);
      if (reply.status !== 400) continue;
      const named = verify.fieldsNamed(reply);
      const unnamed = [...invalid, ...open].flatMap(namesOf);
      const right = (fields ?? ['to', 'from', 'message', 'request_id', 'send_at']).filter(
        (name) => named.includes(name) && !unnamed.includes(name),
      );
      findings.judge([exchange], () => {
        verify.that(right.length === 0, `no 400 for a valid ${right.join(', ')}`, reply);
        if (wrong.length > 0) verify.declaredJson(reply);
      });
    }
    if (fields === undefined) malformedBodies(trace, findings);
  };
}

const longestMessage = 1_600;

/** What one character may be (`characterUnit`). */
const units: readonly ((text: string) => number)[] = [
  (text) => [...text].length,
  (text) => text.length,
  graphemesIn,
];

/** SEND-6: 1,600 characters are accepted and 1,601 are not, in one unit for all messages. */
const length: Judge = (trace, findings) => {
  judgeFields(['message'])(trace, findings);
  hearOfLengths(trace, findings);
  const sized = checkedSends(trace).filter(({ exchange, invalid, open }) => {
    const { status } = exchange.reply;
    const others = [...invalid, ...open].filter((name) => name !== 'message');
    const isBlank = verify.textOf(exchange.fields?.['message']).trim() === '';
    return others.length === 0 && !isBlank && (status === 202 || status === 400);
  });
  const isExplained = (count: (text: string) => number) => (checkedSend: Checked) =>
    count(verify.textOf(checkedSend.exchange.fields?.['message'])) <= longestMessage ===
    (checkedSend.exchange.reply.status === 202);
  if (units.some((count) => sized.every(isExplained(count)))) return;
  const open = sized
    .filter((checkedSend) => checkedSend.open.length > 0)
    .map(({ exchange }) => exchange);
  const wrong = open.find(({ reply }) => reply.status === 202) ?? open[0];
  const expected = 'no message of 1,601 characters, in any unit';
  if (wrong !== undefined) findings.judgeThat(open, false, expected, wrong.reply);
};

/** The other sends, whose fields the document does not show, may take what this one refuses. */
function hearOfLengths({ exchanges }: Trace, findings: Findings): void {
  const isLong = ({ fields }: Exchange) =>
    [...verify.textOf(fields?.['message'])].length > longestMessage;
  for (const send of exchanges)
    if (send.method === 'POST' && !isMessageSend(send) && isLong(send) && isAccepted(send))
      findings.notice(
        `${send.endpoint} takes a message of more than ${longestMessage} characters`,
        send,
      );
}

/** A body that is not a JSON object is a 4xx with a JSON body. */
function malformedBodies(trace: Trace, findings: Findings): void {
  for (const send of malformedIn(trace))
    findings.judge([send], () => {
      const { reply } = send;
      verify.that(reply.status >= 400 && reply.status < 500, 'a 4xx', reply);
      verify.declaredJson(reply);
    });
  judgeNotQueued(trace, findings, [400]);
}

export function malformedIn({ exchanges }: Trace): Exchange[] {
  return exchanges.filter(
    (send) =>
      isMessageSend(send) &&
      send.caller.key === 'valid' &&
      send.fields === undefined &&
      ![0, 429].includes(send.reply.status),
  );
}

/** SEND-3: a valid new message is 202 with its own message. */
const newMessages: Judge = (trace, findings) => {
  const ids = new Map<string, Exchange>();
  for (const checkedSend of checkedSends(trace)) {
    if (!mustBeAccepted(checkedSend)) continue;
    const { exchange } = checkedSend;
    const earlier = ids.get(messageIdOf(exchange));
    ids.set(messageIdOf(exchange), exchange);
    findings.judge([...(earlier === undefined ? [] : [earlier]), exchange], () => {
      const body = verify.accepted(exchange.reply);
      verify.equal('status', body['status'], 'queued');
      verify.equal('field names', Object.keys(body).sort().join(', '), sevenFields);
      verify.that(earlier === undefined, 'two different message_ids', messageIdOf(exchange));
    });
  }
};

/** STATE-1, SVC-2: a send answers queued, and its message is there at once. */
const createdQueued: Judge = ({ exchanges, hasExactTimes }, findings) => {
  for (const send of exchanges) {
    if (!isMessageSend(send) || send.reply.status !== 202) continue;
    const read = exchanges.find(
      (exchange) =>
        isRead(exchange) &&
        exchange.id === messageIdOf(send) &&
        exchange.caller.account === send.caller.account,
    );
    const isAtOnce = hasExactTimes && read?.sentAt === send.sentAt;
    findings.judge([send, ...(read === undefined ? [] : [read])], () => {
      verify.equal('status of the 202', bodyOf(send)['status'], 'queued');
      if (read === undefined) return;
      const body = verify.message(read.reply, 200);
      verify.equal('message_id of the read', body['message_id'], messageIdOf(send));
      if (isAtOnce && send.fields?.['send_at'] === undefined)
        verify.equal('status of a read at the same time', body['status'], 'queued');
    });
  }
};

/** SEND-1: what `from` means alone, `from_number` means alone. */
const alias: Judge = (trace, findings) => {
  const numberUnder = ({ exchange: { fields = {} } }: Checked, name: string) =>
    fields['from'] === undefined || fields['from_number'] === undefined ? fields[name] : undefined;
  const checked = checkedSends(trace);
  for (const checkedSend of checked) {
    const number = numberUnder(checkedSend, 'from_number');
    if (trace.recorded !== undefined && number !== undefined && checkedSend.invalid.length === 0)
      aliasIsRead(checkedSend, findings);
    const named = checked.find(
      (other) => number !== undefined && numberUnder(other, 'from') === number,
    );
    if (named === undefined) continue;
    const [first, second] = [named.exchange, checkedSend.exchange];
    findings.judge([first, second], () => {
      if (mustBeAccepted(named)) verify.accepted(first.reply);
      verify.equal('status under the alias', second.reply.status, first.reply.status);
      if (second.reply.status !== 202)
        return verify.that(first.reply.status >= 400, 'a refusal', first.reply);
      verify.equal('from_number under `from`', bodyOf(first)['from_number'], number);
      verify.equal('from_number under the alias', bodyOf(second)['from_number'], number);
      const { device_id } = bodyOf(first);
      verify.equal('device_id under the alias', bodyOf(second)['device_id'], device_id);
    });
  }
};

/** Recorded alone, it was read if it was accepted, or refused for another field. */
function aliasIsRead({ exchange, open }: Checked, findings: Findings): void {
  const { reply } = exchange;
  findings.judge([exchange], () => {
    if (reply.status === 202 || open.some((name) => namesOf('from').includes(name))) return;
    const isMissed = verify.fieldsNamed(reply).some((name) => namesOf('from').includes(name));
    verify.that(!isMissed, 'from_number read as from', reply);
  });
}

export const sendJudges = {
  'SEND-1': alias,
  'SEND-2': judgeFields(['to', 'from', 'from_number', 'message']),
  'SEND-3': newMessages,
  'SEND-5': judgeFields(undefined),
  'SEND-6': length,
  'STATE-1': createdQueued,
  'SVC-2': createdQueued,
} as const;

export const judgeSendAt = judgeFields(['send_at']);
