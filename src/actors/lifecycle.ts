/**
 * Steps a message by its machine: the only writer of `status` and of the times that make its history.
 * Rules: STATE-1 to STATE-5.
 */
import { assert } from '../sim/errors.ts';
import type { Message, Status } from '../sim/message.ts';
import { type MessageEvent, messageSteps } from './message-machine.ts';

/** Hears of every status written, after it was. */
export type StatusListener = (message: Message, from: Status) => void;

export class Lifecycle {
  readonly #now: () => number;
  /** Set by whoever wants to know, such as the event stream; undefined costs nothing. */
  onStatus: StatusListener | undefined;
  /** Hears of every message just accepted; set and unset like `onStatus`. */
  onAccepted: ((message: Message) => void) | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** STATE-1: a message begins as `queued`. */
  accepted(message: Message): void {
    this.onAccepted?.(message);
  }

  /** Takes the step that the machine has for this event; false where it has none. */
  step(message: Message, event: MessageEvent, failureReason?: string): boolean {
    const from = message.status;
    const to = messageSteps[from][event];
    if (to === undefined) return false;
    const nowMs = this.#now();
    assert(nowMs >= message.changedAtMs, 'history never goes back in time');
    message.status = to;
    const { counts } = message.account;
    counts[from]--;
    counts[to]++;
    if (to === 'sending') message.sendingAtMs = nowMs;
    else if (to === 'sent') message.sentAtMs = nowMs;
    else {
      message.endedAtMs = nowMs;
      if (to === 'failed') {
        message.failureReason = failureReason;
        message.account.quota.failed(message);
      }
    }
    this.onStatus?.(message, from);
    return true;
  }
}
