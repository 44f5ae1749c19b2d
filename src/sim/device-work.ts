/**
 * The work of a device: its messages that are not final, grouped by what they wait for.
 * Rules: SVC-3, STATE-2, SEND-7. Assumes: sendsPerPoll, progressPace.
 */
import { Batch, type Joinable } from './batch.ts';
import type { Cohort } from './cohort.ts';
import { type HeldMember, Holds, type HoldsImage } from './holds.ts';
import type { Fate } from './outcomes.ts';
import { type PacedStep, PacedSteps } from './paced-steps.ts';
import type { Status } from './status.ts';

/** The fields of a message that determine where it waits. */
export type WorkMessage<M> = HeldMember<M>;

/** The messages of a device's work, one by one. */
export interface WorkRows<M> {
  readonly pollCount: number;
  readonly held: readonly M[];
  readonly ready: readonly M[];
  readonly inFlight: readonly M[];
  readonly paced: readonly PacedStep<M>[];
}

/** The work as a saved state has it, in batches. */
export interface WorkImage<M extends WorkMessage<M>> {
  readonly pollCount: number;
  readonly held: HoldsImage<M>;
  readonly ready: readonly Batch<M>[];
  readonly inFlight: readonly Batch<M>[];
  readonly paced: readonly PacedStep<M>[];
}

/**
 * A device's messages that are not final, grouped by what they wait for. A message may also move on
 * by an operation or a deactivation, so readers of rows check the status and drop messages that
 * have moved on.
 */
export class DeviceWork<M extends WorkMessage<M>> {
  #pollCount = 0;
  readonly held = new Holds<M>();
  /** Messages that are queued and not held, in the order in which they became so. */
  ready: Batch<M>[] = [];
  /** Messages that are picked up and not final, in order of pickup; polls move them on. */
  inFlight: Batch<M>[] = [];
  /** Messages that are picked up and not final; each moves on at its own pace. */
  readonly paced = new PacedSteps<M>();
  /** The newest batch of `ready`, if no poll came since it was created. */
  #open: Batch<M> | undefined;

  /** Polls so far. */
  get pollCount(): number {
    return this.#pollCount;
  }

  countPoll(): void {
    this.#pollCount++;
    this.#close();
  }

  /**
   * Adds a message that was just accepted. One that stays `queued` for ever is not added to any
   * row.
   */
  add(message: M, nowMs: number): void {
    if (isStuckIn(message, 'queued')) return;
    if (message.sendAtMs > nowMs) this.held.add(message);
    else {
      this.releaseHeld(nowMs);
      this.makeReady(message);
    }
  }

  /** Messages that wait for pickup, without those that left in another way. */
  get queueLength(): number {
    let length = this.held.size;
    for (const { cohorts } of this.ready) {
      for (const { status, size } of cohorts) if (status === 'queued') length += size;
    }
    return length;
  }

  /** Moves every message whose hold is over to the end of the ready messages. */
  releaseHeld(nowMs: number): void {
    for (const released of this.held.take(nowMs)) {
      if (released instanceof Batch) this.#release(released);
      else this.makeReady(released);
    }
  }

  /** Drops the messages of an account that is deleted. */
  forget(account: unknown): void {
    this.#close();
    const isOther = (cohort: Cohort) => cohort.account !== account;
    for (const batch of [...this.ready, ...this.inFlight]) {
      batch.cohorts = batch.cohorts.filter(isOther);
    }
    this.ready = this.ready.filter(({ cohorts }) => cohorts.length > 0);
    this.inFlight = this.inFlight.filter(({ cohorts }) => cohorts.length > 0);
    this.held.forget(account);
    this.paced.forget(account);
  }

  /** Every message, in its row. */
  rows(): WorkRows<M> {
    return {
      pollCount: this.pollCount,
      held: this.held.messages,
      ready: this.ready.flatMap(everyMember),
      inFlight: this.inFlight.flatMap(everyMember),
      paced: this.paced.items,
    };
  }

  /** The work at this instant. Refers to batches without copying them. */
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

  /** Puts a queued message at the end of the messages that wait for pickup. */
  makeReady(message: M, duePoll = this.#pollCount + pollsOf(message)): void {
    if (this.#open === undefined) {
      this.#open = new Batch();
      this.ready.push(this.#open);
    }
    this.#open.join(message, duePoll);
  }

  /** Removes all queued messages, held ones included, and returns them. */
  takeQueued(): Batch<M>[] {
    this.#close();
    for (const held of this.held.take(Number.POSITIVE_INFINITY)) {
      if (held instanceof Batch) this.ready.push(held);
      else this.makeReady(held, held.cohort.duePoll);
    }
    this.#close();
    const queued = this.ready.filter((batch) => batch.keep(isQueued));
    this.ready = [];
    return queued;
  }

  #release(batch: Batch<M>): void {
    this.#close();
    for (const cohort of batch.cohorts) {
      if (isQueued(cohort)) cohort.duePoll = this.#pollCount + pollsOf(cohort);
    }
    batch.close();
    if (batch.keep(isQueued)) this.ready.push(batch);
  }

  #close(): void {
    this.#open?.close();
    this.#open = undefined;
  }
}

/** True if the fate keeps the message in `status` for ever. */
export function isStuckIn({ fate }: { readonly fate: Fate | undefined }, status: Status): boolean {
  return fate !== undefined && fate.ends === 'stuck' && fate.in === status;
}

export function isQueued({ status }: Cohort): boolean {
  return status === 'queued';
}

/** Picked up, not final, and not stuck in its status. */
export function isInFlight(cohort: Cohort): boolean {
  const { status } = cohort;
  return (status === 'sending' || status === 'sent') && !isStuckIn(cohort, status);
}

/** The number of polls that each of its steps takes. */
export function pollsOf({ fate }: { readonly fate: Fate | undefined }): number {
  return fate?.polls ?? 1;
}

interface Arrived {
  readonly arrival: number;
}

/** Whether `a` was accepted before `b`. */
export function isEarlier(a: Arrived, b: Arrived): boolean {
  return a.arrival < b.arrival;
}

function everyMember<M extends Joinable<M>>(batch: Batch<M>): M[] {
  return batch.membersOf(batch.cohorts);
}
