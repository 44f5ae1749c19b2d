/**
 * Sends that are read wrongly: a field is refused, accepted or understood as something else. Rules:
 * SEND-1, SEND-2, SEND-3, SEND-5, SEND-6.
 */
import { minuteMs } from '#contract/time.ts';
import type { Handled } from '#src/http/service/api.ts';
import { isPhoneNumber } from '#src/sim/sends/phone-number.ts';
import {
  type Call,
  changed,
  isAccepted,
  isReplay,
  isSend,
  messageOf,
  objectOf,
  textOf,
} from './call.ts';
import {
  acceptAnyway,
  answering,
  answeringSends,
  brokenConnection,
  handling,
  reading,
  refusal,
  refusing,
  refusingField,
  rewriting,
  understanding,
} from './combinators.ts';
import { breaking, type DefectRow, type Planted } from './planted.ts';

/** The longest message, in characters. */
const longestText = 1_600;
/** The escapes of the longest text can have more. */
const mostBodyBytes = 16 * 1_024;
/** A valid recipient, which stands for an invalid one. */
const anyRecipient = '+12025550123';

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

/** Accepts such recipients, too: sends to a valid one instead, and echoes what was given. */
function acceptingRecipients(isTaken: (to: string) => boolean): Planted {
  return handling(() => ({ request, fields }, next) => {
    const to = fields?.['to'];
    if (typeof to !== 'string' || isPhone(to) || !isTaken(to)) return next(request);
    const valid = { ...fields, to: anyRecipient };
    const handled = next(changed(request, { body: JSON.stringify(valid) }));
    const body = handled.reply.body.replace(anyRecipient, to);
    return { ...handled, reply: { ...handled.reply, body } };
  });
}

/**
 * Answers a send with the reply to an equal one of the last minute, but with `status`. Concerns
 * sends with this `request_id`; undefined: those without one.
 */
function answeringAgain(requestId: string | undefined, status: number): Planted {
  return handling(({ clock }) => {
    const earlier = new Map<string, { readonly atMs: number; readonly handled: Handled }>();
    return ({ request, fields }, next) => {
      if (!isSend(request) || fields?.['request_id'] !== requestId) return next(request);
      const content = `${request.authorization} ${textOf(request)}`;
      const first = earlier.get(content);
      if (first !== undefined && clock.now() - first.atMs < minuteMs)
        return { ...first.handled, reply: { ...first.handled.reply, status } };
      const handled = next(request);
      if (handled.reply.status === 202) earlier.set(content, { atMs: clock.now(), handled });
      return handled;
    };
  });
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
    'null-breaks': [
      'null as a required field breaks the connection',
      answeringSends(({ fields: { to, from, message } }) =>
        [to, from, message].includes(null) ? brokenConnection : undefined,
      ),
    ],
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
    'to-extension-dropped': [
      'a recipient with an extension is accepted without it',
      rewriting('to', (number) => number.replace(/;ext=\d+$/, '')),
    ],
    'to-not-checked': ['any text is a recipient', acceptingRecipients(() => true)],
    'to-short-code': [
      'a short code of five digits is a recipient',
      acceptingRecipients((to) => /^\d{5}$/.test(to)),
    ],
    'to-list': [
      'several recipients in one text are accepted',
      acceptingRecipients((to) => to.includes(',') && to.split(',').every(isPhone)),
    ],
    'to-national': [
      'ten digits without a country are a recipient',
      acceptingRecipients((to) => /^[2-9]\d{9}$/.test(to)),
    ],
    'from-not-checked': [
      'a malformed sender is answered 403',
      refusing(400, (exchange) =>
        exchange.sender !== undefined && /"from(?:_number)?"/.test(exchange.reply.body)
          ? refusal({ kind: 'number_not_found' }, exchange)
          : exchange.reply,
      ),
    ],
    'alias-trimmed': [
      'white space around a from_number is ignored',
      rewriting('from_number', (number) => number.trim()),
    ],
    'to-any-digits': [
      'digits of other scripts are digits of a number',
      rewriting('to', withAsciiDigits),
    ],
    'from-normalised': [
      'a sender with spaces or hyphens is accepted',
      rewriting('from', withoutSeparators),
    ],
    'names-in-any-case': [
      'To, MESSAGE and other spellings of a name are taken for the name',
      understanding((fields) =>
        Object.fromEntries(
          Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]),
        ),
      ),
    ],
    'to-as-integer': [
      'a second sign before a recipient, and underscores between its digits, are ignored',
      rewriting('to', (number) => number.replace(/^\+(?=\+)|(?<=\d)_(?=\d)/g, '')),
    ],
    'to-international-prefix': [
      '00 is taken for the plus sign of a recipient',
      rewriting('to', (number) => number.replace(/^00/, '+')),
    ],
    'abroad-refused': [
      'numbers of other countries are refused',
      refusingField('to', (to) => isPhone(to) && !to.startsWith('+1')),
    ],
  }),
  ...breaking('SEND-3', {
    'other-key-replay-202': [
      "a request_id that another key of the account has used is answered 202 with the first message's body",
      handling(() => {
        const keyOf = new Map<string | undefined, string | undefined>();
        return (call, next) => {
          const handled = next(call.request);
          const exchange = { ...call, reply: handled.reply };
          const messageId = messageOf(exchange)?.messageId;
          if (isAccepted(exchange)) keyOf.set(messageId, call.key?.keyId);
          const isOther = isReplay(exchange) && keyOf.get(messageId) !== call.key?.keyId;
          return isOther ? { ...handled, reply: { ...handled.reply, status: 202 } } : handled;
        };
      }),
    ],
    'emoji-500': [
      'a text with an emoji is answered 500',
      answeringSends(({ fields }) =>
        /\p{Emoji_Presentation}/u.test(String(fields['message']))
          ? { status: 500, body: JSON.stringify({ detail: 'Internal server error.' }) }
          : undefined,
      ),
    ],
    'body-16-kib': [
      'a body of more than 16 KiB is answered 413, although a permitted text needs it',
      answeringSends(({ request }) =>
        textOf(request).length > mostBodyBytes ? { status: 413, body: '{}' } : undefined,
      ),
    ],
    'command-refused': [
      'a text that is a command of a network, such as STOP, is refused',
      refusingField('message', (text) => text === 'STOP'),
    ],
    'path-refused': [
      'a firewall refuses a text with the path of a file',
      answeringSends(({ fields }) =>
        String(fields['message']).includes('/etc/') ? { status: 403, body: '{}' } : undefined,
      ),
    ],
    'send-by-first-key': [
      'only the first key of an account may send',
      answeringSends((call) =>
        call.key === call.key.account.keys[0]
          ? undefined
          : refusal({ kind: 'number_access_denied' }, call),
      ),
    ],
    'empty-id-replays': ['an empty request_id is replayed', answeringAgain('', 200)],
    'send-deduplicated': [
      'the same message twice within a minute is one',
      answeringAgain(undefined, 202),
    ],
  }),
  ...breaking('SEND-3', {
    'charset-refused': [
      'a body is no JSON if its type has a charset',
      answeringSends(({ request }) =>
        request.contentType?.includes('charset') === true ? { status: 415, body: '{}' } : undefined,
      ),
    ],
    'quoted-charset-refused': [
      'a body is no JSON if the charset of its type is in quotes',
      answeringSends(({ request }) =>
        request.contentType?.includes('"') === true ? { status: 415, body: '{}' } : undefined,
      ),
    ],
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
    'text-after-object': [
      'what follows the object of a send is not read',
      reading(({ request, fields }) => {
        const text = isSend(request) && fields === undefined ? textOf(request) : '';
        const ends = [...text.matchAll(/\}/g)].map(({ index }) => index + 1);
        const body = ends.map((end) => text.slice(0, end)).find((start) => objectOf(start));
        return body === undefined ? undefined : { body };
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
];
