/**
 * Sends that are read wrongly: a field is refused, accepted or understood as something else, or a
 * hold by `send_at` ends at a wrong time. Rules: SEND-1, SEND-2, SEND-3, SEND-5, SEND-6, SEND-7.
 */
import type { Handled } from '../../src/http/service/api.ts';
import { dayMs, hourMs, minuteMs } from '../../src/ledger/time-units.ts';
import { isoTime } from '../../src/sim/clock.ts';
import { isPhoneNumber } from '../../src/sim/phone-number.ts';
import { parseSendAt } from '../../src/sim/send-at.ts';
import {
  acceptAnyway,
  answering,
  answeringSends,
  breaking,
  type Call,
  changed,
  type DefectRow,
  type Exchange,
  handling,
  invalid,
  isAccepted,
  isSend,
  messageOf,
  type Planted,
  refusal,
  refusing,
  replying,
  rewriting,
  textOf,
  understanding,
} from './planted.ts';

/** The longest message, in characters. */
const longestText = 1_600;
const fiveMinutesMs = 5 * minuteMs;
/** How far the server's local time is behind UTC. */
const localZoneMs = 5 * hourMs;
/** A valid recipient, which stands for an invalid one. */
const anyRecipient = '+12025550123';

/** Refuses sends whose text field satisfies `isRefused`. */
function refusingField(field: string, isRefused: (text: string) => boolean): Planted {
  return answeringSends((call) => {
    const text = call.fields[field];
    return typeof text === 'string' && isRefused(text) ? invalid(field, call) : undefined;
  });
}

function isPhone(value: unknown): boolean {
  return typeof value === 'string' && isPhoneNumber(value, 'possible');
}

/** A number that the caller's account can send from. */
function firstOwnNumber({ key }: Call): string | undefined {
  return key?.account.devices[0]?.number;
}

/** Removes the characters by which people group the digits of a number. */
function withoutSeparators(number: string): string {
  return number.replace(/(?<=.)[ ().-]/g, '');
}

/**
 * Replaces Arabic-Indic and full-width digits by ASCII ones. In both ranges, the low four bits of
 * the code are the digit.
 */
function withAsciiDigits(text: string): string {
  return text.replace(/[\u0660-\u0669\uff10-\uff19]/g, (digit) =>
    String(digit.charCodeAt(0) & 0xf),
  );
}

/** Accepts any recipient: sends to a valid one instead, and echoes what was given. */
const uncheckedRecipient = handling(() => ({ request, fields }, next) => {
  const to = fields?.['to'];
  if (typeof to !== 'string' || isPhone(to)) return next(request);
  const handled = next(changed(request, { body: JSON.stringify({ ...fields, to: anyRecipient }) }));
  const body = handled.reply.body.replace(anyRecipient, to);
  return { ...handled, reply: { ...handled.reply, body } };
});

/** Answers a send whose body came within the last minute by the reply to the first one. */
const deduplicatedByBody = handling(({ clock }) => {
  const earlier = new Map<string, { readonly atMs: number; readonly handled: Handled }>();
  return ({ request, fields }, next) => {
    if (!isSend(request) || fields?.['request_id'] !== undefined) return next(request);
    const content = `${request.authorization} ${textOf(request)}`;
    const first = earlier.get(content);
    if (first !== undefined && clock.now() - first.atMs < minuteMs) return first.handled;
    const handled = next(request);
    if (handled.reply.status === 202) earlier.set(content, { atMs: clock.now(), handled });
    return handled;
  };
});

/** The time of a valid `send_at` in epoch milliseconds; undefined for any other text. */
function instantOf(sendAt: string): number | undefined {
  const read = parseSendAt(sendAt, { sendAtFormats: 'rfc3339', sendAtZone: 'any_offset' });
  return typeof read === 'number' ? read : undefined;
}

/**
 * Reads `send_at` as what `change` returns; undefined removes it. `atMs`: its time; undefined if it
 * is not valid.
 */
function readingSendAt(
  change: (sendAt: string, nowMs: number, atMs: number | undefined) => string | undefined,
): Planted {
  return rewriting('send_at', (sendAt, { simulation }) =>
    change(sendAt, simulation.clock.now(), instantOf(sendAt)),
  );
}

/** Moves the end of each hold; if the new end is past, the message is not held. */
function movingHold(change: (atMs: number, nowMs: number) => number): Planted {
  return readingSendAt((sendAt, nowMs, atMs) => {
    if (atMs === undefined || atMs <= nowMs) return sendAt;
    const movedMs = change(atMs, nowMs);
    return movedMs <= nowMs ? undefined : isoTime(movedMs);
  });
}

/** A task poll with a valid key ends the holds of the account's messages on that SIM. */
function tasksEndHolds({ endpoint, key, id, reply, simulation }: Exchange) {
  const messages = endpoint === 'tasks' ? [...(key?.account.messages ?? [])] : [];
  for (const message of messages) {
    const isHeld = message.device.deviceId === id && message.isHeldAt(simulation.clock.now());
    if (isHeld) simulation.fleet.progress(message);
  }
  return reply;
}

export const sendDefects: readonly DefectRow[] = [
  ...breaking('SEND-1', {
    'alias-ignored': [
      'from_number alone is refused',
      understanding(() => ({ from_number: undefined })),
    ],
    'alias-only': ['from alone is refused', understanding(() => ({ from: undefined }))],
    'alias-not-checked': [
      'from_number is not validated',
      understanding(({ from, from_number: alias }, call) =>
        from === undefined && alias !== undefined && !isPhone(alias)
          ? { from_number: firstOwnNumber(call) }
          : {},
      ),
    ],
  }),
  ...breaking('SEND-2', {
    'missing-message-accepted': [
      'a message without text is accepted',
      understanding(({ message = 'No text.' }) => ({ message })),
    ],
    'null-message-accepted': [
      'null is taken for a text',
      understanding(({ message }) => (message === null ? { message: 'No text.' } : {})),
    ],
    'to-normalised': [
      'a recipient with spaces or hyphens is accepted',
      rewriting('to', withoutSeparators),
    ],
    'to-not-checked': ['any text is a recipient', uncheckedRecipient],
    'from-not-checked': [
      'a malformed sender is answered 403',
      refusing(400, (exchange) =>
        exchange.sender !== undefined && /"from(?:_number)?"/.test(exchange.reply.body)
          ? refusal({ kind: 'number_not_found' }, exchange)
          : exchange.reply,
      ),
    ],
    'to-any-digits': [
      'digits of other scripts are digits of a number',
      rewriting('to', withAsciiDigits),
    ],
    'from-normalised': [
      'a sender with spaces or hyphens is accepted',
      rewriting('from', withoutSeparators),
    ],
    'abroad-refused': [
      'numbers of other countries are refused',
      refusingField('to', (to) => isPhone(to) && !to.startsWith('+1')),
    ],
  }),
  ...breaking('SEND-3', {
    'emoji-500': [
      'a text with an emoji is answered 500',
      answeringSends(({ fields }) =>
        /\p{Emoji_Presentation}/u.test(String(fields['message']))
          ? { status: 500, body: JSON.stringify({ detail: 'Internal server error.' }) }
          : undefined,
      ),
    ],
    'send-deduplicated': ['the same message twice within a minute is one', deduplicatedByBody],
  }),
  ...breaking('SEND-5', {
    'malformed-202': [
      'a malformed body is accepted',
      answering(({ request, key, fields, simulation }) => {
        const device = key?.account.devices[0];
        if (!isSend(request) || fields !== undefined || key === undefined || device === undefined)
          return undefined;
        const invented = { to: anyRecipient, message: 'No text.' };
        return acceptAnyway({ key, fields: invented, simulation }, device);
      }),
    ],
    'wrong-type-coerced': [
      'a list is taken for a text',
      understanding((fields) =>
        Object.fromEntries(
          Object.entries(fields).map(([name, value]) => {
            return [name, Array.isArray(value) ? String(value) : value];
          }),
        ),
      ),
    ],
  }),
  ...breaking('SEND-6', {
    'length-1599': [
      '1,600 characters are refused',
      refusingField('message', (message) => message.length === longestText),
    ],
    'length-1601': [
      '1,601 characters are accepted',
      rewriting('message', (text) => (text.length === longestText + 1 ? text.slice(1) : text)),
    ],
    'length-in-bytes': [
      'the length is counted in bytes',
      refusingField('message', (message) => Buffer.byteLength(message) > longestText),
    ],
    'length-truncated': [
      'a message that is too long is cut and accepted',
      rewriting('message', (message) => message.slice(0, longestText)),
    ],
    'length-trimmed': [
      'spaces around the text are not counted',
      rewriting('message', (message) => message.trim()),
    ],
  }),
  ...breaking('SEND-7', {
    'send-at-ignored': ['send_at is ignored', readingSendAt(() => undefined)],
    'send-at-now-accepted': [
      'a send_at of this very moment is accepted',
      readingSendAt((sendAt, nowMs, atMs) => (atMs === nowMs ? undefined : sendAt)),
      'no request can be timed to the millisecond of its send_at',
    ],
    'send-at-past-accepted': [
      'a send_at in the past is accepted',
      readingSendAt((sendAt, nowMs, atMs = nowMs) => (atMs < nowMs ? undefined : sendAt)),
    ],
    'send-at-grace': [
      'a send_at of less than five minutes ago is accepted',
      readingSendAt((sendAt, nowMs, atMs = nowMs) =>
        atMs < nowMs && nowMs - atMs < fiveMinutesMs ? undefined : sendAt,
      ),
    ],
    'send-at-offset-dropped': [
      'an offset in send_at is dropped: local time is read as UTC',
      readingSendAt((sendAt) => sendAt.replace(/[+-]\d\d:\d\d$/, 'Z')),
    ],
    'send-at-seconds-only': [
      'a send_at without milliseconds is refused',
      refusingField('send_at', (sendAt) => !/\.\d{3}/.test(sendAt)),
    ],
    'send-at-early': [
      'a held message leaves five minutes early',
      movingHold((atMs) => atMs - fiveMinutesMs),
    ],
    'send-at-late': [
      'a held message leaves five minutes late',
      movingHold((atMs) => atMs + fiveMinutesMs),
    ],
    'send-at-day-dropped': [
      'a hold of more than a day ends on the first day',
      movingHold((atMs, nowMs) => nowMs + ((atMs - nowMs) % dayMs)),
    ],
    'send-at-absent-held': [
      'a message without send_at waits five minutes',
      understanding(({ send_at }, { simulation }) => ({
        send_at: send_at ?? isoTime(simulation.clock.now() + fiveMinutesMs),
      })),
    ],
    'send-at-picked-up-at-once': [
      'a held message is sending from the start',
      replying((exchange) => {
        const message = messageOf(exchange);
        if (message && message.sendAtMs > 0) exchange.simulation.fleet.progress(message);
        return exchange.reply;
      }, isAccepted),
    ],
    'external-forgets-hold': [
      'the external send checks send_at and ignores it',
      rewriting('send_at', (sendAt, { endpoint, simulation }) => {
        const isFuture = (instantOf(sendAt) ?? 0) > simulation.clock.now();
        return endpoint === 'external_send' && isFuture ? undefined : sendAt;
      }),
    ],
    'tasks-end-holds': [
      'a device that asks for tasks ends the holds of its SIM',
      replying(tasksEndHolds),
    ],
    'send-at-an-hour-west': [
      'send_at is read in a zone one hour west of UTC',
      readingSendAt((sendAt, _, atMs) => (atMs === undefined ? sendAt : isoTime(atMs + hourMs))),
    ],
    'send-at-plus-zero-local': [
      'a send_at that ends in +00:00 is read as local time',
      readingSendAt((sendAt, _, atMs) =>
        atMs === undefined || !sendAt.endsWith('+00:00') ? sendAt : isoTime(atMs + localZoneMs),
      ),
    ],
    'send-at-garbage-accepted': [
      'a send_at that is not a time is accepted',
      readingSendAt((sendAt, _, atMs) => (atMs === undefined ? undefined : sendAt)),
    ],
  }),
];
