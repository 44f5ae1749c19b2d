/**
 * What a poll does, and the times of a device's polls. Rules: SVC-3, STATE-2, SEND-7.
 * Assumes: pollIntervalSeconds, sendsPerPoll, taskPickup.
 * `device-machine.ts` decides whether a device may poll.
 */
import type { AssumptionsInForce } from '../sim/assumptions-in-force.ts';
import { type Cohort, sizeOf } from '../sim/cohort.ts';
import { isQueued } from '../sim/device-work.ts';
import { msPerSecond } from '../sim/limits.ts';
import type { Device, Message } from '../sim/records.ts';
import type { DueWork } from './device-machine.ts';
import type { Progress } from './progress.ts';

type Read = 'pollIntervalSeconds' | 'sendsPerPoll' | 'taskPickup';

export class Polling {
  readonly #now: () => number;
  readonly #progress: Progress;
  readonly #assumptions: AssumptionsInForce<Read>;

  constructor(now: () => number, progress: Progress, assumptions: AssumptionsInForce<Read>) {
    this.#now = now;
    this.#progress = progress;
    this.#assumptions = assumptions;
  }

  /**
   * The device's first poll after `ms`. Poll times follow from the device's phase, so a pause does
   * not shift them.
   */
  firstPollAfter(device: Device, ms: number): number {
    return device.pollAtOrAfter(ms + 1, this.#intervalMs);
  }

  dueWork(device: Device): DueWork {
    const { work } = device;
    const nowMs = this.#now();
    const holdEndsAtMs = work.held.nextEndMs;
    const hasWork = work.ready.length > 0 || work.inFlight.length > 0;
    let nextPollAt: number | undefined;
    if (hasWork) nextPollAt = this.firstPollAfter(device, nowMs);
    else if (holdEndsAtMs !== undefined) {
      nextPollAt = this.firstPollAfter(device, Math.max(holdEndsAtMs, nowMs));
    }
    return { nextPollAt, nextStepAt: work.paced.nextDueAtMs };
  }

  /** Polls if a poll of the device is due at exactly this millisecond. */
  pollIfDue(device: Device): void {
    const nowMs = this.#now();
    if (this.firstPollAfter(device, nowMs - 1) !== nowMs) return;
    // A hold that ends in the same millisecond as a poll waits for the next poll.
    this.poll(device, nowMs - 1, false, undefined);
  }

  /**
   * One poll: reports progress, then picks up work. Releases holds that ended by `readyByMs` before
   * it counts the poll, so that messages that have waited one poll are due at this one. Adds the
   * messages that it picks up to `taken`, if given.
   */
  poll(device: Device, readyByMs: number, atOnce: boolean, taken: Message[] | undefined): void {
    const { work } = device;
    work.releaseHeld(readyByMs);
    work.countPoll();
    // SVC-3: no status changes twice within one poll interval, unless an operation asks for it.
    const changedBeforeMs = this.#now() - (atOnce ? 0 : this.#intervalMs);
    if (work.inFlight.length > 0) this.#progress.report(device, changedBeforeMs);
    if (work.ready.length > 0) this.#pickUp(device, atOnce, taken);
  }

  get #intervalMs(): number {
    return this.#assumptions.answers.pollIntervalSeconds * msPerSecond;
  }

  #pickUp({ work }: Device, atOnce: boolean, taken: Message[] | undefined): void {
    const { sendsPerPoll, taskPickup } = this.#assumptions.answers;
    const isReported = taken !== undefined && !atOnce && taskPickup === 'reported';
    let places = sendsPerPoll === 'all' ? Number.POSITIVE_INFINITY : sendsPerPoll;
    const isDue = (cohort: Cohort) => isQueued(cohort) && work.pollCount >= cohort.duePoll;
    let kept = 0;
    for (const batch of work.ready) {
      let due = batch.cohorts.filter(isDue);
      let picked = batch;
      if (sizeOf(due) > places) {
        picked = batch.partFirst(places, due);
        due = [...picked.cohorts];
      }
      places -= sizeOf(due);
      if (isReported) due = this.#progress.handOut(picked, due, work, taken);
      if (due.length > 0) this.#progress.pickUp(picked, due, work, taken);
      if (picked !== batch) picked.keep(isQueued);
      if (batch.keep(isQueued)) work.ready[kept++] = batch;
    }
    work.ready.length = kept;
  }
}
