/**
 * Groups the sends of a record into intents: messages that the client means to send once.
 * Two sends belong to one intent if they carry the same `request_id`, if the intents file gives
 * their ids one name, or, where one has no id, if their contents are the same and the earlier one
 * was not confirmed before the later one arrived. A new `request_id` continues an earlier intent of
 * the same content that was left unresolved, if the earlier id is never used again; after a 503
 * `device_inactive` another sender continues it, too.
 * Runs in one pass; each send looks at few intents.
 */
import { dayMs } from '../ledger/time-units.ts';
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
   * The index of the first attempt that may belong to another, equal message. All later attempts are
   * unclear too. Infinity: every attempt is clear.
   */
  unclearFrom: number;
}

/** An intent while its attempts are gathered, with what later sends ask of it. */
interface Gathered extends Intent {
  /** In the client's file, of its latest named attempt. */
  name: string | undefined;
  /** The last send number that can still be a retry: no confirmed reply had left before it. */
  matchableUntil: number;
}

/** What is known of one `request_id` of one caller. */
interface IdUse {
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
  readonly #idUses = new Map<string, IdUse>();
  readonly #intentOf = new Map<Exchange, Gathered>();
  /** By content: intents without a `request_id` that were not confirmed yet. */
  readonly #withoutId = new Map<string, Gathered[]>();
  /**
   * Intents left unresolved whose `request_id` does not come again, by content. An intent whose
   * sender's SIM is deactivated is also found by its message alone: another sender may continue it.
   */
  readonly #abandoned = new Map<string, Gathered[]>();
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
        if (intent.requestId === undefined && isOpen) markLastUnclear(intent);
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
      (id === undefined
        ? this.#findByContent(send, content, id)
        : this.#findById(send, content, id)) ?? this.#begin(send, content, id);
    intent.attempts.push(send);
    this.#intentOf.set(send, intent);
    if (isConfirmed(send)) intent.matchableUntil = Math.min(intent.matchableUntil, send.openUntil);
    if (id !== undefined) this.#noteUse(intent, send, id);
    this.#noteIfAbandoned(intent, send, content);
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

  #useOf(send: Exchange, id: string): IdUse {
    const key = idKey(send, id);
    const use = this.#idUses.get(key) ?? {
      latest: undefined,
      isLatestAccepted: false,
      byMessage: new Map(),
      created: undefined,
      accepted: undefined,
    };
    this.#idUses.set(key, use);
    return use;
  }

  /** First what is certain: the same message under this id, or an id of the same name. */
  #findById(send: Exchange, content: string, id: string): Gathered | undefined {
    const use = this.#idUses.get(idKey(send, id));
    const original = use && originalUnder(use, send);
    const same = use && sameMessageUnder(use, send, original);
    if (same !== undefined) return same;
    if (original !== undefined && isOther(original, send)) {
      this.#reuses.push({ first: original, second: send });
    }
    const named = this.#findByName(send, id, use !== undefined);
    if (named !== undefined) return this.#giveId(named, send, id);
    if (use !== undefined) return this.#findHolder(use, send, original);
    return this.#findByNewKey(send, id) ?? this.#findByContent(send, content, id);
  }

  /** The intent that holds the id; undefined if the id is free for another message. */
  #findHolder(use: IdUse, send: Exchange, original: Exchange | undefined): Gathered | undefined {
    if (this.#isCutAtStart) return undefined;
    // The id is free a day after a message was accepted under it. A client that has seen the
    // acceptance begins another message at once (CLIENT-6).
    if (original === undefined) return use.isLatestAccepted ? undefined : use.latest;
    return wasKnownTo(send, original) ? undefined : this.#intentOf.get(original);
  }

  /**
   * The intent of a caller whose key the service did not know, if it was not accepted yet: the
   * client has another key by now.
   */
  #findByNewKey(send: Exchange, id: string): Gathered | undefined {
    if (this.#isCutAtStart) return undefined;
    const intent = (this.#unauthenticated.get(id) ?? []).find(
      (each) => each.attempts.every(hasUnknownKey) && isSameMessage(lastOf(each), send),
    );
    return intent && this.#giveId(intent, send, id);
  }

  /**
   * The intent to which the client's file gives the id. Reuse of an id by one caller, or use of one
   * id by two accounts, can mean another message.
   */
  #findByName(send: Exchange, id: string, isUsed: boolean): Gathered | undefined {
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
      matchableUntil: Number.POSITIVE_INFINITY,
      unclearFrom: this.#isClear(send, content) ? Number.POSITIVE_INFINITY : 0,
    };
    this.#all.push(intent);
    if (requestId === undefined) push(this.#withoutId, content, intent);
    else {
      this.#giveId(intent, send, requestId);
      if (send.accountId === undefined) push(this.#unauthenticated, requestId, intent);
    }
    return intent;
  }

  /** False if what the record lacks could show that the send continues an earlier intent. */
  #isClear(send: Exchange, content: string): boolean {
    // The record may lack the body.
    if (send.text === '') return false;
    if (requestIdOf(send) !== undefined) return true;
    const mayGoOn = this.#abandoned.has(content) || this.#abandoned.has(messageOf(send));
    return !this.#isCutAtStart && !(this.#isPartial && mayGoOn);
  }

  /** After its last use, an unresolved intent may go on under another `request_id`. */
  #noteIfAbandoned(intent: Gathered, send: Exchange, content: string): void {
    if (intent.requestId === undefined || !isUnresolved(send)) return;
    const lastUse = this.#lastUse.get(idKey(send, intent.requestId)) ?? 0;
    const lastOfName = this.#lastOfName.get(intent.name ?? '') ?? 0;
    if (Math.max(lastUse, lastOfName) > send.number) return;
    push(this.#abandoned, content, intent);
    if (isInactive(send)) push(this.#abandoned, messageOf(send), intent);
  }

  #findByContent(send: Exchange, content: string, id: string | undefined): Gathered | undefined {
    const candidates = this.#pruneAndListOpen(send, content);
    const inFlight = candidates.filter((one) => isInFlight(lastOf(one), send));
    if (inFlight.length > 0 && id === undefined) {
      // Equal sends were in flight at once. The record cannot show which one this retries, if any.
      for (const one of inFlight) markLastUnclear(one);
      return inFlight[0];
    }
    const open = candidates.find(
      (one) => !isInFlight(lastOf(one), send) && (id === undefined || isAttributable(one)),
    );
    if (open !== undefined) return id === undefined ? open : this.#giveId(open, send, id);
    // More exchanges may follow. If one reuses the earlier id, this send is another message.
    if (this.#isPartial || this.#abandoned.size === 0) return undefined;
    return this.#takeAbandoned(send, content, id) ?? this.#takeAbandoned(send, messageOf(send), id);
  }

  /** Drops the intents that no later send can continue. */
  #pruneAndListOpen(send: Exchange, content: string): readonly Gathered[] {
    const known = this.#withoutId.get(content);
    if (known === undefined) return [];
    const open = known.filter(
      (one) => one.requestId === undefined && send.number <= one.matchableUntil,
    );
    this.#withoutId.set(content, open);
    return open;
  }

  #giveId(intent: Gathered, send: Exchange, id: string): Gathered {
    intent.requestId = id;
    const use = this.#useOf(send, id);
    use.latest = intent;
    use.isLatestAccepted = false;
    return intent;
  }

  #takeAbandoned(send: Exchange, key: string, id: string | undefined): Gathered | undefined {
    const abandoned = this.#abandoned.get(key) ?? [];
    while (abandoned[0] !== undefined && !isUnresolved(lastOf(abandoned[0]))) abandoned.shift();
    const name = id === undefined ? undefined : this.#names.of(send, id);
    const at = abandoned.findIndex(
      (one) =>
        isUnresolved(lastOf(one)) &&
        !isInFlight(lastOf(one), send) &&
        // The client's file may show that the two are different intents.
        (one.name === undefined || name === undefined || one.name === name),
    );
    const [intent] = at < 0 ? [] : abandoned.splice(at, 1);
    return intent === undefined || id === undefined ? intent : this.#giveId(intent, send, id);
  }
}

/** The latest intent that sent this message under the id and that the send can continue. */
function sameMessageUnder(use: IdUse, send: Exchange, original: Exchange | undefined) {
  const isReuse = original !== undefined && isOther(original, send);
  return use.byMessage.get(messageOf(send))?.findLast(
    ({ attempts: [first] }) =>
      // The id has passed to another message: an intent that began earlier is over.
      !isReuse || (first?.number ?? 0) > original.number,
  );
}

/**
 * True if the send is another message than the original one of its id. A retry may have another
 * time or sender only if the client did not see the message accepted.
 */
function isOther(original: Exchange, send: Exchange): boolean {
  if (!isSameMessage(original, send)) return true;
  return wasKnownTo(send, original) && !isSentAlike(original, send);
}

export function isAttributable({ unclearFrom }: Intent): boolean {
  return unclearFrom === Number.POSITIVE_INFINITY;
}

/** The attempts that certainly belong to the intent. */
export function clearAttempts({ attempts, unclearFrom }: Intent): readonly Exchange[] {
  return attempts.slice(0, unclearFrom);
}

function markLastUnclear(intent: Intent): void {
  intent.unclearFrom = Math.min(intent.unclearFrom, intent.attempts.length - 1);
}

export function lastOf({ attempts }: Intent): Exchange {
  const last = attempts.at(-1);
  if (last === undefined) throw new Error('an intent has an attempt');
  return last;
}

/**
 * The send that created the message of the id, if it is at most a day older than `send`: the latest
 * 202. If the record lacks it and `send` is a replay, the latest replay before it takes its place.
 */
function originalUnder({ created, accepted }: IdUse, send: Exchange): Exchange | undefined {
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
