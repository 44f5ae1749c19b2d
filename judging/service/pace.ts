/**
 * Judges how fast messages move: when a device picks them up, how fast their statuses change, and
 * how long `send_at` holds them. Rules: SVC-2, SVC-3, SEND-7, and READ-1 in part. It looks at histories
 * (`histories.ts`), and skips a case, by `Lacking`, if a device that does not poll by itself may
 * explain a late pickup.
 */
import { minuteMs, secondMs } from '#contract/time.ts';
import { bodyOf, type Exchange, isMessageSend, tasksIn } from '../evidence/exchange.ts';
import * as verify from './expectations.ts';
import {
  describeHistory,
  durationsOf,
  type History,
  historiesIn,
  lastQueuedAt,
  latestDueAt,
  pickedUpStatuses,
  pickupOf,
  pollsAtPickup,
  statusOf,
} from './histories.ts';
import type { Findings, Trace } from './judge.ts';
import { namesField } from './named-fields.ts';
import { judgeCreation, judgeSendAt } from './send.ts';
import { holdEndOf, mayBeHeld } from './validity.ts';

export const paceJudges = {
  'SVC-2': judgeAnswers,
  'SVC-3': judgePace,
  'SEND-7': judgeHolds,
} as const;

/** "Within about 20 s" (SVC-3). */
export const documentedPollMs = 20_000;
/** "About" permits a quarter more or less. */
const tolerance = 0.25;
/** The time between two reads of a watched message, if time does not stand still. */
const readIntervalMs = 1_000;
/**
 * If every status lasted less than this, reads seem to change it. Without a control port, a message
 * is read every 100 ms at first.
 */
const fastestChangeMs = 400;
/** The largest difference between the target's clock and ours, for short holds. */
const clockDriftMs = 2_000;

/** SVC-2: a send answers when its message is queued, and so before it is picked up. */
function judgeAnswers(trace: Trace, findings: Findings): void {
  judgeCreation(trace, findings);
  if (!trace.hasExactTimes && trace.recorded === undefined) requireSoonAnswers(trace, findings);
}

/** So many messages of each kind show how long their sends take. */
const fewestTimed = 5;
/** A read so soon after a send finds its message queued, unless a device was just polling. */
const soonMs = 50;
/** A send that waits takes so much longer than one whose message is held. */
const longer = { times: 5, byMs: 100 };

/**
 * Sends that take much longer than those of held messages, none of which is queued straight after
 * its reply, have waited until their messages were picked up.
 */
function requireSoonAnswers({ exchanges }: Trace, findings: Findings): void {
  const histories = historiesIn({ exchanges }).filter(
    ({ start }) => isMessageSend(start) && start.reply.status === 202 && !start.isRetried,
  );
  const tookMs = (sends: readonly Exchange[]) => {
    const sorted = sends.map((one) => one.answeredAt - one.sentAt).sort((a, b) => a - b);
    return sorted.length < fewestTimed ? undefined : sorted[Math.floor(sorted.length / 2)];
  };
  const isSoon = ({ start, reads: [first] }: History) =>
    !mayBeHeld(start) && first !== undefined && first.sentAt - start.answeredAt < soonMs;
  const soon = histories.filter(isSoon);
  const heldMs = tookMs(exchanges.filter(isAcceptedHold));
  const immediateMs = tookMs(soon.map(({ start }) => start));
  if (heldMs === undefined || immediateMs === undefined) return;
  const isLong = immediateMs > longer.times * heldMs + longer.byMs;
  const isPickedUp = soon.every(({ reads: [first] }) =>
    pickedUpStatuses.includes(first === undefined ? '' : statusOf(first)),
  );
  const expected = 'replies before the messages are picked up';
  const actual = `${immediateMs} ms, ${heldMs} ms for held messages, and ${soon.length} messages that are picked up straight after their replies`;
  const proof = soon.slice(-1).map(({ start }) => start);
  findings.alsoRequireThat(proof, !(isLong && isPickedUp), expected, actual);
}

function isAcceptedHold(send: Exchange): boolean {
  return isMessageSend(send) && send.reply.status === 202 && mayBeHeld(send);
}

/** SVC-3: picked up within about 20 s; after that, no change faster than polls. */
function judgePace(trace: Trace, findings: Findings): void {
  const histories = historiesIn(trace);
  for (const history of histories) judgePickup(trace, history, findings);
  for (const history of histories) requireSlowChanges(trace, history, findings);
}

function judgePickup(trace: Trace, history: History, findings: Findings): void {
  // A recorded account's SIM may be disconnected.
  if (trace.recorded !== undefined) return;
  if (latestPickupAt(trace, history) === Number.POSITIVE_INFINITY) return;
  const isLate = isPickedUpLate(trace, history);
  const lastReadAt = history.reads.at(-1)?.sentAt ?? 0;
  const isTimeOver = lastReadAt > latestPickupAt(trace, history);
  if (!isLate && !isTimeOver && pickupOf(history) === undefined) return;
  if (!isLate && isPickedUpByPoll(trace, history)) {
    findings.lack('a message that no poll of the harness picked up for the device');
    return;
  }
  findings.judge([history.start], () => {
    if (isLate) skipUnlessDeviceIsFree(trace, history);
    const since = holdEndOf(history.start) === undefined ? '' : ' of send_at';
    const expected = `pickup within ${latestPickupMs(trace) / secondMs} s${since}`;
    verify.that(!isLate, expected, () => describeHistory(history));
  });
}

function isPickedUpLate(trace: Trace, history: History): boolean {
  return lastQueuedAt(history) > latestPickupAt(trace, history);
}

function latestPickupAt(trace: Trace, history: History): number {
  return latestDueAt(history, trace.hasExactTimes) + latestPickupMs(trace);
}

/** The longest permitted time until a pickup, plus the time between two reads. */
export function latestPickupMs(trace: Pick<Trace, 'assumption' | 'hasExactTimes'>): number {
  const longestPollMs = Math.max(documentedPollMs, pollIntervalMs(trace));
  return longestPollMs * (1 + tolerance) + (trace.hasExactTimes ? 0 : readIntervalMs);
}

/** The device's poll interval that the target states, or else the documented one. */
export function pollIntervalMs(target: Pick<Trace, 'assumption'>): number {
  const stated = target.assumption('pollIntervalSeconds');
  return typeof stated === 'number' ? stated * secondMs : documentedPollMs;
}

/** Skips the case if the device may not have been free to pick up the message in time. */
function skipUnlessDeviceIsFree(trace: Trace, history: History): void {
  if (trace.hasExactTimes || isPassedBy(trace, history)) return;
  if (isOvertaken(trace, history) || isPickedUpByPoll(trace, history)) {
    throw new verify.Lacking(
      'a device that polls by itself and picks up all its messages at each poll (sendsPerPoll)',
    );
  }
}

/** This many messages of its SIM, sent later and picked up earlier, show that a message is stuck. */
export const fewestPassing = 5;

/**
 * True if the device had the time to pick up an overdue message, however few it takes at a poll
 * (`sendsPerPoll`): it took several that were sent later, in their order. If it takes them in
 * another order, chance may have left this one over. A message that our own poll was handed is no
 * longer in the queue.
 */
export function isPassedBy(trace: Trace, history: History): boolean {
  const { start, messageId } = history;
  const { log, hasExactTimes } = trace;
  // A control port changes SIMs, and how their devices poll.
  const lateAt = latestPickupAt(trace, history);
  if (hasExactTimes || lastQueuedAt(history) <= lateAt) return false;
  const histories = historiesIn({ exchanges: log });
  // Many messages have one text, so it marks a message only where tasks show no ids.
  const ids = histories.map((one) => one.messageId);
  const showsIds = tasksIn(log).some(({ reply }) => hasText(reply.json, ids));
  const marks = showsIds ? [messageId] : [messageId, verify.textOf(start.fields?.['message'])];
  const mayHandOut = ({ endpoint, reply }: Exchange) =>
    endpoint === 'tasks' && (reply.interruptions > 0 || hasText(reply.json, marks));
  if (log.some(mayHandOut)) return false;
  const device = deviceOf(history);
  const passing = histories.filter((other) => {
    const until = pickupOf(other)?.until ?? Number.POSITIVE_INFINITY;
    const isLater = other.start.sentAt > lateAt && until < lastQueuedAt(history);
    return isLater && deviceOf(other) === device;
  });
  return passing.length >= fewestPassing && isInOrder(passing);
}

/** The device of a message. The 202 of some sends is open, so a read shows it. */
function deviceOf({ start, reads }: History): unknown {
  return [start, ...reads].map((one) => bodyOf(one)['device_id']).find((id) => id !== undefined);
}

/** True if none of these was certainly picked up before one that had certainly been sent earlier. */
function isInOrder(histories: readonly History[]): boolean {
  const isBefore = (one: History, other: History) =>
    (pickupOf(one)?.until ?? Number.POSITIVE_INFINITY) < (pickupOf(other)?.after ?? 0);
  return histories.every((later) =>
    histories.every(
      (earlier) => earlier.start.answeredAt >= later.start.sentAt || !isBefore(later, earlier),
    ),
  );
}

/** True if some text in a reply is one of these. */
function hasText(json: unknown, texts: readonly string[]): boolean {
  if (typeof json === 'string') return texts.includes(json);
  return Object.values(Object(json)).some((value) => hasText(value, texts));
}

/** True if the device picked up another message when this one was late. */
function isOvertaken(trace: Trace, history: History): boolean {
  const fromMs = history.start.sentAt - minuteMs;
  const others = historiesIn({ exchanges: trace.log.filter(({ sentAt }) => sentAt >= fromMs) });
  return others.some((other) => {
    const pickup = other.messageId === history.messageId ? undefined : pickupOf(other);
    return pickup !== undefined && pickup.after >= latestPickupAt(trace, history);
  });
}

/** True if the pickup may have come from a poll for tasks, which the harness made. */
function isPickedUpByPoll({ log }: Trace, history: History): boolean {
  return pollsAtPickup(history, log).length > 0;
}

function requireSlowChanges(trace: Trace, history: History, findings: Findings): void {
  const durationsMs = durationsOf(history);
  const changesOnlyAtPolls =
    trace.hasExactTimes && trace.assumption('progressPace') !== 'own_delay';
  const shortestMs = Math.min(documentedPollMs, pollIntervalMs(trace)) * (1 - tolerance);
  findings.alsoRequire([history.start], () => {
    const expected = `${shortestMs / secondMs} s between two changes`;
    for (const durationMs of changesOnlyAtPolls ? durationsMs.slice(1) : [])
      verify.that(durationMs >= shortestMs, expected, () => describeHistory(history));
    // Progress does not depend on reads, whatever its pace (`progressPace`). Only a whole history,
    // of three durations, proves a change at each read.
    const isEachShort = durationsMs.every((ms) => ms < fastestChangeMs);
    verify.that(
      durationsMs.length !== 3 || !isEachShort,
      'a status that does not change with each read',
      () => describeHistory(history),
    );
  });
}

/** READ-1: a read shows the current status, so some message must be seen to leave queued. */
export function judgeCurrentStatus(trace: Trace, findings: Findings): void {
  const histories = historiesIn(trace).filter(({ start }) => isMessageSend(start));
  if (histories.some((history) => pickupOf(history) !== undefined)) return;
  const late = histories.find((history) => isPickedUpLate(trace, history));
  if (late === undefined) return;
  findings.judge(late.reads.slice(-1), () => {
    skipUnlessDeviceIsFree(trace, late);
    verify.fail('another status after a few polls', describeHistory(late));
  });
}

/** SEND-7: a `send_at` is in the future and holds the message; without one, pickup is soon due. */
function judgeHolds(trace: Trace, findings: Findings): void {
  judgeSendAt(trace, findings);
  const { hasExactTimes, recorded } = trace;
  for (const history of historiesIn(trace)) {
    const holdEnd = holdEndOf(history.start);
    const { most } = recorded?.ahead ?? history.start.ahead ?? { most: 0 };
    const offsetMs = Math.max(clockDriftMs, most);
    if (holdEnd === undefined) judgePickup(trace, history, findings);
    else if (supportsSendAt(trace, history.start))
      judgeHold(trace, history, holdEnd - (hasExactTimes ? 0 : offsetMs), findings);
  }
  const orPickup = recorded === undefined ? ', or a message that is picked up within the wait' : '';
  findings.lack(`a send with a send_at${orPickup}`);
}

/** `heldUntil`: the time before which the hold has certainly not ended. */
function judgeHold(trace: Trace, history: History, heldUntil: number, findings: Findings): void {
  const { start, reads, messageId } = history;
  const seconds = Math.round((heldUntil - start.sentAt) / secondMs);
  for (const read of reads.filter(({ answeredAt }) => answeredAt < heldUntil)) {
    const isHeld = !pickedUpStatuses.includes(statusOf(read)) || mayFail(trace, read);
    const actual = `${statusOf(read)} before its send_at`;
    findings.judgeThat([start, read], isHeld, `held for ${seconds} s`, actual);
  }
  for (const tasks of tasksIn(trace.exchanges).filter(({ answeredAt }) => answeredAt < heldUntil)) {
    const isHeld = !tasks.reply.text.includes(messageId);
    findings.alsoRequireThat([start, tasks], isHeld, 'tasks without the held message');
  }
  judgePickup(trace, history, findings);
}

/** A recorded SIM may be deactivated while it holds a message (`deactivation`). */
function mayFail({ recorded }: Trace, read: Exchange): boolean {
  return recorded !== undefined && statusOf(read) === 'failed';
}

/** The document shows `send_at` for one endpoint; others support it if they refuse a past one. */
function supportsSendAt({ exchanges }: Trace, send: Exchange): boolean {
  return (
    isMessageSend(send) ||
    exchanges.some(
      ({ path, reply }) =>
        path === send.path && reply.status === 400 && namesField(reply.json, 'send_at'),
    )
  );
}
