/**
 * The clocks of recorded files: the steady clock of a recorder, whose times are exact, and the date
 * of a machine, which may be set back within a file.
 */
import type { TrafficExchange } from '#contract/exchange.ts';
import { getOrAdd } from '#io/grouped.ts';
import { timeIn } from './reading.ts';
import type { RecordedLine } from './recorded-line.ts';

/** An exchange while it is read. */
export type MutableTraffic = { -readonly [K in keyof TrafficExchange]: TrafficExchange[K] };

type Times = Pick<TrafficExchange, 'sentAt' | 'answeredAt' | 'precisionMs' | 'dateShiftMs'>;

/** Dates differ from a steady clock by this much because both are rounded. */
const roundingMs = 5;

/** The steady clocks of recorders, and what the date was when each of them was read first. */
export class SteadyClocks {
  readonly #starts = new Map<string, number>();

  timesOf({ sent, answered, steady }: RecordedLine): Times {
    const sentAt = timeIn(sent);
    if (steady === undefined) return { sentAt, answeredAt: Date.parse(answered), precisionMs: 1 };
    const { process, sent_ms: sentMs, answered_ms: answeredMs } = steady;
    const startMs = getOrAdd(this.#starts, process, () => sentAt - sentMs);
    const dateShiftMs = sentAt - startMs - sentMs;
    return {
      sentAt: startMs + sentMs,
      answeredAt: startMs + answeredMs,
      precisionMs: 0,
      dateShiftMs: Math.abs(dateShiftMs) > roundingMs ? dateShiftMs : undefined,
    };
  }
}

/** A line may be written this much later than the line of a reply that came after it. */
const lateMs = 1_000;
/** More than any time between two exchanges: how far a clock was set back is not known. */
const unknownShiftMs = 1e12;

/** The clock of one file. */
export class FileClock {
  /** False if exchanges before the last one may be missing from an incomplete file. */
  isInOrder = true;
  #latestMs = Number.NEGATIVE_INFINITY;
  /** When the last entry of a HAR file was sent, and how many came after the one before them. */
  #lastSentMs = Number.NaN;
  #ascents = 0;
  #descents = 0;
  /** Added to `dateShiftMs` of exchanges after the clock was set back. */
  #shiftMs = 0;

  /** True if the clock was set back while its times were not exact. */
  get wasSetBack(): boolean {
    return this.#shiftMs > 0;
  }

  /** Takes the next exchange, and shifts its date. True if the clock was set back before it. */
  take(exchange: MutableTraffic): boolean {
    const { host, answeredAt, precisionMs } = exchange;
    // Lines are in the order of their replies, the entries of a HAR file may be in any.
    const isLine = host === '';
    const isSetBack = isLine
      ? answeredAt < this.#latestMs - lateMs
      : this.#isEntrySetBack(exchange);
    if (!isLine || isSetBack) this.isInOrder = false;
    if (isSetBack && precisionMs > 0) this.#shiftMs += unknownShiftMs;
    if (this.#shiftMs > 0) exchange.dateShiftMs = (exchange.dateShiftMs ?? 0) + this.#shiftMs;
    this.#latestMs = isSetBack ? answeredAt : Math.max(this.#latestMs, answeredAt);
    return isSetBack;
  }

  /**
   * True for an entry that ended before the last one began, in a file of which most come after the one
   * before them. Entries in another order, or in none, say nothing of the clock.
   */
  #isEntrySetBack({ sentAt, answeredAt, precisionMs }: TrafficExchange): boolean {
    const isBefore = answeredAt + precisionMs < this.#lastSentMs;
    if (isBefore) this.#descents++;
    else if (sentAt >= this.#lastSentMs) this.#ascents++;
    this.#lastSentMs = sentAt;
    return isBefore && this.#descents <= this.#ascents;
  }
}
