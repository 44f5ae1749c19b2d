/**
 * The 24-hour replay window of `request_id`, one for each account.
 * Rules: SEND-4. Assumes: replayScope, replayAcrossEndpoints, failedRequestId.
 * It keeps the first reply's exact bytes, so a replay cannot drift from the original. Scope is asked when
 * a replay is looked for, not when it is kept, so both assumptions can be switched at run time.
 */
import { LRUCache } from 'lru-cache';
import type { ApiKey } from './account.ts';
import type { Assumptions } from './assumptions.ts';
import { assert, type ServiceError } from './errors.ts';
import type { EndpointName } from './limits.ts';
import { replayWindowMs } from './limits.ts';
import { Message } from './message.ts';

/** The first use of a `request_id`, and what it was answered. */
export interface FirstUse {
  readonly requestId: string;
  readonly key: ApiKey;
  readonly endpoint: EndpointName;
  readonly atMs: number;
  /** The body of the first reply, byte for byte; empty for a refusal. */
  readonly body: string;
  /** The message it created, or the refusal where `failedRequestId` burns the id. */
  readonly outcome: Message | ServiceError;
  /** A use of the same id in another scope, made before this one. */
  readonly older: FirstUse | undefined;
}

/** A use whose message tells all of it stands as that message alone: an object less for each send. */
type Kept = Message | FirstUse;

type ScopeAssumptions = Pick<
  Assumptions,
  'replayScope' | 'replayAcrossEndpoints' | 'failedRequestId'
>;

const smallestWindow = 64;
/** Each growth moves all that is held, so the steps are large. */
const growth = 8;

export class ReplayWindow {
  readonly #now: () => number;
  /** Made on the first `request_id`, and made larger before anything would fall out too early. */
  #uses: LRUCache<string, Kept> | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The first use of `requestId` in the scope of this call that counts and was at most 24 h ago. */
  find(
    requestId: string,
    key: ApiKey,
    endpoint: EndpointName,
    assumptions: ScopeAssumptions,
  ): FirstUse | undefined {
    // peek, not get: recency must stay the order of age.
    let use = asUse(this.#uses?.peek(requestId));
    let message: FirstUse | undefined;
    let refusal: FirstUse | undefined;
    const oldestMs = this.#now() - replayWindowMs;
    // Several stand here only where an assumption was switched between them.
    while (use !== undefined && use.atMs >= oldestMs) {
      const inScope =
        (assumptions.replayScope === 'account' || use.key === key) &&
        (assumptions.replayAcrossEndpoints === 'shared' || use.endpoint === endpoint);
      if (inScope && use.outcome instanceof Message) message = use;
      else if (inScope) refusal = use;
      use = use.older;
    }
    // SEND-4 is a rule, so a message that was accepted goes before what `failedRequestId` burned.
    return message ?? (assumptions.failedRequestId === 'burned' ? refusal : undefined);
  }

  keep(use: Omit<FirstUse, 'older'>): void {
    const { requestId, key, endpoint, atMs, body, outcome } = use;
    const uses = this.#withRoom();
    const older = this.#living(asUse(uses.peek(requestId)));
    const isToldByMessage =
      older === undefined &&
      outcome instanceof Message &&
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
  *entries(): IterableIterator<FirstUse> {
    if (this.#uses === undefined) return;
    for (const kept of this.#uses.rvalues()) {
      const use = asUse(kept);
      if (use !== undefined) yield use;
    }
  }

  /**
   * At the documented rate a window holds 120 × 1,440 uses for each endpoint; reserving that at once
   * would cost every account megabytes. So it grows eightfold when full, unless half of what it holds is dead:
   * its size follows the uses of the last day, and clearing up costs each use a constant.
   */
  #withRoom(): LRUCache<string, Kept> {
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

  #create(max: number): LRUCache<string, Kept> {
    return new LRUCache<string, Kept>({
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
  #living(use: FirstUse | undefined): FirstUse | undefined {
    if (use === undefined || this.#isDead(use.atMs)) return undefined;
    const older = this.#living(use.older);
    return older === use.older ? use : { ...use, older };
  }

  #isDead(atMs: number): boolean {
    return this.#now() - atMs > replayWindowMs;
  }
}

function keptAtMs(kept: Kept): number {
  return kept instanceof Message ? kept.createdAtMs : kept.atMs;
}

function asUse(kept: Kept | undefined): FirstUse | undefined {
  if (!(kept instanceof Message)) return kept;
  const { requestId, key, endpoint, createdAtMs: atMs, firstReply: body } = kept;
  assert(key !== undefined, 'a message that stands for its use knows its key');
  return { requestId, key, endpoint, atMs, body, outcome: kept, older: undefined };
}
