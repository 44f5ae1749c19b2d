/**
 * The monthly SMS count of one account. Rules: ERR-1.
 * Assumes: quotaUnit, quotaMonth, quotaRefund.
 * Keeps counters for every answer of these assumptions, so that forgotten messages still count.
 */
import type { Assumptions } from './assumptions.ts';
import { msPerDay } from './limits.ts';
import { QuotaLog, type QuotaRow } from './quota-log.ts';
import { segmentText } from './segments.ts';

type QuotaAssumptions = Pick<Assumptions, 'quotaUnit' | 'quotaMonth' | 'quotaRefund'>;

const rollingMs = 30 * msPerDay;
/** Any text of at most this many UTF-16 units fits in one segment. */
const surelyOneSegment = 70;

/** The complete state of a count. */
export interface QuotaState {
  readonly month: QuotaRow;
  readonly days: QuotaRow[];
}

export class QuotaCount {
  readonly #now: () => number;
  readonly #days = new QuotaLog(rollingMs);
  #month: QuotaRow = [0, 0, 0, 0, 0];
  #monthEndMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Units used in the period that contains `nowMs`. */
  used(nowMs: number, { quotaUnit, quotaMonth, quotaRefund }: QuotaAssumptions): number {
    this.#beginMonth(nowMs);
    const [, messages, segments, failedMessages, failedSegments] =
      quotaMonth === 'calendar_utc' ? this.#month : this.#days.sum(nowMs);
    const isRefunded = quotaRefund === 'yes';
    return quotaUnit === 'messages'
      ? messages - (isRefunded ? failedMessages : 0)
      : segments - (isRefunded ? failedSegments : 0);
  }

  /** A message was accepted. */
  count(acceptedAtMs: number, text: string): void {
    const nowMs = this.#now();
    this.#beginMonth(nowMs);
    const segments = unitsOf(text, 'segments');
    this.#days.add(acceptedAtMs, segments, nowMs);
    if (acceptedAtMs < this.#month[0]) return;
    this.#month[1]++;
    this.#month[2] += segments;
  }

  /** A message that was accepted at this time has just become `failed`. */
  failed(acceptedAtMs: number, text: string): void {
    const segments = unitsOf(text, 'segments');
    const nowMs = this.#now();
    this.#days.fail(acceptedAtMs, segments, nowMs);
    this.#beginMonth(nowMs);
    if (acceptedAtMs < this.#month[0]) return;
    this.#month[3]++;
    this.#month[4] += segments;
  }

  get state(): QuotaState {
    this.#beginMonth(this.#now());
    return { month: [...this.#month], days: this.#days.rows(this.#now()) };
  }

  restore({ month, days }: QuotaState): void {
    this.#beginMonth(this.#now());
    this.#month = [...month];
    this.#days.restore(days);
  }

  #beginMonth(nowMs: number): void {
    if (nowMs < this.#monthEndMs) return;
    const now = new Date(nowMs);
    this.#month = [Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1), 0, 0, 0, 0];
    this.#monthEndMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  }
}

/** The quota units that one message uses. */
export function unitsOf(text: string, unit: Assumptions['quotaUnit']): number {
  return unit === 'messages' || text.length <= surelyOneSegment ? 1 : segmentText(text).segments;
}
