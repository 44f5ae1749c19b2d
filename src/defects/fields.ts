/**
 * Wrong readings of the fields of a send: lengths, types, numbers, the alias.
 * Rules: SEND-1, SEND-2, SEND-5, SEND-6.
 */
import type { Handled } from '../http/service/api.ts';
import type { ApiReply, ApiRequest } from '../http/service/messages.ts';
import { isPhoneNumber } from '../sim/phone-number.ts';
import type { Simulation } from '../simulation/simulation.ts';
import {
  acceptAnyway,
  callerOf,
  type Fields,
  fieldsOf,
  invalid,
  isSend,
  withFields,
} from './edge.ts';
import { answering, type Defects, type Planted, reading } from './planted.ts';

const longest = 1_600;

/** Replaces the fields of a send by those that `change` returns. */
export function understanding(
  change: (fields: Fields, request: ApiRequest, simulation: Simulation) => Fields,
) {
  return reading((request, simulation) => {
    const fields = isSend(request) ? fieldsOf(request) : undefined;
    return fields === undefined
      ? request
      : withFields(request, change(fields, request, simulation));
  });
}

/** Refuses messages by another length. */
export function tooLong(isTooLong: (message: string) => boolean): Planted {
  return refused('message', ({ message }) => typeof message === 'string' && isTooLong(message));
}

function refused(field: string, isRefused: (fields: Fields) => boolean): Planted {
  return answering((request, simulation): ApiReply | undefined => {
    const fields = isSend(request) ? fieldsOf(request) : undefined;
    const isDue =
      fields !== undefined && callerOf(request, simulation) !== undefined && isRefused(fields);
    return isDue ? invalid(field, simulation) : undefined;
  });
}

function ownNumber(request: ApiRequest, simulation: Simulation): string | undefined {
  return callerOf(request, simulation)?.account.devices[0]?.number;
}

function isNumber(value: unknown): boolean {
  return typeof value === 'string' && isPhoneNumber(value, 'possible');
}

/** A valid recipient in place of an unchecked one. */
const anyRecipient = '+12025550123';

/** The recipient is not checked, only echoed. */
const unchecked: Planted = {
  around: (next) => (request) => {
    const to = isSend(request) ? fieldsOf(request)?.['to'] : undefined;
    if (typeof to !== 'string' || isNumber(to)) return next(request);
    const handled = next(withFields(request, { to: anyRecipient }));
    const body = handled.reply.body.replace(anyRecipient, to);
    return { ...handled, reply: { ...handled.reply, body } };
  },
};

/** A text that the service cannot store. */
function broken(texts: RegExp): Planted {
  return answering((request, simulation) => {
    const message = isSend(request) ? fieldsOf(request)?.['message'] : undefined;
    const isBroken = typeof message === 'string' && texts.test(message);
    return isBroken && callerOf(request, simulation) !== undefined
      ? { status: 500, body: JSON.stringify({ detail: 'Internal server error.' }) }
      : undefined;
  });
}

const doubleMs = 60_000;

/** Treats the same body within a minute as the same message. */
const deduplicated: Planted = {
  around: (next, { clock }) => {
    const earlier = new Map<string, { readonly atMs: number; readonly handled: Handled }>();
    return (request) => {
      const { request_id: requestId } = fieldsOf(request) ?? {};
      if (!isSend(request) || requestId !== undefined) return next(request);
      const content = `${request.authorization} ${String(request.body)}`;
      const first = earlier.get(content);
      if (first !== undefined && clock.now() - first.atMs < doubleMs) return first.handled;
      const handled = next(request);
      if (handled.reply.status === 202) earlier.set(content, { atMs: clock.now(), handled });
      return handled;
    };
  },
};

export const fieldDefects: Defects = {
  'length-1599': tooLong((message) => message.length === longest),
  'length-160': tooLong((message) => message.length > 160),
  'length-in-bytes': tooLong((message) => Buffer.byteLength(message) > longest),
  'length-1601': understanding(({ message }) =>
    typeof message === 'string' && message.length === longest + 1
      ? { message: message.slice(0, longest) }
      : {},
  ),
  'length-truncated': understanding(({ message }) =>
    typeof message === 'string' ? { message: message.slice(0, longest) } : {},
  ),
  'wrong-type-coerced': understanding((fields) =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        Array.isArray(value) ? String(value) : value,
      ]),
    ),
  ),
  'missing-message-accepted': understanding(({ message = 'No text.' }) => ({ message })),
  'null-message-accepted': understanding(({ message }) =>
    message === null ? { message: 'No text.' } : {},
  ),
  'to-normalised': understanding(({ to }) =>
    typeof to === 'string' ? { to: to.replace(/(?<=.)[ ().-]/g, '') } : {},
  ),
  'missing-from-accepted': understanding(({ from, from_number: alias }, request, simulation) =>
    from === undefined && alias === undefined ? { from: ownNumber(request, simulation) } : {},
  ),
  'emoji-500': broken(/\p{Emoji_Presentation}/u),
  'apostrophe-500': broken(/'/),
  'send-deduplicated': deduplicated,
  'to-not-checked': unchecked,
  'to-dialled': understanding(({ to }) =>
    typeof to === 'string' ? { to: to.replace(/^00/, '+') } : {},
  ),
  'array-500': answering((request, simulation) =>
    isSend(request) &&
    callerOf(request, simulation) !== undefined &&
    String(request.body).trim().startsWith('[')
      ? { status: 500, body: JSON.stringify({ detail: 'Internal server error.' }) }
      : undefined,
  ),
  'to-without-plus': understanding(({ to }) =>
    typeof to === 'string' && /^\d{8,15}$/.test(to) ? { to: `+${to}` } : {},
  ),
  'abroad-refused': refused('to', ({ to }) => isNumber(to) && !String(to).startsWith('+1')),
  'alias-ignored': understanding(() => ({ from_number: undefined })),
  'alias-only': understanding(() => ({ from: undefined })),
  'alias-not-checked': understanding(({ from, from_number: alias }, request, simulation) =>
    from === undefined && alias !== undefined && !isNumber(alias)
      ? { from_number: ownNumber(request, simulation) }
      : {},
  ),
  'malformed-202': answering((request, simulation) => {
    const key = isSend(request) ? callerOf(request, simulation) : undefined;
    const device = key?.account.devices[0];
    if (key === undefined || device === undefined || fieldsOf(request) !== undefined) {
      return undefined;
    }
    const body = JSON.stringify({ to: anyRecipient, message: 'No text.' });
    return acceptAnyway({ ...request, body }, key, device, simulation);
  }),
};
