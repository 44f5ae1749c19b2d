/**
 * Reads that find too much or too little, or reveal too much. Rules: READ-1, READ-2.
 */

import type { ApiReply } from '../http/service/messages.ts';
import { msPerDay } from '../sim/limits.ts';
import { messageBody } from '../sim/message.ts';
import type { Message } from '../sim/records.ts';
import { callerOf, describing, namedMessage, refusal } from './edge.ts';
import {
  answering,
  type Defects,
  type Exchange,
  endpointOf,
  type Planted,
  replying,
} from './planted.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Changes reads of another account's message. */
function foreign(change: (exchange: Exchange, message: Message) => ApiReply): Planted {
  return replying((exchange) => {
    const { request, reply, key, simulation } = exchange;
    const message = namedMessage(request, simulation);
    const isForeign = key !== undefined && message !== undefined && message.account !== key.account;
    return isForeign ? change(exchange, message) : reply;
  });
}

function ownReads(change: (exchange: Exchange) => ApiReply): Planted {
  return replying((exchange) =>
    exchange.endpoint === 'read' && exchange.reply.status === 200
      ? change(exchange)
      : exchange.reply,
  );
}

export const readDefects: Defects = {
  'read-foreign-403': foreign(() => ({
    status: 403,
    body: JSON.stringify({ code: 'permission_denied', detail: 'Not your message.' }),
  })),
  'read-foreign-200': foreign((_, message) => ({
    status: 200,
    body: messageBody(message, message.status),
  })),
  'read-foreign-404-differs': foreign(({ reply }) => ({
    ...reply,
    body: JSON.stringify({ code: 'not_found', detail: 'No such message on this account.' }),
  })),
  'head-foreign-200': foreign(({ request, reply }) =>
    request.method === 'HEAD' ? { ...reply, status: 200 } : reply,
  ),
  'read-foreign-404-header': foreign(({ reply }) => ({
    ...reply,
    headers: { ...reply.headers, 'cache-control': 'private' },
  })),
  'read-unknown-400': replying(({ request, reply, endpoint }) => {
    const id = request.path.split('/').at(-2) ?? '';
    return endpoint === 'read' && reply.status === 404 && !uuid.test(id)
      ? { status: 400, body: JSON.stringify({ code: 'message_id', detail: 'Not a UUID.' }) }
      : reply;
  }),
  'read-own-404': ownReads(({ simulation }) => refusal({ kind: 'not_found' }, simulation)),
  'read-stale-status': describing(
    () => ({ status: 'queued' }),
    ({ endpoint, reply }) => endpoint === 'read' && reply.status === 200,
  ),
  'read-other-message': ownReads(({ reply, key }) => {
    const latest = key?.account.messages.at(-1);
    return latest === undefined ? reply : { ...reply, body: messageBody(latest, latest.status) };
  }),
  'held-not-readable': answering((request, simulation) =>
    namedMessage(request, simulation)?.isHeldAt(simulation.clock.now())
      ? refusal({ kind: 'not_found' }, simulation)
      : undefined,
  ),
  'read-forgotten-after-a-day': answering((request, simulation) => {
    const message = namedMessage(request, simulation);
    const isOld = message !== undefined && simulation.clock.now() - message.createdAtMs > msPerDay;
    return isOld ? refusal({ kind: 'not_found' }, simulation) : undefined;
  }),
  'read-by-creating-key-only': {
    around: (next, simulation) => {
      const creators = new Map<string, string>();
      return (request) => {
        const key = callerOf(request, simulation);
        const before = key?.account.messages.length ?? 0;
        const handled = next(request);
        const created = key?.account.messages.at(before);
        if (key !== undefined && created !== undefined) creators.set(created.messageId, key.keyId);
        if (endpointOf(request) !== 'read' || handled.reply.status !== 200) return handled;
        const message = namedMessage(request, simulation);
        const isCreator = message !== undefined && creators.get(message.messageId) === key?.keyId;
        if (isCreator) return handled;
        return { ...handled, reply: refusal({ kind: 'not_found' }, simulation) };
      };
    },
  },
};
