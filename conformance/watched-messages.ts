/**
 * Reads messages while time passes, from their acceptance until after their end. Time advances from
 * deadline to deadline if a simulator states the next one, and never by more than a fraction of the
 * poll interval, so that no state between two reads is missed.
 */

import { minuteMs } from '../src/ledger/time-units.ts';
import { isSend, messageIdOf } from './judges/exchange.ts';
import { latestPickupMs, pollIntervalMs } from './judges/status.ts';
import { flood } from './limited.ts';
import { type Recording, recorded } from './recording.ts';
import { fates, recipients } from './target.ts';
import { type Fields, paths, type Subject, type Trial } from './trial.ts';
import * as verify from './verify.ts';

export interface Watched {
  readonly account: Subject;
  readonly messageId: string;
  readonly fields: Fields;
  /** The status of the 202, then each change. */
  readonly statuses: string[];
  /** When a late message may no longer be queued. */
  readonly lateAt: number;
  /** True once the run has looked for what keeps a late message queued. */
  isExplained?: boolean;
}

/** Longer than a poll interval. */
const pollMs = 22_000;
const mostOthers = 10;
/** More requests than this come from a flood, which one more request would disturb. */
const mostPolls = 20;
/** Fewer where a simulator states its next deadline, as statuses change then alone. */
const readsPerPoll = { stated: 4, unknown: 16 };
const mostReads = 1_500;
/** Pauses between reads in real time: short at first, because some services poll every second. */
const readEveryMs = { first: 100, later: 500 };
const oftenForMs = 8_000;
const longestMs = 110_000;

/** Queues a message under a `request_id`, to be watched. */
export async function queuedToWatch(
  t: Trial,
  account: Subject,
  more: Fields = {},
  dueAt?: number,
): Promise<Watched> {
  const fields = { request_id: t.requestId(), ...more };
  const { messageId } = await t.queued(account, fields);
  const lateAt = (dueAt ?? (await t.now())) + latestPickupMs(t.trace());
  return { account, messageId, fields, statuses: ['queued'], lateAt };
}

/** Polls as the device of `--device-id`: if that gets its work as tasks, nothing else may poll. */
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

async function isQueued(t: Trial, account: Subject, messageId: string): Promise<boolean> {
  const { json } = await t.read(account, messageId);
  return verify.isObject(json) && json['status'] === 'queued';
}

/**
 * Looks for what keeps a late message queued: a device that gets its work only from our polls, or
 * one that picks up others first (`sendsPerPoll`). Takes at most one poll.
 */
async function lookAround(t: Trial, one: Watched): Promise<void> {
  const { account, messageId } = one;
  one.isExplained = true;
  await pollForTasks(t);
  if (!(await isQueued(t, account, messageId))) return;
  const accepted = t.target.log
    .filter((one) => one.caller.account === 'own' && isSend(one) && one.reply.status === 202)
    .map(messageIdOf);
  const areQueued = await flood(accepted.length, (i) => isQueued(t, account, accepted[i] ?? ''));
  const all = accepted.filter((id, i) => areQueued[i] && id !== messageId);
  const others = all.filter((_, i) => i % Math.ceil(all.length / mostOthers) === 0);
  const end = (await t.now()) + pollMs;
  while (others.length > 0 && (await t.now()) < end) {
    await t.pause(500, 'other messages of the device');
    const stillQueued = await flood(others.length, (i) => isQueued(t, account, others[i] ?? ''));
    if (stillQueued.includes(false) || !(await isQueued(t, account, messageId))) return;
  }
}

interface WatchPlan {
  readonly forMs: number;
  /** How long to watch after the last of them has ended. */
  readonly afterEndMs?: number;
  /** Queues one more message when the first one has left `queued`. */
  readonly successor?: () => Promise<Watched>;
  /** Called at each new status. */
  readonly onChange?: (one: Watched) => Promise<unknown>;
}

/** Reads messages until the plan's time is over. */
export async function watch(
  t: Trial,
  messages: readonly Watched[],
  { forMs, afterEndMs = forMs, successor, onChange }: WatchPlan,
): Promise<Watched[]> {
  const all = [...messages];
  const [first] = messages;
  let start = await t.now();
  let isAwaited = successor !== undefined;
  let now = start;
  let end = start + forMs;
  for (let round = 0; now < end && round < mostReads; round += 1) {
    now = await nextRead(t, start, now, end);
    for (const one of all) {
      const { status: code, json } = await t.read(one.account, one.messageId);
      if (code !== 200 || !verify.isObject(json)) continue;
      const status = verify.textOf(json['status']);
      if (status !== one.statuses.at(-1)) {
        one.statuses.push(status);
        await onChange?.(one);
      } else if (status === 'queued' && now > one.lateAt && !t.controlled && !one.isExplained)
        await lookAround(t, one);
    }
    if (successor !== undefined && isAwaited && (first?.statuses.length ?? 0) > 1) {
      isAwaited = false;
      all.push(await successor());
      start = await t.now();
    }
    if (!isAwaited && all.every(hasEnded)) end = Math.min(end, now + afterEndMs);
  }
  return all;
}

function hasEnded({ statuses }: Watched): boolean {
  return ['delivered', 'failed'].includes(statuses.at(-1) ?? '');
}

async function nextRead(t: Trial, start: number, now: number, end: number): Promise<number> {
  if (!t.controlled) {
    const isEarly = now - start < oftenForMs;
    await t.pause(isEarly ? readEveryMs.first : readEveryMs.later, 'the next status of a message');
    return t.now();
  }
  const due = await t.control.nextAt();
  const reads = due === undefined ? readsPerPoll.unknown : readsPerPoll.stated;
  const step = Math.max(1, Math.floor(pollIntervalMs(t) / reads));
  const to = Math.min(now + step, end);
  await t.advance((due !== undefined && due > now && due < to ? due : to) - now);
  return t.now();
}

/** The messages that the run watches once for all cases that judge them. */
export function watchedMessages(t: Trial): Promise<Watched[]> {
  return recorded(t, watched);
}

/**
 * Two messages of one SIM, watched at the start of a run and until more than a poll after their end.
 * The second is sent when the first is picked up, so that it waits for a whole poll interval. With a
 * control port also one of every scripted fate, and a replay at each new status.
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
      onChange: ({ account: own, fields }) => t.send(own, fields),
    });
  },
};
