/**
 * Groups the sends of a record into intents: messages that the client means to send once.
 * Two sends belong to one intent if they carry the same `request_id`, or, where one has none, if
 * their contents are the same and the earlier one was not confirmed before the later one arrived. A
 * new `request_id` continues an earlier intent of the same content that was left unresolved, if the
 * earlier id is never used again (CLIENT-3).
 */
import {
  contentOf,
  type Exchange,
  isConfirmed,
  isSend,
  isUnresolved,
  requestIdOf,
} from './exchange.ts';

export interface Intent {
  readonly content: string;
  /** In order of arrival; never empty. */
  readonly attempts: Exchange[];
  /** Of the first attempt that has one. */
  requestId: string | undefined;
  /** The attempts that lost or changed the intent's `request_id`. */
  readonly renamed: Exchange[];
  /** False where the record does not show which of several equal messages an attempt belongs to. */
  isAttributable: boolean;
}

/** One `request_id` that carries two contents. */
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

const dayMs = 86_400_000;

/** `isPartial`: what depends on what did not come yet is left open. */
export function intentsOf(exchanges: readonly Exchange[], isPartial: boolean): Intents {
  return new Grouping(exchanges.filter(isSend), isPartial).run();
}

class Grouping {
  readonly #sends: readonly Exchange[];
  readonly #isPartial: boolean;
  readonly #all: Intent[] = [];
  readonly #reuses: Reuse[] = [];
  readonly #byId = new Map<string, Intent>();
  readonly #byContent = new Map<string, Intent[]>();
  readonly #lastUse = new Map<string, number>();

  constructor(sends: readonly Exchange[], isPartial: boolean) {
    this.#sends = sends;
    this.#isPartial = isPartial;
    for (const send of sends) {
      const id = requestIdOf(send);
      if (id !== undefined) this.#lastUse.set(idKey(send, id), send.number);
    }
  }

  run(): Intents {
    for (const send of this.#sends) this.#place(send);
    const unattributable = this.#all
      .filter(({ isAttributable }) => !isAttributable)
      .reduce((sum, { attempts }) => sum + attempts.length, 0);
    return { all: this.#all, reuses: this.#reuses, unattributable };
  }

  #place(send: Exchange): void {
    const content = contentOf(send);
    const id = requestIdOf(send);
    const intent =
      id === undefined ? this.#ofContent(send, content) : this.#ofId(send, content, id);
    if (intent === undefined) this.#begin(send, content, id);
    else intent.attempts.push(send);
  }

  #begin(send: Exchange, content: string, requestId: string | undefined): void {
    const intent: Intent = {
      content,
      attempts: [send],
      requestId,
      renamed: [],
      isAttributable: true,
    };
    this.#all.push(intent);
    if (requestId !== undefined) this.#byId.set(idKey(send, requestId), intent);
    const equal = this.#byContent.get(content);
    if (equal === undefined) this.#byContent.set(content, [intent]);
    else equal.push(intent);
  }

  /** The intent of a send without a `request_id`. */
  #ofContent(send: Exchange, content: string): Intent | undefined {
    const open = (this.#byContent.get(content) ?? []).filter((one) => !isOver(one, send));
    const inFlight = open.filter((one) => isInFlight(lastOf(one), send));
    if (inFlight.length > 0) {
      // Equal sends that were open at the same time: either may be the other's retry, or its own.
      for (const one of inFlight) if (one.requestId === undefined) one.isAttributable = false;
      const [first] = inFlight;
      return first?.requestId === undefined ? first : undefined;
    }
    // A partial record may still show the id's own retry.
    const intent = open.find((one) => one.requestId === undefined || !this.#isPartial);
    if (intent?.requestId === undefined) return intent;
    if (this.#isUsedAfter(intent, send)) return undefined;
    intent.renamed.push(send);
    return intent;
  }

  #ofId(send: Exchange, content: string, id: string): Intent | undefined {
    const known = this.#byId.get(idKey(send, id));
    if (known !== undefined) return this.#sameId(send, content, known);
    if (this.#isPartial) return undefined;
    const left = (this.#byContent.get(content) ?? []).find(
      (one) =>
        isUnresolved(lastOf(one)) &&
        !isInFlight(lastOf(one), send) &&
        (one.requestId === undefined || !this.#isUsedAfter(one, send)),
    );
    if (left === undefined) return undefined;
    if (left.requestId !== undefined) left.renamed.push(send);
    left.requestId = id;
    this.#byId.set(idKey(send, id), left);
    return left;
  }

  #sameId(send: Exchange, content: string, known: Intent): Intent | undefined {
    const [first] = known.attempts;
    const isOld = first !== undefined && send.atMs - first.atMs > dayMs;
    if (known.content === content) {
      // After a day the id is free: a new message, unless the old one is still open.
      return isOld && known.attempts.some(isConfirmed) ? undefined : known;
    }
    const isHeld = known.attempts.some(({ status }) => status === 202 || status === 200);
    if (first !== undefined && !isOld && isHeld) this.#reuses.push({ first, second: send });
    return undefined;
  }

  #isUsedAfter({ requestId, attempts: [first] }: Intent, send: Exchange): boolean {
    if (requestId === undefined || first === undefined) return false;
    return (this.#lastUse.get(idKey(first, requestId)) ?? 0) > send.number;
  }
}

export function lastOf({ attempts }: Intent): Exchange {
  const last = attempts.at(-1);
  if (last === undefined) throw new Error('an intent has an attempt');
  return last;
}

/** Confirmed before the send arrived, or refused for good: an equal send is another message. */
function isOver({ attempts }: Intent, send: Exchange): boolean {
  return attempts.some((one) => isConfirmed(one) && one.answeredAtMs <= send.atMs);
}

function isInFlight(earlier: Exchange, send: Exchange): boolean {
  return earlier.answeredAtMs > send.atMs;
}

function idKey({ caller }: Exchange, id: string): string {
  return `${caller}\n${id}`;
}
