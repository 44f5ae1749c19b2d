/**
 * The messages of a device that are held by `send_at`, grouped by the millisecond in which the hold
 * ends. All messages of a group are released at once. Rules: SEND-7.
 */
import { Batch, type Joinable } from './batch.ts';
import { MinHeap } from './clock.ts';
import type { Cohort } from './cohort.ts';

export interface HeldMember<M> extends Joinable<M> {
  readonly sendAtMs: number;
}

/** The held messages at one instant. */
export interface HoldsImage<M extends HeldMember<M>> {
  readonly alone: readonly M[];
  /** Groups of several messages with the same end. */
  readonly together: readonly (readonly [endMs: number, batch: Batch<M>])[];
}

export class Holds<M extends HeldMember<M>> {
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
      if (this.#alone.has(end) || this.#together.get(end)?.cohorts.some(isHeld)) return end;
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
      for (const cohort of cohorts) if (isHeld(cohort)) size += cohort.size;
    }
    return size;
  }

  /** In the order in which they are released. */
  get messages(): M[] {
    const together = [...this.#together.values()].flatMap((batch) =>
      batch.membersOf(batch.cohorts.filter(isHeld)),
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

function isHeld({ status }: Cohort): boolean {
  return status === 'queued';
}

function isReleasedBefore<M>(a: HeldMember<M>, b: HeldMember<M>): number {
  return a.sendAtMs - b.sendAtMs || a.arrival - b.arrival;
}
