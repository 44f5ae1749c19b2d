/**
 * The work of a device: its messages that are not final, grouped by what they wait for.
 * Rules: SVC-3, STATE-2, SEND-7. Assumes: sendsPerPoll, progressPace.
 */
import { Batch, type Joinable } from './batch.ts';
import { MinHeap } from './clock.ts';
import type { Cohort } from './cohort.ts';
import type { Fate } from './outcomes.ts';
import { type PacedStep, PacedSteps } from './paced-steps.ts';
import type { Status } from './status.ts';

/** The fields of a message that determine where it waits. */
export interface WorkMessage<M> extends Joinable<M> {
  readonly sendAtMs: number;
}

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

/** The held messages at one instant. */
export interface HoldsImage<M extends WorkMessage<M>> {
  readonly alone: readonly M[];
  /** Groups of several messages with the same end. */
  readonly together: readonly (readonly [endMs: number, batch: Batch<M>])[];
}

/**
 * The messages that are held by `send_at`, grouped by the millisecond in which the hold ends. All
 * messages of a group are released at once.
 */
export class Holds<M extends WorkMessage<M>> {
  /** Every end that a map contains; may also hold ends that both maps have dropped. */
  readonly #ends = new MinHeap<number>((a, b) => a < b);
  /** The only message with this end. Removed when an operation moves the message on. */
  readonly #alone = new Map<number, M>();
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

  /** An operation has moved the message on. */
  left(message: M): void {
    const { sendAtMs, arrival } = message;
    if (this.#alone.get(sendAtMs)?.arrival === arrival) this.#alone.delete(sendAtMs);
  }

  /** When the next hold ends; undefined where none is left. */
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
    return [...this.#alone.values(), ...together].sort(isReleasedBefore);
  }

  /** Refers to the messages without copying them. */
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

function isReleasedBefore<M>(a: WorkMessage<M>, b: WorkMessage<M>): number {
  return a.sendAtMs - b.sendAtMs || a.arrival - b.arrival;
}
