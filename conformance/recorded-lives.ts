/**
 * Watches messages while time passes: every status that a read shows, with the time of the read.
 * Time goes from deadline to deadline where the simulator says when the next one is, and never
 * further than a fraction of the poll interval, so that no state between two reads is missed
 * whatever makes it change.
 */
import type { Reply } from './client.ts';
import { type Recording, recorded } from './recording.ts';
import { fates, recipients } from './target.ts';
import type { Fields, Subject, Trial } from './trial.ts';
import * as verify from './verify.ts';

export interface Sighting {
  readonly status: string;
  /** Milliseconds since the message was accepted. */
  readonly at: number;
  /**
   * Milliseconds in which it may have begun: since before the last read that showed the state
   * before it.
   */
  readonly within: number;
}

export interface RecordedLife {
  readonly recipient: string;
  readonly messageId: string;
  /** What was sent, and its 202. */
  readonly fields: Fields;
  readonly first: Reply;
  /** Each body that a read showed with another status than before. */
  readonly bodies: Record<string, unknown>[];
  /** Opens with the status of the 202; then each change. */
  readonly sightings: Sighting[];
}

/** A message to watch. */
export type Watched = Pick<RecordedLife, 'recipient' | 'messageId' | 'fields' | 'first'> & {
  readonly key: string;
};

const readsPerPoll = 16;
const mostReads = 1_500;
/** Between two reads in real time: often at first, as some services poll every second. */
const readEveryMs = { first: 100, later: 500 };
const oftenForMs = 8_000;
const liveMs = 110_000;

/** The device's poll interval as far as it is known. */
export function pollIntervalMs(t: Trial): number {
  const told = t.assumption('pollIntervalSeconds');
  return (typeof told === 'number' ? told : 20) * 1000;
}

/** Queues a message and says what is needed to watch it. */
export async function queuedToWatch(t: Trial, account: Subject, more: Fields): Promise<Watched> {
  const fields = t.fields(account, more);
  const { messageId, reply } = await t.queued(account, fields);
  return { key: account.key, recipient: String(fields['to']), messageId, fields, first: reply };
}

/**
 * Follows messages until `forMs` have passed, or for `afterEndMs` after the last of them has ended.
 */
export async function watch(
  t: Trial,
  messages: readonly Watched[],
  forMs: number,
  afterEndMs = forMs,
): Promise<RecordedLife[]> {
  const start = await t.now();
  const lives = messages.map(({ key: _, ...message }) => ({
    ...message,
    bodies: [verify.object(message.first)],
    sightings: [{ status: 'queued', at: 0, within: 0 }],
    readAt: start,
  }));
  let now = start;
  let end = start + forMs;
  for (let round = 0; now < end && round < mostReads; round += 1) {
    now = await nextRead(t, start, now, end);
    for (const [index, one] of lives.entries()) {
      const key = messages[index]?.key ?? '';
      const askedAt = t.controlled ? now : await t.now();
      const reply = await t.read({ key, from: '', sims: [] }, one.messageId);
      const answeredAt = t.controlled ? now : await t.now();
      const within = answeredAt - one.readAt;
      one.readAt = askedAt;
      const body = verify.given(() => verify.message(reply, 200));
      const status = String(body['status']);
      if (status === one.sightings.at(-1)?.status) continue;
      one.sightings.push({ status, at: answeredAt - start, within });
      one.bodies.push(body);
      if (lives.every(hasEnded)) end = Math.min(end, now + afterEndMs);
    }
  }
  return lives;
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

/** Lives of messages with every scripted fate, recorded once for all cases that judge them. */
export function recordedLives(t: Trial): Promise<RecordedLife[]> {
  if (!t.controlled) return recorded(t, livesInRealTime);
  const recording = recordings.get(t.target) ?? record(t);
  recordings.set(t.target, recording);
  return recording;
}

async function record(t: Trial): Promise<RecordedLife[]> {
  const messages = [];
  const all = [recipients.delivered, recipients.delivered, ...fates.map(({ to }) => to)];
  // Where only some recipients are allowed, messages to them are watched.
  const plan = t.target.allowTo === undefined ? all : [t.recipient, t.recipient];
  // A SIM of its own for each, so that none waits behind another (`sendsPerPoll`).
  for (const to of plan) messages.push(await queuedToWatch(t, await t.account(), { to }));
  return watch(t, messages, 7 * pollIntervalMs(t) + 25_000);
}

/** Two messages of the account, first of all, and for longer than a poll after their end. */
export const livesInRealTime: Recording<RecordedLife[]> = {
  name: 'lives of messages',
  needs: ['sender'],
  spends: { send: 2 },
  seconds: 90,
  waits: 30,
  record: async (t) => {
    const account = await t.account();
    const messages = [];
    for (let i = 0; i < 2; i += 1)
      messages.push(await queuedToWatch(t, account, { request_id: t.requestId() }));
    return watch(t, messages, Math.min(liveMs, t.target.timeoutMs), 1.25 * pollIntervalMs(t));
  },
};

/** How a message's life went, for reports. */
export function describeLife(life: RecordedLife): string {
  return life.sightings
    .map(({ status, at }) => `${status} (+${(at / 1000).toFixed(1)} s)`)
    .join(', ');
}
