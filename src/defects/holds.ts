/**
 * Wrong readings of `send_at`, and holds that end too early. Rules: SEND-7.
 */
import { matchRoute } from '../http/service/routes.ts';
import { isoTime } from '../sim/iso-time.ts';
import { type EndpointName, msPerDay } from '../sim/limits.ts';
import type { Message } from '../sim/records.ts';
import { parseSendAt } from '../sim/send-at.ts';
import {
  callerOf,
  fieldsOf,
  invalid,
  isAccepted,
  isReplay,
  isSend,
  messageOf,
  withFields,
} from './edge.ts';
import {
  answering,
  type Defects,
  type Exchange,
  endpointOf,
  type Planted,
  reading,
  replying,
} from './planted.ts';

const msPerMinute = 60_000;
const fiveMinutesMs = 5 * msPerMinute;
const longestTimerMs = 2 ** 31 - 1;
const msPerHour = 60 * msPerMinute;

/** Reads `send_at` as the text that `change` returns; undefined means no hold. */
function held(change: (sendAt: string, nowMs: number) => string | undefined): Planted {
  return reading((request, simulation) => {
    const sendAt = isSend(request) ? fieldsOf(request)?.['send_at'] : undefined;
    if (typeof sendAt !== 'string') return request;
    return withFields(request, { send_at: change(sendAt, simulation.clock.now()) });
  });
}

/** The instant of a valid `send_at`; undefined otherwise. */
function instantOf(sendAt: string): number | undefined {
  const read = parseSendAt(sendAt, { sendAtFormats: 'rfc3339', sendAtZone: 'any_offset' });
  return typeof read === 'number' ? read : undefined;
}

/** Moves the end of each hold; a past end means at once. */
function moved(change: (atMs: number, nowMs: number) => number): Planted {
  return held((sendAt, nowMs) => {
    const at = instantOf(sendAt);
    if (at === undefined || at <= nowMs) return sendAt;
    const moved = change(at, nowMs);
    return moved <= nowMs ? undefined : isoTime(moved);
  });
}

/** At one endpoint `send_at` is checked and then forgotten. */
function forgottenAt(endpoint: EndpointName): Planted {
  return reading((request, simulation) => {
    const sendAt = endpointOf(request) === endpoint ? fieldsOf(request)?.['send_at'] : undefined;
    const at = typeof sendAt === 'string' ? instantOf(sendAt) : undefined;
    const isFuture = at !== undefined && at > simulation.clock.now();
    return isFuture ? withFields(request, { send_at: undefined }) : request;
  });
}

/** A reply ends the holds of the messages that `released` names. */
function releasing(released: (exchange: Exchange) => readonly (Message | undefined)[]): Planted {
  return replying((exchange) => {
    const { clock, fleet } = exchange.simulation;
    for (const message of released(exchange))
      if (message?.isHeldAt(clock.now())) fleet.progress(message);
    return exchange.reply;
  });
}

const graceMs = 300_000;

export const holdDefects: Defects = {
  'send-at-ignored': held(() => undefined),
  'send-at-now-accepted': held((sendAt, nowMs) =>
    instantOf(sendAt) === nowMs ? undefined : sendAt,
  ),
  'send-at-past-accepted': held((sendAt, nowMs) =>
    (instantOf(sendAt) ?? nowMs) < nowMs ? undefined : sendAt,
  ),
  'send-at-grace': held((sendAt, nowMs) => {
    const lateMs = nowMs - (instantOf(sendAt) ?? nowMs);
    return lateMs > 0 && lateMs < graceMs ? undefined : sendAt;
  }),
  'send-at-offset-dropped': held((sendAt) => sendAt.replace(/[+-]\d\d:\d\d$/, 'Z')),
  'send-at-seconds-only': answering((request, simulation) => {
    const sendAt = isSend(request) ? fieldsOf(request)?.['send_at'] : undefined;
    const isRefused = typeof sendAt === 'string' && !/\.\d{3}/.test(sendAt);
    return isRefused && callerOf(request, simulation) !== undefined
      ? invalid('send_at', simulation)
      : undefined;
  }),
  'send-at-early': moved((at) => at - fiveMinutesMs),
  'send-at-late': moved((at) => at + fiveMinutesMs),
  'send-at-minutes-only': moved((at) => at - (at % msPerMinute)),
  'send-at-day-dropped': moved((at, nowMs) => nowMs + ((at - nowMs) % msPerDay)),
  'send-at-timer-overflow': moved((at, nowMs) => (at - nowMs > longestTimerMs ? nowMs : at)),
  'send-at-absent-held': reading((request, simulation) =>
    isSend(request) && fieldsOf(request)?.['send_at'] === undefined
      ? withFields(request, { send_at: isoTime(simulation.clock.now() + fiveMinutesMs) })
      : request,
  ),
  'send-at-picked-up-at-once': replying((exchange) => {
    const message = isAccepted(exchange) ? messageOf(exchange) : undefined;
    if (message !== undefined && message.sendAtMs > 0) exchange.simulation.fleet.progress(message);
    return exchange.reply;
  }),
  'dashboard-forgets-hold': forgottenAt('dashboard_send'),
  'external-forgets-hold': forgottenAt('external_send'),
  'tasks-end-holds': releasing(({ endpoint, key, request }) => {
    const deviceId = endpoint === 'tasks' ? matchRoute(request.path)?.id : undefined;
    return (
      [...(key?.account.messages ?? [])].filter(({ device }) => device.deviceId === deviceId) ?? []
    );
  }),
  'send-ends-holds': releasing((exchange) => {
    const sent = isAccepted(exchange) ? messageOf(exchange) : undefined;
    if (sent === undefined || sent.sendAtMs > 0) return [];
    return [...sent.account.messages].filter(({ device }) => device === sent.device);
  }),
  'replay-ends-hold': releasing((exchange) => (isReplay(exchange) ? [messageOf(exchange)] : [])),
  'send-at-an-hour-west': held((sendAt) => {
    const at = instantOf(sendAt);
    return at === undefined ? sendAt : isoTime(at + msPerHour);
  }),
  'send-at-plus-zero-local': held((sendAt) => {
    const at = sendAt.endsWith('+00:00') ? instantOf(sendAt) : undefined;
    return at === undefined ? sendAt : isoTime(at + 5 * msPerHour);
  }),
  'send-at-garbage-accepted': held((sendAt) =>
    instantOf(sendAt) === undefined ? undefined : sendAt,
  ),
};
