/**
 * Watches messages: reads their status while time passes, until after their end. Rules: STATE-1 to
 * STATE-5, SEND-7. Time advances by a fraction of the poll interval at most, and only to the next
 * deadline if a simulator states it, so that no status between two reads is missed.
 */
import { isObject } from '#contract/request-and-reply.ts';
import type { Exchange } from '#judging/evidence/exchange.ts';
import * as verify from '#judging/service/expectations.ts';
import { finalStatuses, historiesIn, pollsAtPickup } from '#judging/service/histories.ts';
import { latestPickupMs, pollIntervalMs } from '#judging/service/pace.ts';
import { type AccountUnderTest, type Fields, paths, type Trial } from '../run/trial.ts';
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

/** The most messages that follow the first one. */
export const mostSuccessors = 2;
/** A watch ends after this many reads of each message. */
const mostRounds = 1_500;

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
    const lacksSuccessor =
      successor !== undefined && now < lastSend && needsSuccessor(t, last, successors.length);
    if (lacksSuccessor && last !== undefined && hasLeftQueued(last) && !isPolling(t)) {
      successors.push(await successor());
      lastSentAt = t.now();
    }
    if (!lacksSuccessor && all.every(hasEnded)) end = Math.min(end, now + afterEndMs);
  }
  return [...messages, ...successors];
}

async function readStatus(
  t: Trial,
  message: WatchedMessage,
  now: number,
  onChange: WatchPlan['onChange'],
): Promise<void> {
  const { account, messageId, statuses, lateAt } = message;
  const { status: code, json, headers } = await t.read(account, messageId);
  if (code !== 200 || !isObject(json)) return;
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
