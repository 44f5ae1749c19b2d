/**
 * The work of a device: its messages that are not final, in one queue for each thing that they wait
 * for (the end of a hold, pickup, the next poll, a time of their own). `src/actors/progress.ts`
 * moves them. Rules: SVC-3, STATE-2, SEND-7. Assumes: sendsPerPoll, progressPace.
 */

import type { Status } from '#contract/message-status.ts';
import { MinHeap } from '../clock.ts';
import { Batch, type Joinable } from '../store/batch.ts';
import type { Cohort } from '../store/cohort.ts';
import type { Fate } from './outcomes.ts';
import { type PacedStep, PacedSteps } from './paced-steps.ts';

/** The fields of a message that determine where it waits. */
export interface WorkMessage<M> extends Joinable<M> {
  readonly sendAtMs: number;
}

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
 * The queues of one device. An operation or a deactivation may move a message on without a look at
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
    for (const { cohorts } of this.ready) {
      for (const { status, size } of cohorts) if (status === 'queued') length += size;
    }
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
  forget(account: unknown): void {
    this.#closeBatch();
    for (const batch of [...this.ready, ...this.inFlight]) {
      batch.cohorts = batch.cohorts.filter((cohort) => cohort.account !== account);
    }
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

  /** The present work. Refers to batches without copying them. */
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
    for (const cohort of batch.cohorts) {
      if (isQueued(cohort)) cohort.duePoll = this.#pollCount + pollsOf(cohort);
    }
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

export function isQueued({ status }: Cohort): boolean {
  return status === 'queued';
}

/** True if it is picked up, not final, and not stuck in its status. */
export function isInFlight(cohort: Cohort): boolean {
  const { status } = cohort;
  return (status === 'sending' || status === 'sent') && !isStuckIn(cohort, status);
}

/** The number of polls that each of its steps takes, by its fate. */
export function pollsOf({ fate }: { readonly fate: Fate | undefined }): number {
  return fate?.polls ?? 1;
}

function everyMember<M extends Joinable<M>>(batch: Batch<M>): M[] {
  return batch.membersOf(batch.cohorts);
}

/** The held messages as a saved state stores them: see `Holds`. */
export interface HoldsImage<M extends WorkMessage<M>> {
  readonly alone: readonly M[];
  readonly together: readonly (readonly [endMs: number, batch: Batch<M>])[];
}

/**
 * The messages that `send_at` holds back, by the millisecond in which the hold ends. Messages with
 * the same end are released together. Each end is in one of the two maps.
 */
export class Holds<M extends WorkMessage<M>> {
  /** Every end of the maps, and perhaps ends whose messages have left. */
  readonly #ends = new MinHeap<number>((a, b) => a < b);
  /** By end: the only message with this end. */
  readonly #alone = new Map<number, M>();
  /** By end: two or more messages, of which some may have left. */
  readonly #together = new Map<number, Batch<M>>();

  add(message: M): void {
    const end = message.sendAtMs;
    const other = this.#alone.get(end);
    let together = this.#together.get(end);
    if (other === undefined && together === undefined) {
      this.#alone.set(end, message);
      this.#ends.push(end);
      return;
    }
    if (together === undefined) {
      together = new Batch();
      this.#together.set(end, together);
    }
    if (other !== undefined) {
      this.#alone.delete(end);
      together.join(other, other.cohort.duePoll);
    }
    together.join(message, message.cohort.duePoll);
  }

  /** Call this when an operation has moved the message on. A batch drops it at its release. */
  noteLeft(message: M): void {
    const { sendAtMs, arrival } = message;
    if (this.#alone.get(sendAtMs)?.arrival === arrival) this.#alone.delete(sendAtMs);
  }

  /** When the next hold ends; undefined if no message is held. Drops ends without messages. */
  get nextEndMs(): number | undefined {
    for (let end = this.#ends.peek(); end !== undefined; end = this.#ends.peek()) {
      if (this.#alone.has(end) || this.#together.get(end)?.cohorts.some(isQueued)) return end;
      this.#together.delete(end);
      this.#ends.pop();
    }
    return undefined;
  }

  /** Removes and returns messages held until `untilMs` or earlier, earliest end first. */
  take(untilMs: number): (M | Batch<M>)[] {
    const taken: (M | Batch<M>)[] = [];
    for (
      let end = this.#ends.peek();
      end !== undefined && end <= untilMs;
      end = this.#ends.peek()
    ) {
      this.#ends.pop();
      const released = this.#alone.get(end) ?? this.#together.get(end);
      if (released !== undefined) taken.push(released);
      this.#alone.delete(end);
      this.#together.delete(end);
    }
    return taken;
  }

  get size(): number {
    let { size } = this.#alone;
    for (const { cohorts } of this.#together.values()) {
      for (const cohort of cohorts) if (isQueued(cohort)) size += cohort.size;
    }
    return size;
  }

  /** In the order in which they are released. */
  get messages(): M[] {
    const together = [...this.#together.values()].flatMap((batch) =>
      batch.membersOf(batch.cohorts.filter(isQueued)),
    );
    return [...this.#alone.values(), ...together].sort(byRelease);
  }

  get image(): HoldsImage<M> {
    return { alone: [...this.#alone.values()], together: [...this.#together] };
  }

  restore({ alone, together }: HoldsImage<M>): void {
    for (const message of alone) this.add(message);
    for (const [end, batch] of together) {
      this.#together.set(end, batch);
      this.#ends.push(end);
    }
  }

  /** Drops the messages of an account that is deleted. */
  forget(account: unknown): void {
    for (const [end, message] of this.#alone) {
      if (message.cohort.account === account) this.#alone.delete(end);
    }
    for (const batch of this.#together.values()) {
      batch.cohorts = batch.cohorts.filter((cohort) => cohort.account !== account);
    }
  }
}

function byRelease<M>(a: WorkMessage<M>, b: WorkMessage<M>): number {
  return a.sendAtMs - b.sendAtMs || a.arrival - b.arrival;
}
