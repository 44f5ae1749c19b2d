/**
 * Wrong Message bodies, and reads that find too much or too little. Rules: RES-1 to RES-6, READ-1,
 * READ-2.
 */
import { isFinal } from '#contract/message-status.ts';
import type { ApiReply } from '#contract/request-and-reply.ts';
import { dayMs, hourMs, isoTime } from '#contract/time.ts';
import { messageBody } from '#src/sim/store/message-view.ts';
import { type AnsweredCall, changed, type Fields, isAccepted, isRead, messageOf } from './call.ts';
import {
  answering,
  brokenConnection,
  comparingFirstBlocks,
  describing,
  handling,
  notFound,
  reading,
  replying,
} from './combinators.ts';
import { because, breaking, type DefectRow, type Planted } from './planted.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Writes `created_at` in another form. */
function writingCreatedAt(write: (created: string) => string): Planted {
  return describing(({ created_at: created }) => ({ created_at: write(String(created)) }));
}

function writingRequestId(write: (id: string, fields: Fields) => unknown): Planted {
  return describing((fields) => ({ request_id: write(String(fields['request_id']), fields) }));
}

function firstSim({ key }: AnsweredCall) {
  return key?.account.devices[0];
}

/** Message ids are numbers, in the body and in the path. */
const numberedMessages = handling(({ world }) => (call, next) => {
  const [, number] = /^\/api\/v1\/sms\/(\d+)\/$/.exec(call.request.path) ?? [];
  const named = [...world.messages.values()].find(({ arrival }) => arrival + 1 === Number(number));
  const path = named === undefined ? call.request.path : `/api/v1/sms/${named.messageId}/`;
  const handled = next(changed(call.request, { path }));
  const shown = messageOf({ ...call, reply: handled.reply });
  if (shown === undefined) return handled;
  const fields = { ...JSON.parse(handled.reply.body), message_id: String(shown.arrival + 1) };
  return { ...handled, reply: { ...handled.reply, body: JSON.stringify(fields) } };
});

function changingForeignReads(change: (exchange: AnsweredCall) => ApiReply): Planted {
  return replying(
    change,
    ({ key, message }) =>
      key !== undefined && message !== undefined && message.account !== key.account,
  );
}

/** A message is only found by the key that sent it. */
const byCreatingKeyOnly = handling(() => {
  const creators = new Map<unknown, string | undefined>();
  return (call, next) => {
    const handled = next(call.request);
    const exchange = { ...call, reply: handled.reply };
    if (isAccepted(exchange)) creators.set(messageOf(exchange)?.messageId, call.key?.keyId);
    const isCreator = creators.get(call.message?.messageId) === call.key?.keyId;
    return isRead(exchange) && !isCreator ? { ...handled, reply: notFound(call) } : handled;
  };
});

export const readDefects: readonly DefectRow[] = [
  ...breaking('RES-1', {
    'missing-field': [
      'the Message body has no device_id',
      describing(() => ({ device_id: undefined })),
    ],
    'extra-field-on-read': [
      'a read has an eighth field',
      describing(() => ({ delivered_at: null }), isRead),
    ],
  }),
  ...breaking('RES-2', {
    'message-id-number': ['message_id is not a UUID', numberedMessages],
    'to-reformatted': [
      'the recipient is echoed without +',
      describing(({ to }) => ({ to: String(to).slice(1) })),
    ],
    'from-number-other-sim': [
      "from_number is the account's first number, not the named one",
      describing(({ from_number: from }, exchange) => ({
        from_number: firstSim(exchange)?.number ?? from,
      })),
    ],
  }),
  ...breaking('RES-3', {
    'request-id-generated': [
      'request_id is invented when the caller gave none',
      writingRequestId((id, { message_id: made }) => (id === '' ? made : id)),
    ],
    'request-id-lower-case': [
      'request_id is echoed in small letters',
      writingRequestId((id) => id.toLowerCase()),
    ],
    'request-id-plus': [
      'a plus sign in request_id is echoed as a space',
      writingRequestId((id) => id.replaceAll('+', ' ')),
    ],
    'request-id-without-tags': [
      'what may be a tag of HTML is not echoed in request_id',
      writingRequestId((id) => id.replace(/<[^>]*>/g, '')),
    ],
    'request-id-lost-on-read': [
      'a read shows no request_id',
      describing(() => ({ request_id: '' }), isRead),
    ],
    'request-id-cut': [
      'request_id is echoed up to 64 characters',
      writingRequestId((id) => id.slice(0, 64)),
    ],
    'request-id-trimmed': [
      'request_id is echoed without the spaces around it',
      writingRequestId((id) => id.trim()),
    ],
  }),
  ...breaking('RES-4', {
    'created-at-no-z': ['created_at has no Z', writingCreatedAt((created) => created.slice(0, -1))],
    'created-at-seconds': [
      'created_at has no milliseconds',
      writingCreatedAt((created) => created.replace(/\.\d+/, '')),
    ],
    'created-at-local': [
      'created_at is local time with a Z',
      writingCreatedAt((created) => isoTime(Date.parse(created) + 2 * hourMs)),
    ],
    'created-at-of-last-change': [
      'created_at is the time of the last change',
      describing((_, exchange) => {
        return { created_at: isoTime(messageOf(exchange)?.changedAtMs ?? 0) };
      }, isRead),
    ],
    'created-at-moves': [
      'created_at is the time of the read',
      describing((_, { simulation }) => ({ created_at: isoTime(simulation.clock.now()) }), isRead),
    ],
  }),
  ...breaking('RES-5', {
    'extra-state': [
      'a message is shown as pending',
      describing(({ status }) => ({ status: status === 'queued' ? 'pending' : status })),
    ],
  }),
  ...breaking('RES-6', {
    'device-id-of-first-sim': [
      'device_id is always that of the first SIM',
      describing(({ device_id: id }, exchange) => ({
        device_id: firstSim(exchange)?.deviceId ?? id,
      })),
    ],
    'device-id-same-for-all': [
      'device_id is that of the first SIM of the service',
      describing((_, { simulation: { world } }) => ({ device_id: [...world.devices.keys()][0] })),
    ],
  }),
  ...breaking('READ-1', {
    'read-not-modified': [
      'a read on condition of a date is always answered 304',
      replying(
        () => ({ status: 304, body: '' }),
        ({ endpoint, request }) =>
          endpoint === 'read' && request.headers?.['if-modified-since'] !== undefined,
      ),
    ],
    'read-origin-403': [
      'a read by a web page of another origin is answered 403',
      answering(({ endpoint, request }) =>
        endpoint === 'read' && request.headers?.['origin'] !== undefined
          ? { status: 403, body: '{"detail":"Invalid CORS request"}' }
          : undefined,
      ),
    ],
    'read-own-404': ["the caller's own message is not found", replying(notFound, isRead)],
    'read-stale-status': [
      'a read always shows queued',
      describing(() => ({ status: 'queued' }), isRead),
    ],
    'held-not-readable': [
      'a held message is not found until it is released',
      answering((call) =>
        call.message?.isHeldAt(call.simulation.clock.now()) ? notFound(call) : undefined,
      ),
    ],
    'read-forgotten-after-a-day': [
      'a message is not found a day later',
      answering((call) => {
        const { message, simulation } = call;
        const isOld = message && simulation.clock.now() - message.createdAtMs > dayMs;
        return isOld ? notFound(call) : undefined;
      }),
      because.aDay,
    ],
    'read-by-creating-key-only': [
      'a message can only be read with the key that sent it',
      byCreatingKeyOnly,
    ],
    'read-other-message': [
      "a read shows the account's latest message, for any id",
      replying(({ reply, key }) => {
        const latest = key?.account.messages.at(-1);
        return latest ? { ...reply, body: messageBody(latest, latest.status) } : reply;
      }, isRead),
    ],
  }),
  ...breaking('READ-2', {
    'read-short-id-breaks': [
      'an id of less than 36 characters breaks the connection',
      answering(({ endpoint, id }) =>
        endpoint === 'read' && id.length < 36 ? brokenConnection : undefined,
      ),
    ],
    'read-long-id-500': [
      'an id of more than 255 characters is answered 500',
      answering(({ endpoint, id }) =>
        endpoint === 'read' && id.length > 255 ? { status: 500, body: '{}' } : undefined,
      ),
    ],
    'read-foreign-403': [
      "another account's message is answered 403",
      changingForeignReads(() => ({
        status: 403,
        body: JSON.stringify({ code: 'permission_denied', detail: 'Not your message.' }),
      })),
    ],
    'read-foreign-at-its-end': [
      "another account's message can be read once it has ended",
      changingForeignReads(({ reply, message }) =>
        message !== undefined && isFinal(message.status)
          ? { status: 200, body: messageBody(message, message.status) }
          : reply,
      ),
    ],
    'read-foreign-404-header': [
      "another account's message is a 404 with another header",
      changingForeignReads(({ reply }) => ({
        ...reply,
        headers: { ...reply.headers, 'cache-control': 'private' },
      })),
    ],
    'read-unknown-400': [
      'an id that is not a UUID is answered 400',
      replying(
        () => ({
          status: 400,
          body: JSON.stringify({ code: 'message_id', detail: 'Not a UUID.' }),
        }),
        ({ endpoint, id, reply }) => endpoint === 'read' && reply.status === 404 && !uuid.test(id),
      ),
    ],
    'read-id-in-any-signs': [
      'an id is found with any character before and after it, as in braces',
      reading(({ request, endpoint, id }) =>
        endpoint === 'read' && uuid.test(id.slice(1, -1))
          ? { path: request.path.replace(id, id.slice(1, -1)) }
          : undefined,
      ),
    ],
    'read-id-first-block': [
      'the first 8 characters of a message_id are compared',
      comparingFirstBlocks('read', ({ account }) =>
        Array.from(account.messages, ({ messageId }) => messageId),
      ),
    ],
  }),
];
