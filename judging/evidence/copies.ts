/**
 * Finds the copies of exchanges, of two kinds. Two tools, such as a recorder and a simulator, may
 * have recorded one exchange, each in a text of its own. Two equal exchanges of a client are not
 * copies, so a copy is `certain` only if times or a new message show it. If only the order shows it,
 * it is `possible`. And the same text may be read twice: a file may be named twice, be read next to
 * a compressed copy of it, or have been appended to itself. Equal exchanges that end at the same
 * moment of one file are not copies, but several calls.
 */

import { crc32 } from 'node:zlib';
import { lacksBody, type TrafficEvent, type TrafficExchange } from '#contract/exchange.ts';
import { minuteMs } from '#contract/time.ts';

/** The clocks of two tools that recorded one exchange differ by less. */
const mostClocksDiffer = 10 * minuteMs;
/** The number of first copies in a generation; two generations are kept. */
const mostKept = 20_000;
/** This many of the latest equal exchanges are compared by their times. */
const latestFew = 8;

/** The file that an exchange was read from. */
interface ReadFile {
  readonly isJournal: boolean;
}

/** Names the tool that wrote a file. Simulators are one: two of them never answer one request. */
export function sourceOf({ isJournal }: ReadFile, tool: string | undefined): string {
  return isJournal ? 'journals' : (tool ?? '');
}

export class CopiesOfTools {
  /** How many copies were left out. */
  found = 0;
  /** How many exchanges may be copies or not. */
  doubtful = 0;
  #kept = 0;
  /** By content of the exchange, in two generations. */
  #recent = new Map<string, EqualExchanges>();
  #older = new Map<string, EqualExchanges>();
  /** Pairs of sources that recorded one creation, so both recorded the same client. */
  readonly #pairs = new Set<string>();

  /** The event as it counts; undefined if a file of another tool had it already. */
  firstOf(event: TrafficEvent, reading: ReadFile): TrafficEvent | undefined {
    if (event === 'cut') return event;
    const copy = this.#judge(event, sourceOf(reading, event.clock));
    if (copy === undefined) return event;
    if (copy === 'certain') {
      this.found++;
      return undefined;
    }
    this.doubtful++;
    return { ...event, mayBeCopy: true };
  }

  /** Whether the exchange is a copy; undefined if it is not. */
  #judge(event: TrafficExchange, source: string): 'certain' | 'possible' | undefined {
    // Another tool may have kept the body.
    if (lacksBody(event)) return 'possible';
    const equal = this.#equalTo(event);
    const certain = equal.latestThat((first) => this.#isCopyOf(first, event, source), source);
    const first = certain ?? equal.nextFor(source, event.sentAt);
    if (first === undefined) {
      const { sentAt, answeredAt, precisionMs } = event;
      equal.add({ sentAt, endsAt: answeredAt + precisionMs, sources: [source] });
      if (++this.#kept % mostKept === 0) [this.#older, this.#recent] = [this.#recent, new Map()];
      return undefined;
    }
    if (certain !== undefined)
      for (const other of first.sources) this.#pairs.add(pairOf(other, source));
    first.sources.push(source);
    return certain === undefined ? 'possible' : 'certain';
  }

  #equalTo({ method, path, query, body, reply }: TrafficExchange): EqualExchanges {
    const key = [method, path, query, body ?? '', reply?.status, reply?.body].join('\n');
    const equal = this.#recent.get(key) ?? this.#older.get(key) ?? new EqualExchanges();
    this.#recent.set(key, equal);
    return equal;
  }

  /**
   * True if two equal records are of one exchange. A right service creates a message once; two
   * clients that poll at the same time are answered alike.
   */
  #isCopyOf(
    first: FirstCopy,
    { method, reply, sentAt, answeredAt, precisionMs }: TrafficExchange,
    source: string,
  ): boolean {
    if (first.sources.includes(source)) return false;
    if (method === 'POST' && reply?.status === 202) return !isPast(first, sentAt);
    const areTogether = first.sentAt <= answeredAt + precisionMs && sentAt <= first.endsAt;
    return areTogether && first.sources.some((each) => this.#pairs.has(pairOf(each, source)));
  }
}

/** An exchange of which another tool may have a copy. */
interface FirstCopy {
  readonly sentAt: number;
  readonly endsAt: number;
  /** The sources that had it. */
  readonly sources: string[];
}

/** The exchanges of equal content, in the order of their times. */
class EqualExchanges {
  readonly #firsts: FirstCopy[] = [];
  /** By source: the first of them that may still be the first copy of its next exchange. */
  readonly #next = new Map<string, number>();

  add(first: FirstCopy): void {
    this.#firsts.push(first);
    const half = this.#firsts.length >> 1;
    if (half < latestFew || !isPast(this.#firsts[half], first.sentAt)) return;
    this.#firsts.splice(0, half);
    for (const [source, at] of this.#next) this.#next.set(source, Math.max(0, at - half));
  }

  /** The latest of the last few for which `isCopied` holds: `source` has its copy. */
  latestThat(isCopied: (first: FirstCopy) => boolean, source: string): FirstCopy | undefined {
    const start = Math.max(0, this.#firsts.length - latestFew);
    const nth = this.#firsts.slice(start).findLastIndex(isCopied);
    if (nth < 0) return undefined;
    this.#next.set(source, Math.max(start + nth, this.#next.get(source) ?? 0));
    return this.#firsts[start + nth];
  }

  /** Copies come in one order in each file, so a source goes on after its last copy. */
  nextFor(source: string, atMs: number): FirstCopy | undefined {
    const cannotBe = (first: FirstCopy | undefined) =>
      first !== undefined && (first.sources.includes(source) || isPast(first, atMs));
    let at = this.#next.get(source) ?? 0;
    while (cannotBe(this.#firsts[at])) at++;
    this.#next.set(source, at);
    return this.#firsts[at];
  }
}

/** True if no other tool's record of the exchange comes at this time or later. */
function isPast(first: FirstCopy | undefined, atMs: number): boolean {
  return first !== undefined && first.endsAt < atMs - mostClocksDiffer;
}

function pairOf(one: string, other: string): string {
  return JSON.stringify([one, other].sort());
}

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
