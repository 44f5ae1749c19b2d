/**
 * `send_at` read wrongly, or not at all. Rules: SEND-7.
 */
import { isoTime } from '../sim/message.ts';
import { parseSendAt } from '../sim/send-at.ts';
import { callerOf, fieldsOf, invalid, isSend, withFields } from './edge.ts';
import { answering, type Defects, type Planted, reading } from './planted.ts';

const fiveMinutesMs = 300_000;

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
  const read = parseSendAt(sendAt, 'any_offset');
  return typeof read === 'number' ? read : undefined;
}

function shifted(byMs: number): Planted {
  return held((sendAt, nowMs) => {
    const at = instantOf(sendAt);
    if (at === undefined || at <= nowMs) return sendAt;
    return at + byMs <= nowMs ? undefined : isoTime(at + byMs);
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
  'send-at-early': shifted(-fiveMinutesMs),
  'send-at-late': shifted(fiveMinutesMs),
  'send-at-garbage-accepted': held((sendAt) =>
    instantOf(sendAt) === undefined ? undefined : sendAt,
  ),
};
