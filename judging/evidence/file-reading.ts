/**
 * What is read of one file of recorded traffic: its events, what it lacks, and where its clock was
 * set back. Leaves out exchanges that were read before.
 */
import { basename } from 'node:path';
import type { NoticeTaker, TrafficEvent, TrafficExchange } from '#contract/exchange.ts';
import { scriptedRecipients } from '#contract/refusals.ts';
import { matchRoute } from '#contract/routes.ts';
import { CopyFilter, type KnownExchanges } from './copies.ts';
import { FileClock, type MutableTraffic, type SteadyClocks } from './file-clocks.ts';
import { ForeignRequests } from './foreign-file.ts';
import { type KeyNames, objectIn } from './reading.ts';

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

export class FileReading {
  readonly path: string;
  readonly shared: SharedReading;
  /** True if the file is incomplete. */
  isCut = false;
  isJournal = false;
  readonly headers = new SharedHeaders();
  readonly #copies: CopyFilter;
  readonly #clock = new FileClock();
  readonly #foreignRequests = new ForeignRequests();
  /** The recipients whose sends a simulator refuses with 429, whatever its limiter says. */
  readonly #throttled = [recipientPattern(scriptedRecipients.throttled)];
  #events: TrafficEvent[] = [];

  constructor(path: string, shared: SharedReading) {
    this.path = path;
    this.shared = shared;
    this.#copies = new CopyFilter(shared.known);
  }

  /** `text`: the text of the exchange in the file. */
  add(exchange: MutableTraffic, text: string): void {
    if (this.#copies.isCopy(exchange, text)) return;
    if (exchange.reply?.status === 429) {
      const { to } = objectIn(exchange.body) ?? {};
      exchange.isScripted =
        typeof to === 'string' && this.#throttled.some((pattern) => pattern.test(to));
    }
    if (this.#clock.take(exchange)) this.#events.push('cut');
    this.#events.push(exchange);
  }

  /** A world scripts that sends to these recipients are refused with 429; `*` is any digits. */
  scriptThrottled(to: string): void {
    this.#throttled.push(recipientPattern(to));
  }

  /** Notes that the exchanges before this place do not explain those after it. */
  addCut(): void {
    this.#copies.addCut();
    this.#events.push('cut');
  }

  /** Notes whether the exchange has a path of the service; returns that. */
  noteRequest(exchange: TrafficExchange): boolean {
    const { path } = exchange;
    const isRoute = matchRoute(path.endsWith('/') ? path : `${path}/`) !== undefined;
    this.#foreignRequests.note(exchange, isRoute);
    return isRoute;
  }

  /** Returns the events that were added since the last call. */
  takeEvents(): TrafficEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  end(): void {
    const { line } = this.#foreignRequests;
    if (line !== undefined) this.notice(line);
    if (this.#clock.wasSetBack)
      this.notice('its clock was set back; times across that point are not judged', 'order');
    if (this.isCut) this.notice(cutOff, this.#clock.isInOrder ? 'end' : 'some');
  }

  notice(what: string, lacks?: Parameters<NoticeTaker>[1]): void {
    this.shared.onNotice(`${basename(this.path)}: ${what}`, lacks);
  }
}

const cutOff = 'the file is incomplete: its end is cut off; what comes before it is read';

type Headers = TrafficExchange['headers'];

/** The latest different headers that are kept. */
const rememberedHeaders = 8;

/** Equal headers as one object: those of many exchanges are held at once, and most are equal. */
class SharedHeaders {
  readonly #latest: Headers[] = [];
  #next = 0;

  shared(headers: Headers): Headers {
    const known = this.#latest.find((one) => areEqual(one, headers));
    if (known === undefined) this.#latest[this.#next++ % rememberedHeaders] = headers;
    return known ?? headers;
  }
}

function areEqual(some: Headers, others: Headers): boolean {
  for (const name in some) if (some[name] !== others[name]) return false;
  for (const name in others) if (some[name] === undefined) return false;
  return true;
}

/** The numbers that an outcome's recipient stands for: a plus, and digits; `*` is any digits. */
function recipientPattern(to: string): RegExp {
  return new RegExp(`^${to.replaceAll('+', '\\+').replaceAll('*', '\\d*')}$`);
}
