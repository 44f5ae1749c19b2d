/**
 * Cases about `send_at`: which values are accepted, and how long they hold a message. Rule: SEND-7.
 * They send only values that every permitted answer to an assumption treats alike. During the hold,
 * a read may show `queued` or another name (`heldStatus`).
 */
import type { RuleId } from '#contract/rules.ts';
import { dayMs, hourMs, isoTime, minuteMs, secondMs } from '#contract/time.ts';
import { isMessageSend, isSend, messageIdOf } from '#judging/evidence/exchange.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { textOf } from '#judging/service/expectations.ts';
import { pollIntervalMs } from '#judging/service/pace.ts';
import { holdEndOf, mayBeHeld } from '#judging/service/validity.ts';
import { about, type Case, judging } from '../run/case.ts';
import { type AccountUnderTest, type Fields, paths, type Trial } from '../run/trial.ts';
import { statusEvidence, watched, watchHold } from '../steps/watched-messages.ts';
import { lastReads, passedHolds, readAgainIn, sinceLastBreak } from './read.ts';
import { tooLongMessage, twoSegments } from './similar-values.ts';

/** Within this time, a device that polls every 20 s polls at least once. */
const onePollSeconds = 22;
/** Pauses in real time: soon after a hold began, and after a poll. */
const realPausesMs = [2 * secondMs, (onePollSeconds - 2) * secondMs];
/** With these pauses, longer than any pickup takes, also that of a message held for `soonMs`. */
const lateAfterMs = 12 * secondMs;
const soonMs = 5 * secondMs;
const yearMs = 365 * dayMs;
/** The most messages whose hold has ended that are read once more at the end of a run. */
const mostDue = 20;
/** A hold to the end of a minute is at least this long. */
const leastHoldMs = 15 * secondMs;

interface ValueCase extends Pick<Case, 'sends' | 'demands'> {
  readonly needs?: Case['needs'];
  /** The values to send. `earliest`: what the target's clock shows at least at our `now`. */
  readonly values: (now: number, earliest: number) => readonly (string | number)[];
  /** The number of values to send without a control port; `--seed` selects them. */
  readonly tries?: number;
}

/** A case that sends one message with each value of `send_at`. */
function valueCase(
  id: `${RuleId}/${string}`,
  { sends, demands, needs = ['sender'], values, tries }: ValueCase,
): Case {
  return about(id, needs, tries ?? values(0, 0).length, {
    sends,
    demands,
    steps: async (t, account) => {
      const rows = [...values(0, 0).keys()];
      for (const row of t.someOf(rows, tries ?? rows.length)) {
        // An accepted row shows the target's clock to the rows after it.
        const now = t.now();
        await t.send(account, { send_at: values(now, now + t.ahead.least)[row] ?? '' });
      }
    },
  });
}

/** A time up to its seconds, without a zone. */
const digitsOf = (epochMs: number) => isoTime(epochMs).slice(0, 19);
const is400 = '400 that names `send_at`';

function holdCase(name: string, ahead: string, delayMs: number): Case {
  return about(`SEND-7/${name}`, ['fresh', 'clock'], 3, {
    also: ['STATE-2', 'STATE-3', 'SEND-4'],
    sends: `a send_at ${ahead} ahead, reads of it until it is picked up, and a replay before and after`,
    demands: 'held until then, picked up within about one poll of it; the replays change nothing',
    evidence: statusEvidence.pickup,
    // With a text that is too long, the replay shows whether the target validates first: then it
    // refuses one after the hold, too (`gateOrder`).
    steps: (t, account) => watchHold(t, account, delayMs, { message: tooLongMessage }),
  });
}

export const send7Cases: readonly Case[] = [
  valueCase('SEND-7/past-is-refused', {
    sends:
      'a send_at of a year and of one second ago, of 12 January, whose day and month may be confused, and of one hour ahead',
    demands: `${is400}; in one hour is accepted`,
    values: (now, earliest) => [
      isoTime(now + hourMs),
      isoTime(earliest - secondMs),
      isoTime(now - 365 * dayMs),
      isoTime(Date.UTC(new Date(now).getUTCFullYear(), 0, 12)),
    ],
  }),
  valueCase('SEND-7/now-is-not-the-future', {
    needs: ['fresh', 'clock'],
    sends: 'a send_at of exactly now, of one millisecond ago, of one second ahead',
    demands: '400, 400, 202',
    values: (now) => [isoTime(now), isoTime(now - 1), isoTime(now + secondMs)],
  }),
  valueCase('SEND-7/whole-seconds-are-iso-too', {
    sends: 'a send_at without a fraction and with microseconds, with Z and with +00:00',
    demands: '202 each',
    values: (now) => ['Z', '+00:00', '.123456Z'].map((end) => `${digitsOf(now + hourMs)}${end}`),
  }),
  {
    ...valueCase('SEND-7/odd-times', {
      sends:
        'a send_at with a leap second, nanoseconds, the last and the first year of four digits, a year of five, and as an empty text',
      demands: '202, or 400 that names `send_at`; never a 500',
      values: () => [
        '2040-06-30T23:59:60Z',
        '2040-01-01T00:00:00.123456789Z',
        '9999-12-31T23:59:59.999Z',
        '0000-01-01T00:00:00Z',
        '+12040-01-01T00:00:00Z',
        '',
      ],
    }),
    also: ['SEND-5'],
  },
  valueCase('SEND-7/offset-is-not-dropped', {
    sends: 'a send_at that is past, written with an offset so that its digits look like the future',
    demands: `${is400}: it is not UTC, and it is past`,
    values: (now) => [isoTime(now + hourMs), `${digitsOf(now + 2 * hourMs)}+05:00`],
  }),
  valueCase('SEND-7/not-a-time', {
    sends:
      'times that are not ISO 8601: of a mail, with an hour of one digit and one that does not exist, with a line break, seconds and milliseconds since 1970',
    demands: is400,
    values: (now) => [
      'Sun, 01 Jan 2040 00:00:00 GMT',
      Math.ceil((now + hourMs) / secondMs),
      '2040-01-01T5:00:00Z',
      '2040-01-01T25:00:00Z',
      '2040-01-01T00:00:00Z\n',
      String(now + hourMs),
    ],
  }),
  valueCase('SEND-7/no-other-zone', {
    // A wrong zone would shift the time by at least half an hour.
    sends: 'a send_at of half an hour ago and of half an hour ahead, with Z and with +00:00',
    demands: `${is400} for the past, 202 for the future`,
    values: (now) =>
      [now - 30 * minuteMs, now + 30 * minuteMs].flatMap((at) =>
        ['.000Z', '+00:00'].map((zone) => `${digitsOf(at)}${zone}`),
      ),
  }),
  {
    ...holdCase('holds-twelve-seconds', 'twelve seconds', 12 * secondMs),
    needs: ['sender'],
    waitSeconds: 40,
  },
  holdCase('holds-ten-minutes', 'ten minutes', 10 * minuteMs),
  holdCase('holds-twelve-hours', 'twelve hours', 12 * hourMs),
  holdCase('holds-three-days', 'three days', 3 * dayMs),
  judging('SEND-7/absent-is-immediate', watched, {
    sends: 'a message without send_at',
    demands: 'picked up within about one poll',
  }),
  about('SEND-7/held-is-not-sent-early', ['sender'], 1, {
    waitSeconds: 3,
    sends: 'a send_at one hour ahead, and reads of it for three seconds',
    demands: 'neither sending nor any later state',
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account, { send_at: isoTime(t.now() + hourMs) });
      for (let i = 0; i < 3; i += 1) {
        await t.advance(secondMs);
        await t.read(account, messageId);
      }
    },
  }),
  judging('SEND-7/every-message-of-the-run', lastReads, {
    isLast: true,
    sends: 'reads of the held messages of the other cases, at the end of the run',
    demands:
      'none is sending or further whose send_at has not come; none is queued long after it, while many of its SIM are not that were sent later',
    steps: async (t) => {
      const sends = readAgainIn(t);
      const held = sends.filter((send) => (holdEndOf(send) ?? 0) > t.now());
      const due = sends.filter((send) => (holdEndOf(send) ?? Number.POSITIVE_INFINITY) < t.now());
      // Once more, after all those that show that their device picks up messages.
      for (const send of due.slice(-mostDue)) {
        const { authorization = '' } = send.headers;
        const path = paths.read(messageIdOf(send));
        await t.request({ method: 'GET', path, headers: { authorization } });
      }
      held.push(...passedHolds(t));
      if (held.length === 0) t.lack('another case whose message is still held');
      // Show which of the other endpoints know send_at (`supportsSendAt`).
      const refused = sinceLastBreak(t).filter(
        (one) => isSend(one) && !isMessageSend(one) && one.reply.status === 400 && mayBeHeld(one),
      );
      t.exchanges.push(...held, ...refused);
    },
  }),
  about('SEND-7/tasks-keep-the-hold', ['sender', 'device'], 1, {
    spends: { tasks: 1 },
    mustRunAlone: true,
    sends: 'a send_at one hour ahead from a SIM whose device asks for its tasks before that time',
    demands: 'not among the tasks, and still held',
    account: { sim: { polling: 'external' } },
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account, { send_at: isoTime(t.now() + hourMs) });
      for (const pause of t.hasControl ? [0, 30 * minuteMs] : [0]) {
        await t.advance(pause);
        await t.poll(account);
        await t.read(account, messageId);
      }
    },
  }),
  about('SEND-7/holds-to-the-second', ['fresh', 'clock'], 1, {
    sends: 'a send_at at the 58th second of a minute, three minutes ahead',
    demands: 'still held in the last second before it',
    steps: async (t) => {
      // A service that drops the seconds ends the hold 58 s early. A poll in that time shows it.
      if (pollIntervalMs(t) > 50 * secondMs)
        t.lack('a target whose devices poll at least once within 50 s (pollIntervalSeconds)');
      const account = await t.account();
      const minuteBeganAt = Math.floor(t.now() / minuteMs) * minuteMs;
      const heldUntil = minuteBeganAt + 3 * minuteMs + 58 * secondMs;
      const { messageId } = await t.mustSend(account, { send_at: isoTime(heldUntil) });
      await t.control.advanceTo(heldUntil - secondMs / 2);
      await t.read(account, messageId);
    },
  }),
  about('SEND-7/nothing-ends-a-hold', ['sender'], 11, {
    waitSeconds: onePollSeconds + leastHoldMs / secondMs,
    spends: { dashboard_send: 2, external_send: 2, tasks: 1 },
    sends:
      'messages held for an hour by each send endpoint, and under `from_number` by another key for a day, 40 days, 100 and 400 years, and with a long text and in other spellings for an hour, to the 59th second of the minute, and one before them for five seconds; then a poll for tasks, a replay and an immediate message',
    demands: 'the long ones are still held after a poll of the device, which picks up the others',
    steps: async (t, account) => {
      const fields = { send_at: isoTime(t.now() + hourMs), request_id: t.requestId() };
      // Each of the later holds might take the place of one that ends earlier.
      const soon = isoTime(t.now() + t.ahead.most + soonMs);
      const dueIds = t.hasControl ? [] : idsIn([await t.send(account, { send_at: soon })]);
      const heldIds = await holdMessages(t, account, fields);
      // With a control port, `holds-to-the-second` tests it.
      const last = t.hasControl ? undefined : await lastSecondOfMinute(t);
      if (last !== undefined)
        heldIds.push((await t.mustSend(account, { send_at: last })).messageId);
      const readAll = async () => {
        for (const id of heldIds) await t.read(account, id);
      };
      if (account.sims.length > 0) await t.poll(account);
      await readAll();
      await t.send(account, fields);
      dueIds.push((await t.mustSend(account)).messageId);
      const pollMs = pollIntervalMs(t);
      for (const pauseMs of t.hasControl ? [pollMs, pollMs] : realPausesMs) {
        await t.advance(pauseMs);
        await readAll();
      }
      // A held message must not keep back what comes after it.
      const readDue = async () => {
        const replies: Reply[] = [];
        for (const id of dueIds) replies.push(await t.read(account, id));
        return replies.some(({ json }) => Object(json).status === 'queued');
      };
      if (!(await readDue()) || t.hasControl) return;
      await t.advance(lateAfterMs);
      await readDue();
    },
  }),
];

/**
 * The 59th second of a minute of the target's clock, which has begun: a service that drops the
 * seconds ends such a hold at once. Undefined if the clock is not known.
 */
async function lastSecondOfMinute(t: Trial): Promise<string | undefined> {
  const { least, most } = t.ahead;
  if (most - least > leastHoldMs / 3) return undefined;
  const intoMs = (t.now() + most) % minuteMs;
  if (intoMs < most - least) await t.pause(most - least - intoMs, 'a minute that has begun');
  else if (intoMs > minuteMs - leastHoldMs)
    await t.pause(minuteMs - intoMs + most - least, 'the next minute');
  const minuteStart = Math.floor((t.now() + most) / minuteMs) * minuteMs;
  return isoTime(minuteStart + minuteMs - secondMs);
}

/** Sends messages with holds by each endpoint; returns the ids of those that were accepted. */
async function holdMessages(
  t: Trial,
  account: AccountUnderTest,
  fields: Fields,
): Promise<string[]> {
  const { send_at } = fields;
  const now = t.now();
  const replies = [await t.send(account, fields)];
  for (const path of [paths.dashboard_send, paths.external_send]) {
    // The document shows a body only for the send endpoint; the others may not support send_at.
    await t.post(path, account.key, t.fields(account, { send_at: isoTime(now - hourMs) }));
    replies.push(await t.post(path, account.key, t.fields(account, { send_at })));
  }
  // The later ones exceed the 2^31 ms that a timer can wait in many languages, the 2^31 and 2^32 s
  // and the 2^63 ns since 1970.
  const sender = { from: undefined, from_number: account.from };
  const withOtherKey = { ...account, key: await t.anotherKey(account) };
  for (const holdMs of [dayMs + 5 * secondMs, 40 * dayMs, 100 * yearMs, 400 * yearMs])
    replies.push(await t.send(withOtherKey, { ...sender, send_at: isoTime(now + holdMs) }));
  const spellings = [`${digitsOf(now + hourMs)}+00:00`, isoTime(now + hourMs).toLowerCase()];
  for (const spelling of spellings)
    replies.push(await t.send(account, { send_at: spelling, message: twoSegments }));
  return idsIn(replies);
}

/** The ids of the messages that these replies accept. */
function idsIn(replies: readonly Reply[]): string[] {
  const accepted = replies.filter(({ status }) => status === 202);
  return accepted.map(({ json }) => textOf(Object(json).message_id));
}
