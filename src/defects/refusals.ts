/**
 * Refusals with a wrong code or status, or without a code. Rules: AUTH-3 to AUTH-5, ERR-1, ERR-2,
 * SEND-5.
 */
import type { ApiReply } from '../http/service/messages.ts';
import {
  acceptAnyway,
  fieldsOf,
  invalid,
  isSend,
  namedDevice,
  objectOf,
  refusal,
  refusing,
  senderOf,
} from './edge.ts';
import { type Defects, type Exchange, type Planted, replying } from './planted.ts';

/** Spells one code differently from the document. */
function respelt(code: string, otherwise: string): Planted {
  return replying(({ reply }) =>
    reply.status < 400
      ? reply
      : { ...reply, body: reply.body.replaceAll(`"${code}"`, `"${otherwise}"`) },
  );
}

function withStatus(from: number, to: number): Planted {
  return refusing(from, ({ reply }) => ({ ...reply, status: to }));
}

/** Changes the 400 of a failing field, but not of an unparsable body. */
function failing(change: (body: Readonly<Record<string, unknown>>) => unknown): Planted {
  return refusing(400, ({ request, reply }) =>
    isSend(request) && fieldsOf(request) !== undefined
      ? { ...reply, body: JSON.stringify(change(objectOf(reply.body) ?? {})) }
      : reply,
  );
}

function has(code: string, body: string): boolean {
  return body.includes(`"${code}"`);
}

/** The reply refuses, but the message is queued. */
function queuedAllTheSame({ request, reply, key, simulation }: Exchange): ApiReply {
  const device = isSend(request) ? namedDevice(request, simulation) : undefined;
  if (key !== undefined && device !== undefined) acceptAnyway(request, key, device, simulation);
  return reply;
}

export const refusalDefects: Defects = {
  'right-spelling-invalid-key': respelt('auth_invalid_keyy', 'auth_invalid_key'),
  'right-spelling-access-denied': respelt(
    'from_number_access_deniedd',
    'from_number_access_denied',
  ),
  'wrong-spelling-not-found': respelt('from_number_not_found', 'from_number_not_foundd'),
  'wrong-spelling-quota': respelt('quota_exceeded', 'quota_exceded'),
  'wrong-spelling-inactive': respelt('device_inactive', 'device_inactivee'),
  'missing-key-403': refusing(401, ({ request, reply }) =>
    request.authorization === undefined ? { ...reply, status: 403 } : reply,
  ),
  'wrong-key-404': refusing(401, ({ request, reply }) =>
    request.authorization === undefined ? reply : { ...reply, status: 404 },
  ),
  'auth-missing-code': refusing(401, ({ reply }) => ({
    ...reply,
    body: JSON.stringify({ detail: 'Authentication credentials were not provided.' }),
  })),
  'unknown-number-access-denied': refusing(403, ({ reply, simulation }) =>
    has('from_number_not_found', reply.body)
      ? refusal({ kind: 'number_access_denied' }, simulation)
      : reply,
  ),
  'unknown-number-400': refusing(403, ({ reply, simulation }) =>
    has('from_number_not_found', reply.body) ? invalid('from', simulation) : reply,
  ),
  'unknown-number-404': refusing(403, ({ reply }) =>
    has('from_number_not_found', reply.body) ? { ...reply, status: 404 } : reply,
  ),
  'throttled-send-queues': refusing(429, queuedAllTheSame),
  'quota-refused-queues': refusing(402, queuedAllTheSame),
  'not-allowed-not-found': refusing(403, ({ reply, simulation }) =>
    has('from_number_access_deniedd', reply.body)
      ? refusal({ kind: 'number_not_found' }, simulation)
      : reply,
  ),
  'from-not-checked': refusing(400, ({ request, reply, simulation }) =>
    senderOf(request) !== undefined && (has('from', reply.body) || has('from_number', reply.body))
      ? refusal({ kind: 'number_not_found' }, simulation)
      : reply,
  ),
  'quota-429': withStatus(402, 429),
  'inactive-403': withStatus(503, 403),
  'inactive-409': withStatus(503, 409),
  'validation-422': withStatus(400, 422),
  'validation-no-field': failing(() => ({ code: 'invalid', detail: 'Validation failed.' })),
  'validation-wrong-field': failing(({ detail }) => ({ code: 'to', detail })),
  'malformed-500': refusing(400, ({ request, reply }) =>
    isSend(request) && fieldsOf(request) === undefined
      ? { status: 500, body: JSON.stringify({ detail: 'Internal server error.' }) }
      : reply,
  ),
  'malformed-html': refusing(400, ({ request, reply }) =>
    isSend(request) && fieldsOf(request) === undefined
      ? {
          status: reply.status,
          body: '<h1>Bad Request (400)</h1>',
          headers: { 'content-type': 'text/html' },
        }
      : reply,
  ),
  'wrong-types-500': refusing(400, ({ request, reply }) =>
    Object.values(fieldsOf(request) ?? {}).some((value) => typeof value !== 'string')
      ? { status: 500, body: JSON.stringify({ detail: 'Internal server error.' }) }
      : reply,
  ),
};
