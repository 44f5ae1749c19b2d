/**
 * Finds the copies of exchanges that were read before: a file may be named twice, be read next to a
 * compressed copy of it, or have been appended to itself. Equal exchanges that end at the same
 * moment of one file are not copies, but several calls.
 */
import { crc32 } from 'node:zlib';
import type { TrafficExchange } from '#contract/exchange.ts';

/** The number of checksums in a set; two sets are kept. */
const mostRemembered = 4_000_000;

/** The exchanges that were read from all files, by checksums. */
export class KnownExchanges {
  /** How many copies were left out. */
  copies = 0;
  /** Numbers of 53 bits, because a set of numbers takes little memory. */
  #seen = new Set<number>();
  #older = new Set<number>();

  /**
   * True if no exchange of this time had a text of this checksum, and this number, before. The
   * number distinguishes equal exchanges of one time that are not copies.
   */
  isNew(checksum: number, atMs: number, number: number): boolean {
    // 32 bits of the text and the number, then the lowest 21 bits of the time.
    const key = ((checksum + number) >>> 0) * 2 ** 21 + (atMs & (2 ** 21 - 1));
    if (this.#seen.size >= mostRemembered) {
      this.#older = this.#seen;
      this.#seen = new Set();
    }
    const { size } = this.#seen;
    const isKnown = this.#seen.add(key).size === size || this.#older.has(key);
    if (isKnown) this.copies++;
    return !isKnown;
  }
}

/** Calls whose ends differ by at most this much end at the same moment. */
const sameMomentMs = 5;

/** The exchanges of one file that are not copies of what was read before. */
export class CopyFilter {
  readonly #known: KnownExchanges;
  #cuts = 0;
  /** When the last exchanges ended, within `sameMomentMs`. */
  #moment = Number.NEGATIVE_INFINITY;
  /** By checksum: how often each exchange has come at this moment. */
  readonly #timesAtMoment = new Map<number, number>();

  constructor(known: KnownExchanges) {
    this.#known = known;
  }

  /** An exchange after a cut is no copy of an equal one before it. */
  addCut(): void {
    this.#cuts++;
  }

  isCopy(exchange: TrafficExchange, text: string): boolean {
    const checksum = crc32(text);
    const { answeredAt } = exchange;
    const earlier = this.#equalAtMoment(checksum, answeredAt, mayRepeat(exchange));
    return !this.#known.isNew(checksum, answeredAt, this.#cuts + earlier * 2 ** 16);
  }

  /** How many equal exchanges came before at the same moment; 0 for one that cannot repeat. */
  #equalAtMoment(checksum: number, answeredAt: number, mayRepeat: boolean): number {
    if (Math.abs(answeredAt - this.#moment) > sameMomentMs) {
      this.#moment = answeredAt;
      if (this.#timesAtMoment.size > 0) this.#timesAtMoment.clear();
    }
    if (!mayRepeat) return 0;
    const earlier = this.#timesAtMoment.get(checksum) ?? 0;
    this.#timesAtMoment.set(checksum, earlier + 1);
    return earlier;
  }
}

/**
 * False if an equal exchange must be a copy: no two sends create one message, and a recording with
 * exact times never has two requests of one connection at once.
 */
function mayRepeat({ host, connection, precisionMs, reply }: TrafficExchange): boolean {
  const isExact = host === '' && connection !== undefined && precisionMs === 0;
  return reply?.status !== 202 && !isExact;
}
