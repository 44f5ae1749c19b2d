/**
 * Moves messages on: at polls, at a time that is drawn for each message, and by operations. Takes
 * their next step, then puts them into the queue (`src/sim/devices/device-work.ts`) in which they
 * wait for the step after it. The fate of a message (`src/sim/devices/outcomes.ts`) decides whether
 * it progresses, fails or stays; the assumption `progressPace` decides when. `message-machine.ts`
 * decides whether a step exists.
 * Rules: SVC-3, STATE-2 to STATE-4. Assumes: progressPace, failsFrom.
 */
import type { MessageEvent, Status } from '#contract/message-status.ts';
import type { Device, Message } from '../sim/accounts/account.ts';
import type { AssumptionsInForce } from '../sim/assumptions.ts';
import { isInFlight, isStuckIn, pollsOf } from '../sim/devices/device-work.ts';
import { isUnprompted } from '../sim/devices/outcomes.ts';
import { isQueued } from '../sim/devices/timed-work.ts';
import { Batch } from '../sim/store/batch.ts';
import type { Cohort } from '../sim/store/cohort.ts';
import type { Lifecycle } from './lifecycle.ts';

/**
 * Shortest and longest delay of `progressPace: own_delay`; each delay is drawn evenly between them.
 */
const shortestPaceMs = 1_000;
const longestPaceMs = 10_000;
/** The longest time until a device reports a task that it was handed (`taskPickup: reported`). */
const longestReportMs = 20_000;

export class Progress {
  readonly #now: () => number;
  readonly #lifecycle: Lifecycle;
  readonly #assumptions: AssumptionsInForce<'progressPace' | 'failsFrom'>;

  constructor(
    now: () => number,
    lifecycle: Lifecycle,
    assumptions: AssumptionsInForce<'progressPace' | 'failsFrom'>,
  ) {
    this.#now = now;
    this.#lifecycle = lifecycle;
    this.#assumptions = assumptions;
  }

  /**
   * At a poll: the `due` cohorts of a batch become `sending`, or fail if that is their fate. Adds
   * the picked-up ones to `taken`, if given.
   */
  pickUp(
    batch: Batch<Message>,
    due: readonly Cohort[],
    work: Device['work'],
    taken: Message[] | undefined,
  ): void {
    this.#stepTogether(batch, due, 'picked_up');
    const moved = batch.cohorts.filter((cohort) => cohort.batch === batch && !isQueued(cohort));
    if (taken !== undefined) {
      const pickedUp = moved.filter(({ status }) => status !== 'failed');
      for (const message of batch.membersOf(pickedUp)) taken.push(message);
    }
    const inFlight = moved.filter(isInFlight);
    if (inFlight.length > 0) this.#enqueue(work, new Batch(batch, inFlight));
  }

  /**
   * At a poll of a real device under `taskPickup: reported`: the `due` cohorts leave their queue,
   * still `queued`; each message becomes `sending` at a time that is drawn for it. Returns the
   * cohorts that fail now instead.
   */
  handOut(
    batch: Batch<Message>,
    due: readonly Cohort[],
    work: Device['work'],
    taken: Message[],
  ): Cohort[] {
    const handed = due.filter((cohort) => failureOf(cohort) === undefined);
    for (const message of batch.membersOf(handed)) {
      taken.push(message);
      const delayMs = this.#drawDelayMs(message, longestReportMs);
      work.paced.push({ message, from: 'queued', dueAtMs: this.#now() + delayMs });
    }
    for (const cohort of handed) cohort.batch = undefined;
    batch.cohorts = batch.cohorts.filter((cohort) => !handed.includes(cohort));
    return due.filter((cohort) => !handed.includes(cohort));
  }

  /** Steps each cohort in flight that is due at a poll and has not changed after `changedByMs`. */
  report({ work }: Device, changedByMs: number): void {
    let moving = 0;
    for (const batch of work.inFlight) {
      // An operation may have moved a cohort on since, so it may no longer be in flight.
      const due = batch.cohorts.filter(
        (cohort) =>
          isInFlight(cohort) &&
          work.pollCount >= cohort.duePoll &&
          cohort.changedAtMs <= changedByMs,
      );
      for (const cohort of due) cohort.duePoll = work.pollCount + pollsOf(cohort);
      this.#stepTogether(batch, due, 'progressed');
      if (batch.keep(isInFlight)) work.inFlight[moving++] = batch;
    }
    work.inFlight.length = moving;
  }

  takeDueSteps({ work: { paced } }: Device): void {
    const nowMs = this.#now();
    for (let due = paced.takeDue(nowMs); due.length > 0; due = paced.takeDue(nowMs)) {
      for (const { message, from } of due) {
        // If an operation already took this step, the message now waits in another queue.
        if (message.status !== from) continue;
        const reason = failureOf(message.cohort);
        this.#lifecycle.step(message, reason === undefined ? stepFrom(from) : 'failed', reason);
        this.#enqueueAlone(message);
      }
    }
  }

  /** Takes one step for an operation; false if the machine has none. */
  stepByOperation(message: Message): boolean {
    const from = message.status;
    if (!this.#lifecycle.step(message, stepFrom(from))) return false;
    const { cohort, device } = message;
    if (from === 'queued') this.#leaveQueue(message);
    const staysInQueue =
      (from === 'sending' || from === 'sent') &&
      !isStuckIn(message, from) &&
      this.#assumptions.answers.progressPace === 'per_poll';
    if (staysInQueue) cohort.duePoll = device.work.pollCount + pollsOf(message);
    else this.#enqueueAlone(message);
    return true;
  }

  /** Fails a message for an operation. False if it is final or may not fail from its status. */
  failByOperation(message: Message, reason: string): boolean {
    const mayFail = this.#assumptions.answers.failsFrom.some((from) => from === message.status);
    if (!mayFail || !this.#lifecycle.step(message, 'failed', reason)) return false;
    if (message.cohort.previousStatus === 'queued') this.#leaveQueue(message);
    return true;
  }

  /** Fails all queued messages of a device that was deactivated, if `failsFrom` allows it. */
  failQueued({ work }: Device): void {
    if (!this.#assumptions.answers.failsFrom.includes('queued')) return;
    const failed: Message[] = [];
    const cohorts: Cohort[] = [];
    for (const batch of work.takeQueued()) {
      const stepped = batch.cohorts.filter((cohort) =>
        this.#lifecycle.stepTogether(batch, cohort, 'failed', 'device_deactivated'),
      );
      for (const cohort of stepped) cohorts.push(cohort);
      if (this.#lifecycle.reader !== undefined)
        for (const message of batch.membersOf(stepped)) failed.push(message);
      batch.keep(isQueued);
    }
    const inOrder = failed.sort((a, b) => a.arrival - b.arrival);
    this.#lifecycle.announce(new Batch(inOrder), cohorts);
  }

  /** After a switch of `progressPace`: moves messages in flight to the queues of the new pace. */
  changePace({ work }: Device): void {
    const { inFlight, paced } = work.queues();
    const handedOut = paced.filter(
      ({ message, from }) => from === 'queued' && message.status === from,
    );
    const all = [...inFlight, ...paced.map(({ message }) => message)];
    const messages = new Map(all.map((message) => [message.arrival, message]));
    work.inFlight = [];
    work.paced.clear();
    for (const step of handedOut) work.paced.push(step);
    const moving = [...messages.values()].filter(({ cohort }) => isInFlight(cohort));
    if (moving.length > 0)
      this.#enqueue(work, new Batch(moving, new Set(moving.map(({ cohort }) => cohort))));
  }

  #leaveQueue(message: Message): void {
    message.cohort.batch = undefined;
    message.device.work.held.noteLeft(message);
  }

  #enqueueAlone(message: Message): void {
    const { cohort, device } = message;
    if (isInFlight(cohort)) this.#enqueue(device.work, new Batch([message], [cohort]));
  }

  /** Puts messages in flight into the queue where they wait for the next step. */
  #enqueue(work: Device['work'], batch: Batch<Message>): void {
    if (this.#assumptions.answers.progressPace === 'per_poll') {
      for (const cohort of batch.cohorts) cohort.duePoll = work.pollCount + pollsOf(cohort);
      work.inFlight.push(batch);
      return;
    }
    for (const message of batch.membersOf(batch.cohorts)) {
      const dueAtMs = this.#now() + this.#drawDelayMs(message, longestPaceMs) * pollsOf(message);
      work.paced.push({ message, from: message.status, dueAtMs });
    }
    for (const cohort of batch.cohorts) cohort.batch = undefined;
  }

  #drawDelayMs({ account }: Message, longestMs: number): number {
    return shortestPaceMs + account.paces.below(longestMs - shortestPaceMs + 1);
  }

  /** Steps these cohorts with the event; cohorts whose fate is to fail now fail instead. */
  #stepTogether(batch: Batch<Message>, due: readonly Cohort[], event: MessageEvent): void {
    const stepped = due.filter((cohort) => {
      const reason = failureOf(cohort);
      const next = reason === undefined ? event : 'failed';
      return this.#lifecycle.stepTogether(batch, cohort, next, reason);
    });
    this.#lifecycle.announce(batch, stepped);
  }
}

/** Why the cohort fails in its present status by its fate; undefined if it does not fail. */
function failureOf({ fate, status }: Cohort): string | undefined {
  if (fate === undefined || fate.ends !== 'failed' || fate.in !== status) return undefined;
  return isUnprompted(fate) ? 'unprompted' : 'scripted';
}

function stepFrom(status: Status): MessageEvent {
  return status === 'queued' ? 'picked_up' : 'progressed';
}
