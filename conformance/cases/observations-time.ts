/**
 * Observations of what a target does as time passes. An observation finds the target's answer to an
 * assumption and judges nothing. All but `taskPickup` need a clock that can be moved.
 */
import type { AssumptionName } from '#contract/assumptions.ts';
import { isObject } from '#contract/request-and-reply.ts';
import { dayMs, secondMs } from '#contract/time.ts';
import * as verify from '#judging/service/expectations.ts';
import { flood } from '../floods/limited-requests.ts';
import { about, type Observation } from '../run/case.ts';
import { type AccountUnderTest, paths } from '../run/trial.ts';
import { largestAccepted } from '../steps/probe.ts';
import {
  changesOf,
  failingRecipients,
  failingStatuses,
  failsFrom,
  pickedAtNextPoll,
  pollTimes,
  statusOf,
} from '../steps/status-changes.ts';
import { readUntilReported, sendUntilHandedOut } from '../steps/tasks.ts';
import { recipients } from '../target/target.ts';

/** The messages that wait for one poll: a device that picks up fewer has a limit. */
const queueLength = 110;
/** The messages that show the failure rate, and how many of them each account sends. */
const sampleSize = 100;
const sampleOfAccount = 25;
/** The largest quota that is searched for: within the limit of a minute. */
const largestQuota = 118;
/** A longer retention counts as forever: a hundred years. */
const mostRetentionDays = 36_500;
/** The tries of a bisection up to `mostRetentionDays`, and one beyond it. */
const triesOfRetention = Math.ceil(Math.log2(mostRetentionDays)) + 1;

export const timeObservations: readonly Observation[] = [
  movingTime('pollIntervalSeconds/between-two-pickups', 2, {
    sends: 'a message, and another one at the moment of its pickup',
    run: async (t, account) => {
      const times = await pollTimes(t, account);
      return times === undefined
        ? { undetermined: 'no pickup was seen' }
        : { answer: Math.round(times.intervalMs / secondMs) };
    },
  }),
  movingTime('progressPace/between-two-changes', 2, {
    sends: 'a message, followed from its pickup to its end',
    run: async (t, account) => {
      const times = await pollTimes(t, account);
      if (times === undefined || times.gapsMs.length === 0)
        return { undetermined: 'no change after the pickup was seen' };
      const isAtPolls = times.gapsMs.every((gapMs) => gapMs % times.intervalMs === 0);
      return { answer: isAtPolls ? 'per_poll' : 'own_delay' };
    },
  }),
  about('taskPickup/status-once-handed-out', ['sender', 'device'], 1, {
    spends: { tasks: 1 },
    mustRunAlone: true,
    sends: 'a message from a SIM whose device asks for its tasks, and reads of it for 20 s',
    run: async (t) => {
      const handedOut = await sendUntilHandedOut(t, (account, message) =>
        t.mustSend(account, { message }),
      );
      const { json } = await t.read(handedOut.account, handedOut.messageId);
      if (Object(json).status !== 'queued') return { answer: 'handed_out' };
      if (await readUntilReported(t, handedOut)) return { answer: 'reported' };
      return { undetermined: 'the message stays queued once it is handed out' };
    },
  }),
  movingTime('sendsPerPoll/a-queue', queueLength, {
    sends: `${queueLength} messages from one SIM, counted after its next poll`,
    run: async (t, account) => {
      const replies = await flood(queueLength, () => t.send(account));
      const bodies = verify.given(() => replies.map((reply) => verify.accepted(reply)));
      const ids = bodies.map((body) => verify.textOf(body['message_id']));
      const picked = await pickedAtNextPoll(t, account, ids);
      if (picked === 0) return { undetermined: 'no pickup was seen' };
      return { answer: picked === ids.length ? 'all' : picked };
    },
  }),
  movingTime('failsFrom/scripted-fates', 3, {
    sends: 'messages that are scripted to fail while queued, sending and sent',
    run: async (t) => ({ answer: await failingStatuses(t) }),
  }),
  movingTime('failureRate/share-of-a-hundred', sampleSize + failingRecipients.length, {
    sends: `${sampleSize} messages to a recipient without a script`,
    run: async (t) => {
      const messages: [AccountUnderTest, string][] = [];
      while (messages.length < sampleSize) {
        const account = await t.account();
        for (let i = 0; i < sampleOfAccount; i += 1) {
          const { messageId } = await t.mustSend(account, { to: recipients.plain });
          messages.push([account, messageId]);
        }
      }
      await t.control.advanceToTheEnd();
      let failed = 0;
      for (const message of messages) if ((await statusOf(t, ...message)) === 'failed') failed += 1;
      if (failed === sampleSize) return { answer: 1 };
      if (failed > 0)
        return { undetermined: `the share is random: ${failed} of ${sampleSize} failed here` };
      return (await failingStatuses(t)).length > 0
        ? { answer: 0 }
        : { undetermined: 'no message ever fails here, not even a scripted one' };
    },
  }),
  movingTime('deactivation/queued-work', 2, {
    sends: 'a queued message whose SIM is then deactivated',
    run: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      await t.patchSim(account, 0, { active: false });
      if ((await statusOf(t, account, messageId)) === 'failed') return { answer: 'fails' };
      // If queued messages never fail, they stay queued under either answer.
      return (await failsFrom(t, await t.account(), recipients.failsQueued)) === 'queued'
        ? { answer: 'stays_queued' }
        : { undetermined: 'no queued message ever fails here' };
    },
  }),
  movingTime('monthlyQuota/of-a-plan', largestQuota + 1, {
    sends: 'messages of an account with the plan of the target, and its statistics',
    account: { quota: 'plan' },
    run: async (t, account) => {
      const stated = quotaIn((await t.get(paths.stats, account.key)).json);
      if (stated !== undefined) return { answer: stated };
      for (let n = 0; n <= largestQuota; n += 1)
        if ((await t.send(account)).status === 402) return { answer: n };
      return { undetermined: `more than ${largestQuota}, and the statistics do not state it` };
    },
  }),
  movingTime('quotaMonth/early-next-month', 2, {
    sends: 'a message on the 20th under a quota of one, another on the 2nd of the next month',
    account: { quota: 1 },
    run: async (t, account) => {
      const now = new Date(t.now());
      await t.control.advanceTo(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 20));
      await t.mustSend(account);
      await t.control.advanceTo(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2, 2));
      const { status } = await t.send(account);
      if (status === 202) return { answer: 'calendar_utc' };
      return status === 402 ? { answer: 'rolling_30_days' } : { undetermined: `status ${status}` };
    },
  }),
  movingTime('quotaRefund/after-a-failure', 6, {
    sends: 'a message that fails under a quota of one, then another',
    run: async (t) => {
      for (const [, to] of failingRecipients) {
        const account = await t.account({ quota: 1 });
        if ((await failsFrom(t, account, to)) === undefined) continue;
        const next = await t.send(account);
        if (next.status === 202) return { answer: 'yes' };
        if (next.status === 402) return { answer: 'no' };
      }
      return { undetermined: 'no message could be seen to fail' };
    },
  }),
  movingTime('messageRetention/long-after-its-end', triesOfRetention, {
    sends: 'reads of messages from a day to a hundred years after their end',
    run: async (t) => {
      const isFound = async (days: number) => {
        const account = await t.account();
        const { messageId } = await t.mustSend(account);
        let endedAt = t.now();
        for await (const { at } of changesOf(t, account, messageId)) endedAt = at;
        await t.control.advanceTo(endedAt + days * dayMs);
        return (await t.read(account, messageId)).status === 200;
      };
      if (await isFound(mostRetentionDays + 1)) return { answer: 'forever' };
      const retentionDays = await largestAccepted(0, mostRetentionDays, isFound);
      return retentionDays > 0
        ? { answer: retentionDays }
        : { undetermined: 'it is gone within a day' };
    },
  }),
];

function movingTime(
  id: `${AssumptionName}/${string}`,
  sendCount: number,
  rest: Pick<Observation, 'sends' | 'run' | 'account'>,
): Observation {
  return about(id, ['fresh', 'clock'], sendCount, rest);
}

/** The quota as the statistics state it, under any plausible name. */
function quotaIn(json: unknown): unknown {
  if (!isObject(json)) return undefined;
  const quota = json['quota'];
  const places = [json, ...(isObject(quota) ? [quota] : [])];
  for (const place of places) {
    for (const name of ['limit', 'monthly_quota', 'quota_limit', 'monthly_limit']) {
      const value = place[name];
      if (typeof value === 'number') return value;
      if (name in place && (value === null || value === 'unlimited')) return 'unlimited';
    }
  }
  return undefined;
}
