/**
 * Moves a message or a cohort to its next status, as `message-machine.ts` allows. Updates the
 * counts by status and notifies the status reader. Rules: STATE-1 to STATE-5.
 */
import type { MessageEvent, Status } from '#contract/message-status.ts';
import type { Message } from '../sim/accounts/account.ts';
import { MessageCounts } from '../sim/counts.ts';
import { assert } from '../sim/errors.ts';
import type { Batch } from '../sim/store/batch.ts';
import { type Cohort, moveOut, sizeOf } from '../sim/store/cohort.ts';
import { messageSteps } from './message-machine.ts';

/** Receives status changes for a stream, a wait or a listener. */
export interface StatusReader {
  accepted(message: Message): void;
  /** The message has just left the status `from`. */
  changed(message: Message, from: Status): void;
  /** How many of `count` messages that changed together the reader wants one by one. */
  wantedOf(count: number): number;
  /** `count` more messages changed at the same time and are not reported one by one. */
  changedUnread(count: number): void;
}

export class Lifecycle {
  readonly #now: () => number;
  /** Undefined while nothing reads status changes, so that they cost nothing. */
  reader: StatusReader | undefined;
  /** Replaced by counts that outlive a reset of the service. */
  counts = new MessageCounts();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Call this for each new message. STATE-1: it begins as `queued`. */
  accepted(message: Message): void {
    this.counts.accepted++;
    this.reader?.accepted(message);
  }

  /** Takes the machine's step for this event; false if it has none. */
  step(message: Message, event: MessageEvent, failureReason?: string): boolean {
    const from = message.status;
    const to = messageSteps[from][event];
    if (to === undefined) return false;
    this.#move(moveOut(message), to, failureReason);
    if (to === 'failed') message.account.quota.countFailed(message.createdAtMs, message.text);
    this.reader?.changed(message, from);
    return true;
  }

  /**
   * Takes the machine's step for a whole cohort, which waits in `batch`; false if it has none. The
   * caller then calls `announce` once for all cohorts that have stepped.
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
      for (const { account, createdAtMs, text } of batch.membersOf([cohort]))
        account.quota.countFailed(createdAtMs, text);
    }
    return true;
  }

  /**
   * Reports the last step of these cohorts: the first messages one by one, the others as a count.
   */
  announce(batch: Batch<Message>, cohorts: readonly Cohort[]): void {
    const { reader } = this;
    if (reader === undefined) return;
    const count = sizeOf(cohorts);
    const singles = reader.wantedOf(count);
    // The cohorts alone still know the status before the step.
    if (singles > 0)
      for (const message of batch.membersOf(cohorts, singles))
        reader.changed(message, message.cohort.previousStatus);
    if (count > singles) reader.changedUnread(count - singles);
  }

  #move(cohort: Cohort, to: Status, failureReason: string | undefined): void {
    const nowMs = this.#now();
    assert(nowMs >= cohort.changedAtMs, 'history never goes back in time');
    const { counts } = cohort.account;
    counts[cohort.status] -= cohort.size;
    this.counts.reached(to, nowMs, cohort.createdPairs ?? []);
    cohort.become(to, nowMs, failureReason);
    counts[to] += cohort.size;
  }
}
