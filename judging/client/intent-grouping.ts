/**
 * Groups the sends of a record into intents. A send continues an earlier intent if it carries the
 * same `request_id`, or an id to which the intents file gives the same name. Without an id, it
 * continues an intent of the same content that was not confirmed before the send arrived. A new id
 * continues an intent of the same content that ended unresolved, if the earlier id is never used
 * again (`gathered-intents.ts`). Every other send begins an intent.
 * Runs in one pass, and each send looks at few intents: a record may hold 40,000 equal sends.
 */
import { getOrAdd } from '#io/grouped.ts';
import { requestIdOf } from '../evidence/exchange.ts';
import {
  type ClientExchange,
  isConfirmed,
  isInFlight,
  isUnclear,
  isUnresolved,
  recipientAndTextOf,
  wasKnownTo,
} from './exchange.ts';
import {
  AbandonedIntents,
  type Attempt,
  type GatheredIntent,
  IdUse,
  IntentsOfUnknownKeys,
  IntentsWithoutId,
  isOtherMessage,
} from './gathered-intents.ts';
import { IntentsByName } from './intent-names.ts';
import {
  type Intent,
  type Intents,
  isAttributable,
  type Knowledge,
  lastAttempt,
  type Reuse,
} from './record.ts';

const sendsPerSlice = 50;

/** Yields after every 50 sends, so that a running simulator can serve meanwhile. */
export function groupingOf(
  sends: readonly ClientExchange[],
  knowledge: Knowledge,
): Generator<undefined, Intents> {
  return new Grouping(sends, knowledge).run();
}

class Grouping {
  readonly #sends: readonly ClientExchange[];
  readonly #known: Knowledge;
  readonly #all: GatheredIntent[] = [];
  readonly #reuses: Reuse[] = [];
  /**
   * By recipient and text: how many new ids still begin a separate message
   * (`Knowledge.equalMessages`). Beyond them, a new id may be a retry.
   */
  readonly #equalMessages: Map<string, number>;
  // The intents that a later send may continue.
  /** By caller and then by `request_id`; holds every id of the record from the start. */
  readonly #idUses = new Map<string, Map<string, IdUse>>();
  readonly #byName: IntentsByName;
  readonly #ofUnknownKeys = new IntentsOfUnknownKeys();
  readonly #withoutId = new IntentsWithoutId();
  readonly #abandoned = new AbandonedIntents();

  constructor(sends: readonly ClientExchange[], known: Knowledge) {
    this.#sends = sends;
    this.#known = known;
    this.#byName = new IntentsByName(known.reports);
    this.#equalMessages = new Map(known.equalMessages);
    for (const send of sends) {
      const id = requestIdOf(send);
      if (id === undefined) continue;
      this.#useOf(send, id).lastNumber = send.number;
      this.#byName.noteSend(send, id);
    }
  }

  *run(): Generator<undefined, Intents> {
    for (const [index, send] of this.#sends.entries()) {
      this.#place(send);
      if ((index + 1) % sendsPerSlice === 0) yield;
    }
    if (this.#known.isPartial) this.#markOpenAttempts();
    const unattributable = this.#all.reduce((sum, intent) => sum + unattributableIn(intent), 0);
    return { all: this.#all, reuses: this.#reuses, unattributable };
  }

  /** In a partial record, an equal send that follows could be in flight with an open attempt. */
  #markOpenAttempts(): void {
    for (const intent of this.#all) {
      const isOpen = lastAttempt(intent).openUntil === Number.POSITIVE_INFINITY;
      if (intent.requestId === undefined && isOpen) markUnattributable(intent);
    }
  }

  /** Adds a send to the intent that it continues, or to a new one. */
  #place(send: ClientExchange): void {
    const id = requestIdOf(send);
    const intent = id === undefined ? this.#placeWithoutId(send) : this.#placeWithId(send, id);
    // A new intent begins with this send.
    if (intent.attempts[0] !== send) intent.attempts.push(send);
    // Once confirmed, only sends that came before the reply left can be retries.
    if (isConfirmed(send)) {
      intent.lastRetryNumber = Math.min(intent.lastRetryNumber, send.openUntil);
      intent.confirmedAtMs = Math.min(intent.confirmedAtMs, send.sentAt);
    }
    if (id !== undefined) {
      this.#useOf(send, id).add(intent, send);
      this.#byName.record(intent, send, id);
    }
    if (this.#isAbandonedAfter(intent, send)) this.#abandoned.add(intent, send);
  }

  #placeWithoutId(send: ClientExchange): GatheredIntent {
    const continuable = this.#withoutId.continuableBy(send);
    const inFlight = continuable.filter((intent) => isInFlight(lastAttempt(intent), send));
    // Equal sends are in flight at once. The record cannot show which one this retries, if any.
    for (const intent of inFlight) markUnattributable(intent);
    const mayBeOther = this.#takeEqualMessage(send);
    return (
      inFlight[0] ??
      continuable.find((intent) => !mayBeOther || lastAttempt(intent).isSeen) ??
      this.#takeAbandoned(send, undefined) ??
      this.#begin(send, undefined)
    );
  }

  /**
   * Takes the first of these intents: 1. that of the same message under this id; 2. that of an id
   * with the same name in the file; 3. the one that holds the id; 4. if the id is new, one that it
   * can continue; 5. a new intent.
   */
  #placeWithId(send: ClientExchange, id: string): GatheredIntent {
    const use = this.#useOf(send, id);
    const original = use.originalOf(send, this.#mayLackEarlier(send));
    const same = use.intentOfSameMessage(send, original);
    if (same !== undefined) return same;
    if (original !== undefined && isOtherMessage(original.send, send))
      this.#reuses.push({ first: original.send, second: send });
    const isNew = use.holder === undefined && !this.#mayBeKnown(send, id);
    // Only a new id takes an equal message: a used one may repeat a message.
    const mayContinue = isNew && !this.#takeEqualMessage(send);
    const named = this.#byName.intentFor(send, id, !isNew || this.#known.isCutAtStart);
    if (named !== undefined) return use.giveTo(named, id);
    const holder = this.#holderFor(send, use, original);
    if (holder !== undefined) return holder;
    const continued = mayContinue ? this.#continuedUnderNewId(send, id) : undefined;
    return use.giveTo(continued ?? this.#begin(send, id), id);
  }

  /** Takes one of the equal messages of `Knowledge`. If none is left, a new id can be a retry. */
  #takeEqualMessage(send: ClientExchange): boolean {
    if (this.#equalMessages.size === 0) return false;
    const message = recipientAndTextOf(send);
    const left = this.#equalMessages.get(message) ?? 0;
    if (left === 0) return false;
    this.#equalMessages.set(message, left - 1);
    return true;
  }

  /** The intent that holds the id; undefined if the id is free for another message. */
  #holderFor(
    send: ClientExchange,
    use: IdUse,
    original: Attempt | undefined,
  ): GatheredIntent | undefined {
    if (this.#mayLackEarlier(send)) return undefined;
    // The id is free a day after a message was accepted under it. A client that has seen the
    // acceptance begins another message at once (CLIENT-6).
    if (original === undefined) return use.isHolderAccepted ? undefined : use.holder;
    return wasKnownTo(send, original.send) ? undefined : original.intent;
  }

  #continuedUnderNewId(send: ClientExchange, id: string): GatheredIntent | undefined {
    return (
      (this.#mayLackEarlier(send) ? undefined : this.#ofUnknownKeys.find(send, id)) ??
      this.#withoutId
        .continuableBy(send)
        .find((intent) => isAttributable(intent) && !isInFlight(lastAttempt(intent), send)) ??
      this.#takeAbandoned(send, id)
    );
  }

  /** Removes the intent from the abandoned ones, as the send continues it. */
  #takeAbandoned(send: ClientExchange, id: string | undefined): GatheredIntent | undefined {
    // If an exchange that the record lacks reuses the earlier id, this send is another message.
    if (this.#known.isPartial || this.#known.unclear.concern(send)) return undefined;
    const name = id === undefined ? undefined : this.#byName.names.of(send, id);
    return this.#abandoned.take(send, name);
  }

  /** A new intent of this send. */
  #begin(send: ClientExchange, id: string | undefined): GatheredIntent {
    const intent: GatheredIntent = {
      name: undefined,
      attempts: [send],
      requestId: id,
      lastRetryNumber: Number.POSITIVE_INFINITY,
      confirmedAtMs: Number.POSITIVE_INFINITY,
      unattributableFrom: this.#mayContinueUnseen(send) ? 0 : Number.POSITIVE_INFINITY,
    };
    this.#all.push(intent);
    if (id === undefined) this.#withoutId.add(intent, send);
    else if (send.caller.account === undefined) this.#ofUnknownKeys.add(intent, id);
    return intent;
  }

  /** True if what the record lacks could show that the send continues an earlier intent. */
  #mayContinueUnseen(send: ClientExchange): boolean {
    // The record may lack the body.
    if (send.body === '' || isUnclear(send)) return true;
    if (requestIdOf(send) !== undefined) return false;
    if (this.#known.isCutAtStart || this.#known.unclear.areBetween(send, send)) return true;
    return (
      (this.#known.isPartial || this.#known.unclear.concern(send)) && this.#abandoned.mayHold(send)
    );
  }

  /** True if an unclear send may have had the id, or, on any account, another id of its name. */
  #mayBeKnown(send: ClientExchange, id: string): boolean {
    if (this.#known.unclear.areNone) return false;
    return this.#known.unclear.concern(send) || this.#byName.names.of(send, id) !== undefined;
  }

  /** True if an earlier send that the record lacks may have had the id or the message of this one. */
  #mayLackEarlier(send: ClientExchange): boolean {
    return this.#known.isCutAtStart || this.#known.unclear.concern(send);
  }

  /** True if the send left the intent unresolved and its id and name are not used again. */
  #isAbandonedAfter({ requestId, name }: GatheredIntent, send: ClientExchange): boolean {
    if (requestId === undefined || !isUnresolved(send)) return false;
    const lastOfId = this.#useOf(send, requestId).lastNumber;
    return Math.max(lastOfId, this.#byName.lastNumberOf(name)) <= send.number;
  }

  #useOf({ caller }: ClientExchange, id: string): IdUse {
    const uses = getOrAdd(this.#idUses, caller.name, () => new Map<string, IdUse>());
    return getOrAdd(uses, id, () => new IdUse());
  }
}

/** From its last attempt on, the record cannot show which intent an attempt belongs to. */
function markUnattributable(intent: Intent): void {
  intent.unattributableFrom = Math.min(intent.unattributableFrom, intent.attempts.length - 1);
}

/** The number of its attempts that may belong to another intent. */
function unattributableIn({ attempts, unattributableFrom }: Intent): number {
  return Math.max(0, attempts.length - unattributableFrom);
}
