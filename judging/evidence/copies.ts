/**
 * Leaves out exchanges that were read before: because a file is named twice, beside a compressed
 * copy of it, or was appended to itself. Equal exchanges that end at the same moment of one file
 * are not copies, but several calls.
 */
import { hash } from 'node:crypto';
import type { TrafficEvent } from '#contract/exchange.ts';

/** Calls whose ends differ by at most this much end at the same moment. */
const sameMomentMs = 5;
/** Digests per set; two sets are kept. */
const mostRemembered = 4_000_000;

export class Copies {
  /** How many copies were left out. */
  found = 0;
  /** The first 48 bits of digests, because a set of numbers takes little memory. */
  #seen = new Set<number>();
  #older = new Set<number>();

  async *without(events: AsyncIterable<TrafficEvent>): AsyncGenerator<TrafficEvent> {
    let moment = Number.NEGATIVE_INFINITY;
    /** How often each exchange has come at this moment. */
    const timesAtMoment = new Map<string, number>();
    let cuts = 0;
    for await (const event of events) {
      if (event === 'cut') {
        cuts++;
        yield event;
        continue;
      }
      const text = JSON.stringify(event);
      if (Math.abs(event.answeredAt - moment) > sameMomentMs) {
        moment = event.answeredAt;
        timesAtMoment.clear();
      }
      // No two sends create one message: an equal 202 is a copy.
      const number = event.reply?.status === 202 ? 0 : (timesAtMoment.get(text) ?? 0);
      timesAtMoment.set(text, number + 1);
      if (this.#isNew(`${cuts} ${number} ${text}`)) yield event;
      else this.found++;
    }
  }

  #isNew(text: string): boolean {
    const digest = Number.parseInt(hash('sha1', text).slice(0, 12), 16);
    if (this.#seen.has(digest) || this.#older.has(digest)) return false;
    if (this.#seen.size >= mostRemembered) {
      this.#older = this.#seen;
      this.#seen = new Set();
    }
    this.#seen.add(digest);
    return true;
  }
}
