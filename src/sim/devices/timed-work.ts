/**
 * The messages of a device that wait for a time instead of a poll, by the millisecond of that time:
 * held ones for the end of their hold, and paced ones for their next step.
 * Rules: SEND-7. Assumes: progressPace (`own_delay`), taskPickup (`reported`).
 */
import type { Status } from '#contract/message-status.ts';
import { MinHeap } from '../min-heap.ts';
import { Batch, type Joinable } from '../store/batch.ts';
import type { Cohort } from '../store/cohort.ts';

/** The fields of a message that determine where it waits. */
export interface WorkMessage<M> extends Joinable<M> {
  readonly sendAtMs: number;
}

/** The held messages as a saved state stores them: see `Holds`. */
export interface HoldsImage<M extends WorkMessage<M>> {
  readonly alone: readonly M[];
  readonly together: readonly (readonly [endMs: number, batch: Batch<M>])[];
}

/**
 * The messages that `send_at` holds back, by the millisecond in which the hold ends. Messages with
 * the same end are released together. While an end has messages, it is in one of the two maps.
 */
export class Holds<M extends WorkMessage<M>> {
  /** Every end of the maps, and perhaps ends whose messages have left. */
  readonly #ends = new MinHeap<number>((a, b) => a < b);
  /** The only message with an end, by that end. */
  readonly #alone = new Map<number, M>();
  /** Two or more messages with the same end, by that end; some may have left. */
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

  /** Drops ends without messages. Returns the next end; undefined if no message is held. */
  trimToNextEnd(): number | undefined {
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
    for (const { cohorts } of this.#together.values())
      for (const cohort of cohorts) if (isQueued(cohort)) size += cohort.size;
    return size;
  }

  /** All held messages, in the order in which they are released. */
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

  forget(account: Cohort['account']): void {
    for (const [end, message] of this.#alone)
      if (message.cohort.account === account) this.#alone.delete(end);
    for (const batch of this.#together.values())
      batch.cohorts = batch.cohorts.filter((cohort) => cohort.account !== account);
  }
}

function byRelease<M>(a: WorkMessage<M>, b: WorkMessage<M>): number {
  return a.sendAtMs - b.sendAtMs || a.arrival - b.arrival;
}

export function isQueued({ status }: Cohort): boolean {
  return status === 'queued';
}

export interface PacedStep<M> {
  readonly message: M;
  /** The status before the step. */
  readonly from: Status;
  readonly dueAtMs: number;
}

/** The fields of a message that `PacedSteps` uses. */
interface PacedMessage {
  readonly cohort: { readonly account: unknown };
  /** Its place among all messages, in the order of acceptance. */
  readonly arrival: number;
}

/** The steps that messages take at times drawn for each of them. */
export class PacedSteps<M extends PacedMessage> {
  /** The keys of `#byTime`. */
  readonly #times = new MinHeap<number>((a, b) => a < b);
  readonly #byTime = new Map<number, PacedStep<M>[]>();

  push(step: PacedStep<M>): void {
    const steps = this.#byTime.get(step.dueAtMs);
    if (steps !== undefined) {
      steps.push(step);
      return;
    }
    this.#byTime.set(step.dueAtMs, [step]);
    this.#times.push(step.dueAtMs);
  }

  get nextDueAtMs(): number | undefined {
    return this.#times.peek();
  }

  /** Removes and returns the steps with the earliest time, if due, in order of acceptance. */
  takeDue(nowMs: number): readonly PacedStep<M>[] {
    const time = this.nextDueAtMs;
    if (time === undefined || time > nowMs) return [];
    this.#times.pop();
    const steps = this.#byTime.get(time) ?? [];
    this.#byTime.delete(time);
    return steps.sort(byArrival);
  }

  /** All steps, in the order in which they are taken. */
  get items(): readonly PacedStep<M>[] {
    const steps = [...this.#byTime.values()].flat();
    return steps.sort((a, b) => a.dueAtMs - b.dueAtMs || byArrival(a, b));
  }

  /** Drops the messages of an account that is deleted. */
  forget(account: unknown): void {
    // A forgotten message no longer has an account, but its cohort still does.
    const kept = this.items.filter(({ message }) => message.cohort.account !== account);
    this.clear();
    for (const step of kept) this.push(step);
  }

  clear(): void {
    this.#times.clear();
    this.#byTime.clear();
  }
}

function byArrival<M extends PacedMessage>(a: PacedStep<M>, b: PacedStep<M>): number {
  return a.message.arrival - b.message.arrival;
}
