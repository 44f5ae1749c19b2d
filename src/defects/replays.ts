/**
 * Wrong answers to a `request_id` that was used before. Rules: SEND-4.
 */

import type { ApiReply, ApiRequest } from '../http/service/messages.ts';
import { isoTime } from '../sim/iso-time.ts';
import { messageBody } from '../sim/message.ts';
import { Message } from '../sim/records.ts';
import { findReplay } from '../sim/send.ts';
import type { Simulation } from '../simulation/simulation.ts';
import {
  callerOf,
  describing,
  fieldsOf,
  invalid,
  isReplay,
  isSend,
  messageOf,
  objectOf,
  refusal,
} from './edge.ts';
import type { Exchange } from './planted.ts';
import { answering, type Defects, type Planted, replying } from './planted.ts';

/** Replaces replies to replays by the result of `change`. */
function replays(change: (exchange: Exchange) => ApiReply): Planted {
  return replying((exchange) => (isReplay(exchange) ? change(exchange) : exchange.reply));
}

/** Another text for the same JSON value. */
function respelled(write: (value: Readonly<Record<string, unknown>>) => string): Planted {
  return replays(({ reply }) => ({ ...reply, body: write(objectOf(reply.body) ?? {}) }));
}

/** The message that a send would replay. */
function firstUse(request: ApiRequest, simulation: Simulation): Message | undefined {
  const key = callerOf(request, simulation);
  const body = isSend(request) ? fieldsOf(request) : undefined;
  if (key === undefined || body === undefined) return undefined;
  const { world } = simulation;
  if (findReplay(world, { account: key.account, key, endpoint: 'send', body }) === undefined) {
    return undefined;
  }
  const use = key.account.replays.find(String(body['request_id']), key, 'send', world.assumptions);
  return use?.outcome instanceof Message ? use.outcome : undefined;
}

/** Applies a check for new messages to replays. */
function checked(check: (first: Message, simulation: Simulation) => ApiReply | undefined): Planted {
  return answering((request, simulation) => {
    const first = firstUse(request, simulation);
    return first === undefined ? undefined : check(first, simulation);
  });
}

export const replayDefects: Defects = {
  'replay-answers-202': replays(({ reply }) => ({ ...reply, status: 202 })),
  'replay-conflict': replays(({ simulation }) =>
    refusal({ kind: 'request_id_conflict' }, simulation),
  ),
  'replay-current-status': replays((exchange) => {
    const message = messageOf(exchange);
    if (message === undefined) return exchange.reply;
    return { ...exchange.reply, body: messageBody(message, message.status) };
  }),
  'replay-of-latest': replays((exchange) => {
    const latest = exchange.key?.account.messages.at(-1);
    if (latest === undefined) return exchange.reply;
    return { ...exchange.reply, body: messageBody(latest, 'queued') };
  }),
  'replay-new-message-id': describing(
    ({ message_id: id }) => ({ message_id: `${String(id).slice(0, -4)}0000` }),
    isReplay,
  ),
  'replay-new-created-at': describing(
    (_, { simulation }) => ({ created_at: isoTime(simulation.clock.now() + 1) }),
    isReplay,
  ),
  'replay-other-key-order': respelled((value) =>
    JSON.stringify(Object.fromEntries(Object.entries(value).sort())),
  ),
  'replay-other-spacing': respelled((value) => JSON.stringify(value, undefined, 1)),
  'replay-creates-second-message': replays((exchange) => {
    const first = messageOf(exchange);
    if (first !== undefined) {
      const { world } = exchange.simulation;
      const { account, key, device, endpoint, to, text, requestId } = first;
      world.acceptMessage({ account, key, device, endpoint, to, text, requestId, sendAtMs: 0 });
    }
    return exchange.reply;
  }),
  'replay-refused-after-send-at': checked((first, simulation) =>
    first.sendAtMs > 0 && first.sendAtMs <= simulation.clock.now()
      ? invalid('send_at', simulation)
      : undefined,
  ),
  'replay-refused-when-inactive': checked((first, simulation) =>
    first.device.active ? undefined : refusal({ kind: 'device_inactive' }, simulation),
  ),
  'replay-refused-when-not-allowed': checked((first, simulation) =>
    first.device.allowed ? undefined : refusal({ kind: 'number_access_denied' }, simulation),
  ),
  'replay-refused-when-quota-spent': checked(({ account }, simulation) => {
    const { world } = simulation;
    const quota = world.quotaOf(account);
    const used = account.quota.used(world.now(), world.assumptions);
    if (quota === 'unlimited' || used < quota) return undefined;
    return refusal({ kind: 'quota_exceeded' }, simulation);
  }),
};
