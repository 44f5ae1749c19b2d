/**
 * The monthly SMS count of one account. Rules: ERR-1.
 * Assumes: quotaUnit, quotaMonth, quotaRefund.
 * The period is a window over the account's own messages, in the order of their acceptance: both
 * its ends only move forward, so counting costs each message one step in and one step out.
 */
import type { Assumptions } from './assumptions.ts';
import { msPerDay } from './limits.ts';
import { segmentText } from './segments.ts';
import type { Status } from './status.ts';

/** The fields of a message that the count looks at. */
export interface CountedMessage {
  readonly text: string;
  readonly createdAtMs: number;
  readonly status: Status;
  /** Its place among the account's messages, from 0. */
  readonly ordinal: number;
}

type QuotaAssumptions = Pick<Assumptions, 'quotaUnit' | 'quotaMonth' | 'quotaRefund'>;

const rollingMs = 30 * msPerDay;

export class QuotaCount {
  readonly #messages: readonly CountedMessage[];
  #unit: Assumptions['quotaUnit'] = 'messages';
  #month: Assumptions['quotaMonth'] = 'calendar_utc';
  #monthStartMs = 0;
  #monthEndMs = 0;
  /** Messages before `#first` are outside the period; those from `#next` on are not counted yet. */
  #first = 0;
  #next = 0;
  #units = 0;
  #failedUnits = 0;

  /**
   * `messages`: the account's own list, which grows at its end; a message's `ordinal` is its place
   * there.
   */
  constructor(messages: readonly CountedMessage[]) {
    this.#messages = messages;
  }

  /** Units used in the period that `nowMs` falls into. */
  used(nowMs: number, assumptions: QuotaAssumptions): number {
    if (this.#unit !== assumptions.quotaUnit || this.#month !== assumptions.quotaMonth) {
      this.#startAgain(assumptions);
    }
    const startMs = this.#periodStart(nowMs);
    for (let message = this.#messages[this.#next]; message; message = this.#messages[this.#next]) {
      this.#count(message, 1);
      this.#next++;
    }
    for (
      let message = this.#messages[this.#first];
      message;
      message = this.#messages[this.#first]
    ) {
      if (message.createdAtMs >= startMs) break;
      this.#count(message, -1);
      this.#first++;
    }
    return assumptions.quotaRefund === 'yes' ? this.#units - this.#failedUnits : this.#units;
  }

  /** A message has just become `failed`. One that is not counted yet is looked at when it is. */
  failed(message: CountedMessage): void {
    if (message.ordinal < this.#first || message.ordinal >= this.#next) return;
    this.#failedUnits += unitsOf(message.text, this.#unit);
  }

  #startAgain({ quotaUnit, quotaMonth }: QuotaAssumptions): void {
    this.#unit = quotaUnit;
    this.#month = quotaMonth;
    this.#first = 0;
    this.#next = 0;
    this.#units = 0;
    this.#failedUnits = 0;
  }

  #count(message: CountedMessage, sign: 1 | -1): void {
    const units = sign * unitsOf(message.text, this.#unit);
    this.#units += units;
    if (message.status === 'failed') this.#failedUnits += units;
  }

  /** The first millisecond that still counts. */
  #periodStart(nowMs: number): number {
    if (this.#month === 'rolling_30_days') return nowMs - rollingMs + 1;
    if (nowMs >= this.#monthEndMs) {
      const now = new Date(nowMs);
      this.#monthStartMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
      this.#monthEndMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    }
    return this.#monthStartMs;
  }
}

/** What one message takes from the quota. */
export function unitsOf(text: string, unit: Assumptions['quotaUnit']): number {
  return unit === 'messages' ? 1 : segmentText(text).segments;
}
