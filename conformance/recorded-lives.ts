/**
 * Records messages while time passes: every status that a read shows, with the time of the read.
 * Time advances from deadline to deadline if the simulator states the next one, and never by more
 * than a fraction of the poll interval, so that no state between two reads is missed.
 */
import type { Reply } from './client.ts';
import { flood } from './flood.ts';
import { type Recording, recorded } from './recording.ts';
import { fates, recipients } from './target.ts';
import { type Fields, paths, type Subject, type Trial } from './trial.ts';
import * as verify from './verify.ts';

export interface Sighting {
  readonly status: string;
  /** Milliseconds since the message was accepted. */
  readonly at: number;
  /**
   * The status may have begun up to this many milliseconds earlier: after the last read that showed
   * the previous status.
   */
  readonly within: number;
}

export interface RecordedLife {
  readonly recipient: string;
  readonly messageId: string;
  /** The body of the send, and its 202. */
  readonly fields: Fields;
  readonly first: Reply;
  /** Each body with a new status. */
  readonly bodies: Record<string, unknown>[];
  /** The status in the 202, then each change. */
  readonly sightings: Sighting[];
  /** The 404 of a read, after which it is not watched further. */
  lost?: Reply;
  /** True if it was late and the device meanwhile picked up other messages. */
  isPassedOver?: boolean;
}

/** A message to watch. */
export type Watched = Pick<RecordedLife, 'recipient' | 'messageId' | 'fields' | 'first'> & {
  readonly key: string;
};

/** "About 20 s": a quarter more, plus the time between reads. */
export const latestPickupMs = 26_000;
/** Longer than a poll interval. */
const pollMs = 22_000;
const mostOthers = 10;

/**
 * True if the device picks up other messages and leaves this one queued (`sendsPerPoll`), or if it
 * picks up this one when the harness polls for tasks, so that no other device does. Checked
 * once the message is late, without a control port; takes at most one poll.
 */
export async function isPassedOver(t: Trial, messageId: string, key: string): Promise<boolean> {
  const isQueued = async (id: string) => {
    const { json } = await t.get(paths.read(id), key);
    return verify.isObject(json) && json['status'] === 'queued';
  };
  await pollForTasks(t);
  if (!(await isQueued(messageId))) return true;
  const { accepted } = t.target.ledger;
  const areQueued = await flood(accepted.length, (i) => isQueued(accepted[i] ?? ''));
  const all = accepted.filter((id, i) => areQueued[i] && id !== messageId);
  const others = all.filter((_, i) => i % Math.ceil(all.length / mostOthers) === 0);
  const end = (await t.now()) + pollMs;
  while (others.length > 0 && (await t.now()) < end) {
    await t.pause(500, 'other messages of the device');
    const stillQueued = await flood(others.length, (i) => isQueued(others[i] ?? ''));
    const isOurs = await isQueued(messageId);
    if (!isOurs || stillQueued.includes(false)) return isOurs;
  }
  return false;
}

/** More requests than this come from a flood, which one more request would disturb. */
const mostPolls = 20;

/** Polls as the device of `--device-id`: if that gets its work as tasks, nothing else may poll. */
export async function pollForTasks(t: Trial): Promise<void> {
  const { sims, key } = await t.account();
  const { passed, throttled } = t.target.ledger.spent('tasks', await t.now());
  if (sims[0] === undefined || throttled > 0 || passed > mostPolls) return;
  await t.get(paths.tasks(sims[0].deviceId), key);
}

const readsPerPoll = 16;
const mostReads = 1_500;
/** Pauses between reads in real time: short at first, because some services poll every second. */
const readEveryMs = { first: 100, later: 500 };
const oftenForMs = 8_000;
const liveMs = 110_000;

/** The device's poll interval, as far as it is known. */
export function pollIntervalMs(t: Trial): number {
  const stated = t.assumption('pollIntervalSeconds');
  return (typeof stated === 'number' ? stated : 20) * 1000;
}

/** Queues a message and returns the data needed to watch it. */
export async function queuedToWatch(t: Trial, account: Subject, more: Fields): Promise<Watched> {
  const fields = t.fields(account, more);
  const { messageId, reply } = await t.queued(account, fields);
  return { key: account.key, recipient: String(fields['to']), messageId, fields, first: reply };
}

interface WatchPlan {
  readonly forMs: number;
  /** How long to watch after the last of them has ended. */
  readonly afterEndMs?: number;
  /** Queues one more message when the first one has left `queued`. */
  readonly successor?: () => Promise<Watched>;
}

/** Reads messages until the plan's time is over. */
export async function watch(
  t: Trial,
  messages: readonly Watched[],
  { forMs, afterEndMs = forMs, successor }: WatchPlan,
): Promise<RecordedLife[]> {
  let start = await t.now();
  const open = (message: Watched): RecordedLife & Watched & { start: number; readAt: number } => ({
    ...message,
    bodies: [verify.object(message.first)],
    sightings: [{ status: 'queued', at: 0, within: 0 }],
    start,
    readAt: start,
  });
  const lives = messages.map(open);
  let isAwaited = successor !== undefined;
  let now = start;
  let end = start + forMs;
  for (let round = 0; now < end && round < mostReads; round += 1) {
    now = await nextRead(t, start, now, end);
    for (const one of lives) {
      if (one.lost !== undefined) continue;
      const askedAt = t.controlled ? now : await t.now();
      const reply = await t.get(paths.read(one.messageId), one.key);
      const answeredAt = t.controlled ? now : await t.now();
      const within = answeredAt - one.readAt;
      one.readAt = askedAt;
      if (reply.status === 404) {
        one.lost = reply;
        continue;
      }
      const body = verify.given(() => verify.message(reply, 200));
      const status = String(body['status']);
      if (status === one.sightings.at(-1)?.status) {
        const isLate = status === 'queued' && askedAt - one.start > latestPickupMs;
        if (isLate && !t.controlled)
          one.isPassedOver ??= await isPassedOver(t, one.messageId, one.key);
        continue;
      }
      one.sightings.push({ status, at: answeredAt - one.start, within });
      one.bodies.push(body);
    }
    if (successor !== undefined && isAwaited && lives.some(hasChanged)) {
      isAwaited = false;
      const message = await successor();
      start = await t.now();
      lives.push(open(message));
    }
    if (!isAwaited && lives.every((life) => life.lost !== undefined || hasEnded(life)))
      end = Math.min(end, now + afterEndMs);
  }
  return lives.map(({ key: _, start: __, readAt: ___, ...life }) => life);
}

function hasChanged({ sightings }: RecordedLife): boolean {
  return sightings.length > 1;
}

export function hasEnded({ sightings }: RecordedLife): boolean {
  return ['delivered', 'failed'].includes(sightings.at(-1)?.status ?? '');
}

async function nextRead(t: Trial, start: number, now: number, end: number): Promise<number> {
  const step = Math.max(1, Math.floor(pollIntervalMs(t) / readsPerPoll));
  if (!t.controlled) {
    const isEarly = now - start < oftenForMs;
    await t.pause(isEarly ? readEveryMs.first : readEveryMs.later, 'the next status of a message');
    return t.now();
  }
  const due = await t.control.nextAt();
  let to = Math.min(now + step, end);
  if (due !== undefined && due > now && due < to) to = due;
  await t.control.advance(to - now);
  return to;
}

const recordings = new WeakMap<object, Promise<RecordedLife[]>>();

/** Records messages with every scripted fate, once for all cases that judge them. */
export function recordedLives(t: Trial): Promise<RecordedLife[]> {
  if (!t.controlled) return recorded(t, livesInRealTime);
  const recording = recordings.get(t.target) ?? record(t);
  recordings.set(t.target, recording);
  return recording;
}

async function record(t: Trial): Promise<RecordedLife[]> {
  const messages = [];
  const all = [recipients.delivered, recipients.delivered, ...fates.map(({ to }) => to)];
  // If only some recipients are allowed, messages to those are watched.
  const plan = t.target.allowTo === undefined ? all : [t.recipient, t.recipient];
  // Each message has its own SIM, so that none waits behind another (`sendsPerPoll`).
  for (const to of plan) messages.push(await queuedToWatch(t, await t.account(), { to }));
  return watch(t, messages, { forMs: 7 * pollIntervalMs(t) + 25_000 });
}

/**
 * Two messages of the account, recorded at the start and until more than a poll after their end.
 * The second is sent when the first is picked up, so that it waits for a whole poll interval.
 */
export const livesInRealTime: Recording<RecordedLife[]> = {
  name: 'lives of messages',
  needs: ['sender'],
  spends: { send: 2 },
  seconds: 90,
  waits: 30,
  record: async (t) => {
    const account = await t.account();
    const successor = () => queuedToWatch(t, account, { request_id: t.requestId() });
    const forMs = Math.min(liveMs, t.target.timeoutMs);
    return watch(t, [await successor()], {
      forMs,
      afterEndMs: 1.25 * pollIntervalMs(t),
      successor,
    });
  },
};
