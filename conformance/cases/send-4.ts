/**
 * Cases about replays, the later sends of a `request_id`. Rule: SEND-4. `send-4-ids.ts` has the
 * cases about ids that differ slightly, and about how long an id is known. What the document leaves
 * open is observed elsewhere: another body and another endpoint in
 * `observations-replies.ts`, another key in `observations-accounts.ts`.
 */
import { hourMs, isoTime, minuteMs, secondMs } from '#contract/time.ts';
import { about, type Case, judging } from '../run/case.ts';
import { recorded } from '../run/recording.ts';
import {
  type AccountPlan,
  type AccountUnderTest,
  type Fields,
  paths,
  type Trial,
} from '../run/trial.ts';
import { sendUntilHandedOut } from '../steps/tasks.ts';
import { watched } from '../steps/watched-messages.ts';
import { wallClock } from '../target/client.ts';
import { type Need, otherRecipientOf } from '../target/target.ts';
import { refusedSends } from './send-refusals.ts';
import { tooLongMessage } from './similar-values.ts';

const senderNeeds: readonly Need[] = ['sender'];
export const originalReply = '200 and the original body, byte for byte';

/**
 * Sends at once, under several ids: a race shows only among the first few sends of an id. The first
 * id has twice as many: each replay is like the first.
 */
const racedIds = 9;
const sendsOfEachId = 5;
const raceHoldMs = minuteMs;
/** Ids that two accounts use at once: what is in flight is not always looked up at the same time. */
const idsOfTwo = 3;
/** Times between the sends of a round, so that later sends arrive while the first is answered. */
const roundGapsMs = [1, 3];
const sendsPerRound = 8;

/** How far ahead a short hold ends, by the target's clock. A slow request needs more. */
const leadsMs = [3 * secondMs, 10 * secondMs, 30 * secondMs];
/** The pause after the end of a hold, so that it has certainly ended on the target's clock. */
const afterHoldMs = 1_500;

export const send4Cases: readonly Case[] = [
  about('SEND-4/replay-is-identical', senderNeeds, 3, {
    sends: 'the same request_id a second and a third time',
    demands: '200 and a body identical to the original 202 body',
    steps: (t, account) => sendAndReplay(t, account, 2),
  }),
  about('SEND-4/another-body-is-no-new-message', senderNeeds, 7, {
    sends:
      'the same request_id with another text, with a send_at, with a text that is too long, as at first, under `from_number`, and to another recipient of --allow-to',
    demands:
      '200 and the original body, or what replayDifferentBody permits where the body differs; never a new message',
    steps: async (t, account) => {
      const fields = await sendFirst(t, account);
      const send_at = isoTime(t.now() + hourMs);
      const to = otherRecipientOf(t.target);
      for (const other of [
        { message: 'another text' },
        { send_at },
        { message: tooLongMessage },
        {},
        { from: undefined, from_number: account.from },
        ...(to === undefined ? [] : [{ to }]),
      ])
        await t.send(account, { ...fields, ...other });
    },
  }),
  about('SEND-4/no-second-message', ['sender', 'device'], 3, {
    spends: { tasks: 1 },
    sends: 'replays, then the list of messages or the tasks of the device',
    demands: 'one message exists',
    steps: (t) =>
      sendUntilHandedOut(t, async (account, message) => {
        await sendAndReplay(t, account, 2, { message });
        await t.noteMessageCount(account);
      }),
  }),
  about('SEND-4/fifty-at-once', senderNeeds, (racedIds + 1) * sendsOfEachId, {
    sends:
      'fifty sends at once over connections that are open: a request_id ten times and eight five times each, half of them with a send_at; with a control port also rounds of eight, a few milliseconds apart',
    demands: 'of each request_id exactly one 202, else 200, all bodies equal',
    steps: async (t, account) => {
      const send_at = isoTime(t.now() + raceHoldMs);
      const sends: Fields[] = [];
      for (let i = 0; i < racedIds; i += 1) {
        const fields = { request_id: t.requestId(), ...(i % 2 === 0 && { send_at }) };
        sends.push(...Array<Fields>(i === 0 ? 2 * sendsOfEachId : sendsOfEachId).fill(fields));
      }
      await sendAtOnce(t, account, sends);
      if (!t.hasControl) return;
      for (const gapMs of roundGapsMs) {
        const round = Array<Fields>(sendsPerRound).fill({ request_id: t.requestId() });
        await sendAtOnce(t, account, round, gapMs);
      }
    },
  }),
  replayCase('refusals-between-do-not-matter', {
    needs: senderNeeds,
    event: 'a refused send of another request_id',
    cause: (t, account) => t.send(account, { request_id: t.requestId(), message: tooLongMessage }),
  }),
  judging('SEND-4/refused-is-no-original', refusedSends, {
    sends:
      'messages that are refused with 400, 402, 403 and 503, as far as they can be provoked, and each request_id again with a message that is right',
    demands: '202 or another refusal (failedRequestId), never a replay',
  }),
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
      await t.mustSend(account);
      await requireRefusal(t, account, 402);
    },
  }),
  about('SEND-4/spends-no-quota', ['fresh'], 7, {
    also: ['ERR-1'],
    sends: 'four replays under a quota of two, then two more messages',
    demands: 'the replays are 200, the second message is 202, the third 402: no replay was counted',
    account: { quota: 2 },
    steps: async (t, account) => {
      await sendAndReplay(t, account, 4);
      for (let i = 0; i < 2; i += 1) await t.send(account);
    },
  }),
  about('SEND-4/other-keys-are-other-messages', senderNeeds, 4, {
    sends: 'two request_ids, alternating',
    demands: 'each replays its own message',
    steps: async (t, account) => {
      const both = [await sendFirst(t, account), await sendFirst(t, account)];
      for (const fields of both) await t.send(account, fields);
    },
  }),
  about('SEND-4/accounts-do-not-share', ['sender', 'second-account'], 2 * idsOfTwo + 2, {
    also: ['SEND-3'],
    sends: `${idsOfTwo} request_ids from two accounts at once, and one of them again`,
    demands: 'a message of each account for each, and each account replays its own',
    steps: async (t, account) => {
      const other = await t.otherAccount();
      const ids = Array.from({ length: idsOfTwo }, () => t.requestId());
      // Without a number of the second account, its refusal distinguishes the accounts.
      const from = other.from === '' ? account.from : other.from;
      const sendBoth = (request_id: string) => [
        t.send(account, { request_id }),
        t.send(other, { request_id, from }),
      ];
      // Open connections, so that the first sends arrive together.
      await Promise.all(
        ids.flatMap(() => [account, other]).map(({ key }) => t.get(paths.stats, key)),
      );
      await Promise.all(ids.flatMap(sendBoth));
      for (const id of ids.slice(0, 1)) await Promise.all(sendBoth(id));
    },
  }),
  about('SEND-4/whatever-the-status', senderNeeds, 2, {
    recordings: [watched],
    sends:
      'a replay of each watched message after its last change; with a control port, after each change',
    demands: '200 and the original body, which says queued',
    steps: async (t) => {
      for (const { account, fields, statuses } of await recorded(t, watched)) {
        if (statuses.length === 1) t.lack('a message that is picked up within the wait');
        await t.send(account, fields);
      }
    },
  }),
  about('SEND-4/send-at-has-passed', senderNeeds, 4, {
    waitSeconds: 5,
    sends: 'a replay of a held message, an invalid one, and one after its send_at has passed',
    demands: '200 and the original body: the replay is no new message to validate',
    steps: async (t, account) => {
      const { fields, heldUntilMs } = await sendHeldBriefly(t, account);
      await t.send(account, fields);
      await t.send(account, { ...fields, message: tooLongMessage });
      await t.advance(heldUntilMs + afterHoldMs - t.now());
      await t.send(account, fields);
    },
  }),
];

/** Sends a message under a new id, and returns its fields. */
export async function sendFirst(
  t: Trial,
  account: AccountUnderTest,
  fields: Fields = {},
): Promise<Fields> {
  const sent = { ...fields, request_id: t.requestId() };
  await t.mustSend(account, sent);
  return sent;
}

async function sendAndReplay(
  t: Trial,
  account: AccountUnderTest,
  replays: number,
  fields: Fields = {},
) {
  const sent = await sendFirst(t, account, fields);
  for (let i = 0; i < replays; i += 1) await t.send(account, sent);
}

interface ReplayPlan {
  readonly needs?: readonly Need[];
  /** The budget of sends: the first, those of the cause, and the replay. */
  readonly sendCount?: number;
  /** What happens between the first send and the replay, for reports. */
  readonly event: string;
  readonly account?: AccountPlan;
  readonly cause: (t: Trial, account: AccountUnderTest) => Promise<unknown>;
}

/** A case that sends a message, causes an event, and sends the same `request_id` again. */
export function replayCase(name: string, plan: ReplayPlan): Case {
  const { needs = ['fresh'], sendCount = 3, event, cause, ...more } = plan;
  return about(`SEND-4/${name}`, needs, sendCount, {
    ...more,
    sends: `a replay after ${event}`,
    demands: originalReply,
    steps: async (t, account) => {
      const fields = await sendFirst(t, account);
      await cause(t, account);
      await t.send(account, fields);
    },
  });
}

/** Shows by a refused send that an event has happened. */
async function requireRefusal(t: Trial, account: AccountUnderTest, status: number): Promise<void> {
  const reply = await t.send(account);
  if (reply.status !== status) t.lack(`a target that answers ${status} now`);
}

/** Makes the sends over connections that are already open, so that they arrive together. */
async function sendAtOnce(
  t: Trial,
  account: AccountUnderTest,
  sends: readonly Fields[],
  gapMs = 0,
) {
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

/** Sends a message with the shortest hold that the target accepts. */
async function sendHeldBriefly(t: Trial, account: AccountUnderTest) {
  for (const leadMs of leadsMs) {
    const { least, most } = t.ahead;
    const soonestMs = t.now() + leadMs;
    const heldUntilMs = soonestMs + most - least;
    const send_at = isoTime(soonestMs + most);
    const fields = { request_id: t.requestId(), send_at };
    if ((await t.send(account, fields)).status !== 400) return { fields, heldUntilMs };
  }
  return t.lack('a target that takes a send_at half a minute ahead');
}
