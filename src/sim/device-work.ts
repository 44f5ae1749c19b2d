/**
 * The work of a device: its messages that are not final, by what they wait for.
 * Rules: SVC-3, STATE-2, SEND-7. Assumes: sendsPerPoll, progressPace.
 */
import { Batch, type Joinable } from './batch.ts';
import type { Cohort } from './cohort.ts';
import { type HeldMember, Holds, type HoldsImage } from './holds.ts';
import type { Fate } from './outcomes.ts';
import { type PacedStep, PacedSteps } from './paced-steps.ts';
import type { Status } from './status.ts';

/** The fields of a message that decide about its place. */
export type WorkMessage<M> = HeldMember<M>;

/** The rows of a device's work, as a snapshot holds them. */
export interface WorkRows<M> {
  readonly pollCount: number;
  readonly held: readonly M[];
  readonly ready: readonly M[];
  readonly inFlight: readonly M[];
  readonly paced: readonly PacedStep<M>[];
}

/** The same for a checkpoint, which keeps the batches. */
export interface WorkImage<M extends WorkMessage<M>> {
  readonly pollCount: number;
  readonly held: HoldsImage<M>;
  readonly ready: readonly Batch<M>[];
  readonly inFlight: readonly Batch<M>[];
  readonly paced: readonly PacedStep<M>[];
}

/** A device's messages that are not final, by what they wait for. A message may move on by another way
 * (an operation, a deactivation), so a reader of rows checks the status and drops what has moved on. */
export class DeviceWork<M extends WorkMessage<M>> {
  #pollCount = 0;
  readonly held = new Holds<M>();
  /** Queued and not held, in the order in which they became so. */
  ready: Batch<M>[] = [];
  /** Picked up and not final, in order of pickup; progresses by polls. */
  inFlight: Batch<M>[] = [];
  /** Picked up and not final; progresses at its own pace. */
  readonly paced = new PacedSteps<M>();
  /** The last of `ready`, while no poll has come since it was made. */
  #open: Batch<M> | undefined;

  /** Polls so far. */
  get pollCount(): number {
    return this.#pollCount;
  }

  countPoll(): void {
    this.#pollCount++;
    this.#close();
  }

  /** Takes in a message just accepted; one that stays `queued` for ever waits for nothing. */
  add(message: M, nowMs: number): void {
    if (isStuckIn(message, 'queued')) return;
    if (message.sendAtMs > nowMs) this.held.add(message);
    else {
      this.releaseHeld(nowMs);
      this.makeReady(message);
    }
  }

  /** Messages that wait for pickup; rows that have left by another way are not counted. */
  get queueLength(): number {
    let length = this.held.size;
    for (const { cohorts } of this.ready) {
      for (const { status, size } of cohorts) if (status === 'queued') length += size;
    }
    return length;
  }

  /** Moves every message whose hold is over behind those that wait already. */
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

  /** Every message in its row. */
  rows(): WorkRows<M> {
    return {
      pollCount: this.pollCount,
      held: this.held.messages,
      ready: this.ready.flatMap(everyMember),
      inFlight: this.inFlight.flatMap(everyMember),
      paced: this.paced.items,
    };
  }

  restore(rows: WorkRows<M>): void {
    this.#pollCount = rows.pollCount;
    // These are in two rows until the next poll, so they move with no other.
    const moved = rows.ready.filter(({ cohort }) => !isQueued(cohort));
    const stale = new Set(moved.map(({ arrival }) => arrival));
    this.ready = restored(rows.ready, isQueued, stale);
    this.inFlight = restored(rows.inFlight, isInFlight, stale);
    this.held.restore(rows.held);
    for (const step of rows.paced) this.paced.push(step);
  }

  /** Everything as it was. */
  restoreImage({ pollCount, held, ready, inFlight, paced }: WorkImage<M>): void {
    this.#pollCount = pollCount;
    this.ready = [...ready];
    this.inFlight = [...inFlight];
    this.held.restoreImage(held);
    for (const step of paced) this.paced.push(step);
  }

  /** A queued message waits for pickup from now on, behind the others. */
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

/** Whether its fate keeps the message in `status` for ever. */
export function isStuckIn({ fate }: { readonly fate: Fate | undefined }, status: Status): boolean {
  return fate !== undefined && fate.ends === 'stuck' && fate.in === status;
}

export function isQueued({ status }: Cohort): boolean {
  return status === 'queued';
}

/** Picked up, not final, and not stuck where it is. */
export function isInFlight(cohort: Cohort): boolean {
  const { status } = cohort;
  return (status === 'sending' || status === 'sent') && !isStuckIn(cohort, status);
}

/** The polls that each of its steps takes. */
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

function restored<M extends Joinable<M>>(
  messages: readonly M[],
  isWaiting: (cohort: Cohort) => boolean,
  /** Arrival numbers of those that move with no other. */
  single: ReadonlySet<number>,
): Batch<M>[] {
  if (messages.length === 0) return [];
  const batch = new Batch<M>();
  for (const message of messages) {
    if (!isWaiting(message.cohort)) batch.joinStale(message);
    else if (single.has(message.arrival)) batch.joinAlone(message);
    else batch.join(message, message.cohort.duePoll);
  }
  batch.close();
  return [batch];
}
