/**
 * The 24-hour replay window of an account: finds the first use of a `request_id`, with its reply.
 * Rules: SEND-4. Assumes: replayScope, replayAcrossEndpoints, failedRequestId.
 * An accepted message is the record of its own use, because its first reply follows from fields
 * that never change. A hash table (`src/sim/store/handle-table.ts`) finds it, and not an LRU cache:
 * at a million messages `lru-cache` costs 25.4 µs a send instead of 16.6, pauses of up to 421 ms
 * instead of 55, and 505 MB of memory instead of 321; a `Map` costs 23.6 µs, 256 ms and 476 MB. An
 * LRU cache holds only the other uses: refusals, if `failedRequestId` makes them count.
 * A look-up applies the assumptions, so they can be switched at run time.
 */
import { LRUCache } from 'lru-cache';
import { type EndpointName, replayWindowMs } from '#contract/limits.ts';
import type { Assumptions } from '../assumptions.ts';
import { assert, type ServiceError } from '../errors.ts';
import { messageBody, type WireFields } from '../store/message-view.ts';

/** The fields of an accepted message that describe its use of a `request_id`. */
export interface AcceptedUse<Key> extends WireFields {
  readonly key: Key | undefined;
  readonly endpoint: EndpointName;
  /** Its place among all messages, in the order of acceptance. */
  readonly arrival: number;
}

/** The uses that accepted messages record: the messages of an account by `request_id`. */
export interface AcceptedUses<M> {
  /** The messages with this `request_id`, in no particular order. */
  of(requestId: string): readonly M[];
  add(requestId: string, message: M): void;
  replace(requestId: string, message: M, newMessage: M): void;
}

/** The first use of a `request_id`, and its reply. */
export interface Use<Key, M> {
  readonly requestId: string;
  readonly key: Key;
  readonly endpoint: EndpointName;
  readonly atMs: number;
  /** The body of the first reply, byte for byte; empty for a refusal. */
  readonly body: string;
  /** The created message, or the refusal if `failedRequestId` is `burned`. */
  readonly outcome: M | ServiceError;
  /** An earlier use of the same id, in another scope. Uses of one id form a chain, newest first. */
  readonly older: Use<Key, M> | undefined;
}

type ScopeAssumptions = Pick<
  Assumptions,
  'replayScope' | 'replayAcrossEndpoints' | 'failedRequestId'
>;

const smallestWindow = 64;
/** Each growth moves all entries, so the steps are large. */
const growth = 8;

export class ReplayWindow<Key, M extends AcceptedUse<Key>> {
  readonly #now: () => number;
  readonly #accepted: AcceptedUses<M> | undefined;
  /** Created at the first use, and enlarged before an unexpired use would be evicted. */
  #uses: LRUCache<string, Use<Key, M>> | undefined;
  /** The id of the last `find`, if no accepted message has it: `keep` need not search again. */
  #freeId: string | undefined;

  /** Without `accepted`, every use is stored here. */
  constructor(now: () => number, accepted?: AcceptedUses<M>) {
    this.#now = now;
    this.#accepted = accepted;
  }

  /** The first use of `requestId` in this call's scope that counts and is at most 24 h old. */
  find(
    requestId: string,
    key: Key,
    endpoint: EndpointName,
    assumptions: ScopeAssumptions,
  ): Use<Key, M> | undefined {
    const accepted = this.#findAccepted(requestId, key, endpoint, assumptions);
    if (accepted !== undefined) return useOf(accepted, key);
    let message: Use<Key, M> | undefined;
    let refusal: Use<Key, M> | undefined;
    // peek, not get: the order of recency must stay the order of age.
    let use = this.#uses?.peek(requestId);
    // A chain has several uses only if an assumption was switched between them.
    while (use !== undefined && !this.#isExpired(use.atMs)) {
      const counts = isInScope(use, key, endpoint, assumptions);
      if (counts && isAccepted(use.outcome)) message = use;
      else if (counts) refusal = use;
      use = use.older;
    }
    // SEND-4 is a rule, so an accepted message takes precedence over a refusal kept by
    // `failedRequestId`.
    return message ?? (assumptions.failedRequestId === 'burned' ? refusal : undefined);
  }

  /** Records a first use. */
  keep(use: Omit<Use<Key, M>, 'older'>): void {
    if (this.#recordInMessage(use)) return;
    const uses = this.#withRoom();
    const { requestId, key, endpoint, atMs, body, outcome } = use;
    const older = this.#unexpired(uses.peek(requestId));
    uses.set(requestId, { requestId, key, endpoint, atMs, body, outcome, older }, { start: atMs });
  }

  /** Uses stored here, including expired ones that are not evicted yet. */
  get size(): number {
    return this.#uses?.size ?? 0;
  }

  /** All unexpired uses stored here, oldest first. */
  *entries(): IterableIterator<Use<Key, M>> {
    for (const use of this.#uses?.rvalues() ?? []) if (use !== undefined) yield use;
  }

  /** The oldest message in the scope that is at most 24 h old. */
  #findAccepted(
    requestId: string,
    key: Key,
    endpoint: EndpointName,
    assumptions: ScopeAssumptions,
  ): M | undefined {
    let oldest: M | undefined;
    const messages = this.#accepted?.of(requestId) ?? [];
    this.#freeId = messages.length === 0 ? requestId : undefined;
    for (const message of messages) {
      const counts =
        !this.#isExpired(message.createdAtMs) && isInScope(message, key, endpoint, assumptions);
      if (counts && (oldest === undefined || message.arrival < oldest.arrival)) oldest = message;
    }
    return oldest;
  }

  /** Records a use by its message. False if the message does not contain everything about it. */
  #recordInMessage(use: Omit<Use<Key, M>, 'older'>): boolean {
    const { requestId, key, endpoint, atMs, outcome } = use;
    const accepted = this.#accepted;
    if (accepted === undefined || !isAccepted<Key, M>(outcome)) return false;
    if (outcome.createdAtMs !== atMs || outcome.endpoint !== endpoint) return false;
    if (outcome.key !== key || outcome.requestId !== requestId) return false;
    const others = requestId === this.#freeId ? [] : accepted.of(requestId);
    this.#freeId = undefined;
    const expired = others.find((other) => this.#isExpired(other.createdAtMs));
    if (expired === undefined) accepted.add(requestId, outcome);
    else accepted.replace(requestId, expired, outcome);
    return true;
  }

  /**
   * The stored uses, with room for one more. At the documented rate they are up to 120 × 1,440 for
   * each endpoint; reserving that at once would cost megabytes for every account. So the room grows
   * eightfold when it is full, unless half of its entries have expired.
   */
  #withRoom(): LRUCache<string, Use<Key, M>> {
    this.#uses ??= this.#create(smallestWindow);
    if (this.#uses.size < this.#uses.max) return this.#uses;
    this.#uses.purgeStale();
    if (this.#uses.size <= this.#uses.max / 2) return this.#uses;
    const larger = this.#create(growth * this.#uses.max);
    for (const kept of this.#uses.rvalues())
      if (kept !== undefined) larger.set(kept.requestId, kept, { start: kept.atMs });
    this.#uses = larger;
    return larger;
  }

  #create(max: number): LRUCache<string, Use<Key, M>> {
    return new LRUCache<string, Use<Key, M>>({
      max,
      ttl: replayWindowMs,
      ttlResolution: 0,
      perf: { now: this.#now },
      dispose: (kept, _requestId, reason) => {
        assert(
          reason !== 'evict' || this.#isExpired(kept.atMs),
          'no request_id is forgotten inside its window',
        );
      },
    });
  }

  /** The chain without its expired end. */
  #unexpired(use: Use<Key, M> | undefined): Use<Key, M> | undefined {
    if (use === undefined || this.#isExpired(use.atMs)) return undefined;
    const older = this.#unexpired(use.older);
    return older === use.older ? use : { ...use, older };
  }

  #isExpired(atMs: number): boolean {
    return this.#now() - atMs > replayWindowMs;
  }
}

/** True for a message, false for a refusal. */
function isAccepted<Key, M extends AcceptedUse<Key>>(outcome: M | ServiceError): outcome is M {
  return 'messageId' in outcome;
}

function isInScope<Key>(
  use: { readonly key: Key | undefined; readonly endpoint: EndpointName },
  key: Key,
  endpoint: EndpointName,
  { replayScope, replayAcrossEndpoints }: ScopeAssumptions,
): boolean {
  return (
    (replayScope === 'account' || use.key === key) &&
    (replayAcrossEndpoints === 'shared' || use.endpoint === endpoint)
  );
}

/** The use that a message records. `callerKey` stands for its key if that is not known. */
function useOf<Key, M extends AcceptedUse<Key>>(message: M, callerKey: Key): Use<Key, M> {
  const { requestId, key = callerKey, endpoint, createdAtMs: atMs } = message;
  const body = messageBody(message, 'queued');
  return { requestId, key, endpoint, atMs, body, outcome: message, older: undefined };
}
