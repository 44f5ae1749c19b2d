/**
 * Wrong replays: wrong answers to a `request_id` that was used before, or wrong windows of
 * remembered ids. Rules: SEND-4.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import { hourMs } from '#contract/time.ts';
import { Message } from '#src/sim/accounts/account.ts';
import { findReplay } from '#src/sim/sends/send.ts';
import { readSend } from '#src/sim/sends/send-request.ts';
import { messageBody } from '#src/sim/store/message-view.ts';
import { type AnsweredCall, isReplay, messageOf, objectOf, type SendCall } from './call.ts';
import {
  answeringSends,
  brokenConnection,
  handling,
  invalid,
  refusal,
  replying,
  understanding,
} from './combinators.ts';
import { because, breaking, type DefectRow, type Planted } from './planted.ts';
import {
  comparingIdsAs,
  perField,
  rememberingUntil,
  SharedWindowRegistry,
  wrongWindow,
} from './wrong-windows.ts';

const rememberedIds = 50;

/**
 * Real milliseconds: less than the gap between two polite sends, more than a burst takes to arrive.
 */
const lateMs = 5;

function changingReplays(
  change: (exchange: AnsweredCall) => Partial<ApiReply> | undefined,
): Planted {
  return replying((exchange) => ({ ...exchange.reply, ...change(exchange) }), isReplay);
}

/** The accepted message that a send would replay; undefined if it would not replay one. */
function firstUse({ key, fields, simulation: { world } }: SendCall): Message | undefined {
  const { account } = key;
  const read = readSend(fields, world.assumptions);
  if (findReplay(world, { account, key, endpoint: 'send', fields: read }) === undefined)
    return undefined;
  const use = account.replays.find(String(fields['request_id']), key, 'send', world.assumptions);
  return use?.outcome instanceof Message ? use.outcome : undefined;
}

function checkingReplays(check: (first: Message, call: SendCall) => ApiReply | undefined): Planted {
  return answeringSends((call) => {
    const first = firstUse(call);
    return first && check(first, call);
  });
}

function isSpent({ account }: Message, { simulation: { world } }: SendCall): boolean {
  const quota = world.quotaOf(account);
  return quota !== 'unlimited' && account.quota.used(world.now(), world.assumptions) >= quota;
}

function refusingSixth(): Planted {
  const replaysOf = new Map<string, number>();
  return checkingReplays(({ messageId }) => {
    const replays = (replaysOf.get(messageId) ?? 0) + 1;
    replaysOf.set(messageId, replays);
    return replays > 5 ? { status: 409, body: '{"detail":"Too many replays."}' } : undefined;
  });
}

/** The lock of an id is never released after a 400: its next use is not answered. */
export const lockingRefusedIds: Planted = handling(() => {
  const locked = new Set<unknown>();
  return ({ request, fields }, next) => {
    const id = fields?.['request_id'];
    const isStuck = id !== undefined && locked.has(id);
    const handled = next(request);
    if (handled.reply.status === 400) locked.add(id);
    return isStuck
      ? { ...handled, reply: { ...handled.reply, delivery: { cut: 'hang' } } }
      : handled;
  };
});

export const replayDefects: readonly DefectRow[] = breaking('SEND-4', {
  'replay-limited': ['the sixth replay of a request_id is answered 409', refusingSixth()],
  'replay-up-to-delimiter': [
    'request_ids are the same up to a colon, slash, question mark or hash',
    comparingIdsAs((id) => id.replace(/[:/?#].*$/, '')),
  ],
  'replay-any-emoji': [
    'request_ids that differ in an emoji are the same',
    comparingIdsAs((id) => id.replace(/\p{Emoji_Presentation}/gu, '?')),
  ],
  'zero-is-no-id': [
    'the request_id "0" is taken for none',
    understanding(({ request_id: id }) => (id === '0' ? { request_id: undefined } : {})),
  ],
  'replay-by-message-id': [
    "a request_id that is one of the account's message_ids finds that message",
    answeringSends(({ key, fields, simulation: { world } }) => {
      const message = world.messages.get(String(fields['request_id']));
      const body = message?.account === key.account && messageBody(message, 'queued');
      return body ? { status: 200, body } : undefined;
    }),
  ],
  'replay-breaks': ['a replay breaks the connection', changingReplays(() => brokenConnection)],
  'replay-answers-202': ['a replay is answered 202', changingReplays(() => ({ status: 202 }))],
  'replay-of-a-refusal': [
    'a send under the request_id of a refused one is queued, and answered 200',
    handling(() => {
      const refused = new Set<string>();
      return ({ key, fields, request }, next) => {
        const handled = next(request);
        const { reply } = handled;
        const requestId = fields?.['request_id'];
        if (key === undefined || requestId === undefined) return handled;
        const id = `${key.account.accountId} ${requestId}`;
        if (reply.status >= 400 && reply.status !== 429) refused.add(id);
        const isSecond = reply.status === 202 && refused.has(id);
        return isSecond ? { ...handled, reply: { ...reply, status: 200 } } : handled;
      };
    }),
  ],
  'replay-current-status': [
    'a replay shows the current status instead of the first body',
    changingReplays((exchange) => {
      const message = messageOf(exchange);
      return message && { body: messageBody(message, message.status) };
    }),
  ],
  'replay-of-latest': [
    "a replay shows the account's latest message",
    changingReplays(({ key }) => {
      const latest = key?.account.messages.at(-1);
      return latest && { body: messageBody(latest, 'queued') };
    }),
  ],
  'replay-other-spacing': [
    'a replay has the same fields with other white space',
    changingReplays(({ reply }) => ({ body: JSON.stringify(objectOf(reply.body), undefined, 1) })),
  ],
  'replay-forgotten-after-23-hours': [
    'a request_id is forgotten after 23 hours',
    wrongWindow((now) => ({
      find: (requestId, find) => {
        const use = find(requestId);
        return use !== undefined && now() - use.atMs > 23 * hourMs ? undefined : use;
      },
    })),
    because.aDay,
  ],
  'replay-kept-25-hours': [
    'a request_id still replays 25 hours later',
    rememberingUntil(({ atMs }) => atMs + 25 * hourMs),
    because.aDay,
  ],
  'replay-prolongs-window': [
    'each replay starts the 24 hours again',
    wrongWindow((now) => ({
      find: (requestId, find, keep) => {
        const use = find(requestId);
        if (use !== undefined) keep({ ...use, atMs: now() });
        return use;
      },
    })),
    because.aDay,
  ],
  'replay-shared-across-accounts': [
    "a request_id replays another account's message",
    { parts: { Registry: SharedWindowRegistry } },
  ],
  'replay-in-flight-across-accounts': [
    'simultaneous first sends of two accounts with one request_id get one reply',
    handling(() => {
      const inFlight = new Map<unknown, AnsweredCall>();
      return (call, next) => {
        const id = call.endpoint === 'send' ? call.fields?.['request_id'] : undefined;
        const first = inFlight.get(id);
        const isShared = first !== undefined && first.key?.account !== call.key?.account;
        const handled = isShared ? { ...call, reply: first.reply } : next(call.request);
        if (id !== undefined && handled.reply.status === 202 && !isShared) {
          inFlight.set(id, { ...call, reply: handled.reply });
          setTimeout(() => inFlight.delete(id), lateMs);
        }
        return handled;
      };
    }),
  ],
  'replay-lost-under-concurrency': [
    'simultaneous sends with one request_id create several messages',
    wrongWindow(() => ({ keep: (use, keep) => void setTimeout(() => keep(use), lateMs) })),
  ],
  'replay-forgotten-when-crowded': [
    'a request_id is forgotten after 50 later ones',
    wrongWindow(() => {
      const ids: string[] = [];
      return {
        find: (id, find) => (ids.slice(-rememberedIds).includes(id) ? find(id) : undefined),
        keep: (use, keep) => {
          ids.push(use.requestId);
          keep(use);
        },
      };
    }),
  ],
  'replay-any-letter-case': [
    'request_ids that differ in letter case are the same',
    comparingIdsAs((requestId) => requestId.toLowerCase()),
  ],
  'replay-ascii-only': [
    'a request_id beyond ASCII is not found again',
    wrongWindow(() => ({ find: (id, find) => (/^[ -~]*$/.test(id) ? find(id) : undefined) })),
  ],
  'id-ascii-only': [
    'a request_id beyond ASCII is refused',
    answeringSends((call) =>
      /^[ -~]*$/.test(String(call.fields['request_id'] ?? ''))
        ? undefined
        : invalid('request_id', call),
    ),
  ],
  'id-apostrophe-500': [
    'a request_id with an apostrophe is answered 500',
    answeringSends(({ fields }) =>
      String(fields['request_id']).includes("'") ? { status: 500, body: '{}' } : undefined,
    ),
  ],
  'replay-window-from-send-at': [
    'the 24 hours of a held message start at send_at',
    rememberingUntil(({ atMs, outcome }) => {
      const sendAtMs = outcome instanceof Message ? outcome.sendAtMs : 0;
      return Math.max(atMs, sendAtMs) + 24 * hourMs;
    }),
    because.aDay,
  ],
  'replay-per-text': [
    'a request_id with another text creates another message',
    perField('message'),
  ],
  'replay-per-name-of-sender': [
    'a request_id with from_number in place of from creates another message',
    perField('from_number'),
  ],
  'replay-per-recipient': [
    'a request_id with another recipient creates another message',
    perField('to'),
    because.aRecipient,
  ],
  'replay-id-cut': [
    'request_ids with the same first 128 characters are the same',
    comparingIdsAs((requestId) => requestId.slice(0, 128)),
  ],
  'replay-id-stored-trimmed': [
    'a request_id is stored without spaces around it',
    comparingIdsAs(
      (requestId) => requestId.trim(),
      (requestId) => requestId,
    ),
  ],
  'replay-ignored': ['request_id is ignored', wrongWindow(() => ({ find: () => undefined }))],
  'replay-creates-second-message': [
    'a replay answers right but a second message exists',
    changingReplays((exchange) => {
      const first = messageOf(exchange);
      if (first === undefined) return undefined;
      const { account, key, device, endpoint, to, text, requestId } = first;
      const send = { account, key, device, endpoint, to, text, requestId, sendAtMs: 0 };
      exchange.simulation.world.acceptMessage(send);
      return undefined;
    }),
  ],
  'replay-refused-after-send-at': [
    'a replay is refused once its send_at has passed',
    checkingReplays(({ sendAtMs }, call) =>
      sendAtMs > 0 && sendAtMs <= call.simulation.clock.now()
        ? invalid('send_at', call)
        : undefined,
    ),
  ],
  'replay-refused-when-inactive': [
    'a replay is refused when the SIM was deactivated',
    checkingReplays(({ device }, call) =>
      device.active ? undefined : refusal({ kind: 'device_inactive' }, call),
    ),
    because.aChange,
  ],
  'replay-refused-when-not-allowed': [
    'a replay is refused when the account may not use the number any more',
    checkingReplays(({ device }, call) =>
      device.allowed ? undefined : refusal({ kind: 'number_access_denied' }, call),
    ),
    because.aChange,
  ],
  'replay-refused-when-quota-spent': [
    'a replay is refused when the quota is spent',
    checkingReplays((first, call) =>
      isSpent(first, call) ? refusal({ kind: 'quota_exceeded' }, call) : undefined,
    ),
    because.aQuota,
  ],
});
