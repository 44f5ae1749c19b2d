/**
 * Watches messages: reads their status while time passes, from their acceptance until after their
 * end. Rules: STATE-1 to STATE-5. On a simulator that states its next deadline, time advances from
 * deadline to deadline, and never by more than a fraction of the poll interval, so that no status
 * between two reads is missed.
 */

import { minuteMs } from '#contract/time.ts';
import { isSend, messageIdOf } from '#judging/evidence/exchange.ts';
import * as verify from '#judging/service/expectations.ts';
import { finalStatuses, type History, historiesIn, pickupOf } from '#judging/service/histories.ts';
import { latestPickupMs, pollIntervalMs } from '#judging/service/pace.ts';
import { flood } from '../floods/limited.ts';
import type { Sight } from '../run/case.ts';
import { type AccountUnderTest, type Fields, paths, type Trial } from '../run/case-run.ts';
import { type Recording, recorded } from '../run/recording.ts';
import { fates, recipients } from '../target/target.ts';

export interface Watched {
  readonly account: AccountUnderTest;
  readonly messageId: string;
  readonly fields: Fields;
  /** The status of the 202, then each change. */
  readonly statuses: string[];
  /** After this time the message is late if it is still queued. */
  readonly lateAt: number;
  /** True once the run has looked for what keeps the late message queued. */
  isExplained?: boolean;
}

/** Longer than a poll interval. */
const pollMs = 22_000;
const mostOthers = 10;
/** More polls than this come from a flood, which one more would disturb. */
const mostPolls = 20;
/** Fewer if the simulator states its next deadline: a status changes at a deadline only. */
const readsPerPoll = { deadlineKnown: 4, deadlineUnknown: 16 };
const mostRounds = 1_500;
/** Pauses between reads in real time: short at first, because some services poll every second. */
const readEveryMs = { first: 100, later: 500 };
const firstForMs = 8_000;
const longestMs = 110_000;

/** Queues a message under a `request_id`, to be watched. `dueAt`: the end of its hold, if any. */
export async function queuedToWatch(
  t: Trial,
  account: AccountUnderTest,
  moreFields: Fields = {},
  dueAt?: number,
): Promise<Watched> {
  const fields = { request_id: t.requestId(), ...moreFields };
  const { messageId } = await t.queued(account, fields);
  const lateAt = (dueAt ?? (await t.now())) + latestPickupMs(t.trace());
  return { account, messageId, fields, statuses: ['queued'], lateAt };
}

/** Polls for tasks as the device of `--device-id`, which may get its work in no other way. */
async function pollForTasks(t: Trial): Promise<void> {
  const { sims, key } = await t.account();
  const now = await t.now();
  const polls = t.target.log.filter(
    ({ endpoint, caller, answeredAt }) =>
      endpoint === 'tasks' && caller.account === 'own' && answeredAt > now - minuteMs,
  );
  const isThrottled = polls.some(({ reply }) => reply.status === 429);
  const answered = polls.filter(({ reply }) => reply.status === 200);
  if (sims[0] === undefined || isThrottled || answered.length > mostPolls) return;
  await t.get(paths.tasks(sims[0].deviceId), key);
}

async function isQueued(t: Trial, account: AccountUnderTest, messageId: string): Promise<boolean> {
  const { json } = await t.read(account, messageId);
  return verify.isObject(json) && json['status'] === 'queued';
}

/** Which of these messages are queued, in their order. */
function areQueued(
  t: Trial,
  account: AccountUnderTest,
  ids: readonly string[],
): Promise<boolean[]> {
  return flood(ids.length, (index) => isQueued(t, account, ids[index] ?? ''));
}

/**
 * Looks for what keeps a late message queued: a device that gets its work only from our polls, or
 * one that picks up other messages first (`sendsPerPoll`). Judges find the explanation in these
 * reads. Takes at most one poll interval.
 */
async function explainLate(t: Trial, late: Watched): Promise<void> {
  const { account, messageId } = late;
  late.isExplained = true;
  await pollForTasks(t);
  if (!(await isQueued(t, account, messageId))) return;
  const accepted = t.target.log
    .filter((sent) => sent.caller.account === 'own' && isSend(sent) && sent.reply.status === 202)
    .map(messageIdOf);
  const queued = await areQueued(t, account, accepted);
  const all = accepted.filter((id, index) => queued[index] && id !== messageId);
  const others = all.filter((_, index) => index % Math.ceil(all.length / mostOthers) === 0);
  const end = (await t.now()) + pollMs;
  while (others.length > 0 && (await t.now()) < end) {
    await t.pause(500, 'other messages of the device');
    const stillQueued = await areQueued(t, account, others);
    if (stillQueued.includes(false) || !(await isQueued(t, account, messageId))) return;
  }
}

interface WatchPlan {
  readonly forMs: number;
  /** How long to watch after the last message has ended; default: `forMs`. */
  readonly afterEndMs?: number;
  /** Queues one more message when the first one has left `queued`. */
  readonly successor?: () => Promise<Watched>;
  /** Called at each new status. */
  readonly onChange?: (message: Watched) => Promise<unknown>;
}

/** Reads messages until the plan's time is over. Returns them and the successor. */
export async function watch(
  t: Trial,
  messages: readonly Watched[],
  { forMs, afterEndMs = forMs, successor, onChange }: WatchPlan,
): Promise<Watched[]> {
  const all = [...messages];
  const [first] = messages;
  let sentAt = await t.now();
  let awaited = successor;
  let now = sentAt;
  let end = sentAt + forMs;
  for (let round = 0; now < end && round < mostRounds; round += 1) {
    now = await nextRead(t, sentAt, now, end);
    for (const message of all) await readStatus(t, message, now, onChange);
    if (awaited !== undefined && (first?.statuses.length ?? 0) > 1) {
      all.push(await awaited());
      awaited = undefined;
      sentAt = await t.now();
    }
    if (awaited === undefined && all.every(hasEnded)) end = Math.min(end, now + afterEndMs);
  }
  return all;
}

async function readStatus(
  t: Trial,
  message: Watched,
  now: number,
  onChange: WatchPlan['onChange'],
): Promise<void> {
  const { account, messageId, statuses, lateAt, isExplained } = message;
  const { status: code, json } = await t.read(account, messageId);
  if (code !== 200 || !verify.isObject(json)) return;
  const status = verify.textOf(json['status']);
  if (status !== statuses.at(-1)) {
    statuses.push(status);
    await onChange?.(message);
  } else if (status === 'queued' && now > lateAt && !t.controlled && !isExplained)
    await explainLate(t, message);
}

/** Some of the messages, at least `fewest`, whose reads show something. */
function seen(what: string, isSeen: (history: History) => boolean, fewest = 1): Sight {
  return { what, isIn: (trace) => historiesIn(trace).filter(isSeen).length >= fewest };
}

function ends({ sightings }: History, ...statuses: readonly string[]): boolean {
  return sightings.some(({ status }) => statuses.includes(status));
}

const isPickedUp = (history: History) => pickupOf(history) !== undefined;

export const sights = {
  pickup: seen('pickup', isPickedUp),
  secondPickup: seen('second pickup', isPickedUp, 2),
  secondChange: seen('message with two changes', ({ sightings }) => sightings.length > 2),
  end: seen('end of a message', (history) => ends(history, ...finalStatuses)),
  delivery: seen('delivered message', (history) => ends(history, 'delivered')),
  failure: seen('failed message', (history) => ends(history, 'failed')),
} as const;

function hasEnded({ statuses }: Watched): boolean {
  return ['delivered', 'failed'].includes(statuses.at(-1) ?? '');
}

/** Waits for the time of the next read and returns it. `sentAt`: when the last message was sent. */
async function nextRead(t: Trial, sentAt: number, now: number, end: number): Promise<number> {
  if (!t.controlled) {
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

/** The messages that the run watches once for all cases that judge them. */
export function watchedMessages(t: Trial): Promise<Watched[]> {
  return recorded(t, watched);
}

/**
 * Two messages of one SIM, watched until more than a poll interval after their end. The second is
 * sent when the first is picked up, so that it waits for a whole interval. With a control port it
 * also watches a message of every scripted fate, and sends a replay at each new status.
 */
export const watched: Recording<Watched[]> = {
  name: 'statuses of messages',
  needs: ['sender'],
  spends: { send: 2 },
  seconds: 90,
  waits: 30,
  record: async (t, account) => {
    const successor = () => queuedToWatch(t, account);
    const messages = [await successor()];
    if (!t.controlled)
      return watch(t, messages, {
        forMs: Math.min(longestMs, t.target.timeoutMs),
        afterEndMs: 1.25 * pollIntervalMs(t),
        successor,
      });
    // Each message has its own SIM, so that none waits behind another (`sendsPerPoll`).
    const others = t.target.allowTo === undefined ? fates.map(({ to }) => to) : [t.recipient];
    for (const to of [recipients.delivered, ...others])
      if (t.target.allowTo === undefined || to === t.recipient)
        messages.push(await queuedToWatch(t, await t.account(), { to }));
    return watch(t, messages, {
      forMs: 8 * pollIntervalMs(t) + 45_000,
      afterEndMs: 2 * pollIntervalMs(t),
      successor,
      onChange: (message) => t.send(message.account, message.fields),
    });
  },
};
