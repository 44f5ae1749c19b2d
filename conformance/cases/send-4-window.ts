/** Cases about the 24 hours of a `request_id`, which move the target's clock. Rule: SEND-4. */
import type { RuleId } from '#contract/rules.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '#contract/time.ts';
import { about, type Case } from '../run/case.ts';
import type { Need } from '../target/target.ts';
import { originalReply, replayCase, sendFirst } from './send-4.ts';

const clockNeeds: readonly Need[] = ['fresh', 'clock'];

/** The service must know a `request_id` for 24 hours. */
const justBeforeExpiryMs = dayMs - secondMs;
const justAfterExpiryMs = dayMs + secondMs;

export const send4WindowCases: readonly Case[] = [
  replayCase('unused-for-nearly-24-hours', {
    needs: clockNeeds,
    event: 'one second less than 24 hours, in which the id was not used',
    cause: (t) => t.advance(justBeforeExpiryMs),
  }),
  agesCase('SEND-4/within-24-hours', {
    agesMs: [hourMs, 12 * hourMs, 23 * hourMs + minuteMs, justBeforeExpiryMs],
    sends: 'replays after 1, 12, 23 hours and one second before 24 hours',
    demands: originalReply,
  }),
  agesCase('SEND-4/new-after-24-hours', {
    agesMs: [23 * hourMs, justAfterExpiryMs],
    sends: 'the same request_id after 23 hours, and again one second after 24 hours',
    demands: '200, then a new message: a replay does not prolong the window',
  }),
  about('SEND-4/held-message-after-24-hours', clockNeeds, 2, {
    sends: 'a message held for 30 hours, and its request_id again one second after 24 hours',
    demands: 'a new message: the 24 hours begin with the first use, not with send_at',
    steps: async (t) => {
      const most = t.assumption('sendAtMaxAheadDays');
      if (typeof most === 'number' && most < 2)
        t.lack('a target that takes a send_at 30 hours ahead (sendAtMaxAheadDays)');
      const account = await t.account();
      const send_at = new Date(t.now() + 30 * hourMs).toISOString();
      const fields = await sendFirst(t, account, { send_at });
      await t.advance(justAfterExpiryMs);
      await t.send(account, fields);
    },
  }),
];

interface AgesPlan extends Pick<Case, 'sends' | 'demands'> {
  readonly agesMs: readonly number[];
}

/** A case that sends a message, and its `request_id` again when it has each of these ages. */
function agesCase(id: `${RuleId}/${string}`, { agesMs, ...texts }: AgesPlan): Case {
  return about(id, clockNeeds, agesMs.length + 1, {
    ...texts,
    steps: async (t, account) => {
      const sentAt = t.now();
      const fields = await sendFirst(t, account);
      for (const ageMs of agesMs) {
        await t.control.advanceTo(sentAt + ageMs);
        await t.send(account, fields);
      }
    },
  });
}
