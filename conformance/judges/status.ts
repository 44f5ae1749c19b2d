/**
 * Judges the statuses that reads show while time passes. Rules: STATE-2 to STATE-5, SVC-3, SEND-7,
 * and READ-1 in part (`judgeCurrentStatus`).
 */
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
import { type Findings, type Judge, slackOf, type Trace } from './judge.ts';
import { judgeSendAt } from './send.ts';
import { noticeTasks } from './tasks.ts';
import { holdOf } from './validity.ts';

/** "Within about 20 s" (SVC-3). */
const documentedPollMs = 20_000;
/** "About" permits a quarter more or less. */
const tolerance = 0.25;
/** The time between two reads, if time does not stand still. */
const readIntervalMs = 1_000;
/**
 * A status that changes with each read changes faster than this: without a control port, a message
 * is read every 100 ms at first.
 */
const fastestChangeMs = 400;
/** A state is taken to last this long if no message shows how long its states last. */
const assumedStateMs = 1_000;
/** The largest difference between the target's clock and ours, for short holds. */
const clockDriftMs = 2_000;

function proofOf({ from, to }: Step): Exchange[] {
  return [from.exchange, to.exchange];
}

/** Fails because a state was skipped. Skips the case if the reads may have missed that state. */
function failSkippedState(
  trace: Trace,
  histories: readonly History[],
  expected: string,
  { from, history }: Step,
): void {
  // Without the first state, which may end at any time.
  const stateMs = histories.flatMap((one) => durationsOf(one).slice(1));
  const shortestStateMs = stateMs.length > 0 ? Math.min(...stateMs) : assumedStateMs;
  const longestGapMs = Math.max(
    ...history.sightings.slice(1).map(({ after, until }) => until - after + slackOf(trace)),
  );
  if (!trace.hasExactTimes && from.status === 'queued' && mayMissSending(trace, history))
    throw new verify.Lacking('a device that no other case polls meanwhile');
  if (!trace.hasExactTimes && shortestStateMs < 3 * longestGapMs)
    throw new verify.Lacking('a target whose messages stay in each state for a few seconds');
  verify.fail(expected, describeHistory(history));
}

/**
 * True if "sending" may have been too short to see. A message that was handed out by a poll for
 * tasks may be reported as sent before the next read. That is unlikely for every handed-out message
 * of a run.
 */
function mayMissSending({ log }: Trace, history: History): boolean {
  if (!isHandedOut(history, log)) return false;
  const handedOut = historiesIn({ exchanges: log }).filter((one) => isHandedOut(one, log));
  return handedOut.length < 2 || handedOut.some((one) => pickupOf(one)?.status === 'sending');
}

function isHandedOut(history: History, log: readonly Exchange[]): boolean {
  const taken = pickupOf(history);
  return log.some(
    ({ endpoint, sentAt, answeredAt, reply }) =>
      endpoint === 'tasks' &&
      taken !== undefined &&
      answeredAt >= taken.after &&
      sentAt <= taken.until &&
      reply.text.includes(history.messageId),
  );
}

/** STATE-2: the first change is to sending, when the message's own device takes it. */
const judgeFirstChange: Judge = (trace, findings) => {
  const histories = historiesIn(trace);
  for (const step of stepsOf(histories)) {
    if (step.from.status !== 'queued' || step.to.status === 'failed') continue;
    findings.judge(proofOf(step), () => {
      if (step.to.status !== 'sending')
        failSkippedState(trace, histories, 'queued followed by sending', step);
    });
  }
  // Two recorded keys may belong to one account.
  if (trace.recorded === undefined) noticeTasks(trace, findings);
  for (const history of histories)
    for (const tasks of tasksIn(trace)) judgeTasks(trace, history, tasks, findings);
};

function tasksIn({ exchanges }: Trace): Exchange[] {
  return exchanges.filter(({ endpoint, reply }) => endpoint === 'tasks' && reply.status === 200);
}

/** A message that was handed out is sending at once or within about 20 s (`taskPickup`). */
function judgeTasks(trace: Trace, history: History, tasks: Exchange, findings: Findings): void {
  const { start: send, messageId, reads } = history;
  const isHandOut = tasks.sentAt >= send.answeredAt && tasks.reply.text.includes(messageId);
  if (!isHandOut || startsWithRead(history)) return;
  const plain = (id: unknown) => verify.textOf(id).replaceAll('-', '').toLowerCase();
  const isItsOwn = plain(tasks.id) === plain(bodyOf(send)['device_id']);
  const expected = `no task for ${tasks.id}`;
  findings.requireThat([send, tasks], isItsOwn, expected, 'the message of another device');
  const place = trace.exchanges.indexOf(tasks);
  const later = reads.filter(
    (read) => read.sentAt >= tasks.answeredAt && trace.exchanges.indexOf(read) > place,
  );
  const isAtOnce = trace.assumption('taskPickup') === 'handed_out';
  const latestMs = isAtOnce ? 0 : latestPickupMs(trace) + slackOf(trace);
  const late = later.find(({ sentAt }) => sentAt >= tasks.answeredAt + latestMs);
  const shown = later.find((read) => statusOf(read) !== 'queued') ?? late;
  if (shown === undefined) {
    findings.lack('reads until 20 s after the message was handed out');
    return;
  }
  findings.judgeThat(
    [send, tasks, shown],
    late === undefined || statusOf(late) !== 'queued',
    `another status than queued ${latestMs / 1000} s after it was handed out`,
  );
}

/** STATE-3: no state is skipped or revisited, and one that does not fail ends as delivered. */
const judgeOrder: Judge = (trace, findings) => {
  const histories = historiesIn(trace);
  for (const step of stepsOf(histories)) {
    const { from, to, history } = step;
    if (to.status === 'failed') continue;
    const next = statusOrder[statusOrder.indexOf(from.status) + 1];
    const expected = `${from.status} followed by ${next ?? 'nothing'} or failed`;
    const isForward = statusOrder.indexOf(to.status) > statusOrder.indexOf(from.status);
    findings.judge(proofOf(step), () => {
      verify.that(isForward, expected, describeHistory(history));
      if (to.status !== next) failSkippedState(trace, histories, expected, step);
    });
  }
  for (const history of histories) requireNoOlderStatus(history, slackOf(trace), findings);
  if (trace.hasExactTimes) for (const history of histories) judgeDelivery(trace, history, findings);
  findings.lack('a message that is picked up within the wait');
};

/** Reads that follow one another never show an older status, whichever key asks. */
function requireNoOlderStatus({ reads }: History, slackMs: number, findings: Findings): void {
  let latest: Exchange | undefined;
  for (const read of reads) {
    const rank = rankOf(statusOf(read));
    const before = latest === undefined ? -1 : rankOf(statusOf(latest));
    if (latest !== undefined && rank >= 0 && read.sentAt >= latest.answeredAt + slackMs)
      findings.requireThat([latest, read], rank >= before, `${statusOf(latest)} or later`);
    if (rank > before) latest = read;
  }
}

/** After seven polls a message without `send_at` is delivered, unless it has failed. */
function judgeDelivery(trace: Trace, history: History, findings: Findings): void {
  const watchedMs = (history.reads.at(-1)?.sentAt ?? 0) - history.start.answeredAt;
  const end = history.sightings.at(-1)?.status;
  if (
    watchedMs < 7 * pollIntervalMs(trace) ||
    holdOf(history.start) !== undefined ||
    end === 'failed'
  )
    return;
  const isDelivered = end === 'delivered';
  const expected = 'delivered within seven polls';
  findings.judgeThat([history.start], isDelivered, expected, describeHistory(history));
}

/** STATE-4: only a message whose state is not final fails. */
const judgeFailure: Judge = (trace, findings) => {
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
};

/** STATE-5: nothing follows an end. */
const judgeFinal: Judge = (trace, findings) => {
  for (const history of historiesIn(trace)) {
    const end = history.sightings.findIndex(({ status }) => finalStatuses.includes(status));
    const last = history.reads.at(-1);
    if (end < 0 || last === undefined || history.sightings[end]?.exchange === last) continue;
    const isLast = end === history.sightings.length - 1;
    const expected = 'nothing after the final state';
    findings.judgeThat([history.start, last], isLast, expected, describeHistory(history));
  }
  findings.lack('a message that ends within the wait');
};

/** The device's poll interval, as far as it is known. */
export function pollIntervalMs(target: Pick<Trace, 'assumption'>): number {
  const stated = target.assumption('pollIntervalSeconds');
  return typeof stated === 'number' ? stated * 1000 : documentedPollMs;
}

/** The longest permitted time until a pickup, plus the time between two reads. */
export function latestPickupMs(trace: Pick<Trace, 'assumption' | 'hasExactTimes'>): number {
  const longestPollMs = Math.max(documentedPollMs, pollIntervalMs(trace));
  return longestPollMs * (1 + tolerance) + (trace.hasExactTimes ? 0 : readIntervalMs);
}

function isPickedUpLate(trace: Trace, history: History): boolean {
  return lastQueuedAt(history) > dueAt(history) + latestPickupMs(trace);
}

/**
 * True if the device was busy with other messages (`sendsPerPoll`), or only hands out tasks when
 * the harness polls.
 */
function isPassedOver(trace: Trace, history: History): boolean {
  const lateFrom = dueAt(history) + latestPickupMs(trace);
  const others = historiesIn({
    exchanges: trace.log.filter(({ sentAt }) => sentAt >= history.start.sentAt - 60_000),
  });
  const overtook = others.some((other) => {
    const itsPickup = pickupOf(other);
    if (other.messageId === history.messageId || itsPickup === undefined) return false;
    return itsPickup.after >= lateFrom;
  });
  const ownPickup = pickupOf(history);
  const polled = trace.log.some(
    ({ endpoint, sentAt, answeredAt }) =>
      endpoint === 'tasks' &&
      sentAt >= lateFrom &&
      ownPickup !== undefined &&
      answeredAt >= ownPickup.after &&
      sentAt <= ownPickup.until,
  );
  return overtook || polled;
}

function judgePickup(trace: Trace, history: History, findings: Findings): void {
  // A recorded account's SIM may be disconnected.
  if (trace.recorded !== undefined) return;
  const isLate = isPickedUpLate(trace, history);
  const isTimeOver = (history.reads.at(-1)?.sentAt ?? 0) > dueAt(history) + latestPickupMs(trace);
  if (!isLate && !isTimeOver && pickupOf(history) === undefined) return;
  findings.judge([history.start], () => {
    if (isLate) requireFreeDevice(trace, history);
    const since = holdOf(history.start) === undefined ? '' : ' of send_at';
    const expected = `pickup within ${latestPickupMs(trace) / 1_000} s${since}`;
    verify.that(!isLate, expected, describeHistory(history));
  });
}

/** Skips the case if the device may have had no turn for the message. */
function requireFreeDevice(trace: Trace, history: History): void {
  if (trace.hasExactTimes || !isPassedOver(trace, history)) return;
  throw new verify.Lacking(
    'a device that polls by itself and picks up all its messages at each poll (sendsPerPoll)',
  );
}

/** READ-1: a read shows the current status, so some message must be seen to leave queued. */
export function judgeCurrentStatus(trace: Trace, findings: Findings): void {
  const histories = historiesIn(trace).filter(({ start }) => isMessageSend(start));
  const late = histories.filter((history) => isPickedUpLate(trace, history));
  const isStale = late.length > 0 && histories.every((history) => pickupOf(history) === undefined);
  const [history] = late;
  if (!isStale || history === undefined) return;
  findings.judge(history.reads.slice(-1), () => {
    requireFreeDevice(trace, history);
    verify.fail('another status after a few polls', describeHistory(history));
  });
}

/** SVC-3: picked up within about 20 s; after that, no change faster than polls. */
const judgePace: Judge = (trace, findings) => {
  const histories = historiesIn(trace);
  for (const history of histories) judgePickup(trace, history, findings);
  for (const history of histories) judgeChanges(trace, history, findings);
};

function judgeChanges(trace: Trace, history: History, findings: Findings): void {
  const durationsMs = durationsOf(history);
  const isPaced = trace.hasExactTimes && trace.assumption('progressPace') !== 'own_delay';
  const shortestMs = Math.min(documentedPollMs, pollIntervalMs(trace)) * (1 - tolerance);
  findings.require([history.start], () => {
    const expected = `${shortestMs / 1000} s between two changes`;
    for (const durationMs of isPaced ? durationsMs.slice(1) : [])
      verify.that(durationMs >= shortestMs, expected, describeHistory(history));
    // Progress does not depend on reads, whatever its pace (`progressPace`).
    const followsReads =
      durationsMs.length === 3 && durationsMs.every((ms) => ms < fastestChangeMs);
    verify.that(
      !followsReads,
      'a status that does not change with each read',
      describeHistory(history),
    );
  });
}

/** SEND-7: `send_at` is in the future and holds the message; without it, it goes at once. */
const judgeHolds: Judge = (trace, findings) => {
  judgeSendAt(trace, findings);
  const { hasExactTimes, recorded } = trace;
  const drift = hasExactTimes ? 0 : Math.max(clockDriftMs, slackOf(trace) + (recorded?.ahead.most ?? 0));
  for (const history of historiesIn(trace)) {
    const until = holdOf(history.start);
    if (until === undefined) judgePickup(trace, history, findings);
    else if (supportsSendAt(trace, history.start))
      judgeHold(trace, history, until - drift, findings);
  }
};

function judgeHold(trace: Trace, history: History, until: number, findings: Findings): void {
  const seconds = Math.round((until - history.start.sentAt) / 1000);
  for (const read of history.reads.filter(({ answeredAt }) => answeredAt < until)) {
    const isHeld = !pickedUpStatuses.includes(statusOf(read)) || mayFail(trace, read);
    const proof = [history.start, read];
    findings.judgeThat(proof, isHeld, `held for ${seconds} s`, `${statusOf(read)} before`);
  }
  for (const tasks of tasksIn(trace).filter(({ answeredAt }) => answeredAt < until)) {
    const isIn = tasks.reply.text.includes(history.messageId);
    findings.requireThat([history.start, tasks], !isIn, 'tasks without the held message');
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

export const statusJudges = {
  'STATE-2': judgeFirstChange,
  'STATE-3': judgeOrder,
  'STATE-4': judgeFailure,
  'STATE-5': judgeFinal,
  'SVC-3': judgePace,
  'SEND-7': judgeHolds,
} as const;
