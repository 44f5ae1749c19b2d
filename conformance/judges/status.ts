/**
 * Judges the statuses that reads show while time passes. Rules: STATE-2 to STATE-5, SVC-3, SEND-7,
 * and READ-1 in part (`isCurrent`).
 * A status began between two reads, so whatever a read may have missed proves nothing.
 */
import * as verify from '../verify.ts';
import {
  bodyOf,
  type Exchange,
  isAccepted,
  isMessageSend,
  isRead,
  isSend,
  messageIdOf,
} from './exchange.ts';
import { type Findings, type Judge, slackOf, type Trace } from './judge.ts';
import { judgeSendAt } from './send.ts';
import { hearOfTasks } from './tasks.ts';
import { holdOf } from './validity.ts';

const order = ['queued', 'sending', 'sent', 'delivered'];
const ranks = [...order, 'failed'];
const final = ['delivered', 'failed'];
const pickedUp = ['sending', 'sent', 'delivered', 'failed'];

/** The shortest time that a state may last if its length is unknown. */
const briefestMs = 1_000;
/** The largest difference between the target's clock and ours, for short holds. */
const clockDriftMs = 2_000;

interface Sighting {
  readonly status: string;
  /** The status began after this time: when the last read of the status before was sent. */
  readonly after: number;
  /** The status began before this time: when the first read that shows it was answered. */
  readonly until: number;
  readonly exchange: Exchange;
}

/** A message, and each change of its status. */
export interface History {
  readonly send: Exchange;
  readonly messageId: string;
  readonly reads: readonly Exchange[];
  readonly sightings: readonly Sighting[];
}

function statusOf(read: Exchange): string {
  return verify.textOf(bodyOf(read)['status']);
}

export function historiesIn(trace: Pick<Trace, 'exchanges' | 'recorded'>): History[] {
  const { exchanges, recorded } = trace;
  const slackMs = slackOf(trace);
  const readsOf = new Map<string, Exchange[]>();
  for (const exchange of exchanges)
    if (isRead(exchange) && exchange.reply.status === 200 && exchange.id !== undefined)
      readsOf.set(exchange.id, [...(readsOf.get(exchange.id) ?? []), exchange]);
  const accepted = exchanges.filter((exchange) => isSend(exchange) && isAccepted(exchange));
  const sent = new Set(accepted.map(messageIdOf));
  // Recorded reads of a message that was accepted before begin a history, too.
  const older = [...readsOf].flatMap(([id, [first]]) =>
    recorded === undefined || sent.has(id) || first === undefined ? [] : [first],
  );
  return [...accepted, ...older].flatMap((send) => {
    const messageId = isRead(send) ? (send.id ?? '') : messageIdOf(send);
    const reads = readsOf.get(messageId);
    return reads === undefined
      ? []
      : [{ send, messageId, reads, sightings: sightingsIn(send, reads, slackMs) }];
  });
}

function sightingsIn(send: Exchange, reads: readonly Exchange[], slackMs: number): Sighting[] {
  const { sentAt: after, answeredAt: until } = send;
  const start = isRead(send) ? statusOf(send) : 'queued';
  const sightings: Sighting[] = [{ status: start, after, until, exchange: send }];
  let lastReadAt = after;
  for (const exchange of reads) {
    const status = statusOf(exchange);
    const last = sightings.at(-1);
    // Of two reads at the same time, the later one may show the older status.
    const isOlder = ranks.indexOf(status) < ranks.indexOf(last?.status ?? '');
    const isOvertaken = isOlder && exchange.sentAt < (last?.exchange.answeredAt ?? 0) + slackMs;
    if (status !== last?.status && !isOvertaken && !isHeldName(status))
      sightings.push({ status, after: lastReadAt, until: exchange.answeredAt, exchange });
    lastReadAt = exchange.sentAt;
  }
  return sightings;
}

/** The service may name the status of a held message itself (`heldStatus`). */
function isHeldName(status: string): boolean {
  return !ranks.includes(status);
}

/** A message's statuses and times, for reports. */
function describeHistory({ send, sightings }: History): string {
  return sightings
    .map(({ status, until }) => `${status} (+${((until - send.answeredAt) / 1000).toFixed(1)} s)`)
    .join(', ');
}

interface Step {
  readonly from: Sighting;
  readonly to: Sighting;
  readonly history: History;
}

function stepsOf(histories: readonly History[]): Step[] {
  return histories.flatMap((history) =>
    history.sightings.slice(1).map((to, i) => ({ from: history.sightings[i] ?? to, to, history })),
  );
}

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
  // Measured from change to change, because the first state may end at any time.
  const stateMs = histories.flatMap(({ sightings }) =>
    sightings.slice(2).map(({ until }, i) => until - (sightings[i + 1]?.until ?? 0)),
  );
  const shortestStateMs = stateMs.length > 0 ? Math.min(...stateMs) : briefestMs;
  const longestGapMs = Math.max(
    ...history.sightings.slice(1).map(({ after, until }) => until - after + slackOf(trace)),
  );
  if (!trace.isExact && from.status === 'queued' && mayBeBrief(trace, history))
    throw new verify.Lacking('a device that no other case polls meanwhile');
  if (!trace.isExact && shortestStateMs < 3 * longestGapMs)
    throw new verify.Lacking('a target whose messages stay in each state for a few seconds');
  verify.fail(expected, describeHistory(history));
}

/**
 * True if a poll for tasks took the message up, at any time: by chance its device may report it as
 * sent before the next read, but hardly so with each message that is handed out.
 */
function mayBeBrief({ log }: Trace, history: History): boolean {
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
const pickup: Judge = (trace, findings) => {
  const histories = historiesIn(trace);
  for (const step of stepsOf(histories)) {
    if (step.from.status !== 'queued' || step.to.status === 'failed') continue;
    findings.judge(proofOf(step), () => {
      if (step.to.status !== 'sending')
        failSkippedState(trace, histories, 'queued followed by sending', step);
    });
  }
  // Two recorded keys may belong to one account.
  if (trace.recorded === undefined) hearOfTasks(trace, findings);
  for (const history of histories)
    for (const tasks of tasksIn(trace)) judgeTasks(trace, history, tasks, findings);
};

function tasksIn({ exchanges }: Trace): Exchange[] {
  return exchanges.filter(({ endpoint, reply }) => endpoint === 'tasks' && reply.status === 200);
}

/** A message that was handed out is sending at once or within about 20 s (`taskPickup`). */
function judgeTasks(
  trace: Trace,
  { send, messageId, reads }: History,
  tasks: Exchange,
  findings: Findings,
): void {
  if (tasks.sentAt < send.answeredAt || isRead(send) || !tasks.reply.text.includes(messageId))
    return;
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
  findings.that(
    [send, tasks, shown],
    late === undefined || statusOf(late) !== 'queued',
    `another status than queued ${latestMs / 1000} s after it was handed out`,
  );
}

/** STATE-3: no state is skipped or revisited, and one that does not fail ends as delivered. */
const inOrder: Judge = (trace, findings) => {
  const histories = historiesIn(trace);
  for (const step of stepsOf(histories)) {
    const { from, to, history } = step;
    if (to.status === 'failed') continue;
    const next = order[order.indexOf(from.status) + 1];
    const expected = `${from.status} followed by ${next ?? 'nothing'} or failed`;
    const isForward = order.indexOf(to.status) > order.indexOf(from.status);
    findings.judge([from.exchange, to.exchange], () => {
      verify.that(isForward, expected, describeHistory(history));
      if (to.status !== next) failSkippedState(trace, histories, expected, step);
    });
  }
  for (const history of histories) neverBackwards(history, slackOf(trace), findings);
  if (trace.isExact) for (const history of histories) reachesDelivered(trace, history, findings);
  if (findings.exercised === 0) findings.lack('a message that is picked up within the wait');
};

/** Reads that follow one another never show an older status, whichever key asks. */
function neverBackwards({ reads }: History, slackMs: number, findings: Findings): void {
  let latest: Exchange | undefined;
  for (const read of reads) {
    const rank = ranks.indexOf(statusOf(read));
    const before = latest === undefined ? -1 : ranks.indexOf(statusOf(latest));
    if (latest !== undefined && rank >= 0 && read.sentAt >= latest.answeredAt + slackMs)
      findings.requireThat([latest, read], rank >= before, `${ranks[before]} or later`);
    if (rank > before) latest = read;
  }
}

/** After seven polls a message without `send_at` is delivered, unless it has failed. */
function reachesDelivered(trace: Trace, history: History, findings: Findings): void {
  const watchedMs = (history.reads.at(-1)?.sentAt ?? 0) - history.send.answeredAt;
  const end = history.sightings.at(-1)?.status;
  if (
    watchedMs < 7 * pollIntervalMs(trace) ||
    holdOf(history.send) !== undefined ||
    end === 'failed'
  )
    return;
  const isDelivered = end === 'delivered';
  const expected = 'delivered within seven polls';
  findings.that([history.send], isDelivered, expected, describeHistory(history));
}

const failsUnfinished: Judge = (trace, findings) => {
  for (const step of stepsOf(historiesIn(trace))) {
    if (step.to.status !== 'failed') continue;
    const isUnfinished = order.slice(0, 3).includes(step.from.status);
    const expected = 'failed after an unfinished state';
    findings.that(proofOf(step), isUnfinished, expected, describeHistory(step.history));
  }
  const failsFrom = trace.assumption('failsFrom');
  if (Array.isArray(failsFrom) && failsFrom.length === 0)
    findings.lack('a target on which a message may fail (failsFrom is empty)');
  findings.lack('a recipient whose messages fail, among those of --allow-to');
};

/** STATE-5: nothing follows an end. */
const staysAtItsEnd: Judge = (trace, findings) => {
  for (const history of historiesIn(trace)) {
    const end = history.sightings.findIndex(({ status }) => final.includes(status));
    const last = history.reads.at(-1);
    if (end < 0 || last === undefined || history.sightings[end]?.exchange === last) continue;
    const isLast = end === history.sightings.length - 1;
    const expected = 'nothing after the final state';
    findings.that([history.send, last], isLast, expected, describeHistory(history));
  }
  findings.lack('a message that ends within the wait');
};

/** The device's poll interval, as far as it is known. */
export function pollIntervalMs(target: Pick<Trace, 'assumption'>): number {
  const stated = target.assumption('pollIntervalSeconds');
  return (typeof stated === 'number' ? stated : 20) * 1000;
}

/** "About 20 s": a quarter more, plus the time between reads. */
export function latestPickupMs(trace: Pick<Trace, 'assumption' | 'isExact'>): number {
  return Math.max(20_000, pollIntervalMs(trace)) * 1.25 + (trace.isExact ? 0 : 1_000);
}

/** When a message may be picked up: at once, or when its hold ends. */
function dueAt({ send }: History): number {
  return Math.max(send.answeredAt, holdOf(send) ?? 0);
}

/** The first status after queued. */
function pickupOf({ sightings }: History): Sighting | undefined {
  return sightings.find(({ status }) => pickedUp.includes(status));
}

/** The last time at which a message was certainly still queued. */
function lastQueued(history: History): number {
  const { reads, send } = history;
  return pickupOf(history)?.after ?? reads.at(-1)?.sentAt ?? send.sentAt;
}

function isPickedUpLate(trace: Trace, history: History): boolean {
  return lastQueued(history) > dueAt(history) + latestPickupMs(trace);
}

/**
 * True if the device was busy with other messages (`sendsPerPoll`), or only hands out tasks when
 * the harness polls.
 */
function isPassedOver(trace: Trace, history: History): boolean {
  const lateFrom = dueAt(history) + latestPickupMs(trace);
  const others = historiesIn({
    exchanges: trace.log.filter(({ sentAt }) => sentAt >= history.send.sentAt - 60_000),
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
  findings.judge([history.send], () => {
    if (isLate && !trace.isExact && isPassedOver(trace, history)) lackRoom();
    const since = holdOf(history.send) === undefined ? '' : ' of send_at';
    const expected = `pickup within ${latestPickupMs(trace) / 1_000} s${since}`;
    verify.that(!isLate, expected, describeHistory(history));
  });
}

function lackRoom(): never {
  throw new verify.Lacking(
    'a device that polls by itself and picks up all its messages at each poll (sendsPerPoll)',
  );
}

/** READ-1: a read shows the current status, so some message must be seen to leave queued. */
export function isCurrent(trace: Trace, findings: Findings): void {
  const histories = historiesIn(trace).filter(({ send }) => isMessageSend(send));
  const late = histories.filter((history) => isPickedUpLate(trace, history));
  const isStale = late.length > 0 && histories.every((history) => pickupOf(history) === undefined);
  const [history] = late;
  if (!isStale || history === undefined) return;
  findings.judge(history.reads.slice(-1), () => {
    if (!trace.isExact && isPassedOver(trace, history)) lackRoom();
    verify.fail('another status after a few polls', describeHistory(history));
  });
}

/** SVC-3: picked up within about 20 s; after that, no change faster than polls. */
const pace: Judge = (trace, findings) => {
  const histories = historiesIn(trace);
  for (const history of histories) judgePickup(trace, history, findings);
  for (const history of histories) judgePace(trace, history, findings);
};

function judgePace(trace: Trace, history: History, findings: Findings): void {
  const { send, sightings } = history;
  const gapsMs = sightings.slice(1).map(({ until }, i) => until - (sightings[i]?.until ?? 0));
  const isPaced = trace.isExact && trace.assumption('progressPace') !== 'own_delay';
  const shortestMs = Math.min(20_000, pollIntervalMs(trace)) * 0.75;
  findings.require([send], () => {
    const expected = `${shortestMs / 1000} s between two changes`;
    for (const gapMs of isPaced ? gapsMs.slice(1) : [])
      verify.that(gapMs >= shortestMs, expected, describeHistory(history));
    // Progress does not depend on reads, whatever its pace (`progressPace`).
    const followsReads = gapsMs.length === 3 && gapsMs.every((gapMs) => gapMs < 400);
    verify.that(
      !followsReads,
      'a status that does not change with each read',
      describeHistory(history),
    );
  });
}

/** SEND-7: `send_at` is in the future and holds the message; without it, it goes at once. */
const holds: Judge = (trace, findings) => {
  judgeSendAt(trace, findings);
  const { isExact, recorded } = trace;
  const drift = isExact ? 0 : Math.max(clockDriftMs, slackOf(trace) + (recorded?.ahead.most ?? 0));
  for (const history of historiesIn(trace)) {
    const until = holdOf(history.send);
    if (until === undefined) judgePickup(trace, history, findings);
    else if (isHeldBy(trace, history.send)) judgeHold(trace, history, until - drift, findings);
  }
};

function judgeHold(trace: Trace, history: History, until: number, findings: Findings): void {
  const seconds = Math.round((until - history.send.sentAt) / 1000);
  for (const read of history.reads.filter(({ answeredAt }) => answeredAt < until)) {
    const isHeld = !pickedUp.includes(statusOf(read)) || mayFail(trace, read);
    const proof = [history.send, read];
    findings.that(proof, isHeld, `held for ${seconds} s`, `${statusOf(read)} before`);
  }
  for (const tasks of tasksIn(trace).filter(({ answeredAt }) => answeredAt < until)) {
    const isIn = tasks.reply.text.includes(history.messageId);
    findings.requireThat([history.send, tasks], !isIn, 'tasks without the held message');
  }
  judgePickup(trace, history, findings);
}

/** A recorded SIM may be deactivated while it holds a message (`deactivation`). */
function mayFail({ recorded }: Trace, read: Exchange): boolean {
  return recorded !== undefined && statusOf(read) === 'failed';
}

/** The document shows `send_at` for one endpoint; others support it if they refuse a past one. */
function isHeldBy({ exchanges }: Trace, send: Exchange): boolean {
  return (
    isMessageSend(send) ||
    exchanges.some(
      ({ path, reply }) =>
        path === send.path && reply.status === 400 && verify.fieldsNamed(reply).includes('send_at'),
    )
  );
}

export const statusJudges = {
  'STATE-2': pickup,
  'STATE-3': inOrder,
  'STATE-4': failsUnfinished,
  'STATE-5': staysAtItsEnd,
  'SVC-3': pace,
  'SEND-7': holds,
} as const;
