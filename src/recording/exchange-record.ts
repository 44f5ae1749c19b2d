/**
 * The one record of exchanges (a request and its reply): each is written here once, as it is
 * answered. It keeps three things: the last exchanges, in a ring of reused objects, so that a long
 * run allocates nothing for them; the first ones since the start, a reset or a restart of the
 * record, up to a bound, which the referee judges; and counts of all.
 * Assumes: errorsSpendToken, replaySpends.
 */
import { faultKinds } from '#contract/fault-kinds.ts';
import { keptRequests } from '#contract/limits.ts';
import type { ApiRequest, PendingWrite } from '#contract/request-and-reply.ts';
import { addressOf, type Handled } from '../http/service/api.ts';
import type { Assumptions } from '../sim/assumptions.ts';
import { RequestCounts } from '../sim/counts.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { WallClock } from '../simulation/wall-clock.ts';
import type { Journal } from './journal/journal.ts';
import { RecordedExchange } from './recorded-exchange.ts';
import { RequestSeconds } from './request-seconds.ts';

/** The largest number of first exchanges that are kept, and of characters of their texts. */
export const recordedExchanges = 10_000;
const recordedCharacters = 16 * 1024 * 1024;

const messageIdField = '"message_id":"';
/** The first hexadecimal digits of a UUID, and the hyphen between them. */
const idCharacters = 13;
const hyphen = 0x2d;

export interface RecordBound {
  readonly exchanges: number;
  readonly characters: number;
}

export class ExchangeRecord {
  readonly #bound: RecordBound;
  /** The last exchanges: the one with number n is at index n % keptRequests. */
  readonly #ring: RecordedExchange[] = [];
  #total = 0;
  /** Requests up to this number were cleared: `get` does not find them. */
  #clearedNumber = 0;
  /** The first exchanges, up to the bound. */
  #first: RecordedExchange[] = [];
  /** Characters of `#first`. */
  #characters = 0;
  /** The number of the last request before `#first`. */
  #numberBeforeFirst = 0;
  /** True while `#first` is below its bound. */
  #isOpen = true;
  /** True if the run began before `#first`. */
  #isCutAtStart = false;
  /** Increases with each change of `#first`. */
  #changes = 0;
  /** The exchanges whose lines the journal has yet to write. */
  #unwritten: RecordedExchange[] = [];
  /** Makes the journal write them, and records them. */
  settle: PendingWrite = () => undefined;
  /** Called with each exchange once it is recorded. */
  readonly #onRecorded: (exchange: RecordedExchange) => void;
  /** Counts for metrics; they survive a reset, so that they never decrease. */
  counts = new RequestCounts();
  readonly seconds = new RequestSeconds();
  #acceptedSends = new AcceptedSends();

  constructor(
    bound: RecordBound = { exchanges: recordedExchanges, characters: recordedCharacters },
    onRecorded: (exchange: RecordedExchange) => void = () => {},
  ) {
    this.#bound = bound;
    this.#onRecorded = onRecorded;
  }

  /** The number of the last request: counts all requests since the start. */
  get total(): number {
    return this.#total;
  }

  /**
   * Records a request that was answered, in the journal too. `startedMs`: when it arrived, by the
   * monotonic clock. If the journal has yet to write its line, returns the write that it waits for,
   * and records it then. If the journal cannot be written, the exchange is not recorded.
   */
  add(
    request: ApiRequest,
    handled: Handled,
    { clock, limiter, world }: Simulation,
    journal: Journal | undefined,
    startedMs: number,
  ): PendingWrite | undefined {
    const number = this.#total + 1 + this.#unwritten.length;
    const exchange = this.#objectFor(number, this.#isOpen || journal?.keepsExchanges === true);
    // Its number is set once it is recorded: until then `get` must not find it.
    exchange.number = 0;
    exchange.atMs = clock.now();
    exchange.fill(request, handled);
    exchange.waitRate = limiter.retryAfterRate;
    exchange.hasSpent = hasSpent(exchange, world.assumptions);
    const { status, reply = '', isReplay, isForced } = exchange;
    if (isReplay) exchange.repeats = this.#acceptedSends.numberOf(reply);
    else if (status === 202 && !isForced) this.#acceptedSends.add(reply, number);
    if (this.#isOpen) exchange.address = handled.key === undefined ? addressOf(world, request) : '';
    exchange.durationMs = WallClock.ticksMs() - startedMs;
    if (!journal?.isFile) {
      journal?.requests([exchange]);
      this.#record(exchange);
      return undefined;
    }
    if (this.#unwritten.length === 0) this.settle = this.#writeOf(journal);
    this.#unwritten.push(exchange);
    return this.settle;
  }

  /**
   * A write for the exchanges until its first call. They are counted, listed and reported once it
   * has succeeded, so that these agree with the replies.
   */
  #writeOf(journal: Journal): PendingWrite {
    const exchanges: RecordedExchange[] = [];
    this.#unwritten = exchanges;
    let failure: Error | undefined;
    return () => {
      if (this.#unwritten !== exchanges) return failure;
      this.#unwritten = [];
      try {
        journal.requests(exchanges);
        for (const exchange of exchanges) this.#record(exchange);
      } catch (error) {
        failure = error as Error;
      }
      return failure;
    };
  }

  readonly #record = (exchange: RecordedExchange): void => {
    exchange.number = ++this.#total;
    if (this.#isOpen) this.#keep(exchange);
    if (!exchange.isKept) exchange.shorten();
    this.seconds.add(exchange);
    this.counts.answered(exchange.endpoint, exchange.status, exchange.durationMs);
    this.#onRecorded(exchange);
  };

  /** Notes the end of a delayed reply. `requestsAgo`: 1 for the last request. */
  ended(requestsAgo: number, atMs: number, isSeen: boolean): void {
    const exchange = this.#first[this.#total - requestsAgo - this.#numberBeforeFirst];
    if (exchange === undefined) return;
    exchange.end = { atMs, openUntil: this.#total, isSeen };
    this.#changes++;
  }

  /** The last requests, newest first. */
  *newest(): Generator<RecordedExchange> {
    for (let number = this.#total; ; number--) {
      const exchange = this.get(number);
      if (exchange === undefined) return;
      yield exchange;
    }
  }

  /** One of the last requests. */
  get(number: number): RecordedExchange | undefined {
    const exchange = this.#ring[number % keptRequests];
    return number > this.#clearedNumber && exchange?.number === number ? exchange : undefined;
  }

  /** Drops the last requests; numbering continues. */
  clear(): void {
    this.#clearedNumber = this.#total;
    this.seconds.clear();
    this.#acceptedSends = new AcceptedSends();
  }

  /** Continues numbering after `total`. */
  resumeAt(total: number): void {
    this.#total = total;
    this.#clearedNumber = total;
    this.#numberBeforeFirst = total;
  }

  /** The first exchanges, which the referee judges. */
  get first(): readonly RecordedExchange[] {
    return this.#first;
  }

  /** How often the first exchanges have changed: a report on them is valid until it changes. */
  get changes(): number {
    return this.#changes;
  }

  /** True if the run began before the first exchanges. */
  get isCutAtStart(): boolean {
    return this.#isCutAtStart;
  }

  /** Why the first exchanges are not all of the run; undefined if they are. */
  get lack(): string | undefined {
    if (!this.#isOpen)
      return `the record is full: only the first ${this.#first.length} requests are judged, as a partial record`;
    return this.#isCutAtStart
      ? 'the record begins at a checkpoint: what came before is not judged, and the rest as a partial record'
      : undefined;
  }

  /** Forgets the first exchanges. `isCutAtStart`: the run began earlier. */
  restart({ isCutAtStart = false } = {}): void {
    this.settle();
    this.#first = [];
    this.#characters = 0;
    this.#numberBeforeFirst = this.#total;
    this.#isOpen = true;
    this.#isCutAtStart = isCutAtStart;
    this.#changes++;
  }

  #keep(exchange: RecordedExchange): void {
    this.#changes++;
    this.#characters += exchange.characters;
    const { exchanges, characters } = this.#bound;
    this.#isOpen = this.#first.length < exchanges && this.#characters <= characters;
    if (this.#isOpen) this.#first.push(exchange);
  }

  /** The object for the next exchange: the oldest of the ring, or a new one if either is kept. */
  #objectFor(number: number, isKept: boolean): RecordedExchange {
    const index = number % keptRequests;
    const oldest = this.#ring[index];
    if (!isKept && oldest !== undefined && !oldest.isKept) return oldest;
    const exchange = new RecordedExchange();
    exchange.isKept = isKept;
    this.#ring[index] = exchange;
    return exchange;
  }
}

/** The last accepted sends, in a ring: finds the one whose reply a replay repeats. */
class AcceptedSends {
  /** 48 bits of the id of each message, and the number of the send. */
  readonly #idBits: number[] = [];
  readonly #numbers: number[] = [];
  #next = 0;

  add(reply: string, number: number): void {
    this.#idBits[this.#next] = messageIdBits(reply);
    this.#numbers[this.#next] = number;
    this.#next = (this.#next + 1) % recordedExchanges;
  }

  /** The number of the send that had this reply, if it is still known. */
  numberOf(reply: string): number | undefined {
    return this.#numbers[this.#idBits.indexOf(messageIdBits(reply))];
  }
}

/** True if a request took a token of its caller's bucket, and did not give it back. */
function hasSpent(
  { status, isReplay, faultKind }: RecordedExchange,
  { errorsSpendToken, replaySpends }: Assumptions,
): boolean {
  if (status === 429 || (faultKind !== undefined && !faultKinds[faultKind].isHandled)) return false;
  if (status >= 400) return errorsSpendToken === 'yes';
  return !isReplay || replaySpends === 'throttle';
}

/** The first 48 bits of a message's id. A part of the text would keep the whole reply in memory. */
function messageIdBits(reply: string): number {
  const start = reply.indexOf(messageIdField) + messageIdField.length;
  let bits = 0;
  for (let at = start; at < start + idCharacters; at++) {
    const unit = reply.charCodeAt(at);
    // The value of a hexadecimal digit: 0 to 9 for a digit, 10 to 15 for a small letter.
    if (unit !== hyphen) bits = 16 * bits + (unit & 0xf) + 9 * (unit >> 6);
  }
  return bits;
}
