/**
 * The work of a device: its messages that are not final, in one queue for each thing that they wait
 * for (the end of a hold, pickup, the next poll, the time of a step). `src/actors/progress.ts`
 * moves them. Rules: SVC-3, STATE-2, SEND-7.
 */
import type { Status } from '#contract/message-status.ts';
import { Batch, type Joinable } from '../store/batch.ts';
import type { Cohort } from '../store/cohort.ts';
import type { Fate } from './outcomes.ts';
import {
  Holds,
  type HoldsImage,
  isQueued,
  type PacedStep,
  PacedSteps,
  type WorkMessage,
} from './timed-work.ts';

/** The messages of a device's work, one by one; the fields are those of `DeviceWork`. */
export interface WorkQueues<M> {
  readonly pollCount: number;
  readonly held: readonly M[];
  readonly ready: readonly M[];
  readonly inFlight: readonly M[];
  readonly paced: readonly PacedStep<M>[];
}

/** The work in batches, as a saved state stores it. */
export interface WorkImage<M extends WorkMessage<M>> {
  readonly pollCount: number;
  readonly held: HoldsImage<M>;
  readonly ready: readonly Batch<M>[];
  readonly inFlight: readonly Batch<M>[];
  readonly paced: readonly PacedStep<M>[];
}

/**
 * The queues of one device. An operation or a deactivation may move a message on and leave it in
 * its queue, so a reader of a queue checks the status and drops messages that have moved on.
 */
export class DeviceWork<M extends WorkMessage<M>> {
  #pollCount = 0;
  readonly held = new Holds<M>();
  /** Queued messages that wait for pickup, in the order in which they began to wait. */
  ready: Batch<M>[] = [];
  /** Messages that are picked up and not final, in order of pickup; the next polls move them on. */
  inFlight: Batch<M>[] = [];
  /** Messages that are picked up and not final; each moves on at its own pace. */
  readonly paced = new PacedSteps<M>();
  /** The newest batch of `ready`, which messages join until the next poll. */
  #openBatch: Batch<M> | undefined;

  /** The number of polls so far. */
  get pollCount(): number {
    return this.#pollCount;
  }

  countPoll(): void {
    this.#pollCount++;
    this.#closeBatch();
  }

  /** Adds a message that was just accepted. One whose fate keeps it `queued` joins no queue. */
  add(message: M, nowMs: number): void {
    if (isStuckIn(message, 'queued')) return;
    if (message.sendAtMs > nowMs) this.held.add(message);
    else {
      this.releaseHeld(nowMs);
      this.makeReady(message);
    }
  }

  /** The number of messages that wait for pickup, held ones included. */
  get queueLength(): number {
    let length = this.held.size;
    for (const { cohorts } of this.ready)
      for (const { status, size } of cohorts) if (status === 'queued') length += size;
    return length;
  }

  /** Moves every message whose hold is over to the end of `ready`. */
  releaseHeld(nowMs: number): void {
    for (const released of this.held.take(nowMs)) {
      if (released instanceof Batch) this.#makeBatchReady(released);
      else this.makeReady(released);
    }
  }

  /** Drops the messages of an account that is deleted. */
  forget(account: Cohort['account']): void {
    this.#closeBatch();
    for (const batch of [...this.ready, ...this.inFlight])
      batch.cohorts = batch.cohorts.filter((cohort) => cohort.account !== account);
    this.ready = this.ready.filter(({ cohorts }) => cohorts.length > 0);
    this.inFlight = this.inFlight.filter(({ cohorts }) => cohorts.length > 0);
    this.held.forget(account);
    this.paced.forget(account);
  }

  /** Every message, by queue. */
  queues(): WorkQueues<M> {
    return {
      pollCount: this.pollCount,
      held: this.held.messages,
      ready: this.ready.flatMap(everyMember),
      inFlight: this.inFlight.flatMap(everyMember),
      paced: this.paced.items,
    };
  }

  /** The work as it is now. Shares its batches with this object. */
  get image(): WorkImage<M> {
    const { pollCount, ready, inFlight } = this;
    const held = this.held.image;
    return { pollCount, held, ready: [...ready], inFlight: [...inFlight], paced: this.paced.items };
  }

  restore({ pollCount, held, ready, inFlight, paced }: WorkImage<M>): void {
    this.#pollCount = pollCount;
    this.ready = [...ready];
    this.inFlight = [...inFlight];
    this.held.restore(held);
    for (const step of paced) this.paced.push(step);
  }

  /** Adds a queued message to the end of `ready`. */
  makeReady(message: M, duePoll = this.#pollCount + pollsOf(message)): void {
    if (this.#openBatch === undefined) {
      this.#openBatch = new Batch();
      this.ready.push(this.#openBatch);
    }
    this.#openBatch.join(message, duePoll);
  }

  /** Removes all messages that wait for pickup, held ones included, and returns them. */
  takeQueued(): Batch<M>[] {
    this.#closeBatch();
    for (const held of this.held.take(Number.POSITIVE_INFINITY)) {
      if (held instanceof Batch) this.ready.push(held);
      else this.makeReady(held, held.cohort.duePoll);
    }
    this.#closeBatch();
    const queued = this.ready.filter((batch) => batch.keep(isQueued));
    this.ready = [];
    return queued;
  }

  #makeBatchReady(batch: Batch<M>): void {
    this.#closeBatch();
    for (const cohort of batch.cohorts)
      if (isQueued(cohort)) cohort.duePoll = this.#pollCount + pollsOf(cohort);
    batch.close();
    if (batch.keep(isQueued)) this.ready.push(batch);
  }

  #closeBatch(): void {
    this.#openBatch?.close();
    this.#openBatch = undefined;
  }
}

/** True if the fate keeps the message in `status` for ever. */
export function isStuckIn({ fate }: { readonly fate: Fate | undefined }, status: Status): boolean {
  return fate !== undefined && fate.ends === 'stuck' && fate.in === status;
}

/** True if it is picked up, not final, and not stuck in its status. */
export function isInFlight(moving: Pick<Cohort, 'status' | 'fate'>): boolean {
  const { status } = moving;
  return (status === 'sending' || status === 'sent') && !isStuckIn(moving, status);
}

/** The number of polls that each of its steps takes, by its fate. */
export function pollsOf({ fate }: { readonly fate: Fate | undefined }): number {
  return fate?.polls ?? 1;
}

function everyMember<M extends Joinable<M>>(batch: Batch<M>): M[] {
  return batch.membersOf(batch.cohorts);
}
