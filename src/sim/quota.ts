/**
 * The monthly SMS count of one account. Rules: ERR-1.
 * Assumes: quotaUnit, quotaMonth, quotaRefund.
 * Keeps counters for every answer of these assumptions, so that forgotten messages still count.
 */
import { dayMs, minuteMs } from '../ledger/time-units.ts';
import type { Assumptions } from './assumptions.ts';
import { segmentText } from './segments.ts';

type QuotaAssumptions = Pick<Assumptions, 'quotaUnit' | 'quotaMonth' | 'quotaRefund'>;

const rollingMs = 30 * dayMs;
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

/** A time; then counts of messages, their segments, failed messages, their segments. */
type QuotaRow = [
  atMs: number,
  messages: number,
  segments: number,
  failedMessages: number,
  failedSegments: number,
];

const width = 5;
const fewestRows = 8;
/** 30 days have 43,200 minutes, so merging by minute always makes room. */
export const mostQuotaRows = 65_536;

/**
 * How much an account sent in the last days, by millisecond; by minute if that would take more than
 * 65,536 rows.
 */
export class QuotaLog {
  readonly #spanMs: number;
  #rows: Float64Array = new Float64Array(0);
  /** Rows before `#first` are older than the span. */
  #first = 0;
  #next = 0;
  readonly #sum: QuotaRow = [0, 0, 0, 0, 0];

  /** Each row counts for `spanMs`. */
  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  add(atMs: number, segments: number, nowMs: number): void {
    this.#expire(nowMs);
    if (nowMs - atMs >= this.#spanMs) return;
    if (this.#next === this.#first || this.#timeOf(this.#next - 1) !== atMs) this.#addRow(atMs);
    this.#count(this.#next - 1, 1, segments);
  }

  fail(atMs: number, segments: number, nowMs: number): void {
    if (nowMs - atMs >= this.#spanMs) return;
    const row = this.#find(atMs);
    if (row < this.#next) this.#count(row, 3, segments);
  }

  /** The sums over the span. */
  sum(nowMs: number): Readonly<QuotaRow> {
    this.#expire(nowMs);
    return this.#sum;
  }

  rows(nowMs: number): QuotaRow[] {
    this.#expire(nowMs);
    const rows: QuotaRow[] = [];
    for (let row = this.#first; row < this.#next; row++) {
      rows.push([...this.#rows.subarray(row * width, (row + 1) * width)] as QuotaRow);
    }
    return rows;
  }

  restore(rows: readonly QuotaRow[]): void {
    this.#first = 0;
    this.#next = 0;
    this.#sum.fill(0);
    for (const [atMs, messages, segments, failedMessages, failedSegments] of rows) {
      this.#addRow(atMs);
      const at = (this.#next - 1) * width;
      this.#rows.set([atMs, messages, segments, failedMessages, failedSegments], at);
      this.#addToSum(at, 1);
    }
  }

  #timeOf(row: number): number {
    return this.#rows[row * width] as number;
  }

  /** Counts one message in two columns. */
  #count(row: number, column: 1 | 3, segments: number): void {
    const at = row * width + column;
    this.#rows[at] = (this.#rows[at] as number) + 1;
    this.#rows[at + 1] = (this.#rows[at + 1] as number) + segments;
    this.#sum[column]++;
    this.#sum[column + 1] = (this.#sum[column + 1] as number) + segments;
  }

  #addToSum(at: number, sign: 1 | -1): void {
    for (let column = 1; column < width; column++) {
      this.#sum[column] =
        (this.#sum[column] as number) + sign * (this.#rows[at + column] as number);
    }
  }

  #expire(nowMs: number): void {
    while (this.#first < this.#next && nowMs - this.#timeOf(this.#first) >= this.#spanMs) {
      this.#addToSum(this.#first * width, -1);
      this.#first++;
    }
  }

  /** The row for a message of this time: the first row that is not earlier. */
  #find(atMs: number): number {
    let low = this.#first;
    let high = this.#next;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#timeOf(middle) < atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #addRow(atMs: number): void {
    if (this.#next * width === this.#rows.length) this.#makeRoom();
    const at = this.#next++ * width;
    this.#rows.fill(0, at, at + width);
    this.#rows[at] = atMs;
  }

  #makeRoom(): void {
    this.#rows.copyWithin(0, this.#first * width, this.#next * width);
    this.#next -= this.#first;
    this.#first = 0;
    if (this.#next >= mostQuotaRows) this.#mergeMinutes();
    const isCrowded = this.#next > this.#rows.length / width / 2;
    if (!isCrowded && this.#rows.length > 0) return;
    const rows = Math.min(mostQuotaRows, Math.max(fewestRows, 2 * this.#next));
    const larger = new Float64Array(Math.max(rows * width, this.#rows.length));
    larger.set(this.#rows.subarray(0, this.#next * width));
    this.#rows = larger;
  }

  /** Merges rows by minute. A merged row counts until its last message expires. */
  #mergeMinutes(): void {
    let to = 0;
    for (let row = 1; row < this.#next; row++) {
      const isSame =
        Math.floor(this.#timeOf(row) / minuteMs) === Math.floor(this.#timeOf(to) / minuteMs);
      if (!isSame) to++;
      const at = to * width;
      const from = row * width;
      this.#rows[at] = this.#rows[from] as number;
      for (let column = 1; column < width; column++) {
        const more = this.#rows[from + column] as number;
        this.#rows[at + column] = isSame ? (this.#rows[at + column] as number) + more : more;
      }
    }
    this.#next = to + 1;
  }
}
