/**
 * Judges which statuses a message takes, and in which order. Rules: STATE-2 to STATE-5. Each judge
 * looks at histories (`histories.ts`): what the reads of a message show of its statuses. A judge
 * skips a case, by `Lacking`, if reads were too rare to show a status.
 */
import {
  bodyOf,
  type Exchange,
  isAccepted,
  isMessageSend,
  messageIdOf,
  tasksIn,
} from '../evidence/exchange.ts';
import * as verify from './expectations.ts';
import {
  describeHistory,
  durationsOf,
  finalStatuses,
  type History,
  historiesIn,
  pickupOf,
  pollsAtPickup,
  rankOf,
  type Step,
  startsWithRead,
  statusOf,
  statusOrder,
  stepsOf,
} from './histories.ts';
import type { Findings, Trace } from './judge.ts';
import { documentedPollMs, latestPickupMs, pollIntervalMs } from './pace.ts';
import { plainId } from './read.ts';
import { mayBeHeld } from './validity.ts';

export const statusJudges = {
  'STATE-2': judgeFirstChange,
  'STATE-3': judgeOrder,
  'STATE-4': judgeFailure,
  'STATE-5': judgeFinal,
} as const;

/** The assumed duration of a status if no message shows how long its statuses last. */
const assumedDurationMs = 1_000;

/** STATE-2: the first change is to sending, when the message's own device picks it up. */
function judgeFirstChange(trace: Trace, findings: Findings): void {
  const histories = historiesIn(trace);
  for (const step of stepsOf(histories)) {
    const { from, to, history } = step;
    if (from.status !== 'queued' || to.status === 'failed') continue;
    const isNext = to.status === 'sending';
    const missed = isNext ? undefined : whatReadsMiss(trace, histories, step);
    const expected = 'queued followed by sending';
    if (missed !== undefined) findings.lack(missed);
    else findings.judgeThat(proofOf(step), isNext, expected, () => describeHistory(history));
  }
  // Two recorded keys may belong to one account.
  if (trace.recorded === undefined) noticeTasks(trace, findings);
  for (const history of histories)
    for (const tasks of tasksIn(trace.exchanges)) judgeHandOut(trace, history, tasks, findings);
}

function proofOf({ from, to }: Step): Exchange[] {
  return [from.exchange, to.exchange];
}

/** What is needed to tell whether a status was skipped; undefined if reads cannot have missed it. */
function whatReadsMiss(
  trace: Trace,
  histories: readonly History[],
  { from, history }: Step,
): string | undefined {
  if (trace.hasExactTimes) return undefined;
  if (from.status === 'queued' && mayMissSending(trace, history))
    return 'a device that no other case polls meanwhile';
  // The first status lasts until a poll, so it does not show how long the others last. Nor does one
  // that had lasted for an unknown time when it was first read.
  const durationsMs = histories.flatMap((each) =>
    durationsOf(each).filter((_, i) => i > 0 && !isFirstReadLate(each.sightings[i])),
  );
  const shortestMs = durationsMs.length > 0 ? Math.min(...durationsMs) : assumedDurationMs;
  const gapsMs = history.sightings.slice(1).map(({ after, until }) => until - after);
  // A read falls into each status that lasts one gap. Measured durations are off by up to a gap,
  // and the next status may be shorter.
  const isSeen = shortestMs >= 3 * Math.max(...gapsMs);
  return isSeen ? undefined : 'a target whose messages stay in each state for a few seconds';
}

/** A status that began longer than this before its first read may be much longer than reads show. */
const lateReadMs = 2_000;

function isFirstReadLate(sighting: History['sightings'][number] | undefined): boolean {
  return sighting !== undefined && sighting.until - sighting.after > lateReadMs;
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
  return pollsAtPickup(history, log).some(({ reply }) => reply.text.includes(history.messageId));
}

/** A message that its own device is handed becomes sending, at once or soon (`taskPickup`). */
function judgeHandOut(trace: Trace, history: History, tasks: Exchange, findings: Findings): void {
  const { start: send, messageId } = history;
  const isHandOut = tasks.sentAt >= send.answeredAt && tasks.reply.text.includes(messageId);
  if (!isHandOut || startsWithRead(history)) return;
  const deviceId = verify.textOf(bodyOf(send)['device_id']);
  const isOwnDevice = plainId(tasks.id ?? '') === plainId(deviceId);
  const noTask = `no task for ${tasks.id}`;
  findings.alsoRequireThat([send, tasks], isOwnDevice, noTask, 'the message of another device');

  const isAtOnce = trace.assumption('taskPickup') === 'handed_out';
  const latestMs = isAtOnce ? 0 : latestPickupMs(trace);
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

/**
 * Notices of tasks that break no rule: the document does not say what a task shows, whose key may
 * poll, or how often a message is handed out.
 */
function noticeTasks({ exchanges }: Trace, findings: Findings): void {
  const polls = tasksIn(exchanges);
  for (const send of exchanges) {
    const messageId = isMessageSend(send) && isAccepted(send) ? messageIdOf(send) : '';
    if (messageId === '') continue;
    const handOuts = polls.filter(({ reply }) => reply.text.includes(messageId));
    const foreign = handOuts.find(({ caller }) => caller.account !== send.caller.account);
    const [first, second] = handOuts;
    const leak = "another account's key gets the tasks of the device, with texts and numbers";
    if (foreign !== undefined) findings.notice(leak, foreign);
    else if (second !== undefined)
      findings.notice('a task was handed out twice: a device may send the message twice', second);
    if (first !== undefined) noticeOtherText(send, first, findings);
  }
}

/** Enough characters to recognise a message by its beginning. */
const recognisedLength = 24;

function noticeOtherText(send: Exchange, handOut: Exchange, findings: Findings): void {
  const text = verify.textOf(send.fields?.['message']);
  const shown = longestTextIn(handOut.reply.json, text.slice(0, recognisedLength));
  if (shown === undefined || shown === text) return;
  findings.notice(
    shown.length === text.length
      ? 'the task of a message shows another text'
      : `the task of a message of ${text.length} characters shows ${shown.length} of them`,
    handOut,
  );
}

/** The longest text of a body that begins with `start`; undefined if there is none. */
function longestTextIn(json: unknown, start: string): string | undefined {
  if (typeof json === 'string') return json.startsWith(start) ? json : undefined;
  if (typeof json !== 'object' || json === null) return undefined;
  let longest: string | undefined;
  for (const part of Object.values(json)) {
    const text = longestTextIn(part, start);
    if ((text?.length ?? 0) > (longest?.length ?? 0)) longest = text;
  }
  return longest;
}

/** STATE-3: no status is skipped or revisited, and a message that does not fail is delivered. */
function judgeOrder(trace: Trace, findings: Findings): void {
  const histories = historiesIn(trace);
  for (const step of stepsOf(histories)) {
    const { from, to, history } = step;
    if (to.status === 'failed') continue;
    const next = statusOrder[statusOrder.indexOf(from.status) + 1];
    const expected = `${from.status} followed by ${next ?? 'nothing'} or failed`;
    const isSkip = statusOrder.indexOf(to.status) > statusOrder.indexOf(from.status) + 1;
    const missed = isSkip ? whatReadsMiss(trace, histories, step) : undefined;
    // From queued to sending is STATE-2.
    const judge = to.status === 'sending' ? 'alsoRequireThat' : 'judgeThat';
    if (missed !== undefined) findings.lack(missed);
    else
      findings[judge](proofOf(step), to.status === next, expected, () => describeHistory(history));
  }
  for (const history of histories) requireNoOlderStatus(history, findings);
  if (trace.hasExactTimes) for (const history of histories) judgeDelivery(trace, history, findings);
  findings.lack('a message that is sent within the wait');
}

/** Consecutive reads never show an older status, whichever key reads. */
function requireNoOlderStatus({ reads }: History, findings: Findings): void {
  let latest: Exchange | undefined;
  for (const read of reads) {
    const rank = rankOf(statusOf(read));
    const latestRank = latest === undefined ? -1 : rankOf(statusOf(latest));
    if (latest !== undefined && rank >= 0 && read.sentAt >= latest.answeredAt)
      findings.alsoRequireThat([latest, read], rank >= latestRank, `${statusOf(latest)} or later`);
    if (rank > latestRank) latest = read;
  }
}

/** After seven polls a message without `send_at` is delivered, unless it has failed. */
function judgeDelivery(trace: Trace, history: History, findings: Findings): void {
  const { start, reads, sightings } = history;
  const watchedMs = (reads.at(-1)?.sentAt ?? 0) - start.answeredAt;
  const end = sightings.at(-1)?.status;
  // A service that reports progress at its own pace need not be faster if its devices poll often.
  const hasOwnPace = trace.assumption('progressPace') === 'own_delay';
  const leastPollMs = hasOwnPace ? documentedPollMs : 0;
  const isTooShort = watchedMs < 7 * Math.max(leastPollMs, pollIntervalMs(trace));
  if (isTooShort || mayBeHeld(start) || end === 'failed') return;
  const expected = 'delivered within seven polls';
  findings.judgeThat([start], end === 'delivered', expected, () => describeHistory(history));
}

/** STATE-4: only a message whose status is not final fails. */
function judgeFailure(trace: Trace, findings: Findings): void {
  for (const step of stepsOf(historiesIn(trace))) {
    if (step.to.status !== 'failed') continue;
    const isUnfinished = statusOrder.slice(0, 3).includes(step.from.status);
    const expected = 'failed after an unfinished state';
    findings.judgeThat(proofOf(step), isUnfinished, expected, () => describeHistory(step.history));
  }
  const failsFrom = trace.assumption('failsFrom');
  if (Array.isArray(failsFrom) && failsFrom.length === 0)
    findings.lack('a target on which a message may fail (failsFrom is empty)');
  const where = trace.recorded === undefined ? ', among those of --allow-to' : '';
  findings.lack(`a recipient whose messages fail${where}`);
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
    findings.judgeThat([start, lastRead], isLast, expected, () => describeHistory(history));
  }
  findings.lack('a message that ends within the wait');
}
