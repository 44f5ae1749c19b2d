/**
 * Groups the sends of a record into intents: messages that the client means to send once.
 * Two sends belong to one intent if they carry the same `request_id`, if the intents file gives
 * their ids one name, or, where one has no id, if their contents are the same and the earlier one
 * was not confirmed before the later one arrived. A new `request_id` continues an earlier intent of
 * the same content that was left unresolved, if the earlier id is never used again; after a 503
 * `device_inactive` another sender continues it, too.
 * Runs in one pass; each send looks at few intents.
 */
import {
  contentOf,
  type Exchange,
  isAccepted,
  isConfirmed,
  isInactive,
  isInFlight,
  isSameMessage,
  isSend,
  isSentAlike,
  isUnresolved,
  messageOf,
  push,
  requestIdOf,
  wasKnownTo,
} from './exchange.ts';
import { IntentNames, type Report } from './intents-file.ts';

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

/** An intent while its attempts are gathered, with what later sends ask of it. */
interface Gathered extends Intent {
  /** In the client's file, of its latest named attempt. */
  name: string | undefined;
  /** The last number of a send that came before any confirmed attempt's reply had left. */
  openUntil: number;
}

/** What is known of one `request_id` of one caller. */
interface Use {
  /** The intent that got the id last, and whether one of its messages was accepted under the id. */
  latest: Gathered | undefined;
  isLatestAccepted: boolean;
  /** By message: the intents that have an attempt with it under this id. */
  readonly byMessage: Map<string, Gathered[]>;
  /** The latest 202 under the id, and the latest 202 or 200. */
  created: Exchange | undefined;
  accepted: Exchange | undefined;
}

/** What is known of a name in the client's file. */
interface NamedIntents {
  latest: Gathered;
  readonly ids: Set<string>;
  readonly byMessage: Map<string, Gathered>;
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
  /** True if more exchanges may follow: only what they cannot change is decided. */
  readonly isPartial: boolean;
  /** Exchanges may be missing before the first one: only equal ids prove one intent. */
  readonly isCutAtStart: boolean;
  /** What the client reported of its intents; undefined without an intents file. */
  readonly reports: readonly Report[] | undefined;
}

export const dayMs = 86_400_000;

const sendsPerSlice = 50;

/** Works in slices. */
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
  readonly #names: IntentNames;
  readonly #all: Gathered[] = [];
  readonly #reuses: Reuse[] = [];
  readonly #uses = new Map<string, Use>();
  readonly #intentOf = new Map<Exchange, Gathered>();
  /** By content: intents without a `request_id` that were not confirmed yet. */
  readonly #bare = new Map<string, Gathered[]>();
  /**
   * By content: intents left unresolved whose `request_id` does not come again. By message alone
   * those whose sender's SIM is deactivated.
   */
  readonly #left = new Map<string, Gathered[]>();
  /** By `request_id` alone: intents of callers without an account. */
  readonly #unauthenticated = new Map<string, Gathered[]>();
  /** By name in the client's file. */
  readonly #named = new Map<string, NamedIntents>();
  /** The number of the last send under an id of a caller, and under a name. */
  readonly #lastUse = new Map<string, number>();
  readonly #lastOfName = new Map<string, number>();

  constructor(sends: readonly Exchange[], { isPartial, isCutAtStart, reports }: Knowledge) {
    this.#sends = sends;
    this.#isPartial = isPartial;
    this.#isCutAtStart = isCutAtStart;
    this.#names = new IntentNames(reports);
    for (const send of sends) {
      const id = requestIdOf(send);
      if (id === undefined) continue;
      this.#lastUse.set(idKey(send, id), send.number);
      const name = this.#names.of(send, id);
      if (name !== undefined) this.#lastOfName.set(name, send.number);
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
      (id === undefined ? this.#ofContent(send, content, id) : this.#ofId(send, content, id)) ??
      this.#begin(send, content, id);
    intent.attempts.push(send);
    this.#intentOf.set(send, intent);
    if (isConfirmed(send)) intent.openUntil = Math.min(intent.openUntil, send.openUntil);
    if (id !== undefined) this.#noteUse(intent, send, id);
    this.#noteIfLeft(intent, send, content);
  }

  #noteUse(intent: Gathered, send: Exchange, id: string): void {
    const message = messageOf(send);
    this.#noteName(intent, message, id, this.#names.of(send, id));
    const use = this.#useOf(send, id);
    if (use.byMessage.get(message)?.includes(intent) !== true) push(use.byMessage, message, intent);
    if (isAccepted(send)) {
      use.accepted = send;
      if (use.latest === intent) use.isLatestAccepted = true;
    }
    if (send.status === 202) use.created = send;
  }

  #noteName(intent: Gathered, message: string, id: string, name: string | undefined): void {
    if (name === undefined) return;
    intent.name = name;
    const named = this.#named.get(name) ?? { latest: intent, ids: new Set(), byMessage: new Map() };
    this.#named.set(name, named);
    named.latest = intent;
    named.ids.add(id);
    named.byMessage.set(message, intent);
  }

  #useOf(send: Exchange, id: string): Use {
    const key = idKey(send, id);
    const use = this.#uses.get(key) ?? {
      latest: undefined,
      isLatestAccepted: false,
      byMessage: new Map(),
      created: undefined,
      accepted: undefined,
    };
    this.#uses.set(key, use);
    return use;
  }

  /** First what is certain: the same message under this id, or an id of the same name. */
  #ofId(send: Exchange, content: string, id: string): Gathered | undefined {
    const use = this.#uses.get(idKey(send, id));
    const held = use && heldUnder(use, send);
    const same = use && this.#sameId(send, use, held);
    if (same !== undefined) return same;
    const named = this.#namedAlike(send, id, use !== undefined);
    if (named !== undefined) return this.#giveId(named, send, id);
    if (use === undefined) return this.#afterNewKey(send, id) ?? this.#ofContent(send, content, id);
    if (this.#isCutAtStart) return undefined;
    // The id is free a day after a message was accepted under it. A client that has seen the
    // acceptance begins another message at once (CLIENT-6).
    const earlier = held === undefined ? use.latest : this.#intentOf.get(held);
    const isFree = held === undefined ? use.isLatestAccepted : wasKnownTo(send, held);
    return isFree ? undefined : earlier;
  }

  /**
   * The intent of a caller whose key the service did not know, if it was not accepted yet: the
   * client has another key by now.
   */
  #afterNewKey(send: Exchange, id: string): Gathered | undefined {
    if (this.#isCutAtStart) return undefined;
    const intent = (this.#unauthenticated.get(id) ?? []).find(
      (each) => each.attempts.every(hasUnknownKey) && isSameMessage(lastOf(each), send),
    );
    return intent && this.#giveId(intent, send, id);
  }

  /**
   * The intent to which the client's file gives the id. What a caller sends under an id that it has
   * used before can be another message; what two accounts send under one id, too.
   */
  #namedAlike(send: Exchange, id: string, isUsed: boolean): Gathered | undefined {
    const named = this.#named.get(this.#names.of(send, id) ?? '');
    const same = named?.byMessage.get(messageOf(send));
    if (same !== undefined || isUsed || this.#isCutAtStart) return same;
    return named?.ids.has(id) === true ? undefined : named?.latest;
  }

  /** A new intent, still without its first attempt. */
  #begin(send: Exchange, content: string, requestId: string | undefined): Gathered {
    const intent: Gathered = {
      content,
      name: undefined,
      attempts: [],
      requestId,
      openUntil: Number.POSITIVE_INFINITY,
      unclearFrom: this.#isClear(send, content) && send.text !== '' ? Number.POSITIVE_INFINITY : 0,
    };
    this.#all.push(intent);
    if (requestId === undefined) push(this.#bare, content, intent);
    else {
      this.#giveId(intent, send, requestId);
      if (send.accountId === undefined) push(this.#unauthenticated, requestId, intent);
    }
    return intent;
  }

  /** False if what the record lacks could show that the send continues an earlier intent. */
  #isClear(send: Exchange, content: string): boolean {
    if (requestIdOf(send) !== undefined) return true;
    const mayGoOn = this.#left.has(content) || this.#left.has(messageOf(send));
    return !this.#isCutAtStart && !(this.#isPartial && mayGoOn);
  }

  /** After its last use, an unresolved intent may go on under another `request_id`. */
  #noteIfLeft(intent: Gathered, send: Exchange, content: string): void {
    if (intent.requestId === undefined || !isUnresolved(send)) return;
    const lastUse = this.#lastUse.get(idKey(send, intent.requestId)) ?? 0;
    const lastOfName = this.#lastOfName.get(intent.name ?? '') ?? 0;
    if (Math.max(lastUse, lastOfName) > send.number) return;
    push(this.#left, content, intent);
    if (isInactive(send)) push(this.#left, messageOf(send), intent);
  }

  #ofContent(send: Exchange, content: string, id: string | undefined): Gathered | undefined {
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
    if (this.#isPartial || this.#left.size === 0) return undefined;
    return this.#renamed(send, content, id) ?? this.#renamed(send, messageOf(send), id);
  }

  #openBare(send: Exchange, content: string): readonly Gathered[] {
    const known = this.#bare.get(content);
    if (known === undefined) return [];
    const open = known.filter((one) => one.requestId === undefined && send.number <= one.openUntil);
    this.#bare.set(content, open);
    return open;
  }

  #giveId(intent: Gathered, send: Exchange, id: string): Gathered {
    intent.requestId = id;
    const use = this.#useOf(send, id);
    use.latest = intent;
    use.isLatestAccepted = false;
    return intent;
  }

  #renamed(send: Exchange, content: string, id: string | undefined): Gathered | undefined {
    const left = this.#left.get(content) ?? [];
    while (left[0] !== undefined && !isUnresolved(lastOf(left[0]))) left.shift();
    const name = id === undefined ? undefined : this.#names.of(send, id);
    const at = left.findIndex(
      (one) =>
        isUnresolved(lastOf(one)) &&
        !isInFlight(lastOf(one), send) &&
        // The client's file does not give the two to two intents.
        (one.name === undefined || name === undefined || one.name === name),
    );
    const [intent] = at < 0 ? [] : left.splice(at, 1);
    return intent === undefined || id === undefined ? intent : this.#giveId(intent, send, id);
  }

  #sameId(send: Exchange, use: Use, held: Exchange | undefined): Gathered | undefined {
    const isReuse = held !== undefined && isOther(held, send);
    const same = use.byMessage.get(messageOf(send))?.findLast(
      ({ attempts: [first] }) =>
        // An intent from before the held message is another message's.
        !isReuse || (first?.number ?? 0) > held.number,
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
function heldUnder({ created, accepted }: Use, send: Exchange): Exchange | undefined {
  const ifRecent = (earlier: Exchange | undefined) =>
    earlier !== undefined && send.atMs - earlier.atMs <= dayMs ? earlier : undefined;
  return ifRecent(created) ?? (send.status === 200 ? ifRecent(accepted) : undefined);
}

function hasUnknownKey(exchange: Exchange): boolean {
  return exchange.accountId === undefined && !isAccepted(exchange);
}

function idKey({ caller }: Exchange, id: string): string {
  return `${caller}\n${id}`;
}
