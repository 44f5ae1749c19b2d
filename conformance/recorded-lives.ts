/**
 * Watches messages while time passes: every status that a read shows, with the time of the read.
 * Time goes from deadline to deadline where the simulator says when the next one is, and never further than a fraction
 * of the poll interval, so that no state between two reads is missed whatever makes it change.
 */
import { fates, recipients } from './target.ts';
import type { Trial } from './trial.ts';
import * as verify from './verify.ts';

export interface Sighting {
  readonly status: string;
  /** Milliseconds since the message was accepted. */
  readonly at: number;
}

export interface RecordedLife {
  readonly recipient: string;
  readonly messageId: string;
  /** Opens with the status of the 202; then each change. */
  readonly sightings: Sighting[];
}

const readsPerPoll = 16;
const mostReads = 1_500;

/** The device's poll interval as far as it is known. */
export function pollIntervalMs(t: Trial): number {
  const told = t.assumption('pollIntervalSeconds');
  return (typeof told === 'number' ? told : 20) * 1000;
}

/** Follows messages until `forMs` have passed; `onChange` may act on a change, at that very time. */
export async function watch(
  t: Trial,
  messages: readonly { key: string; recipient: string; messageId: string }[],
  forMs: number,
  onChange?: (life: RecordedLife, status: string) => Promise<void>,
): Promise<RecordedLife[]> {
  const start = await t.now();
  const lives = messages.map(({ recipient, messageId }) => ({
    recipient,
    messageId,
    sightings: [{ status: 'queued', at: 0 }],
  }));
  let now = start;
  for (let round = 0; now < start + forMs && round < mostReads; round += 1) {
    now = await nextRead(t, now, start + forMs);
    for (const [index, one] of lives.entries()) {
      const key = messages[index]?.key ?? '';
      const reply = await t.read({ key, from: '', sims: [] }, one.messageId);
      const status = String(verify.given(() => verify.message(reply, 200))['status']);
      if (status === one.sightings.at(-1)?.status) continue;
      one.sightings.push({ status, at: now - start });
      await onChange?.(one, status);
    }
  }
  return lives;
}

async function nextRead(t: Trial, now: number, end: number): Promise<number> {
  const step = Math.max(1, Math.floor(pollIntervalMs(t) / readsPerPoll));
  if (!t.controlled) {
    await t.advance(Math.min(500, step));
    return Date.now();
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
  const recording = recordings.get(t.target) ?? record(t);
  recordings.set(t.target, recording);
  return recording;
}

async function record(t: Trial): Promise<RecordedLife[]> {
  const messages = [];
  const all = [recipients.delivered, recipients.delivered, ...fates.map(({ to }) => to)];
  // Where only some recipients are allowed, messages to them are watched.
  const plan = t.target.allowTo === undefined ? all : [t.recipient, t.recipient];
  for (const recipient of plan) {
    // A SIM of its own for each, so that none waits behind another (`sendsPerPoll`).
    const account = await t.account();
    const { messageId } = await t.queued(account, { to: recipient });
    messages.push({ key: account.key, recipient, messageId });
  }
  return watch(t, messages, 7 * pollIntervalMs(t) + 25_000);
}

/** How a message's life went, for reports. */
export function describeLife(life: RecordedLife): string {
  return life.sightings
    .map(({ status, at }) => `${status} (+${(at / 1000).toFixed(1)} s)`)
    .join(', ');
}
