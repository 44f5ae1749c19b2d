/**
 * What is read of one file of recorded traffic: its events, what it lacks, and where its clock was
 * set back. Leaves out exchanges that were read before: a file may be named twice, be read next to
 * a compressed copy of it, or have been appended to itself. Equal exchanges that end at the same
 * moment of one file are not copies, but several calls.
 */
import { basename } from 'node:path';
import { crc32 } from 'node:zlib';
import type { NoticeTaker, TrafficEvent, TrafficExchange } from '#contract/exchange.ts';
import { scriptedRecipients } from '#contract/refusals.ts';
import { matchRoute } from '#contract/routes.ts';
import { ForeignRequests } from './foreign-file.ts';
import { type KeyNames, objectIn } from './reading.ts';
import type { SteadyClocks } from './recorded-line.ts';

/** What all files that are read together share. */
export interface SharedReading {
  readonly onNotice: NoticeTaker;
  readonly keys: KeyNames;
  readonly clocks: SteadyClocks;
  readonly known: KnownExchanges;
}

/** Reads the text of a file in pieces, which may end anywhere. */
export interface TextReader {
  take(piece: string): void;
  end(): void;
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

  /** True if no exchange of this time had a text of this checksum, and this number, before. */
  isNew(checksum: number, atMs: number, number: number): boolean {
    // The lowest 21 bits of the time, behind 32 bits.
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
/** A line may be written this much later than the line of a reply that came after it. */
const lateMs = 1_000;

/** More than any time between two exchanges: how far a clock was set back is not known. */
const unknownShiftMs = 1e12;

/** An exchange while it is read. */
export type MutableTraffic = { -readonly [K in keyof TrafficExchange]: TrafficExchange[K] };

type Headers = TrafficExchange['headers'];
/** The latest different headers that are kept, so that equal ones become one object. */
const rememberedHeaders = 8;

function areEqual(some: Headers, others: Headers): boolean {
  for (const name in some) if (some[name] !== others[name]) return false;
  for (const name in others) if (some[name] === undefined) return false;
  return true;
}

export class FileReading {
  readonly path: string;
  readonly shared: SharedReading;
  /** True if the file is incomplete. */
  isCut = false;
  isJournal = false;
  readonly #foreignRequests = new ForeignRequests();
  readonly #headers: Headers[] = [];
  /** The recipients whose sends a simulator refuses with 429, whatever its limiter says. */
  readonly #throttled = [formOf(scriptedRecipients.throttled)];
  #nextHeaders = 0;
  #events: TrafficEvent[] = [];
  #cuts = 0;
  /** When the last exchanges ended, within `sameMomentMs`. */
  #moment = Number.NEGATIVE_INFINITY;
  /** By checksum: how often each exchange has come at this moment. */
  readonly #timesAtMoment = new Map<number, number>();
  #latestMs = Number.NEGATIVE_INFINITY;
  /** When the last entry of a HAR file was sent, and how many came after the one before them. */
  #lastSentMs = Number.NaN;
  #ascents = 0;
  #descents = 0;
  /** Added to `dateShiftMs` of exchanges after the clock was set back. */
  #shiftMs = 0;
  /** False if exchanges before the last one may be missing from an incomplete file. */
  #isInOrder = true;

  constructor(path: string, shared: SharedReading) {
    this.path = path;
    this.shared = shared;
  }

  /** `text`: the text of the exchange in the file. */
  add(exchange: MutableTraffic, text: string): void {
    const { host, answeredAt } = exchange;
    if (this.#isCopy(exchange, text)) return;
    if (exchange.reply?.status === 429) {
      const { to } = objectIn(exchange.body) ?? {};
      exchange.isScripted = typeof to === 'string' && this.#throttled.some((form) => form.test(to));
    }
    // Lines are in the order of their replies, the entries of a HAR file may be in any.
    if (host !== '') this.#isInOrder = false;
    if (host === '' ? answeredAt < this.#latestMs - lateMs : this.#isSetBack(exchange)) {
      this.#isInOrder = false;
      this.#events.push('cut');
      this.#latestMs = answeredAt;
      if (exchange.precisionMs > 0) this.#shiftMs += unknownShiftMs;
    }
    if (this.#shiftMs > 0) exchange.dateShiftMs = (exchange.dateShiftMs ?? 0) + this.#shiftMs;
    this.#latestMs = Math.max(this.#latestMs, answeredAt);
    this.#events.push(exchange);
  }

  /** A world scripts that sends to these recipients are refused with 429; `*` is any digits. */
  scriptThrottled(to: string): void {
    this.#throttled.push(formOf(to));
  }

  /** Equal headers as one object: those of many exchanges are held at once, and most are equal. */
  sameHeaders(headers: Headers): Headers {
    const known = this.#headers.find((one) => areEqual(one, headers));
    if (known === undefined) this.#headers[this.#nextHeaders++ % rememberedHeaders] = headers;
    return known ?? headers;
  }

  /** Notes that the exchanges before this place do not explain those after it. */
  addCut(): void {
    this.#cuts++;
    this.#events.push('cut');
  }

  /** True if the exchange has a path of the service. */
  isOfService(exchange: TrafficExchange): boolean {
    const { path } = exchange;
    const isRoute = matchRoute(path.endsWith('/') ? path : `${path}/`) !== undefined;
    this.#foreignRequests.note(exchange, isRoute);
    return isRoute;
  }

  /** The events that were added since they were taken last. */
  taken(): TrafficEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  end(): void {
    const { line } = this.#foreignRequests;
    if (line !== undefined) this.notice(line);
    if (this.#shiftMs > 0)
      this.notice('its clock was set back: no time from before it to after it is judged', 'order');
    if (this.isCut)
      this.notice('it ends in the midst; read up to there', this.#isInOrder ? 'end' : 'some');
  }

  notice(what: string, lacks?: Parameters<NoticeTaker>[1]): void {
    this.shared.onNotice(`${basename(this.path)}: ${what}`, lacks);
  }

  /**
   * True for an entry that ended before the last one began, in a file of which most come after the one
   * before them. Entries in another order, or in none, say nothing of the clock.
   */
  #isSetBack({ sentAt, answeredAt, precisionMs }: TrafficExchange): boolean {
    const isBefore = answeredAt + precisionMs < this.#lastSentMs;
    if (isBefore) this.#descents++;
    else if (sentAt >= this.#lastSentMs) this.#ascents++;
    this.#lastSentMs = sentAt;
    return isBefore && this.#descents <= this.#ascents;
  }

  #isCopy(exchange: TrafficExchange, text: string): boolean {
    const { answeredAt, precisionMs, host, connection, reply } = exchange;
    if (Math.abs(answeredAt - this.#moment) > sameMomentMs) {
      this.#moment = answeredAt;
      if (this.#timesAtMoment.size > 0) this.#timesAtMoment.clear();
    }
    // No two sends create one message, and a recording with exact times never has two requests of
    // one connection at once: equal ones are copies.
    const checksum = crc32(text);
    let number = 0;
    const isExact = host === '' && connection !== undefined && precisionMs === 0;
    if (reply?.status !== 202 && !isExact) {
      number = this.#timesAtMoment.get(checksum) ?? 0;
      this.#timesAtMoment.set(checksum, number + 1);
    }
    return !this.shared.known.isNew(checksum, answeredAt, this.#cuts + number * 2 ** 16);
  }
}

/** The numbers that an outcome's recipient stands for: `*` is any digits. */
function formOf(to: string): RegExp {
  return new RegExp(`^${to.replaceAll(/[^\d*]/g, '\\$&').replaceAll('*', '\\d*')}$`);
}
