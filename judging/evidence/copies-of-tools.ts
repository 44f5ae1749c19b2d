/**
 * Finds the copies of one exchange that two tools recorded, such as a recorder and a simulator,
 * each in a text of its own. Two equal exchanges of a client are not copies, so a copy is `certain`
 * only if times or a new message show it. If only the order shows it, it is `possible`.
 */
import { lacksBody, type TrafficEvent, type TrafficExchange } from '#contract/exchange.ts';
import { minuteMs } from '#contract/time.ts';
import type { FileReading } from './file-reading.ts';

/** The clocks of two tools that recorded one exchange differ by less. */
const mostClocksDiffer = 10 * minuteMs;
/** The number of first copies in a generation; two generations are kept. */
const mostKept = 20_000;
/** This many of the latest equal exchanges are compared by their times. */
const latestFew = 8;

/** Names the tool that wrote a file. Simulators are one: two of them never answer one request. */
export function sourceOf({ isJournal }: FileReading, tool: string | undefined): string {
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
  firstOf(event: TrafficEvent, reading: FileReading): TrafficEvent | undefined {
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
