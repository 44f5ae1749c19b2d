/**
 * Groups the sends of a record into intents: messages that the client means to send once.
 * Two sends belong to one intent if they carry the same `request_id`, if the intents file gives
 * their ids one name, or, where one has no id, if their contents are the same and the earlier one
 * was not confirmed before the later one arrived. A new `request_id` continues an earlier intent of
 * the same content that was left unresolved, if the earlier id is never used again (CLIENT-3).
 * Runs in one pass; each send looks at few intents.
 */
import { atOnce } from '../sim/at-once.ts';
import {
  contentOf,
  type Exchange,
  isAccepted,
  isConfirmed,
  isInFlight,
  isSameMessage,
  isSend,
  isSentAlike,
  isUnresolved,
  requestIdOf,
  wasKnownTo,
} from './exchange.ts';
import type { Report } from './intents-file.ts';

export interface Intent {
  /** Of its first attempt. */
  readonly content: string;
  /** In order of arrival; never empty. */
  readonly attempts: Exchange[];
  /** The latest one; undefined while no attempt has one. */
  requestId: string | undefined;
  /**
   * The first attempt of which the record does not show which of several equal messages it belongs
   * to, as an index; Infinity without one. What follows it is as unclear.
   */
  unclearFrom: number;
}

/** One `request_id` that carries two messages. */
export interface Reuse {
  readonly first: Exchange;
  readonly second: Exchange;
}

export interface Intents {
  readonly all: readonly Intent[];
  readonly reuses: readonly Reuse[];
  /** Sends that cannot be attributed to one intent. */
  readonly unattributable: number;
}

export interface Knowledge {
  /** More exchanges may follow: only what they cannot change is decided. */
  readonly isPartial: boolean;
  /** Exchanges may be missing before the first one: only equal ids prove one intent. */
  readonly isCutAtStart?: boolean;
  readonly reports: readonly Report[] | undefined;
}

export const dayMs = 86_400_000;

const sendsPerSlice = 50;

export function intentsOf(exchanges: readonly Exchange[], knowledge: Knowledge): Intents {
  return atOnce(groupingOf(exchanges, knowledge));
}

/** The same in slices. */
export function groupingOf(
  exchanges: readonly Exchange[],
  knowledge: Knowledge,
): Generator<undefined, Intents> {
  return new Grouping(exchanges.filter(isSend), knowledge).run();
}

class Grouping {
  readonly #sends: readonly Exchange[];
  readonly #isPartial: boolean;
  readonly #isCutAtStart: boolean;
  /** All ids of the intent that the client's own file gives an id to. */
  readonly #named: ReadonlyMap<string, readonly string[]>;
  readonly #all: Intent[] = [];
  readonly #reuses: Reuse[] = [];
  readonly #byId = new Map<string, Intent[]>();
  /** By content: intents without a `request_id` that were not confirmed yet. */
  readonly #bare = new Map<string, Intent[]>();
  /** By content: intents left unresolved whose `request_id` does not come again. */
  readonly #left = new Map<string, Intent[]>();
  /** By `request_id` alone: intents of callers without an account. */
  readonly #strangers = new Map<string, Intent[]>();
  readonly #lastUse = new Map<string, number>();

  constructor(
    sends: readonly Exchange[],
    { isPartial, isCutAtStart = false, reports = [] }: Knowledge,
  ) {
    this.#sends = sends;
    this.#isPartial = isPartial;
    this.#isCutAtStart = isCutAtStart;
    this.#named = new Map(
      reports.flatMap(({ request_id: id, requestIds = id === undefined ? [] : [id] }) =>
        requestIds.map((one) => [one, requestIds] as const),
      ),
    );
    for (const send of sends) {
      const id = requestIdOf(send);
      if (id !== undefined) this.#lastUse.set(idKey(send, id), send.number);
    }
  }

  *run(): Generator<undefined, Intents> {
    for (const [at, send] of this.#sends.entries()) {
      this.#place(send);
      if (at % sendsPerSlice === 0) yield;
    }
    if (this.#isPartial) {
      for (const intent of this.#all) {
        // An equal send that comes next could be open at the same time.
        const isOpen = lastOf(intent).openUntil === Number.POSITIVE_INFINITY;
        if (intent.requestId === undefined && isOpen) blurLast(intent);
      }
    }
    const unattributable = this.#all.reduce(
      (sum, intent) => sum + intent.attempts.length - clearAttempts(intent).length,
      0,
    );
    return { all: this.#all, reuses: this.#reuses, unattributable };
  }

  #place(send: Exchange): void {
    const content = contentOf(send);
    const id = requestIdOf(send);
    const intent =
      id === undefined ? this.#ofContent(send, content, id) : this.#ofId(send, content, id);
    if (intent === undefined) this.#begin(send, content, id);
    else intent.attempts.push(send);
    this.#noteIfLeft(intent ?? this.#all.at(-1), send, content);
  }

  /** First what is certain: the same message under this id, or under one of the same name. */
  #ofId(send: Exchange, content: string, id: string): Intent | undefined {
    const known = this.#byId.get(idKey(send, id));
    const held = known === undefined ? undefined : heldUnder(id, known, send);
    const same = known === undefined ? undefined : this.#sameId(send, id, known, held);
    if (same !== undefined) return same;
    const other = this.#namedAlike(send, id);
    if (other !== undefined) return this.#giveId(other, send, id);
    if (known === undefined) return this.#moved(send, id) ?? this.#ofContent(send, content, id);
    if (this.#isCutAtStart) return undefined;
    // The id is free a day after a message was accepted under it. A client that has seen the
    // acceptance begins another message at once (CLIENT-6).
    const earlier = known.findLast(({ attempts }) => held === undefined || attempts.includes(held));
    const isFree = held === undefined ? earlier?.attempts.some(isAccepted) : wasKnownTo(send, held);
    return isFree === true ? undefined : earlier;
  }

  /**
   * The intent of a caller whose key the service did not know, if it was not accepted yet: the
   * client has another key by now.
   */
  #moved(send: Exchange, id: string): Intent | undefined {
    if (this.#isCutAtStart) return undefined;
    const moved = (this.#strangers.get(id) ?? []).find(
      (one) => one.attempts.every(isStrangers) && isSameMessage(lastOf(one), send),
    );
    return moved && this.#giveId(moved, send, id);
  }

  /** The intent of another id that the client's file gives to the same intent. */
  #namedAlike(send: Exchange, id: string): Intent | undefined {
    return (this.#named.get(id) ?? [])
      .flatMap((other) => this.#byId.get(idKey(send, other)) ?? [])
      .findLast(({ attempts }) => attempts.some((one) => isSameMessage(one, send)));
  }

  #begin(send: Exchange, content: string, requestId: string | undefined): void {
    const intent = {
      content,
      attempts: [send],
      requestId,
      unclearFrom:
        this.#isClear(content, requestId) && send.text !== '' ? Number.POSITIVE_INFINITY : 0,
    };
    this.#all.push(intent);
    if (requestId === undefined) push(this.#bare, content, intent);
    else {
      push(this.#byId, idKey(send, requestId), intent);
      if (send.accountId === undefined) push(this.#strangers, requestId, intent);
    }
  }

  /** False if what the record lacks could show that the send continues an earlier intent. */
  #isClear(content: string, requestId: string | undefined): boolean {
    if (requestId !== undefined) return true;
    return !this.#isCutAtStart && !(this.#isPartial && this.#left.has(content));
  }

  /** After its last use, an unresolved intent may go on under another `request_id`. */
  #noteIfLeft(intent: Intent | undefined, send: Exchange, content: string): void {
    if (intent?.requestId === undefined || !isUnresolved(send)) return;
    const lastUse = this.#lastUse.get(idKey(send, intent.requestId)) ?? 0;
    if (lastUse <= send.number) push(this.#left, content, intent);
  }

  #ofContent(send: Exchange, content: string, id: string | undefined): Intent | undefined {
    const bare = this.#openBare(send, content);
    const inFlight = bare.filter((one) => isInFlight(lastOf(one), send));
    if (inFlight.length > 0 && id === undefined) {
      // Equal sends that were open at the same time: either may be the other's retry, or its own.
      for (const one of inFlight) blurLast(one);
      return inFlight[0];
    }
    const open = bare.find(
      (one) => !isInFlight(lastOf(one), send) && (id === undefined || isAttributable(one)),
    );
    if (open !== undefined) return id === undefined ? open : this.#giveId(open, send, id);
    // A partial record may still show the earlier id's own retry.
    return this.#isPartial ? undefined : this.#renamed(send, content, id);
  }

  #openBare(send: Exchange, content: string): readonly Intent[] {
    const known = this.#bare.get(content);
    if (known === undefined) return [];
    const open = known.filter((one) => one.requestId === undefined && !isOver(one, send));
    this.#bare.set(content, open);
    return open;
  }

  #giveId(intent: Intent, send: Exchange, id: string): Intent {
    intent.requestId = id;
    push(this.#byId, idKey(send, id), intent);
    return intent;
  }

  #renamed(send: Exchange, content: string, id: string | undefined): Intent | undefined {
    const left = this.#left.get(content) ?? [];
    const at = left.findIndex(
      (one) => !isInFlight(lastOf(one), send) && !this.#areNamedApart(one.requestId, id),
    );
    const [intent] = at < 0 ? [] : left.splice(at, 1);
    return intent === undefined || id === undefined ? intent : this.#giveId(intent, send, id);
  }

  /** True if the client's file gives the two ids to two intents. */
  #areNamedApart(a: string | undefined, b: string | undefined): boolean {
    const [first, second] = [this.#named.get(a ?? ''), this.#named.get(b ?? '')];
    return first !== undefined && second !== undefined && first !== second;
  }

  #sameId(
    send: Exchange,
    id: string,
    known: readonly Intent[],
    held: Exchange | undefined,
  ): Intent | undefined {
    const isReuse = held !== undefined && isOther(held, send);
    const same = known.findLast(
      ({ attempts: [first], attempts }) =>
        // An intent from before the held message is another message's.
        (!isReuse || (first?.number ?? 0) > held.number) &&
        attempts.some((one) => requestIdOf(one) === id && isSameMessage(one, send)),
    );
    if (same === undefined && isReuse) this.#reuses.push({ first: held, second: send });
    return same;
  }
}

/**
 * True if the send is another message than the one held under its id. A retry may word its message,
 * its time or its sender anew only if the client did not see the message accepted.
 */
function isOther(held: Exchange, send: Exchange): boolean {
  if (!isSameMessage(held, send)) return true;
  return wasKnownTo(send, held) && !isSentAlike(held, send);
}

export function isAttributable({ unclearFrom }: Intent): boolean {
  return unclearFrom === Number.POSITIVE_INFINITY;
}

/** The attempts that certainly belong to the intent. */
export function clearAttempts({ attempts, unclearFrom }: Intent): readonly Exchange[] {
  return attempts.slice(0, unclearFrom);
}

function blurLast(intent: Intent): void {
  intent.unclearFrom = Math.min(intent.unclearFrom, intent.attempts.length - 1);
}

export function lastOf({ attempts }: Intent): Exchange {
  const last = attempts.at(-1);
  if (last === undefined) throw new Error('an intent has an attempt');
  return last;
}

/**
 * The send whose message the service holds under the id when the later one arrives: the 202 of the
 * last day. Where the record lacks it, a replay with the same reply shows the same.
 */
function heldUnder(id: string, known: readonly Intent[], send: Exchange): Exchange | undefined {
  const accepted = known
    .flatMap(({ attempts }) => attempts)
    .filter((one) => isAccepted(one) && requestIdOf(one) === id && send.atMs - one.atMs <= dayMs);
  const created = accepted.findLast(({ status }) => status === 202);
  return created ?? (send.status === 200 ? accepted.at(-1) : undefined);
}

/** Confirmed before the send arrived: an equal send is another message. */
function isOver({ attempts }: Intent, send: Exchange): boolean {
  return attempts.some((one) => isConfirmed(one) && !isInFlight(one, send));
}

function isStrangers(one: Exchange): boolean {
  return one.accountId === undefined && !isAccepted(one);
}

function idKey({ caller }: Exchange, id: string): string {
  return `${caller}\n${id}`;
}

function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
