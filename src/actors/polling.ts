/**
 * When a device polls, and what a poll does: it reports progress, then picks up work.
 * Rules: SVC-3, STATE-2, SEND-7. Assumes: pollIntervalSeconds, sendsPerPoll, taskPickup.
 * `device-machine.ts` decides whether a device may poll; `progress.ts` moves the messages.
 */
import { secondMs } from '#contract/time.ts';
import type { Device, Message } from '../sim/accounts/account.ts';
import type { AssumptionsInForce } from '../sim/assumptions.ts';
import { isQueued } from '../sim/devices/timed-work.ts';
import { type Cohort, sizeOf } from '../sim/store/cohort.ts';
import type { DueWork } from './device-machine.ts';
import type { Progress } from './progress.ts';

type PollingAssumptions = 'pollIntervalSeconds' | 'sendsPerPoll' | 'taskPickup';

/** What one poll does. */
interface Poll {
  /** Releases holds that ended by this time. */
  readonly readyByMs: number;
  /** Moves only messages that last changed by this time. */
  readonly changedByMs: number;
  /** The messages that the poll picked up are added here. */
  readonly taken?: Message[];
  /** True if the device reports later when it has picked up a message. */
  readonly reportsPickup: boolean;
}

export class Polling {
  readonly #now: () => number;
  readonly #progress: Progress;
  readonly #assumptions: AssumptionsInForce<PollingAssumptions>;

  constructor(
    now: () => number,
    progress: Progress,
    assumptions: AssumptionsInForce<PollingAssumptions>,
  ) {
    this.#now = now;
    this.#progress = progress;
    this.#assumptions = assumptions;
  }

  /** The time of the device's first poll after `atMs`. Pauses do not shift the times of polls. */
  firstPollAfter(device: Device, atMs: number): number {
    return device.pollAtOrAfter(atMs + 1, this.#intervalMs);
  }

  /** When the device's work is due next. */
  dueWork(device: Device): DueWork {
    const { work } = device;
    const nowMs = this.#now();
    const holdEndsAtMs = work.held.trimToNextEnd();
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
    this.#poll(device, {
      // A hold that ends in the same millisecond as a poll waits for the next poll.
      readyByMs: nowMs - 1,
      // SVC-3: no status changes twice within one interval.
      changedByMs: nowMs - this.#intervalMs,
      reportsPickup: false,
    });
  }

  /** Polls for a real device. Returns the messages that it picked up. */
  pollForDevice(device: Device): readonly Message[] {
    const nowMs = this.#now();
    const taken: Message[] = [];
    const reportsPickup = this.#assumptions.answers.taskPickup === 'reported';
    const changedByMs = nowMs - this.#intervalMs;
    this.#poll(device, { readyByMs: nowMs, changedByMs, taken, reportsPickup });
    return taken;
  }

  /** Polls for an operation, which moves messages even twice within one poll interval. */
  pollForOperation(device: Device): readonly Message[] {
    const nowMs = this.#now();
    const taken: Message[] = [];
    this.#poll(device, { readyByMs: nowMs, changedByMs: nowMs, taken, reportsPickup: false });
    return taken;
  }

  /**
   * One poll: reports progress, then picks up work. Releases holds before it counts the poll, so
   * that messages that have waited one poll are due at this one.
   */
  #poll(device: Device, poll: Poll): void {
    const { work } = device;
    work.releaseHeld(poll.readyByMs);
    work.countPoll();
    if (work.inFlight.length > 0) this.#progress.report(device, poll.changedByMs);
    if (work.ready.length > 0) this.#pickUp(device, poll);
  }

  get #intervalMs(): number {
    return this.#assumptions.answers.pollIntervalSeconds * secondMs;
  }

  #pickUp({ work }: Device, { taken, reportsPickup }: Poll): void {
    const { sendsPerPoll } = this.#assumptions.answers;
    let room = sendsPerPoll === 'all' ? Number.POSITIVE_INFINITY : sendsPerPoll;
    const isDue = (cohort: Cohort) => isQueued(cohort) && work.pollCount >= cohort.duePoll;
    let waiting = 0;
    for (const batch of work.ready) {
      let due = batch.cohorts.filter(isDue);
      let picked = batch;
      if (sizeOf(due) > room) {
        picked = batch.splitOff(room, due);
        due = [...picked.cohorts];
      }
      room -= sizeOf(due);
      if (reportsPickup && taken !== undefined)
        due = this.#progress.handOut(picked, due, work, taken);
      if (due.length > 0) this.#progress.pickUp(picked, due, work, taken);
      if (picked !== batch) picked.keep(isQueued);
      if (batch.keep(isQueued)) work.ready[waiting++] = batch;
    }
    work.ready.length = waiting;
  }
}
