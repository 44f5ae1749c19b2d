/**
 * The messages that a run watches: once for all cases that judge them, and while they are held.
 * Rules: STATE-1 to STATE-5, SEND-7.
 */
import { dayMs, isoTime, minuteMs, secondMs } from '#contract/time.ts';
import { finalStatuses, type History, historiesIn, pickupOf } from '#judging/service/histories.ts';
import { pollIntervalMs } from '#judging/service/pace.ts';
import type { RequiredEvidence } from '../run/case.ts';
import type { Recording } from '../run/recording.ts';
import type { AccountUnderTest, Fields, Trial } from '../run/trial.ts';
import { fates, otherRecipientOf, recipients } from '../target/target.ts';
import { mostSuccessors, sendToWatch, type WatchedMessage, watch } from './watch.ts';

/** The longest watch in real time. */
const longestMs = 110_000;
/** In real time, floods begin while the ends of messages are watched, and need each token. */
const spendsForMs = minuteMs;
/** The last message to watch is sent some seconds earlier, as its reply may be slow. */
const lastSendMs = spendsForMs - 5_000;
/** The second message differs from the first: a device picks up any text, to any recipient. */
const emojiText = '👋 conformance\nof two lines';

/**
 * What the run watches once for all cases that judge it: two messages of one SIM, until more than a
 * poll interval after their end. The second is sent when the first is picked up, so that it waits
 * for a whole interval; a third one, if our own polls for tasks picked up the second. With a control
 * port it also watches a message of every scripted fate, and sends a replay at each new status.
 */
export const watched: Recording<WatchedMessage[]> = {
  name: 'statuses of messages',
  needs: ['sender'],
  spends: { send: 1 + mostSuccessors },
  seconds: 90,
  spendsForSeconds: spendsForMs / secondMs,
  waitSeconds: 30,
  record: async (t, account) => {
    const messages = [await sendToWatch(t, account)];
    const to = otherRecipientOf(t.target);
    const other = { message: emojiText, ...(to !== undefined && { to }) };
    const successor = () => sendToWatch(t, account, other);
    if (!t.hasControl) {
      return watch(t, messages, {
        forMs: Math.min(longestMs, t.target.timeoutMs),
        afterEndMs: 1.25 * pollIntervalMs(t),
        successor,
        sendForMs: lastSendMs,
      });
    }
    const scripted = [recipients.delivered, ...fates.map(({ to }) => to)];
    // Each message has its own SIM, so that none waits behind another (`sendsPerPoll`).
    for (const to of t.target.allowTo === undefined ? scripted : [t.recipient])
      messages.push(await sendToWatch(t, await t.account(), { to }));
    return watch(t, messages, {
      forMs: 8 * pollIntervalMs(t) + 45_000,
      afterEndMs: 2 * pollIntervalMs(t),
      successor,
      onChange: (message) => t.send(message.account, message.fields),
    });
  },
};

/** What cases about statuses must see. */
export const statusEvidence = {
  pickup: messagesThat('pickup', isPickedUp),
  secondPickup: messagesThat('second pickup', isPickedUp, 2),
  secondChange: messagesThat('message with two changes', ({ sightings }) => sightings.length > 2),
  end: messagesThat('end of a message', (history) => shows(history, ...finalStatuses)),
  delivery: messagesThat('delivered message', (history) => shows(history, 'delivered')),
  failure: messagesThat('failed message', (history) => shows(history, 'failed')),
} as const;

/** At least `count` messages whose reads show something. */
function messagesThat(
  what: string,
  isShown: (history: History) => boolean,
  count = 1,
): RequiredEvidence {
  return { what, isIn: (trace) => historiesIn(trace).filter(isShown).length >= count };
}

function shows({ sightings }: History, ...statuses: readonly string[]): boolean {
  return sightings.some(({ status }) => statuses.includes(status));
}

function isPickedUp(history: History): boolean {
  return pickupOf(history) !== undefined;
}

/** The shares of a hold that are left when its message is read. */
const sharesLeft = [0.9, 0.65, 0.4, 0.1, 0.01];
/** Reads go on for this long after a hold in real time, so that a late message is explained. */
const readAfterHoldMs = 52_000;

/**
 * Sends a message that is held for this long, and reads it up to its time and until it has been
 * picked up. Repeats it during the hold, with some fields replaced, and after it.
 */
export async function watchHold(
  t: Trial,
  account: AccountUnderTest,
  delayMs: number,
  replacedFields: Fields,
): Promise<void> {
  const mostDays = t.assumption('sendAtMaxAheadDays');
  if (typeof mostDays === 'number' && mostDays * dayMs <= delayMs)
    t.lack('a target that takes a send_at so far ahead (sendAtMaxAheadDays)');
  // The target's clock decides when the hold ends.
  const { least, most } = t.ahead;
  const until = t.now() + delayMs;
  const fields = { send_at: isoTime(until + most) };
  const message = await sendToWatch(t, account, fields, until + most - least);
  // A replay neither ends nor prolongs the hold.
  await t.send(account, { ...message.fields, ...replacedFields });
  if (t.hasControl) {
    for (const shareLeft of sharesLeft) {
      await t.control.advanceTo(until - delayMs * shareLeft);
      await t.read(message.account, message.messageId);
    }
    await t.control.advanceTo(until);
  } else await watch(t, [message], { forMs: until - t.now(), afterEndMs: 0 });
  // A new watch begins with many reads, so that it misses no short status.
  const forMs = t.hasControl ? 1.5 * pollIntervalMs(t) : most - least + readAfterHoldMs;
  await watch(t, [message], { forMs, afterEndMs: 0 });
  // Later, the id is new again.
  if (delayMs >= dayMs) return;
  await t.send(account, message.fields);
  await t.read(account, message.messageId);
}
