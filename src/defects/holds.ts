/**
 * `send_at` read wrongly, or not at all. Rules: SEND-7.
 */

import { isoTime } from '../sim/iso-time.ts';
import { msPerDay } from '../sim/limits.ts';
import { parseSendAt } from '../sim/send-at.ts';
import { callerOf, fieldsOf, invalid, isAccepted, isSend, messageOf, withFields } from './edge.ts';
import { answering, type Defects, type Planted, reading, replying } from './planted.ts';

const msPerMinute = 60_000;
const fiveMinutesMs = 5 * msPerMinute;

/** `send_at` is understood as the text that `change` returns; undefined for none. */
function held(change: (sendAt: string, nowMs: number) => string | undefined): Planted {
  return reading((request, simulation) => {
    const sendAt = isSend(request) ? fieldsOf(request)?.['send_at'] : undefined;
    if (typeof sendAt !== 'string') return request;
    return withFields(request, { send_at: change(sendAt, simulation.clock.now()) });
  });
}

/** The instant that is meant; undefined when there is none. */
function instantOf(sendAt: string): number | undefined {
  const read = parseSendAt(sendAt, { sendAtFormats: 'rfc3339', sendAtZone: 'any_offset' });
  return typeof read === 'number' ? read : undefined;
}

/** Holds end at another time; at once where that is past. */
function moved(change: (atMs: number, nowMs: number) => number): Planted {
  return held((sendAt, nowMs) => {
    const at = instantOf(sendAt);
    if (at === undefined || at <= nowMs) return sendAt;
    const moved = change(at, nowMs);
    return moved <= nowMs ? undefined : isoTime(moved);
  });
}

export const holdDefects: Defects = {
  'send-at-ignored': held(() => undefined),
  'send-at-now-accepted': held((sendAt, nowMs) =>
    instantOf(sendAt) === nowMs ? undefined : sendAt,
  ),
  'send-at-past-accepted': held((sendAt, nowMs) =>
    (instantOf(sendAt) ?? nowMs) < nowMs ? undefined : sendAt,
  ),
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
  'send-at-garbage-accepted': held((sendAt) =>
    instantOf(sendAt) === undefined ? undefined : sendAt,
  ),
};
