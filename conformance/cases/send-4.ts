/**
 * Cases about the reuse of a `request_id`, and about ids that differ slightly. Rule: SEND-4. What
 * the document leaves open is observed elsewhere: another body and another endpoint in
 * `observations-replies.ts`, another key in `observations-accounts.ts`.
 */

import type { RuleId } from '../../src/ledger/rules.ts';
import { dayMs, hourMs } from '../../src/ledger/time-units.ts';
import { about, type Case } from '../case.ts';
import { wallClock } from '../clock.ts';
import { floodOf } from '../floods.ts';
import { type Recording, recorded } from '../recording.ts';
import type { Need } from '../target.ts';
import { untilHandedOut } from '../tasks.ts';
import { type AccountPlan, type Fields, paths, type Subject, type Trial } from '../trial.ts';
import { watched, watchedMessages } from '../watched-messages.ts';

const tooLong = 'x'.repeat(1_601);
const senderNeeds: readonly Need[] = ['sender'];
const clockNeeds: readonly Need[] = ['fresh', 'clock'];
const originalReply = '200 and the original body, byte for byte';

/** Simultaneous sends: a race shows only among the first few sends of an id, so use several ids. */
const idsAtOnce = 10;
const sendsOfEach = 5;
/** Times between the sends of a round, so that later sends arrive while the first is answered. */
const raceGapsMs = [1, 3];
const sendsPerRound = 8;
const heldForMs = 60_000;

/** The length of the last ids of a flood with a control port. */
const floodIdLength = 'id-100'.length;
const idOfOtherScripts = 'Жé短😀';

/** Refused sends (field, sender, quota); all but the last are followed by a valid send of that id. */
export const refusals: Recording = {
  name: 'refused sends',
  needs: ['sender'],
  spends: { send: 6 },
  record: async (t) => {
    const { unknownFrom, inactiveFrom, exhaustedApiKey: key, exhaustedFrom } = t.target.flags;
    const account = await t.account({ sims: 2 });
    if (t.controlled) await t.patchSim(account, 1, { active: false });
    const inactive = t.controlled ? account.sims[1]?.number : inactiveFrom;
    const unknown = t.controlled ? t.unusedNumber() : unknownFrom;
    const senders = [unknown, inactive].flatMap((from) => (from === undefined ? [] : { from }));
    await t.get(paths.stats, account.key);
    for (const wrong of [...t.someOf(invalidFields, 1), ...senders]) {
      const request_id = t.requestId();
      await t.send(account, { ...wrong, request_id });
      await t.send(account, { request_id });
    }
    const spent = t.controlled
      ? await t.account({ quota: 0 })
      : exhaustedAccount(key, exhaustedFrom);
    if (spent !== undefined) await t.send(spent, { request_id: t.requestId() });
  },
};

export const send4Cases: readonly Case[] = [
  {
    ...about('SEND-4/replay-is-identical', senderNeeds, { send: 3 }),
    sends: 'the same request_id a second and a third time',
    demands: '200 and a body identical to the original 202 body',
    steps: async (t, account) => {
      const fields = await sendFirst(t, account);
      for (let i = 0; i < 2; i += 1) await t.send(account, fields);
    },
  },
  {
    ...about('SEND-4/another-body-is-no-new-message', senderNeeds, { send: 4 }),
    sends: 'the same request_id with another text, with a send_at, and as at first',
    demands:
      '200 and the original body, or 409 where the body differs (replayDifferentBody); never a new message',
    steps: async (t, account) => {
      const fields = await sendFirst(t, account);
      const send_at = new Date((await t.now()) + hourMs).toISOString();
      for (const other of [{ message: 'another text' }, { send_at }, {}])
        await t.send(account, { ...fields, ...other });
    },
  },
  {
    ...about('SEND-4/no-second-message', ['sender', 'device'], { send: 3, tasks: 1 }),
    sends: 'replays, then the list of messages or the tasks of the device',
    demands: 'one message exists',
    steps: (t) =>
      untilHandedOut(t, async (account, message) => {
        const fields = await sendFirst(t, account, { message });
        for (let i = 0; i < 2; i += 1) await t.send(account, fields);
        await t.noteMessageCount(account);
      }),
  },
  {
    ...about('SEND-4/fifty-at-once', senderNeeds, { send: idsAtOnce * sendsOfEach }),
    sends:
      'fifty sends at once over connections that are open: ten request_ids five times each, half of them with a send_at; with a control port also rounds of eight, a few milliseconds apart',
    demands: 'of each request_id exactly one 202, else 200, all bodies equal',
    steps: async (t, account) => {
      const send_at = new Date((await t.now()) + heldForMs).toISOString();
      const ids = Array.from({ length: idsAtOnce }, (_, i) => ({
        request_id: t.requestId(),
        ...(i % 2 === 0 && { send_at }),
      }));
      await sendAtOnce(t, account, ids, sendsOfEach, 0);
      if (!t.controlled) return;
      for (const gapMs of raceGapsMs)
        await sendAtOnce(t, account, [{ request_id: t.requestId() }], sendsPerRound, gapMs);
    },
  },
  replayCase('refusals-between-do-not-matter', {
    needs: senderNeeds,
    event: 'a refused send of another request_id',
    cause: (t, account) => t.send(account, { request_id: t.requestId(), message: tooLong }),
  }),
  {
    ...about('SEND-4/refused-is-no-original', senderNeeds),
    recordings: [refusals],
    sends:
      'messages that are refused with 400, 402, 403 and 503, as far as they can be provoked, and each request_id again with a message that is right',
    demands: '202 or another refusal (failedRequestId), never a replay',
  },
  replayCase('sim-deactivated', {
    event: 'the SIM was deactivated',
    cause: async (t, account) => {
      await t.patchSim(account, 0, { active: false });
      await requireRefusal(t, account, 503);
    },
  }),
  replayCase('number-withdrawn', {
    event: 'the account was forbidden to send from the number',
    cause: async (t, account) => {
      await t.patchSim(account, 0, { allowed: false });
      await requireRefusal(t, account, 403);
    },
  }),
  replayCase('quota-spent', {
    sendCount: 4,
    event: 'the monthly quota was spent',
    account: { quota: 2 },
    cause: async (t, account) => {
      await t.queued(account);
      await requireRefusal(t, account, 402);
    },
  }),
  replayCase('unused-for-nearly-24-hours', {
    needs: clockNeeds,
    event: 'one second less than 24 hours, in which the id was not used',
    cause: (t) => t.advance(dayMs - 1_000),
  }),
  {
    ...about('SEND-4/spends-no-quota', ['fresh'], { send: 7 }),
    also: ['ERR-1'],
    sends: 'four replays under a quota of two, then two more messages',
    demands: 'the replays are 200, the second message is 202, the third 402: no replay was counted',
    account: { quota: 2 },
    steps: async (t, account) => {
      const fields = await sendFirst(t, account);
      for (let i = 0; i < 4; i += 1) await t.send(account, fields);
      for (let i = 0; i < 2; i += 1) await t.send(account);
    },
  },
  {
    ...about('SEND-4/other-keys-are-other-messages', senderNeeds, { send: 4 }),
    sends: 'two request_ids, alternating',
    demands: 'each replays its own message',
    steps: async (t, account) => {
      const both = [await sendFirst(t, account), await sendFirst(t, account)];
      for (const fields of both) await t.send(account, fields);
    },
  },
  {
    ...about('SEND-4/accounts-do-not-share', ['sender', 'second-account'], { send: 4 }),
    sends: 'one request_id from two accounts, and again',
    demands: 'two messages, and each account replays its own',
    steps: async (t, account) => {
      const other = await t.otherAccount();
      const fields = await sendFirst(t, account);
      // Without a number of the second account, its refusal distinguishes the accounts.
      const from = other.from === '' ? account.from : other.from;
      await t.send(other, { ...fields, from });
      await t.send(account, fields);
      await t.send(other, { ...fields, from });
    },
  },
  {
    ...about('SEND-4/many-later-messages', senderNeeds, { send: 1 }),
    recordings: [floodOf.send],
    sends: 'a replay after more than 100 later messages with request_ids of their own',
    demands: originalReply,
    steps: async (t) => {
      requireIdLength(t, floodIdLength);
      const flooded = await recorded(t, floodOf.send);
      if (flooded.replies.length <= 100) t.lack('100 later messages');
      if (t.controlled) await t.advance(hourMs);
      await t.send(flooded.account, flooded.first.fields);
    },
  },
  {
    ...about('SEND-4/ids-of-any-script', senderNeeds, { send: 2 }),
    sends: 'a request_id with letters of other scripts and an emoji, twice',
    demands: originalReply,
    steps: async (t) => {
      requireIdLength(t, [...idOfOtherScripts].length);
      const account = await t.account();
      const fields = { request_id: `${t.controlled ? '' : t.requestId()}${idOfOtherScripts}` };
      for (let i = 0; i < 2; i += 1) await t.send(account, fields);
    },
  },
  {
    ...about('SEND-4/nearly-the-same-id', senderNeeds, { send: 1 + 14 + 2 + 2 }),
    sends:
      'request_ids that differ in letter case, an accent or its encoding, white space, an escape, a wildcard, an invisible character or a leading zero',
    demands: '202 for each; those that a service might change then replay their own message',
    steps: async (t) => {
      const digits = idOfDigits(t);
      const id = `${digits}Q\u00e9 a&7`;
      requireIdLength(t, id.length);
      const account = await t.account();
      const use = (request_id: string) => t.send(account, { request_id });
      if ((await use(id)).status === 400)
        t.lack('a target that takes request_ids with letters, spaces and signs');
      for (const variant of similarIds(id, digits)) await use(variant);
      // A UUID means the same in capitals, a request_id does not.
      const uuid = `abcdefab-cdef-4abc-8abc-${digits.slice(-12).padStart(12, '0')}`;
      if ((await use(uuid)).status !== 400) await use(uuid.toUpperCase());
      for (const again of [`${id} `, id.replace('\u00e9', 'e\u0301')]) await use(again);
    },
  },
  {
    ...about('SEND-4/last-letter-tells-ids-apart', senderNeeds, { send: 5 }),
    sends: 'two request_ids of the longest accepted length that differ in the last character alone',
    demands: '202 for both, two messages; the first replays its own',
    steps: async (t) => {
      const stated = t.assumption('requestIdMaxLength');
      const account = await t.account();
      const start = idOfDigits(t);
      for (const length of typeof stated === 'number' ? [Math.min(stated, 300)] : lengthsToTry) {
        const long = start.padEnd(length, 'p').slice(0, length - 1);
        const send = (end: string) => t.send(account, { request_id: `${long}${end}` });
        if ((await send('1')).status === 400) continue;
        await send('2');
        await send('1');
        return;
      }
      t.lack(`a target that takes request_ids of ${lengthsToTry.at(-1)} characters`);
    },
  },
  {
    ...about('SEND-4/whatever-the-status', senderNeeds, { send: 2 }),
    recordings: [watched],
    sends:
      'a replay of each watched message after its last change; with a control port, after each change',
    demands: '200 and the original body, which says queued',
    steps: async (t) => {
      for (const { account, fields, statuses } of await watchedMessages(t)) {
        if (statuses.length === 1) t.lack('a message that is picked up within the wait');
        await t.send(account, fields);
      }
    },
  },
  agesCase('SEND-4/within-24-hours', [hourMs, 12 * hourMs, 23 * hourMs + 60_000, dayMs - 1_000], {
    sends: 'replays after 1, 12, 23 hours and one second before 24 hours',
    demands: originalReply,
  }),
  agesCase('SEND-4/new-after-24-hours', [23 * hourMs, dayMs + 1_000], {
    sends: 'the same request_id after 23 hours, and again one second after 24 hours',
    demands: '200, then a new message: a replay does not prolong the window',
  }),
  {
    ...about('SEND-4/send-at-has-passed', senderNeeds, { send: 4 }, { waits: 5 }),
    sends: 'a replay of a held message, an invalid one, and one after its send_at has passed',
    demands: '200 and the original body: the replay is no new message to validate',
    steps: async (t, account) => {
      const [fields, untilMs] = await sendHeldBriefly(t, account);
      await t.send(account, fields);
      await t.send(account, { ...fields, message: tooLong });
      await t.advance(untilMs + afterHoldMs - (await t.now()));
      await t.send(account, fields);
    },
  },
  {
    ...about('SEND-4/held-message-after-24-hours', clockNeeds, { send: 2 }),
    sends: 'a message held for 30 hours, and its request_id again one second after 24 hours',
    demands: 'a new message: the 24 hours begin with the first use, not with send_at',
    steps: async (t) => {
      const most = t.assumption('sendAtMaxAheadDays');
      if (typeof most === 'number' && most < 2)
        t.lack('a target that takes a send_at 30 hours ahead (sendAtMaxAheadDays)');
      const account = await t.account();
      const send_at = new Date((await t.now()) + 30 * hourMs).toISOString();
      const fields = await sendFirst(t, account, { send_at });
      await t.advance(dayMs + 1_000);
      await t.send(account, fields);
    },
  },
];

/** Each one fails a different check of fields. */
const invalidFields: readonly Fields[] = [{ message: tooLong }, { to: 'x' }, { send_at: 'soon' }];

function exhaustedAccount(key: string | undefined, from: string | undefined): Subject | undefined {
  return key === undefined || from === undefined ? undefined : { key, from, sims: [] };
}

/** Sends a message under a new id, and returns its fields. */
async function sendFirst(t: Trial, account: Subject, fields: Fields = {}): Promise<Fields> {
  const sent = { ...fields, request_id: t.requestId() };
  await t.queued(account, sent);
  return sent;
}

interface ReplayPlan {
  readonly needs?: readonly Need[];
  readonly sendCount?: number;
  /** The event, for reports. */
  readonly event: string;
  readonly account?: AccountPlan;
  readonly cause: (t: Trial, account: Subject) => Promise<unknown>;
}

/** A case that sends a message, causes an event, and sends the same `request_id` again. */
function replayCase(name: string, plan: ReplayPlan): Case {
  const { needs: caseNeeds = ['fresh'], sendCount = 3, event, account, cause } = plan;
  return {
    ...about(`SEND-4/${name}`, caseNeeds, { send: sendCount }),
    sends: `a replay after ${event}`,
    demands: originalReply,
    steps: async (t) => {
      const subject = await t.account(account);
      const fields = await sendFirst(t, subject);
      await cause(t, subject);
      await t.send(subject, fields);
    },
  };
}

/** Shows by a refused send that an event has happened. */
async function requireRefusal(t: Trial, account: Subject, status: number): Promise<void> {
  const reply = await t.send(account);
  if (reply.status !== status) t.lack(`a target that answers ${status} now`);
}

/**
 * Sends the same fields several times, over connections that are already open, so that the requests
 * arrive together.
 */
async function sendAtOnce(
  t: Trial,
  account: Subject,
  fieldsList: readonly Fields[],
  times: number,
  gapMs: number,
) {
  const sends = fieldsList.flatMap((fields) => Array.from({ length: times }, () => fields));
  // Opens a connection for each send.
  await Promise.all(sends.map(() => t.get(paths.stats, account.key)));
  await Promise.all(
    sends.map(async (fields, i) => {
      if (gapMs > 0) await wallClock.sleep(i * gapMs);
      return t.send(account, fields);
    }),
  );
  await t.noteMessageCount(account);
}

/** A case that sends a message, and its `request_id` again when the message has each of these ages. */
function agesCase(
  id: `${RuleId}/${string}`,
  ages: readonly number[],
  texts: Pick<Case, 'sends' | 'demands'>,
): Case {
  return {
    ...about(id, clockNeeds, { send: ages.length + 1 }),
    ...texts,
    steps: async (t, account) => {
      const fields = await sendFirst(t, account);
      let ageMs = 0;
      for (const age of ages) {
        await t.advance(age - ageMs);
        ageMs = age;
        await t.send(account, fields);
      }
    },
  };
}

/**
 * A `request_id` of digits only, to detect ids that are read as numbers. With a control port the
 * account is new, so "7" is unused; elsewhere the id must be unique.
 */
function idOfDigits(t: Trial): string {
  return t.controlled
    ? '7'
    : `${Math.floor(t.target.clock.now())}${Math.floor(Math.random() * 90) + 10}`;
}

/** Ids that a service might confuse with `id`, which has é and other signs after the digits. */
function similarIds(id: string, digits: string): string[] {
  return [
    id.replace('Q', 'q'),
    id.replace('\u00e9', '\u00c9'),
    id.replace('\u00e9', 'e'),
    id.replace('\u00e9', 'e\u0301'),
    id.replace(' ', '  '),
    id.replace(' ', '%20'),
    id.replace('&', '&amp;'),
    // A wildcard of SQL's LIKE.
    id.replace(/7$/, '_'),
    id.replace('a', 'a\u200b'),
    `${id} `,
    `${id}\n`,
    `${id}\0`,
    digits,
    `0${digits}`,
  ];
}

/** Skips a case whose ids are longer than the target states that it accepts. */
function requireIdLength(t: Trial, characters: number): void {
  const stated = t.assumption('requestIdMaxLength');
  if (typeof stated === 'number' && stated < characters)
    t.lack(`a target that takes request_ids of ${characters} characters (requestIdMaxLength)`);
}

/** The longest first; most are common sizes of a database column. */
const lengthsToTry = [300, 255, 200, 128, 64, 36, 20];

/** How far ahead a short hold ends. A lead fails if the request is slow, or the target's clock fast. */
const leadsMs = [3_000, 10_000, 30_000];
/** The pause after the end of a hold, so that the time has certainly passed on the target's clock. */
const afterHoldMs = 1_500;

/** Sends a message with the shortest hold that the target accepts. */
async function sendHeldBriefly(t: Trial, account: Subject): Promise<[Fields, number]> {
  for (const leadMs of leadsMs) {
    const untilMs = (await t.now()) + leadMs;
    const send_at = new Date(untilMs).toISOString();
    const fields = { request_id: t.requestId(), send_at };
    if ((await t.send(account, fields)).status !== 400) return [fields, untilMs];
  }
  return t.lack('a target that takes a send_at half a minute ahead');
}
