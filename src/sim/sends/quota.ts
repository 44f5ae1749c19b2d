/**
 * The monthly SMS count of one account, for its quota. Rules: ERR-1.
 * Assumes: quotaUnit, quotaMonth, quotaRefund. Keeps counters for every answer of these
 * assumptions, so that they can be switched, and that forgotten messages still count.
 */
import { dayMs, minuteMs } from '#contract/time.ts';
import type { Assumptions } from '../assumptions.ts';
import { segmentText } from './segments.ts';

type QuotaAssumptions = Pick<Assumptions, 'quotaUnit' | 'quotaMonth' | 'quotaRefund'>;

const rollingMs = 30 * dayMs;
// The columns of a `QuotaRow`, after its time.
const messagesColumn = 1;
const segmentsColumn = 2;
const failedMessagesColumn = 3;
const failedSegmentsColumn = 4;
const rowWidth = 5;
/** Any text of at most this many UTF-16 units fits in one segment. */
const unitsOfOneSegment = 70;

/** The complete state of a `QuotaCount`. */
export interface QuotaState {
  readonly month: QuotaRow;
  readonly days: QuotaRow[];
}

export class QuotaCount {
  readonly #now: () => number;
  /** The uses that `rolling_30_days` counts. */
  readonly #days = new QuotaLog(rollingMs);
  /** The present month, which `calendar_utc` counts. */
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

  count(acceptedAtMs: number, text: string): void {
    const nowMs = this.#now();
    this.#beginMonth(nowMs);
    const segments = unitsOf(text, 'segments');
    this.#days.add(acceptedAtMs, segments, nowMs);
    if (acceptedAtMs < this.#month[0]) return;
    this.#month[messagesColumn]++;
    this.#month[segmentsColumn] += segments;
  }

  /** Counts the failure of a message that was accepted at this time. */
  countFailed(acceptedAtMs: number, text: string): void {
    const segments = unitsOf(text, 'segments');
    const nowMs = this.#now();
    this.#days.fail(acceptedAtMs, segments, nowMs);
    this.#beginMonth(nowMs);
    if (acceptedAtMs < this.#month[0]) return;
    this.#month[failedMessagesColumn]++;
    this.#month[failedSegmentsColumn] += segments;
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

export function unitsOf(text: string, unit: Assumptions['quotaUnit']): number {
  return unit === 'messages' || text.length <= unitsOfOneSegment ? 1 : segmentText(text).segments;
}

/** How much an account sent: in the month that starts at `atMs`, or accepted at that time. */
type QuotaRow = [
  atMs: number,
  messages: number,
  segments: number,
  failedMessages: number,
  failedSegments: number,
];

const fewestRows = 8;
/** The most rows of a log. 30 days have 43,200 minutes, so merging by minute always makes room. */
export const mostQuotaRows = 65_536;

/**
 * How much an account sent in the last days: a row for each millisecond with messages, or for each
 * minute if that would take more than 65,536 rows.
 */
export class QuotaLog {
  readonly #spanMs: number;
  /** Rows one after another, in order of time. */
  #rows: Float64Array = new Float64Array(0);
  /**
   * The rows in use: from `#first` up to, but not including, `#next`. Earlier rows have expired.
   */
  #first = 0;
  #next = 0;
  /** The sum of the rows in use; its time is not used. */
  readonly #sum: QuotaRow = [0, 0, 0, 0, 0];

  /** Each row counts for `spanMs`. */
  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  /** Adds a message that was accepted at `atMs`; call this in order of time. */
  add(atMs: number, segments: number, nowMs: number): void {
    this.#expire(nowMs);
    if (nowMs - atMs >= this.#spanMs) return;
    if (this.#next === this.#first || this.#timeOf(this.#next - 1) !== atMs) this.#addRow(atMs);
    this.#count(this.#next - 1, messagesColumn, segments);
  }

  /** Counts the failure of a message that was accepted at `atMs`. */
  fail(atMs: number, segments: number, nowMs: number): void {
    if (nowMs - atMs >= this.#spanMs) return;
    const row = this.#firstRowFrom(atMs);
    if (row < this.#next) this.#count(row, failedMessagesColumn, segments);
  }

  /** The sums over the span. */
  sum(nowMs: number): Readonly<QuotaRow> {
    this.#expire(nowMs);
    return this.#sum;
  }

  rows(nowMs: number): QuotaRow[] {
    this.#expire(nowMs);
    const rows: QuotaRow[] = [];
    for (let row = this.#first; row < this.#next; row++)
      rows.push([...this.#rows.subarray(row * rowWidth, (row + 1) * rowWidth)] as QuotaRow);
    return rows;
  }

  restore(rows: readonly QuotaRow[]): void {
    this.#first = 0;
    this.#next = 0;
    this.#sum.fill(0);
    for (const row of rows) {
      this.#addRow(row[0]);
      const at = (this.#next - 1) * rowWidth;
      this.#rows.set(row, at);
      this.#addToSum(at, 1);
    }
  }

  #timeOf(row: number): number {
    return this.#rows[row * rowWidth] as number;
  }

  /** Counts one message in `column`, and its segments in the next. */
  #count(
    row: number,
    column: typeof messagesColumn | typeof failedMessagesColumn,
    segments: number,
  ): void {
    const at = row * rowWidth + column;
    this.#rows[at] = (this.#rows[at] as number) + 1;
    this.#rows[at + 1] = (this.#rows[at + 1] as number) + segments;
    this.#sum[column]++;
    this.#sum[column + 1] = (this.#sum[column + 1] as number) + segments;
  }

  #addToSum(at: number, sign: 1 | -1): void {
    for (let column = 1; column < rowWidth; column++) {
      this.#sum[column] =
        (this.#sum[column] as number) + sign * (this.#rows[at + column] as number);
    }
  }

  #expire(nowMs: number): void {
    while (this.#first < this.#next && nowMs - this.#timeOf(this.#first) >= this.#spanMs) {
      this.#addToSum(this.#first * rowWidth, -1);
      this.#first++;
    }
  }

  /** The first row that is not earlier than `atMs`: it counts a message accepted at that time. */
  #firstRowFrom(atMs: number): number {
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
    if (this.#next * rowWidth === this.#rows.length) this.#makeRoom();
    const at = this.#next++ * rowWidth;
    this.#rows.fill(0, at, at + rowWidth);
    this.#rows[at] = atMs;
  }

  /** Drops expired rows, then merges or enlarges the rows if more than half are still in use. */
  #makeRoom(): void {
    this.#rows.copyWithin(0, this.#first * rowWidth, this.#next * rowWidth);
    this.#next -= this.#first;
    this.#first = 0;
    if (this.#next >= mostQuotaRows) this.#mergeMinutes();
    const isCrowded = this.#next > this.#rows.length / rowWidth / 2;
    if (!isCrowded && this.#rows.length > 0) return;
    const rows = Math.min(mostQuotaRows, Math.max(fewestRows, 2 * this.#next));
    const larger = new Float64Array(Math.max(rows * rowWidth, this.#rows.length));
    larger.set(this.#rows.subarray(0, this.#next * rowWidth));
    this.#rows = larger;
  }

  /** Merges rows by minute. A merged row counts until its last message expires. */
  #mergeMinutes(): void {
    let to = 0;
    for (let row = 1; row < this.#next; row++) {
      const isSameMinute =
        Math.floor(this.#timeOf(row) / minuteMs) === Math.floor(this.#timeOf(to) / minuteMs);
      if (!isSameMinute) to++;
      const at = to * rowWidth;
      const from = row * rowWidth;
      this.#rows[at] = this.#rows[from] as number;
      for (let column = 1; column < rowWidth; column++) {
        const count = this.#rows[from + column] as number;
        const merged = isSameMinute ? (this.#rows[at + column] as number) : 0;
        this.#rows[at + column] = merged + count;
      }
    }
    this.#next = to + 1;
  }
}
