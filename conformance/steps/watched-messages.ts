/**
 * Watches messages: reads their status while time passes, until after their end. Rules: STATE-1 to
 * STATE-5, SEND-7. Time advances by a fraction of the poll interval at most, and only to the next
 * deadline if a simulator states it, so that no status between two reads is missed.
 */
import { dayMs, isoTime, minuteMs, secondMs } from '#contract/time.ts';
import type { Exchange } from '#judging/evidence/exchange.ts';
import * as verify from '#judging/service/expectations.ts';
import {
  finalStatuses,
  type History,
  historiesIn,
  pickupOf,
  pollsAtPickup,
} from '#judging/service/histories.ts';
import { latestPickupMs, pollIntervalMs } from '#judging/service/pace.ts';
import type { RequiredEvidence } from '../run/case.ts';
import type { Recording } from '../run/recording.ts';
import { type AccountUnderTest, type Fields, paths, type Trial } from '../run/trial.ts';
import { fates, otherRecipientOf, recipients } from '../target/target.ts';
import { explainLate } from './tasks.ts';

export interface WatchedMessage {
  readonly account: AccountUnderTest;
  readonly messageId: string;
  readonly fields: Fields;
  /** The status of the 202, then each change. */
  readonly statuses: string[];
  /** The `ETag` of the last read. */
  etag?: string | undefined;
  /** After this time the message is late if it is still queued. */
  readonly lateAt: number;
  /** True once the run has looked for what keeps the late message queued. */
  isExplained?: boolean;
}

/** The most messages that follow the first one. */
const mostSuccessors = 2;
/** A watch ends after this many reads of each message. */
const mostRounds = 1_500;

/** Sends a message to watch, under a `request_id`. `dueAt`: the end of its hold, if it has one. */
export async function sendToWatch(
  t: Trial,
  account: AccountUnderTest,
  moreFields: Fields = {},
  dueAt?: number,
): Promise<WatchedMessage> {
  const request_id = t.requestId();
  // A text of its own: tasks may show no id.
  const fields = { request_id, message: `conformance ${request_id}`, ...moreFields };
  const { messageId } = await t.mustSend(account, fields);
  const lateAt = (dueAt ?? t.now()) + latestPickupMs(t.trace());
  return { account, messageId, fields, statuses: ['queued'], lateAt };
}

interface WatchPlan {
  readonly forMs: number;
  /** How long to watch after the last message has ended; default: `forMs`. */
  readonly afterEndMs?: number;
  /**
   * Queues one more message when the first one has left `queued`, and another while only our own
   * polls for tasks, and not the device, have picked up the last one.
   */
  readonly successor?: () => Promise<WatchedMessage>;
  /** No successor is sent later than this; default: `forMs`. */
  readonly sendForMs?: number;
  /** Called at each new status. */
  readonly onChange?: (message: WatchedMessage) => Promise<unknown>;
}

/** Reads messages until the plan's time is over. Returns them and the successor. */
export async function watch(
  t: Trial,
  messages: readonly WatchedMessage[],
  { forMs, afterEndMs = forMs, successor, sendForMs = forMs, onChange }: WatchPlan,
): Promise<WatchedMessage[]> {
  const successors: WatchedMessage[] = [];
  let lastSentAt = t.now();
  let now = lastSentAt;
  const lastSend = now + sendForMs;
  let end = now + forMs;
  for (let round = 0; now < end && round < mostRounds; round += 1) {
    now = await nextRead(t, lastSentAt, now, end);
    const all = [...messages, ...successors];
    for (const message of all) await readStatus(t, message, now, onChange);
    const last = successors.at(-1) ?? messages[0];
    const mayFollow = successor !== undefined && now < lastSend;
    if (mayFollow && needsSuccessor(t, last, successors.length)) {
      if (last !== undefined && hasLeftQueued(last) && !isPolling(t)) {
        successors.push(await successor());
        lastSentAt = t.now();
      }
    } else if (all.every(hasEnded)) end = Math.min(end, now + afterEndMs);
  }
  return [...messages, ...successors];
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

async function readStatus(
  t: Trial,
  message: WatchedMessage,
  now: number,
  onChange: WatchPlan['onChange'],
): Promise<void> {
  const { account, messageId, statuses, lateAt } = message;
  const { status: code, json, headers } = await t.read(account, messageId);
  if (code !== 200 || !verify.isObject(json)) return;
  const status = verify.textOf(json['status']);
  const { etag } = message;
  message.etag = headers['etag'];
  if (status !== statuses.at(-1)) {
    statuses.push(status);
    // A cache asks whether its body is still the current one.
    if (etag !== undefined)
      await t.get(paths.read(messageId), account.key, { 'if-none-match': etag });
    await onChange?.(message);
  } else if (status === 'queued' && now > lateAt && !t.hasControl && !message.isExplained) {
    message.isExplained = true;
    await explainLate(t, message);
  }
}

function hasLeftQueued({ statuses }: WatchedMessage): boolean {
  return statuses.length > 1;
}

function hasEnded({ statuses }: WatchedMessage): boolean {
  return finalStatuses.includes(statuses.at(-1) ?? '');
}

/** A status changes only at a deadline, so fewer reads suffice if the simulator states the next. */
const readsPerPoll = { deadlineKnown: 4, deadlineUnknown: 16 };
/** Pauses between reads in real time: short at first, because some services poll every second. */
const readEveryMs = { first: 100, later: 500 };
const firstForMs = 8_000;

/** Waits for the time of the next read and returns it. `sentAt`: when the last message was sent. */
async function nextRead(t: Trial, sentAt: number, now: number, end: number): Promise<number> {
  if (!t.hasControl) {
    const isEarly = now - sentAt < firstForMs;
    await t.pause(isEarly ? readEveryMs.first : readEveryMs.later, 'the next status of a message');
    return t.now();
  }
  const deadline = await t.control.nextAt();
  const reads = deadline === undefined ? readsPerPoll.deadlineUnknown : readsPerPoll.deadlineKnown;
  const stepMs = Math.max(1, Math.floor(pollIntervalMs(t) / reads));
  const latest = Math.min(now + stepMs, end);
  const isSooner = deadline !== undefined && deadline > now && deadline < latest;
  await t.advance((isSooner ? deadline : latest) - now);
  return t.now();
}

/** True if one more must follow the last one: after the first, or if our own poll picked it up. */
function needsSuccessor(t: Trial, last: WatchedMessage | undefined, successors: number): boolean {
  return successors === 0 || (successors < mostSuccessors && isOurPickup(t, last));
}

/** True if the message left `queued` while the harness polled for tasks. */
function isOurPickup(t: Trial, message: WatchedMessage | undefined): boolean {
  if (message === undefined || !hasLeftQueued(message)) return false;
  const { exchanges, target } = t;
  const history = historiesIn({ exchanges }).find(
    ({ messageId }) => messageId === message.messageId,
  );
  return history !== undefined && pollsAtPickup(history, target.log).length > 0;
}

/** Without a poll of the harness for this time, the next pickup is probably that of the device. */
const quietMs = 5_000;

/** True if the harness has polled for tasks a moment ago, so that more polls may follow. */
function isPolling({ hasControl, target }: Trial): boolean {
  const after = target.clock.now() - quietMs;
  const isPoll = (one: Exchange) => one.endpoint === 'tasks' && one.answeredAt > after;
  return !hasControl && target.log.some(isPoll);
}
