/**
 * The 24-hour replay window of `request_id`, one for each account.
 * Rules: SEND-4. Assumes: replayScope, replayAcrossEndpoints, failedRequestId.
 * It keeps the first reply's exact bytes, so a replay cannot drift from the original. Scope is
 * asked when a replay is looked for, not when it is kept, so both assumptions can be switched at
 * run time.
 */
import { LRUCache } from 'lru-cache';
import type { Assumptions } from './assumptions.ts';
import { assert, type ServiceError } from './errors.ts';
import type { EndpointName } from './limits.ts';
import { replayWindowMs } from './limits.ts';

/** The fields of an accepted message that describe its use of a `request_id`. */
export interface AcceptedUse<Key> {
  readonly requestId: string;
  readonly key: Key | undefined;
  readonly endpoint: EndpointName;
  readonly createdAtMs: number;
  readonly firstReply: string;
}

/** The first use of a `request_id`, and what it was answered. */
export interface Use<Key, M> {
  readonly requestId: string;
  readonly key: Key;
  readonly endpoint: EndpointName;
  readonly atMs: number;
  /** The body of the first reply, byte for byte; empty for a refusal. */
  readonly body: string;
  /** The message it created, or the refusal where `failedRequestId` burns the id. */
  readonly outcome: M | ServiceError;
  /** A use of the same id in another scope, made before this one. */
  readonly older: Use<Key, M> | undefined;
}

/**
 * A use whose message tells all of it stands as that message alone: an object less for each send.
 */
type Kept<Key, M> = M | Use<Key, M>;

type ScopeAssumptions = Pick<
  Assumptions,
  'replayScope' | 'replayAcrossEndpoints' | 'failedRequestId'
>;

const smallestWindow = 64;
/** Each growth moves all that is held, so the steps are large. */
const growth = 8;

export class ReplayWindow<Key, M extends AcceptedUse<Key>> {
  readonly #now: () => number;
  /** Made on the first `request_id`, and made larger before anything would fall out too early. */
  #uses: LRUCache<string, Kept<Key, M>> | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * The first use of `requestId` in the scope of this call that counts and was at most 24 h ago.
   */
  find(
    requestId: string,
    key: Key,
    endpoint: EndpointName,
    assumptions: ScopeAssumptions,
  ): Use<Key, M> | undefined {
    // peek, not get: recency must stay the order of age.
    let use = useOf<Key, M>(this.#uses?.peek(requestId));
    let message: Use<Key, M> | undefined;
    let refusal: Use<Key, M> | undefined;
    const oldestMs = this.#now() - replayWindowMs;
    // Several stand here only where an assumption was switched between them.
    while (use !== undefined && use.atMs >= oldestMs) {
      const inScope =
        (assumptions.replayScope === 'account' || use.key === key) &&
        (assumptions.replayAcrossEndpoints === 'shared' || use.endpoint === endpoint);
      if (inScope && isAccepted(use.outcome)) message = use;
      else if (inScope) refusal = use;
      use = use.older;
    }
    // SEND-4 is a rule, so a message that was accepted goes before what `failedRequestId` burned.
    return message ?? (assumptions.failedRequestId === 'burned' ? refusal : undefined);
  }

  keep(use: Omit<Use<Key, M>, 'older'>): void {
    const { requestId, key, endpoint, atMs, body, outcome } = use;
    const uses = this.#withRoom();
    const older = this.#living(useOf<Key, M>(uses.peek(requestId)));
    const isToldByMessage =
      older === undefined &&
      isAccepted(outcome) &&
      outcome.requestId === requestId &&
      outcome.key === key &&
      outcome.endpoint === endpoint &&
      outcome.createdAtMs === atMs &&
      outcome.firstReply === body;
    const kept = isToldByMessage
      ? outcome
      : { requestId, key, endpoint, atMs, body, outcome, older };
    uses.set(requestId, kept, { start: atMs });
  }

  /** Entries held, dead ones that nothing has pushed out yet included. */
  get size(): number {
    return this.#uses?.size ?? 0;
  }

  /** All that is held and alive, oldest first. */
  *entries(): IterableIterator<Use<Key, M>> {
    if (this.#uses === undefined) return;
    for (const kept of this.#uses.rvalues()) {
      const use = useOf<Key, M>(kept);
      if (use !== undefined) yield use;
    }
  }

  /**
   * At the documented rate a window holds 120 × 1,440 uses for each endpoint; reserving that at
   * once would cost every account megabytes. So it grows eightfold when full, unless half of what
   * it holds is dead: its size follows the uses of the last day, and clearing up costs each use a
   * constant.
   */
  #withRoom(): LRUCache<string, Kept<Key, M>> {
    this.#uses ??= this.#create(smallestWindow);
    if (this.#uses.size < this.#uses.max) return this.#uses;
    this.#uses.purgeStale();
    if (this.#uses.size <= this.#uses.max / 2) return this.#uses;
    const larger = this.#create(growth * this.#uses.max);
    for (const kept of this.#uses.rvalues()) {
      if (kept !== undefined) larger.set(kept.requestId, kept, { start: keptAtMs(kept) });
    }
    this.#uses = larger;
    return larger;
  }

  #create(max: number): LRUCache<string, Kept<Key, M>> {
    return new LRUCache<string, Kept<Key, M>>({
      max,
      ttl: replayWindowMs,
      ttlResolution: 0,
      perf: { now: this.#now },
      dispose: (kept, _requestId, reason) => {
        assert(
          reason !== 'evict' || this.#isDead(keptAtMs(kept)),
          'no request_id is forgotten inside its window',
        );
      },
    });
  }

  /** A chain without its dead end; older uses stand behind younger ones. */
  #living(use: Use<Key, M> | undefined): Use<Key, M> | undefined {
    if (use === undefined || this.#isDead(use.atMs)) return undefined;
    const older = this.#living(use.older);
    return older === use.older ? use : { ...use, older };
  }

  #isDead(atMs: number): boolean {
    return this.#now() - atMs > replayWindowMs;
  }
}

/** Whether this is a message and not a refusal or a use of its own. */
function isAccepted<Key, M extends AcceptedUse<Key>>(it: M | Use<Key, M> | ServiceError): it is M {
  return 'firstReply' in it;
}

function keptAtMs<Key, M extends AcceptedUse<Key>>(kept: Kept<Key, M>): number {
  return isAccepted(kept) ? kept.createdAtMs : kept.atMs;
}

function useOf<Key, M extends AcceptedUse<Key>>(
  kept: Kept<Key, M> | undefined,
): Use<Key, M> | undefined {
  if (kept === undefined || !isAccepted(kept)) return kept;
  const { requestId, key, endpoint, createdAtMs: atMs, firstReply: body } = kept;
  assert(key !== undefined, 'a message that stands for its use knows its key');
  return { requestId, key, endpoint, atMs, body, outcome: kept, older: undefined };
}
