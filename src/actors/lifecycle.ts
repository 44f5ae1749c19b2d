/**
 * Moves a message or a cohort to its next status, as `message-machine.ts` allows. Updates the counts
 * by status and notifies the status reader. Rules: STATE-1 to STATE-5.
 */
import type { Batch } from '../sim/batch.ts';
import { alone, type Cohort, sizeOf } from '../sim/cohort.ts';
import { MessageCounts } from '../sim/counts.ts';
import { assert } from '../sim/errors.ts';
import type { Message } from '../sim/records.ts';
import type { MessageEvent, Status } from '../sim/status.ts';
import { messageSteps } from './message-machine.ts';

/** Receives status changes; set while a stream, a wait or a listener reads them. */
export interface StatusReader {
  accepted(message: Message): void;
  /** The message has just left the status `from`. */
  changed(message: Message, from: Status): void;
  /**
   * Of `count` messages that changed at once, how many the reader wants one by one, first ones
   * first.
   */
  wantedOf(count: number): number;
  /** `count` more messages changed at the same time and are not reported one by one. */
  changedUnread(count: number): void;
}

export class Lifecycle {
  readonly #now: () => number;
  /** Undefined while nothing reads status changes, so that they cost nothing. */
  reader: StatusReader | undefined;
  /** Replaced by counts that continue after a reset of the service. */
  counts = new MessageCounts();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** STATE-1: a message begins as `queued`. */
  accepted(message: Message): void {
    this.counts.accepted++;
    this.reader?.accepted(message);
  }

  /** Takes the machine's step for this event; false if it has none. */
  step(message: Message, event: MessageEvent, failureReason?: string): boolean {
    const from = message.status;
    const to = messageSteps[from][event];
    if (to === undefined) return false;
    this.#move(alone(message), to, failureReason);
    if (to === 'failed') message.account.quota.failed(message.createdAtMs, message.text);
    this.reader?.changed(message, from);
    return true;
  }

  /**
   * The same for a whole cohort, which waits in `batch`. Returns true if the step should be
   * announced.
   */
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
      for (const { account, createdAtMs, text } of batch.membersOf([cohort])) {
        account.quota.failed(createdAtMs, text);
      }
    }
    return true;
  }

  /** Reports the last step of these cohorts of a batch to the reader. */
  announce(batch: Batch<Message>, cohorts: readonly Cohort[]): void {
    const { reader } = this;
    if (reader === undefined) return;
    const count = sizeOf(cohorts);
    const singles = reader.wantedOf(count);
    for (const message of singles > 0 ? batch.membersOf(cohorts, singles) : []) {
      reader.changed(message, message.cohort.previousStatus);
    }
    if (count > singles) reader.changedUnread(count - singles);
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
