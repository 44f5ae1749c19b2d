/**
 * The messages of a device that take their next step at a time of their own instead of at a poll,
 * grouped by the millisecond of that time.
 * Assumes: progressPace (`own_delay`), taskPickup (`reported`).
 */

import type { Status } from '#contract/message-status.ts';
import { MinHeap } from '../clock.ts';

/** The next step of one message. */
export interface PacedStep<M> {
  readonly message: M;
  /** The status before the step. */
  readonly from: Status;
  readonly dueAtMs: number;
}

interface Paced {
  readonly cohort: { readonly account: unknown };
  /** Its place among all messages, in the order of acceptance. */
  readonly arrival: number;
}

export class PacedSteps<M extends Paced> {
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

  /** In no particular order. */
  get unsorted(): PacedStep<M>[] {
    return [...this.#byTime.values()].flat();
  }

  /** In the order in which the steps are taken. */
  get items(): readonly PacedStep<M>[] {
    return this.unsorted.sort((a, b) => a.dueAtMs - b.dueAtMs || byArrival(a, b));
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

function byArrival<M extends Paced>(a: PacedStep<M>, b: PacedStep<M>): number {
  return a.message.arrival - b.message.arrival;
}
