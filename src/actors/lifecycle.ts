/**
 * Steps messages by their machine, alone or with all that move with them, keeps the counts of their
 * account, and tells those who listen. Rules: STATE-1 to STATE-5.
 */
import type { Batch } from '../sim/batch.ts';
import { alone, type Cohort } from '../sim/cohort.ts';
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
    this.#move(alone(message), to, failureReason);
    if (to === 'failed') message.account.quota.failed(message);
    this.onStatus?.(message, from);
    return true;
  }

  /** The same for a whole cohort, which waits in `batch`. Returns whether to announce it. */
  stepTogether(
    batch: Batch<Message>,
    cohort: Cohort,
    event: MessageEvent,
    failureReason?: string,
  ): boolean {
    const to = messageSteps[cohort.status][event];
    if (to === undefined) return false;
    this.#move(cohort, to, failureReason);
    if (to === 'failed') {
      for (const message of batch.membersOf([cohort])) message.account.quota.failed(message);
    }
    return true;
  }

  /** Whether anybody wants to know of single messages. */
  get isHeard(): boolean {
    return this.onStatus !== undefined;
  }

  /** Tells of the last step of these messages. */
  announce(messages: Iterable<Message>): void {
    for (const message of messages) this.onStatus?.(message, message.cohort.previousStatus);
  }

  #move(cohort: Cohort, to: Status, failureReason: string | undefined): void {
    const nowMs = this.#now();
    assert(nowMs >= cohort.changedAtMs, 'history never goes back in time');
    const { counts } = cohort.account;
    counts[cohort.status] -= cohort.size;
    this.counts.reached(to, nowMs, cohort.created ?? []);
    cohort.become(to, nowMs, failureReason);
    counts[to] += cohort.size;
  }
}
