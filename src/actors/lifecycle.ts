/**
 * Steps messages by their machine, alone or with all that move with them, keeps the counts of their
 * account, and tells those who listen. Rules: STATE-1 to STATE-5.
 */
import type { Batch } from '../sim/batch.ts';
import { alone, type Cohort, sizeOf } from '../sim/cohort.ts';
import { assert } from '../sim/errors.ts';
import { MessageCounts } from '../sim/message-counts.ts';
import type { Message } from '../sim/records.ts';
import type { MessageEvent, Status } from '../sim/status.ts';
import { messageSteps } from './message-machine.ts';

/** Set while an event stream is open. */
export interface StatusReader {
  accepted(message: Message): void;
  /** The message has just left the status `from`. */
  changed(message: Message, from: Status): void;
  /** Of so many messages that changed at once, how many it wants one by one: the first ones. */
  wantedOf(count: number): number;
  /** So many others changed at the same time. */
  changedUnread(count: number): void;
}

export class Lifecycle {
  readonly #now: () => number;
  /** Undefined costs nothing. */
  reader: StatusReader | undefined;
  /** Counts that outlive this life of the service replace these. */
  counts = new MessageCounts();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** STATE-1: a message begins as `queued`. */
  accepted(message: Message): void {
    this.counts.accepted++;
    this.reader?.accepted(message);
  }

  /** Takes the step that the machine has for this event; false where it has none. */
  step(message: Message, event: MessageEvent, failureReason?: string): boolean {
    const from = message.status;
    const to = messageSteps[from][event];
    if (to === undefined) return false;
    this.#move(alone(message), to, failureReason);
    if (to === 'failed') message.account.quota.failed(message.createdAtMs, message.text);
    this.reader?.changed(message, from);
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
