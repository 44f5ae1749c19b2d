/**
 * The life of a message: every state and every step that exists, and how a message or a cohort takes
 * a step. Rules: STATE-1 to STATE-5.
 *
 *   queued ──picked_up──► sending ──progressed──► sent ──progressed──► delivered
 *      └───────failed────────┴────────failed───────┴──► failed
 *
 * It starts in `queued`, may fail from each state that is not final, and never leaves `delivered`
 * or `failed`. The machine defines which steps exist. `progress.ts` chooses the event and its time,
 * by the fate of the message (`src/sim/devices/outcomes.ts`), and `Lifecycle` takes the step.
 *
 * The machine has no guards, context or actions, so the answer to (state, event) never changes. It
 * is asked once for each pair, at start: then a step of a million messages costs one look-up.
 */
import { getNextSnapshot, setup } from 'xstate';
import {
  type MessageEvent,
  messageEvents,
  type Status,
  statuses,
} from '#contract/message-status.ts';
import type { Message } from '../sim/accounts/account.ts';
import { MessageCounts } from '../sim/counts.ts';
import { assert } from '../sim/errors.ts';
import type { Batch } from '../sim/store/batch.ts';
import { type Cohort, moveOut, sizeOf } from '../sim/store/cohort.ts';

export const messageMachine = setup({
  types: { events: {} as { type: MessageEvent } },
}).createMachine({
  id: 'message',
  initial: 'queued',
  states: {
    queued: { on: { picked_up: 'sending', failed: 'failed' } },
    sending: { on: { progressed: 'sent', failed: 'failed' } },
    sent: { on: { progressed: 'delivered', failed: 'failed' } },
    delivered: { type: 'final' },
    failed: { type: 'final' },
  },
});

type Steps = Readonly<Record<Status, Readonly<Record<MessageEvent, Status | undefined>>>>;

/** The next state for each state and event; undefined if the machine has no such step. */
export const messageSteps = Object.fromEntries(
  statuses.map((status) => [
    status,
    Object.fromEntries(messageEvents.map((event) => [event, askMachine(status, event)])),
  ]),
) as unknown as Steps;

/** The machine's answer for this state and event. */
function askMachine(status: Status, event: MessageEvent): Status | undefined {
  const before = messageMachine.resolveState({ value: status });
  const after = getNextSnapshot(messageMachine, before, { type: event });
  return after.value === status ? undefined : after.value;
}

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
  /** `src/simulator.ts` replaces it with counts that outlive a reset of the service. */
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
    for (const message of singles > 0 ? batch.membersOf(cohorts, singles) : [])
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
