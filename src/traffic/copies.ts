/**
 * Leaves out exchanges that were read before: a file named twice, its compressed copy, or one that
 * was appended to itself. Equal calls that ended at the same moment of one file are several calls.
 */
import { createHash } from 'node:crypto';
import type { TrafficEvent } from '../commands/recorded-traffic.ts';

/** Times of calls that end together may differ by so much. */
const sameMomentMs = 5;
const mostRemembered = 4_000_000;

export class Copies {
  found = 0;
  /** The first 48 bits of digests: a set of numbers is small. */
  #seen = new Set<number>();
  #older = new Set<number>();

  async *without(events: AsyncIterable<TrafficEvent>): AsyncGenerator<TrafficEvent> {
    let moment = Number.NEGATIVE_INFINITY;
    const ofMoment = new Map<string, number>();
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
        ofMoment.clear();
      }
      // No two sends create one message: an equal 202 is a copy.
      const number = event.reply?.status === 202 ? 0 : (ofMoment.get(text) ?? 0);
      ofMoment.set(text, number + 1);
      if (this.#isNew(`${cuts} ${number} ${text}`)) yield event;
      else this.found++;
    }
  }

  #isNew(text: string): boolean {
    const digest = createHash('sha1').update(text).digest().readUIntBE(0, 6);
    if (this.#seen.has(digest) || this.#older.has(digest)) return false;
    if (this.#seen.size >= mostRemembered) {
      this.#older = this.#seen;
      this.#seen = new Set();
    }
    this.#seen.add(digest);
    return true;
  }
}
