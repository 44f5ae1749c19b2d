/**
 * Observations of what a target does as time passes, where the document is silent. An observation
 * finds an answer of an assumption and judges nothing. Most of them need a clock that can be moved.
 */

import type { AssumptionName } from '../../src/ledger/assumptions.ts';
import { dayMs } from '../../src/ledger/time-units.ts';
import { about, type Observation, type Seen } from '../case.ts';
import { type Flood, floodOf } from '../floods.ts';
import { flood, justAfterTheMinute, passed } from '../limited.ts';
import { largestAccepted } from '../probe.ts';
import { recorded } from '../recording.ts';
import { recipients } from '../target.ts';
import { untilHandedOut, untilReported } from '../tasks.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/** An observation that moves time. */
function aboutMovingTime<S extends AssumptionName>(id: `${S}/${string}`, send: number) {
  return about(id, ['fresh', 'clock'], { send });
}

async function statusOf(t: Trial, account: Subject, messageId: string): Promise<string> {
  const reply = await t.read(account, messageId);
  return String(verify.given(() => verify.message(reply, 200))['status']);
}

/**
 * Advances from deadline to deadline until a message's status changes. Returns the exact time of
 * the change, or undefined if it never changes.
 */
async function nextChange(
  t: Trial,
  account: Subject,
  messageId: string,
): Promise<number | undefined> {
  const before = await statusOf(t, account, messageId);
  for (let i = 0; i < 400; i += 1) {
    const now = await t.now();
    const due = await t.control.nextAt();
    if (due === undefined) return undefined;
    await t.advance(Math.max(1, due - now));
    if ((await statusOf(t, account, messageId)) !== before) return t.now();
  }
  return undefined;
}

/**
 * Follows a message with a scripted fate to its end. Returns the status that it had before it
 * failed, if it did.
 */
async function failedFrom(t: Trial, account: Subject, to: string): Promise<string | undefined> {
  const { messageId } = await t.queued(account, { to });
  let before = 'queued';
  for (let i = 0; i < 6; i += 1) {
    if ((await nextChange(t, account, messageId)) === undefined) return undefined;
    const status = await statusOf(t, account, messageId);
    if (status === 'failed') return before;
    before = status;
  }
  return undefined;
}

/** Statuses, and the recipient whose messages are scripted to fail from each. */
const failingRecipients = [
  ['queued', recipients.failsQueued],
  ['sending', recipients.failsSending],
  ['sent', recipients.failsSent],
] as const;

/** True if a scripted message fails at all. */
async function anyFails(t: Trial): Promise<boolean> {
  for (const [status, to] of failingRecipients)
    if ((await failedFrom(t, await t.account(), to)) === status) return true;
  return false;
}

/**
 * The refill that the wait after a flood shows. The first request of the flood came well before the
 * others. A longer wait than for its token means that refused requests count
 * (`refusedSpendsToken`), which only a sliding window lets prolong a wait.
 */
function refillOf({ wait, refusals, first }: Flood): Seen {
  if (wait === undefined)
    return { undetermined: `no wait could be followed after ${refusals.length} 429s` };
  if (wait.seconds <= 2) return { answer: 'continuous' };
  const untilFirstToken = 60 - (wait.askedAt - first.reply.sentAt) / 1000;
  if (wait.seconds - untilFirstToken > 1.5) return { answer: 'sliding' };
  if (untilFirstToken - wait.seconds > 2) return { answer: 'interval_aligned' };
  return { answer: passed(wait.next) ? 'interval' : 'sliding' };
}

interface PollTimes {
  /** Between two pickups. */
  readonly intervalMs: number;
  /** Between the changes of the second message after its pickup. */
  readonly gapsMs: readonly number[];
}

async function pollTimes(t: Trial, account: Subject): Promise<PollTimes | undefined> {
  const first = await t.queued(account);
  const pickup = await nextChange(t, account, first.messageId);
  const second = await t.queued(account);
  const next = await nextChange(t, account, second.messageId);
  if (pickup === undefined || next === undefined) return undefined;
  const gapsMs: number[] = [];
  let last = next;
  for (let i = 0; i < 2; i += 1) {
    const at = await nextChange(t, account, second.messageId);
    if (at === undefined) break;
    gapsMs.push(at - last);
    last = at;
  }
  return { intervalMs: next - pickup, gapsMs };
}

export const timeObservations: readonly Observation[] = [
  {
    ...about('limiterRefill/what-comes-back', ['sender'], {}, { waits: 62 }),
    recordings: [floodOf.send],
    sends: 'a flood of sends, and two more when its wait is over',
    run: async (t) => refillOf(await recorded(t, floodOf.send)),
  },
  {
    ...aboutMovingTime('refusedSpendsToken/many-refusals', 620),
    throttled: 190,
    sends: '120 sends, 10 s later 120 more that are refused',
    run: async (t, account) => {
      await justAfterTheMinute(t);
      const spent = await flood(120, () => t.send(account));
      verify.given(() => verify.equal('successes', spent.filter(passed).length, 120));
      await t.advance(10_000);
      let refusal = await t.send(account);
      for (let i = 0; i < 120 && passed(refusal); i += 1) refusal = await t.send(account);
      const first = verify.given(() => verify.retryAfter(refusal));
      await flood(119, () => t.send(account));
      const last = await t.send(account);
      const wait = verify.given(() => verify.retryAfter(last));
      if (wait > first + 1) return { answer: 'yes' };
      // A bucket that refills completely at fixed times does so whatever was refused meanwhile.
      return (await returnsAtOnce(t, account, first))
        ? { undetermined: 'all of the bucket comes back at once, so a refusal makes no difference' }
        : { answer: 'no' };
    },
  },
  {
    ...aboutMovingTime('pollIntervalSeconds/between-two-pickups', 2),
    sends: 'a message, and another one at the moment of its pickup',
    run: async (t, account) => {
      const times = await pollTimes(t, account);
      return times === undefined
        ? { undetermined: 'no pickup was seen' }
        : { answer: Math.round(times.intervalMs / 1000) };
    },
  },
  {
    ...aboutMovingTime('progressPace/between-two-changes', 2),
    sends: 'a message, followed from its pickup to its end',
    run: async (t, account) => {
      const times = await pollTimes(t, account);
      if (times === undefined || times.gapsMs.length === 0)
        return { undetermined: 'no change after the pickup was seen' };
      const isAtPolls = times.gapsMs.every((gapMs) => gapMs % times.intervalMs === 0);
      return { answer: isAtPolls ? 'per_poll' : 'own_delay' };
    },
  },
  {
    ...about('taskPickup/status-once-handed-out', ['sender', 'device'], { send: 1, tasks: 1 }),
    alone: true,
    sends: 'a message from a SIM whose device asks for its tasks, and reads of it for 20 s',
    run: async (t) => {
      const handedOut = await untilHandedOut(t, (account, message) =>
        t.queued(account, { message }),
      );
      const { json } = await t.read(handedOut.account, handedOut.messageId);
      if (Object(json).status !== 'queued') return { answer: 'handed_out' };
      if (await untilReported(t, handedOut)) return { answer: 'reported' };
      return { undetermined: 'the message stays queued once it is handed out' };
    },
  },
  {
    ...aboutMovingTime('sendsPerPoll/a-queue', 110),
    sends: '110 messages from one SIM, counted after its next poll',
    run: async (t, account) => {
      const replies = await flood(110, () => t.send(account));
      const ids = replies.map((reply) =>
        String(verify.given(() => verify.accepted(reply))['message_id']),
      );
      const first = ids[0] ?? '';
      let picked = 0;
      for (let i = 0; i < 40 && picked === 0; i += 1) {
        const due = await t.control.nextAt();
        if (due === undefined) break;
        await t.advance(Math.max(1, due - (await t.now())));
        const statuses = await flood(ids.length, (n) => statusOf(t, account, ids[n] ?? first));
        picked = statuses.filter((status) => status !== 'queued').length;
      }
      if (picked === 0) return { undetermined: 'no pickup was seen' };
      return { answer: picked === ids.length ? 'all' : picked };
    },
  },
  {
    ...aboutMovingTime('failsFrom/scripted-fates', 3),
    sends: 'messages that are scripted to fail while queued, sending and sent',
    run: async (t) => {
      const from: string[] = [];
      for (const [status, to] of failingRecipients)
        if ((await failedFrom(t, await t.account(), to)) === status) from.push(status);
      return { answer: from };
    },
  },
  {
    ...aboutMovingTime('failureRate/share-of-a-hundred', 103),
    sends: '100 messages to a recipient without a script',
    run: async (t) => {
      const ends: string[] = [];
      const accounts: [Subject, string][] = [];
      for (let i = 0; i < 100; i += 1) {
        const account = accounts.length % 25 === 0 ? await t.account() : accounts.at(-1)?.[0];
        if (account === undefined) break;
        const { messageId } = await t.queued(account, { to: recipients.plain });
        accounts.push([account, messageId]);
      }
      await t.control.advanceToTheEnd();
      for (const [account, messageId] of accounts) ends.push(await statusOf(t, account, messageId));
      const failed = ends.filter((status) => status === 'failed').length;
      if (failed === ends.length) return { answer: 1 };
      if (failed === 0)
        return (await anyFails(t))
          ? { answer: 0 }
          : { undetermined: 'no message ever fails here, not even a scripted one' };
      return { undetermined: `the share is random: ${failed} of ${ends.length} failed here` };
    },
  },
  {
    ...aboutMovingTime('deactivation/queued-work', 2),
    sends: 'a queued message whose SIM is then deactivated',
    run: async (t, account) => {
      const { messageId } = await t.queued(account);
      const sim = account.sims[0]?.deviceId;
      await t.control.must('sims.patch', { id: sim, input: { active: false } });
      if ((await statusOf(t, account, messageId)) === 'failed') return { answer: 'fails' };
      // If queued messages never fail, they stay queued under either answer.
      return (await failedFrom(t, await t.account(), recipients.failsQueued)) === 'queued'
        ? { answer: 'stays_queued' }
        : { undetermined: 'no queued message ever fails here' };
    },
  },
  {
    ...aboutMovingTime('monthlyQuota/of-a-plan', 119),
    sends: 'messages of an account with the plan of the target, and its statistics',
    account: { quota: 'plan' },
    run: async (t, account) => {
      const stated = quotaIn((await t.get(paths.stats, account.key)).json);
      if (stated !== undefined) return { answer: stated };
      for (let n = 0; n < 119; n += 1)
        if ((await t.send(account)).status === 402) return { answer: n };
      return { undetermined: 'more than 118, and the statistics do not state it' };
    },
  },
  {
    ...aboutMovingTime('quotaMonth/early-next-month', 2),
    sends: 'a message on the 20th under a quota of one, another on the 2nd of the next month',
    account: { quota: 1 },
    run: async (t, account) => {
      const now = new Date(await t.now());
      await t.control.advanceTo(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 20));
      await t.queued(account);
      await t.control.advanceTo(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2, 2));
      const { status } = await t.send(account);
      if (status === 202) return { answer: 'calendar_utc' };
      return status === 402 ? { answer: 'rolling_30_days' } : { undetermined: `status ${status}` };
    },
  },
  {
    ...aboutMovingTime('quotaRefund/after-a-failure', 6),
    sends: 'a message that fails under a quota of one, then another',
    run: async (t) => {
      for (const [, to] of failingRecipients) {
        const account = await t.account({ quota: 1 });
        if ((await failedFrom(t, account, to)) === undefined) continue;
        const next = await t.send(account);
        if (next.status === 202) return { answer: 'yes' };
        if (next.status === 402) return { answer: 'no' };
      }
      return { undetermined: 'no message could be seen to fail' };
    },
  },
  {
    ...aboutMovingTime('messageRetention/long-after-its-end', 17),
    sends: 'reads of messages from a day to a hundred years after their end',
    run: async (t) => {
      const isFound = async (days: number) => {
        const account = await t.account();
        const { messageId } = await t.queued(account);
        let endedAt = await t.now();
        for (let i = 0; i < 3; i += 1)
          endedAt = (await nextChange(t, account, messageId)) ?? endedAt;
        await t.control.advanceTo(endedAt + days * dayMs);
        return (await t.read(account, messageId)).status === 200;
      };
      const mostDays = 36_500;
      if (await isFound(mostDays + 1)) return { answer: 'forever' };
      const retentionDays = await largestAccepted(0, mostDays, isFound);
      return retentionDays > 0
        ? { answer: retentionDays }
        : { undetermined: 'it is gone within a day' };
    },
  },
];

/** The quota as the statistics state it, under any plausible name. */
function quotaIn(json: unknown): unknown {
  if (!verify.isObject(json)) return undefined;
  const quota = json['quota'];
  const places = [json, ...(verify.isObject(quota) ? [quota] : [])];
  for (const place of places)
    for (const name of ['limit', 'monthly_quota', 'quota_limit', 'monthly_limit']) {
      const value = place[name];
      if (typeof value === 'number') return value;
      if (name in place && (value === null || value === 'unlimited')) return 'unlimited';
    }
  return undefined;
}

/** True if all tokens return at one moment, even though they were spent at two moments. */
async function returnsAtOnce(t: Trial, account: Subject, wait: number): Promise<boolean> {
  await t.advance((wait + 1) * 1000);
  const back = (await flood(121, () => t.send(account))).filter(passed).length;
  if (wait <= 2) return false;
  await t.advance(dayMs / 24);
  // A sliding window also refills completely if everything was spent at one instant.
  const probe = await t.account();
  await justAfterTheMinute(t);
  await flood(60, () => t.send(probe));
  await t.advance(10_000);
  await flood(60, () => t.send(probe));
  const refusal = await t.send(probe);
  await t.advance(verify.given(() => verify.retryAfter(refusal)) * 1000);
  const again = (await flood(121, () => t.send(probe))).filter(passed).length;
  return back > 0 && again > 100;
}
