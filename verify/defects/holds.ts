/** Sends whose `send_at` is read wrongly, and holds that end at a wrong time. Rules: SEND-7. */
import { dayMs, hourMs, isoTime, minuteMs, secondMs } from '#contract/time.ts';
import { parseSendAt } from '#src/sim/sends/send-at.ts';
import { type AnsweredCall, isAccepted, messageOf } from './call.ts';
import {
  answeringSends,
  handling,
  refusingField,
  replying,
  rewriting,
  understanding,
} from './combinators.ts';
import { breaking, type DefectRow, type Planted } from './planted.ts';

const fiveMinutesMs = 5 * minuteMs;
/** How far the server's local time is behind UTC. */
const localZoneMs = 5 * hourMs;

/** The time of a valid `send_at` in epoch milliseconds; undefined for any other text. */
function instantOf(sendAt: string): number | undefined {
  const read = parseSendAt(sendAt, { sendAtFormats: 'rfc3339', sendAtZone: 'any_offset' });
  return typeof read === 'number' ? read : undefined;
}

/**
 * Reads `send_at` as what `change` returns; undefined removes it. `atMs`: its time; undefined if it
 * is not valid.
 */
function readingSendAt(
  change: (sendAt: string, nowMs: number, atMs: number | undefined) => string | undefined,
): Planted {
  return rewriting('send_at', (sendAt, { simulation }) =>
    change(sendAt, simulation.clock.now(), instantOf(sendAt)),
  );
}

/** Moves the end of each hold; if the new end is past, the message is not held. */
function movingHold(change: (atMs: number, nowMs: number) => number): Planted {
  return readingSendAt((sendAt, nowMs, atMs) => {
    if (atMs === undefined || atMs <= nowMs) return sendAt;
    const movedMs = change(atMs, nowMs);
    return movedMs <= nowMs ? undefined : isoTime(movedMs);
  });
}

/** A task poll with a valid key ends the holds of the account's messages on that SIM. */
function tasksEndHolds({ endpoint, key, id, reply, simulation }: AnsweredCall) {
  const messages = endpoint === 'tasks' ? [...(key?.account.messages ?? [])] : [];
  for (const message of messages) {
    const isHeld = message.device.deviceId === id && message.isHeldAt(simulation.clock.now());
    if (isHeld) simulation.deviceActors.progress(message);
  }
  return reply;
}

/** Held messages go out when they are so old, as after a restart that loses what was held. */
export function losingHoldsAfter(ageMs: number): Planted {
  return handling(({ world, clock, deviceActors }) => ({ request }, next) => {
    for (const message of world.messages.values()) {
      const isOld = clock.now() - message.createdAtMs > ageMs;
      if (isOld && message.isHeldAt(clock.now())) deviceActors.progress(message);
    }
    return next(request);
  });
}

export const holdDefects: readonly DefectRow[] = [
  ...breaking('SEND-7', {
    'send-at-microseconds-refused': [
      'a send_at with microseconds is refused',
      refusingField('send_at', (text) => /\.\d{6}Z$/.test(text)),
    ],
    'send-at-after-2038-now': [
      'a message is not held beyond 2^31 seconds since 1970',
      movingHold((atMs) => (atMs > 2 ** 31 * secondMs ? 0 : atMs)),
    ],
    'leap-second-500': [
      'a leap second is answered 500',
      answeringSends(({ fields }) =>
        String(fields['send_at']).includes(':60') ? { status: 500, body: '{}' } : undefined,
      ),
    ],
    'send-at-ignored': ['send_at is ignored', readingSendAt(() => undefined)],
    'send-at-now-accepted': [
      'a send_at of this very moment is accepted',
      readingSendAt((sendAt, nowMs, atMs) => (atMs === nowMs ? undefined : sendAt)),
      'no request can be timed to the millisecond of its send_at',
    ],
    'send-at-past-accepted': [
      'a send_at in the past is accepted',
      // An invalid time counts as now, so it is refused as before.
      readingSendAt((sendAt, nowMs, atMs = nowMs) => (atMs < nowMs ? undefined : sendAt)),
    ],
    'send-at-grace': [
      'a send_at of less than five minutes ago is accepted',
      readingSendAt((sendAt, nowMs, atMs = nowMs) =>
        atMs < nowMs && nowMs - atMs < fiveMinutesMs ? undefined : sendAt,
      ),
    ],
    'send-at-offset-dropped': [
      'an offset in send_at is dropped: local time is read as UTC',
      readingSendAt((sendAt) => sendAt.replace(/[+-]\d\d:\d\d$/, 'Z')),
    ],
    'send-at-seconds-only': [
      'a send_at without milliseconds is refused',
      refusingField('send_at', (sendAt) => !/\.\d{3}/.test(sendAt)),
    ],
    'send-at-early': [
      'a held message leaves five minutes early',
      movingHold((atMs) => atMs - fiveMinutesMs),
    ],
    'send-at-late': [
      'a held message leaves five minutes late',
      movingHold((atMs) => atMs + fiveMinutesMs),
    ],
    'send-at-forty-seconds-late': [
      'a held message leaves 40 s late, as by a scan for due messages now and then',
      movingHold((atMs) => atMs + 40 * secondMs),
    ],
    'send-at-day-dropped': [
      'a hold of more than a day ends on the first day',
      movingHold((atMs, nowMs) => nowMs + ((atMs - nowMs) % dayMs)),
    ],
    'send-at-absent-held': [
      'a message without send_at waits five minutes',
      understanding(({ send_at }, { simulation }) => ({
        send_at: send_at ?? isoTime(simulation.clock.now() + fiveMinutesMs),
      })),
    ],
    'send-at-picked-up-at-once': [
      'a held message is sending from the start',
      replying((exchange) => {
        const message = messageOf(exchange);
        if (message && message.sendAtMs > 0) exchange.simulation.deviceActors.progress(message);
        return exchange.reply;
      }, isAccepted),
    ],
    'external-forgets-hold': [
      'the external send checks send_at and ignores it',
      rewriting('send_at', (sendAt, { endpoint, simulation }) => {
        const isFuture = (instantOf(sendAt) ?? 0) > simulation.clock.now();
        return endpoint === 'external_send' && isFuture ? undefined : sendAt;
      }),
    ],
    'alias-forgets-hold': [
      'a send with from_number in place of from is not held',
      understanding(({ from }) => (from === undefined ? { send_at: undefined } : {})),
    ],
    'hold-by-first-key': [
      'only the messages of the first key of an account are held',
      understanding((_, { key }) =>
        key === undefined || key === key.account.keys[0] ? {} : { send_at: undefined },
      ),
    ],
    'send-at-hour-25': [
      'an hour of 25 is the first one of the next day',
      readingSendAt((sendAt) => sendAt.replace('T25:', 'T01:')),
    ],
    'send-at-one-digit-hour': [
      'an hour of one digit is a time',
      readingSendAt((sendAt) => sendAt.replace(/T(?=\d:)/, 'T0')),
    ],
    'send-at-line-end': [
      'a line break after send_at is ignored',
      readingSendAt((sendAt) => sendAt.trimEnd()),
    ],
    'hold-lost-after-30-s': [
      'a restart loses the holds: a held message goes out when it is half a minute old',
      losingHoldsAfter(30 * secondMs),
    ],
    'tasks-end-holds': [
      'a device that asks for tasks ends the holds of its SIM',
      replying(tasksEndHolds),
    ],
    'send-at-an-hour-west': [
      'send_at is read in a zone one hour west of UTC',
      readingSendAt((sendAt, _, atMs) => (atMs === undefined ? sendAt : isoTime(atMs + hourMs))),
    ],
    'send-at-plus-zero-local': [
      'a send_at that ends in +00:00 is read as local time',
      readingSendAt((sendAt, _, atMs) =>
        atMs === undefined || !sendAt.endsWith('+00:00') ? sendAt : isoTime(atMs + localZoneMs),
      ),
    ],
    'send-at-garbage-accepted': [
      'a send_at that is not a time is accepted',
      readingSendAt((sendAt, _, atMs) => (atMs === undefined ? undefined : sendAt)),
    ],
  }),
];
