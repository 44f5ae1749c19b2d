/**
 * Steps a message by its machine, keeps its account's counts, and tells those who listen. Rules:
 * STATE-1 to STATE-5.
 */
import { assert } from '../sim/errors.ts';
import { MessageCounts } from '../sim/message-counts.ts';
import type { Message } from '../sim/records.ts';
import type { Status } from '../sim/status.ts';
import { type MessageEvent, messageSteps } from './message-machine.ts';

/** Called after each change of status. */
export type StatusListener = (message: Message, from: Status) => void;

export class Lifecycle {
  readonly #now: () => number;
  /** Set while an event stream is open; undefined costs nothing. */
  onStatus: StatusListener | undefined;
  /** Called after each acceptance of a message; set and unset like `onStatus`. */
  onAccepted: ((message: Message) => void) | undefined;

  /** Counts that outlive this life of the service replace these. */
  counts = new MessageCounts();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** STATE-1: a message begins as `queued`. */
  accepted(message: Message): void {
    this.counts.accepted++;
    this.onAccepted?.(message);
  }

  /** Takes the step that the machine has for this event; false where it has none. */
  step(message: Message, event: MessageEvent, failureReason?: string): boolean {
    const from = message.status;
    const to = messageSteps[from][event];
    if (to === undefined) return false;
    const nowMs = this.#now();
    assert(nowMs >= message.changedAtMs, 'history never goes back in time');
    message.become(to, nowMs, failureReason);
    const { counts } = message.account;
    counts[from]--;
    counts[to]++;
    if (to === 'failed') message.account.quota.failed(message);
    this.counts.reached(to, nowMs - message.createdAtMs);
    this.onStatus?.(message, from);
    return true;
  }
}
