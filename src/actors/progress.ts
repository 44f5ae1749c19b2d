/**
 * How a message moves on: chooses its next event, and the row in which it waits for the one after.
 * Rules: STATE-2 to STATE-4, SVC-3. Assumes: progressPace, failsFrom.
 * Its fate (`sim/outcomes.ts`) says whether the next event is `progressed` or `failed`, or never
 * comes; the assumption `progressPace` says when it comes. Whether there is such a step is decided
 * by `message-machine.ts`.
 */
import type { AssumptionsInForce } from '../sim/assumptions-in-force.ts';
import { isStuckIn } from '../sim/device-work.ts';
import { isUnprompted } from '../sim/outcomes.ts';
import type { Device, Message } from '../sim/records.ts';
import type { Lifecycle } from './lifecycle.ts';

/** Delays of `progressPace: own_delay`, each drawn evenly from this range. */
const shortestPaceMs = 1_000;
const longestPaceMs = 10_000;

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

  accepted(message: Message): void {
    this.#lifecycle.accepted(message);
  }

  /** At a poll: returns true if the message is sending, false if its fate was to fail. */
  pickUp(message: Message): boolean {
    if (this.#failIfFated(message)) return false;
    this.#lifecycle.step(message, 'picked_up');
    this.#followUp(message);
    return true;
  }

  /**
   * At a poll: steps each message in flight that is due and has not changed after
   * `changedBeforeMs`.
   */
  report({ work }: Device, changedBeforeMs: number): void {
    let kept = 0;
    for (const message of work.inFlight) {
      const isDue = work.pollCount >= message.duePoll && message.changedAtMs <= changedBeforeMs;
      // An operation may have failed it, or moved it on into the state in which it stays.
      if (isDue && isInFlight(message)) {
        this.#takeStep(message);
        message.duePoll = work.pollCount + pollsOf(message);
      }
      if (isInFlight(message)) work.inFlight[kept++] = message;
    }
    work.inFlight.length = kept;
  }

  /** Takes the steps that messages take at their own pace, as far as they are due. */
  takeDueSteps({ work: { paced } }: Device): void {
    const nowMs = this.#now();
    for (let next = paced.peek(); next && next.dueAtMs <= nowMs; next = paced.peek()) {
      paced.pop();
      // If an operation took the step meanwhile, the message has another row.
      if (next.message.status !== next.from) continue;
      this.#takeStep(next.message);
      this.#followUp(next.message);
    }
  }

  /** Returns false where the machine has no step. */
  stepByOperation(message: Message): boolean {
    const from = message.status;
    if (!this.#lifecycle.step(message, from === 'queued' ? 'picked_up' : 'progressed'))
      return false;
    const waitsForPolls =
      (from === 'sending' || from === 'sent') &&
      !isStuckIn(message, from) &&
      this.#assumptions.answers.progressPace === 'per_poll';
    // It is in the row of those in flight already.
    if (waitsForPolls) message.duePoll = message.device.work.pollCount + pollsOf(message);
    else this.#followUp(message);
    return true;
  }

  /** Returns false if the message is final or may not fail from its status. */
  failByOperation(message: Message, reason: string): boolean {
    const mayFail = this.#assumptions.answers.failsFrom.some((from) => from === message.status);
    return mayFail && this.#lifecycle.step(message, 'failed', reason);
  }

  /** The device was deactivated. */
  failQueued({ work }: Device): void {
    if (!this.#assumptions.answers.failsFrom.includes('queued')) return;
    for (const message of work.takeQueued()) {
      this.#lifecycle.step(message, 'failed', 'device_deactivated');
    }
  }

  /** `progressPace` was switched: what is in flight moves to the rows of the new pace. */
  changePace({ work }: Device): void {
    const inFlight = [...work.inFlight, ...work.paced.items.map(({ message }) => message)];
    work.inFlight = [];
    work.paced.clear();
    for (const message of new Set(inFlight)) this.#followUp(message);
  }

  /** Puts a message in flight where its next step will find it. */
  #followUp(message: Message): void {
    if (!isInFlight(message)) return;
    const { work } = message.device;
    if (this.#assumptions.answers.progressPace === 'per_poll') {
      message.duePoll = work.pollCount + pollsOf(message);
      work.inFlight.push(message);
    } else {
      const drawnMs =
        shortestPaceMs + message.account.paces.below(longestPaceMs - shortestPaceMs + 1);
      const dueAtMs = this.#now() + drawnMs * pollsOf(message);
      work.paced.push({ message, from: message.status, dueAtMs });
    }
  }

  #takeStep(message: Message): void {
    if (!this.#failIfFated(message)) this.#lifecycle.step(message, 'progressed');
  }

  #failIfFated(message: Message): boolean {
    const { fate } = message;
    if (fate === undefined || fate.ends !== 'failed' || fate.in !== message.status) return false;
    const reason = isUnprompted(fate) ? 'unprompted' : 'scripted';
    return this.#lifecycle.step(message, 'failed', reason);
  }
}

function pollsOf(message: Message): number {
  return message.fate?.polls ?? 1;
}

/** Picked up, not final, and not stuck where it is. */
function isInFlight(message: Message): boolean {
  const { status } = message;
  return (status === 'sending' || status === 'sent') && !isStuckIn(message, status);
}
