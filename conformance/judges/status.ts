/**
 * Judges the statuses that reads show while time passes. Rules: STATE-2 to STATE-5, SVC-3, SEND-7,
 * and READ-1 in part. Each judge looks at histories (`histories.ts`): what the reads of a message
 * show of its statuses. A judge skips a case, by `Lacking`, if reads were too rare to show a
 * status, or if a device that does not poll by itself may explain a late pickup. `judge` counts as
 * an exercise of the rule, `require` does not; `lack` is reported only if nothing was judged.
 */
import { minuteMs } from '../../src/ledger/time-units.ts';
import * as verify from '../verify.ts';
import { bodyOf, type Exchange, isMessageSend } from './exchange.ts';
import {
  describeHistory,
  dueAt,
  durationsOf,
  finalStatuses,
  type History,
  historiesIn,
  lastQueuedAt,
  pickedUpStatuses,
  pickupOf,
  rankOf,
  type Step,
  startsWithRead,
  statusOf,
  statusOrder,
  stepsOf,
} from './histories.ts';
import { type Findings, slackOf, type Trace } from './judge.ts';
import { judgeSendAt } from './send.ts';
import { noticeTasks } from './tasks.ts';
import { holdEndOf } from './validity.ts';

export const statusJudges = {
  'STATE-2': judgeFirstChange,
  'STATE-3': judgeOrder,
  'STATE-4': judgeFailure,
  'STATE-5': judgeFinal,
  'SVC-3': judgePace,
  'SEND-7': judgeHolds,
} as const;

/** "Within about 20 s" (SVC-3). */
const documentedPollMs = 20_000;
/** "About" permits a quarter more or less. */
const tolerance = 0.25;
/** The time between two reads of a watched message, if time does not stand still. */
const readIntervalMs = 1_000;
/**
 * If every status lasted less than this, reads seem to change it. Without a control port, a message
 * is read every 100 ms at first.
 */
const fastestChangeMs = 400;
/** The assumed duration of a status if no message shows how long its statuses last. */
const assumedDurationMs = 1_000;
/** The largest difference between the target's clock and ours, for short holds. */
const clockDriftMs = 2_000;

/** STATE-2: the first change is to sending, when the message's own device picks it up. */
function judgeFirstChange(trace: Trace, findings: Findings): void {
  const histories = historiesIn(trace);
  for (const step of stepsOf(histories)) {
    if (step.from.status !== 'queued' || step.to.status === 'failed') continue;
    findings.judge(proofOf(step), () => {
      if (step.to.status !== 'sending')
        failUnlessReadsMissed(trace, histories, 'queued followed by sending', step);
    });
  }
  // Two recorded keys may belong to one account.
  if (trace.recorded === undefined) noticeTasks(trace, findings);
  for (const history of histories)
    for (const tasks of tasksIn(trace)) judgeHandOut(trace, history, tasks, findings);
}

function proofOf({ from, to }: Step): Exchange[] {
  return [from.exchange, to.exchange];
}

/** Fails because a status was skipped, unless reads may have missed it: then it skips the case. */
function failUnlessReadsMissed(
  trace: Trace,
  histories: readonly History[],
  expected: string,
  { from, history }: Step,
): void {
  if (!trace.hasExactTimes && from.status === 'queued' && mayMissSending(trace, history))
    throw new verify.Lacking('a device that no other case polls meanwhile');
  // The first status lasts until a poll, so it does not show how long the others last.
  const durationsMs = histories.flatMap((each) => durationsOf(each).slice(1));
  const shortestMs = durationsMs.length > 0 ? Math.min(...durationsMs) : assumedDurationMs;
  const gapsMs = history.sightings.slice(1).map(({ after, until }) => until - after);
  // A read falls into each status that lasts one gap. Measured durations are off by up to a gap, and
  // the next status may be shorter.
  if (!trace.hasExactTimes && shortestMs < 3 * (Math.max(...gapsMs) + slackOf(trace)))
    throw new verify.Lacking('a target whose messages stay in each state for a few seconds');
  verify.fail(expected, describeHistory(history));
}

/**
 * True if "sending" may have been too short to see: a device that was handed the message may report
 * it as sent before the next read. If that seems true of all of several messages, the target has no
 * "sending".
 */
function mayMissSending({ log }: Trace, history: History): boolean {
  if (!isHandedOut(history, log)) return false;
  const handedOut = historiesIn({ exchanges: log }).filter((each) => isHandedOut(each, log));
  return handedOut.length < 2 || handedOut.some((each) => pickupOf(each)?.status === 'sending');
}

/** True if a poll for tasks shows the message at the time of its pickup. */
function isHandedOut(history: History, log: readonly Exchange[]): boolean {
  const pickup = pickupOf(history);
  return log.some(
    ({ endpoint, sentAt, answeredAt, reply }) =>
      endpoint === 'tasks' &&
      pickup !== undefined &&
      answeredAt >= pickup.after &&
      sentAt <= pickup.until &&
      reply.text.includes(history.messageId),
  );
}

function tasksIn({ exchanges }: Trace): Exchange[] {
  return exchanges.filter(({ endpoint, reply }) => endpoint === 'tasks' && reply.status === 200);
}

/** A message that its own device is handed becomes sending, at once or soon (`taskPickup`). */
function judgeHandOut(trace: Trace, history: History, tasks: Exchange, findings: Findings): void {
  const { start: send, messageId } = history;
  const isHandOut = tasks.sentAt >= send.answeredAt && tasks.reply.text.includes(messageId);
  if (!isHandOut || startsWithRead(history)) return;
  const plainId = (id: unknown) => verify.textOf(id).replaceAll('-', '').toLowerCase();
  const isOwnDevice = plainId(tasks.id) === plainId(bodyOf(send)['device_id']);
  const noTask = `no task for ${tasks.id}`;
  findings.requireThat([send, tasks], isOwnDevice, noTask, 'the message of another device');

  const isAtOnce = trace.assumption('taskPickup') === 'handed_out';
  const latestMs = isAtOnce ? 0 : latestPickupMs(trace) + slackOf(trace);
  const reads = readsAfter(trace, history, tasks);
  const lateRead = reads.find(({ sentAt }) => sentAt >= tasks.answeredAt + latestMs);
  const proof = reads.find((read) => statusOf(read) !== 'queued') ?? lateRead;
  if (proof === undefined) {
    findings.lack('reads until 20 s after the message was handed out');
    return;
  }
  const isPickedUp = lateRead === undefined || statusOf(lateRead) !== 'queued';
  const expected = `another status than queued ${latestMs / 1000} s after it was handed out`;
  findings.judgeThat([send, tasks, proof], isPickedUp, expected);
}

/** Reads of the message after the poll; if time stands still, only the order of the trace tells. */
function readsAfter({ exchanges }: Trace, { reads }: History, tasks: Exchange): Exchange[] {
  const tasksIndex = exchanges.indexOf(tasks);
  return reads.filter(
    (read) => read.sentAt >= tasks.answeredAt && exchanges.indexOf(read) > tasksIndex,
  );
}

/** STATE-3: no status is skipped or revisited, and a message that does not fail is delivered. */
function judgeOrder(trace: Trace, findings: Findings): void {
  const histories = historiesIn(trace);
  for (const step of stepsOf(histories)) {
    const { from, to, history } = step;
    if (to.status === 'failed') continue;
    const next = statusOrder[statusOrder.indexOf(from.status) + 1];
    const expected = `${from.status} followed by ${next ?? 'nothing'} or failed`;
    const isForward = statusOrder.indexOf(to.status) > statusOrder.indexOf(from.status);
    findings.judge(proofOf(step), () => {
      verify.that(isForward, expected, describeHistory(history));
      if (to.status !== next) failUnlessReadsMissed(trace, histories, expected, step);
    });
  }
  for (const history of histories) requireNoOlderStatus(history, slackOf(trace), findings);
  if (trace.hasExactTimes) for (const history of histories) judgeDelivery(trace, history, findings);
  findings.lack('a message that is picked up within the wait');
}

/** Consecutive reads never show an older status, whichever key reads. */
function requireNoOlderStatus({ reads }: History, slackMs: number, findings: Findings): void {
  let latest: Exchange | undefined;
  for (const read of reads) {
    const rank = rankOf(statusOf(read));
    const latestRank = latest === undefined ? -1 : rankOf(statusOf(latest));
    if (latest !== undefined && rank >= 0 && read.sentAt >= latest.answeredAt + slackMs)
      findings.requireThat([latest, read], rank >= latestRank, `${statusOf(latest)} or later`);
    if (rank > latestRank) latest = read;
  }
}

/** After seven polls a message without `send_at` is delivered, unless it has failed. */
function judgeDelivery(trace: Trace, history: History, findings: Findings): void {
  const { start, reads, sightings } = history;
  const watchedMs = (reads.at(-1)?.sentAt ?? 0) - start.answeredAt;
  const end = sightings.at(-1)?.status;
  const isTooShort = watchedMs < 7 * pollIntervalMs(trace);
  if (isTooShort || holdEndOf(start) !== undefined || end === 'failed') return;
  const expected = 'delivered within seven polls';
  findings.judgeThat([start], end === 'delivered', expected, describeHistory(history));
}

/** STATE-4: only a message whose status is not final fails. */
function judgeFailure(trace: Trace, findings: Findings): void {
  for (const step of stepsOf(historiesIn(trace))) {
    if (step.to.status !== 'failed') continue;
    const isUnfinished = statusOrder.slice(0, 3).includes(step.from.status);
    const expected = 'failed after an unfinished state';
    findings.judgeThat(proofOf(step), isUnfinished, expected, describeHistory(step.history));
  }
  const failsFrom = trace.assumption('failsFrom');
  if (Array.isArray(failsFrom) && failsFrom.length === 0)
    findings.lack('a target on which a message may fail (failsFrom is empty)');
  findings.lack('a recipient whose messages fail, among those of --allow-to');
}

/** STATE-5: nothing follows a final status. */
function judgeFinal(trace: Trace, findings: Findings): void {
  for (const history of historiesIn(trace)) {
    const { start, reads, sightings } = history;
    const end = sightings.findIndex(({ status }) => finalStatuses.includes(status));
    const lastRead = reads.at(-1);
    const isReadAfterEnd = end >= 0 && sightings[end]?.exchange !== lastRead;
    if (lastRead === undefined || !isReadAfterEnd) continue;
    const isLast = end === sightings.length - 1;
    const expected = 'nothing after the final state';
    findings.judgeThat([start, lastRead], isLast, expected, describeHistory(history));
  }
  findings.lack('a message that ends within the wait');
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
  const isLate = isPickedUpLate(trace, history);
  const lastReadAt = history.reads.at(-1)?.sentAt ?? 0;
  const isTimeOver = lastReadAt > latestPickupAt(trace, history);
  if (!isLate && !isTimeOver && pickupOf(history) === undefined) return;
  findings.judge([history.start], () => {
    if (isLate) skipUnlessDeviceIsFree(trace, history);
    const since = holdEndOf(history.start) === undefined ? '' : ' of send_at';
    const expected = `pickup within ${latestPickupMs(trace) / 1_000} s${since}`;
    verify.that(!isLate, expected, describeHistory(history));
  });
}

function isPickedUpLate(trace: Trace, history: History): boolean {
  return lastQueuedAt(history) > latestPickupAt(trace, history);
}

function latestPickupAt(trace: Trace, history: History): number {
  return dueAt(history) + latestPickupMs(trace);
}

/** The longest permitted time until a pickup, plus the time between two reads. */
export function latestPickupMs(trace: Pick<Trace, 'assumption' | 'hasExactTimes'>): number {
  const longestPollMs = Math.max(documentedPollMs, pollIntervalMs(trace));
  return longestPollMs * (1 + tolerance) + (trace.hasExactTimes ? 0 : readIntervalMs);
}

/** The device's poll interval that the target states, or else the documented one. */
export function pollIntervalMs(target: Pick<Trace, 'assumption'>): number {
  const stated = target.assumption('pollIntervalSeconds');
  return typeof stated === 'number' ? stated * 1000 : documentedPollMs;
}

/** Skips the case if the device may not have been free to pick up the message in time. */
function skipUnlessDeviceIsFree(trace: Trace, history: History): void {
  if (trace.hasExactTimes) return;
  if (isOvertaken(trace, history) || isPickedUpByPoll(trace, history))
    throw new verify.Lacking(
      'a device that polls by itself and picks up all its messages at each poll (sendsPerPoll)',
    );
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

/** True if the late pickup came when the harness polled for tasks. */
function isPickedUpByPoll(trace: Trace, history: History): boolean {
  const pickup = pickupOf(history);
  return trace.log.some(
    ({ endpoint, sentAt, answeredAt }) =>
      endpoint === 'tasks' &&
      sentAt >= latestPickupAt(trace, history) &&
      pickup !== undefined &&
      answeredAt >= pickup.after &&
      sentAt <= pickup.until,
  );
}

function requireSlowChanges(trace: Trace, history: History, findings: Findings): void {
  const durationsMs = durationsOf(history);
  const changesOnlyAtPolls =
    trace.hasExactTimes && trace.assumption('progressPace') !== 'own_delay';
  const shortestMs = Math.min(documentedPollMs, pollIntervalMs(trace)) * (1 - tolerance);
  findings.require([history.start], () => {
    const expected = `${shortestMs / 1000} s between two changes`;
    for (const durationMs of changesOnlyAtPolls ? durationsMs.slice(1) : [])
      verify.that(durationMs >= shortestMs, expected, describeHistory(history));
    // Progress does not depend on reads, whatever its pace (`progressPace`). Only a whole history,
    // of three durations, proves a change at each read.
    const isEachShort = durationsMs.every((ms) => ms < fastestChangeMs);
    verify.that(
      durationsMs.length !== 3 || !isEachShort,
      'a status that does not change with each read',
      describeHistory(history),
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

/** SEND-7: a `send_at` is in the future and holds the message; without one, pickup is due at once. */
function judgeHolds(trace: Trace, findings: Findings): void {
  judgeSendAt(trace, findings);
  const { hasExactTimes, recorded } = trace;
  const offsetMs = Math.max(clockDriftMs, slackOf(trace) + (recorded?.ahead.most ?? 0));
  for (const history of historiesIn(trace)) {
    const holdEnd = holdEndOf(history.start);
    if (holdEnd === undefined) judgePickup(trace, history, findings);
    else if (supportsSendAt(trace, history.start))
      judgeHold(trace, history, holdEnd - (hasExactTimes ? 0 : offsetMs), findings);
  }
}

/** `heldUntil`: the time before which the hold has certainly not ended. */
function judgeHold(trace: Trace, history: History, heldUntil: number, findings: Findings): void {
  const { start, reads, messageId } = history;
  const seconds = Math.round((heldUntil - start.sentAt) / 1000);
  for (const read of reads.filter(({ answeredAt }) => answeredAt < heldUntil)) {
    const isHeld = !pickedUpStatuses.includes(statusOf(read)) || mayFail(trace, read);
    const actual = `${statusOf(read)} before its send_at`;
    findings.judgeThat([start, read], isHeld, `held for ${seconds} s`, actual);
  }
  for (const tasks of tasksIn(trace).filter(({ answeredAt }) => answeredAt < heldUntil)) {
    const isHeld = !tasks.reply.text.includes(messageId);
    findings.requireThat([start, tasks], isHeld, 'tasks without the held message');
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
        path === send.path && reply.status === 400 && verify.fieldsNamed(reply).includes('send_at'),
    )
  );
}
