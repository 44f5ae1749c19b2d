/**
 * Groups the sends of a record into intents: messages that the client means to send once.
 * Two sends belong to one intent if they carry the same `request_id`, or, where one has none, if
 * their contents are the same and the earlier one was not confirmed before the later one arrived. A
 * new `request_id` continues an earlier intent of the same content that was left unresolved, if the
 * earlier id is never used again (CLIENT-3). One pass; each send looks at few intents.
 */
import {
  contentOf,
  type Exchange,
  isAccepted,
  isConfirmed,
  isInFlight,
  isSameMessage,
  isSend,
  isUnresolved,
  requestIdOf,
} from './exchange.ts';
import type { Report } from './intents-file.ts';

export interface Intent {
  readonly content: string;
  /** In order of arrival; never empty. */
  readonly attempts: Exchange[];
  /** The one it had last; undefined while no attempt had one. */
  requestId: string | undefined;
  /** The attempts that lost or changed the intent's `request_id`. */
  readonly renamed: Set<Exchange>;
  /** False where the record does not show which of several equal messages an attempt belongs to. */
  isAttributable: boolean;
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
  /** What depends on what did not come yet is left open. */
  readonly isPartial: boolean;
  readonly reports: readonly Report[] | undefined;
}

export const dayMs = 86_400_000;

export function intentsOf(exchanges: readonly Exchange[], knowledge: Knowledge): Intents {
  return new Grouping(exchanges.filter(isSend), knowledge).run();
}

class Grouping {
  readonly #sends: readonly Exchange[];
  readonly #isPartial: boolean;
  /** The client's own names of its intents, by `request_id`. */
  readonly #named: ReadonlyMap<string, string>;
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

  constructor(sends: readonly Exchange[], { isPartial, reports = [] }: Knowledge) {
    this.#sends = sends;
    this.#isPartial = isPartial;
    this.#named = new Map(
      reports.flatMap(({ intent, request_id: id }) => (id === undefined ? [] : [[id, intent]])),
    );
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
    const known = id === undefined ? undefined : this.#knownBy(send, id);
    const intent =
      known === undefined ? this.#ofContent(send, content, id) : this.#sameId(send, known);
    if (intent === undefined) this.#begin(send, content, id);
    else intent.attempts.push(send);
    this.#noteIfLeft(intent ?? this.#all.at(-1), send);
  }

  /**
   * The intents of a `request_id`; also one of a caller whose key the service did not know, if nothing
   * came of it yet: the client has another key by now.
   */
  #knownBy(send: Exchange, id: string): readonly Intent[] | undefined {
    const known = this.#byId.get(idKey(send, id));
    if (known !== undefined) return known;
    const moved = (this.#strangers.get(id) ?? []).find(
      (one) => !one.attempts.some(isAccepted) && isSameMessage(lastOf(one), send),
    );
    if (moved === undefined) return undefined;
    push(this.#byId, idKey(send, id), moved);
    return [moved];
  }

  #begin(send: Exchange, content: string, requestId: string | undefined): void {
    const isAttributable = send.text !== '';
    const intent = {
      content,
      attempts: [send],
      requestId,
      renamed: new Set<Exchange>(),
      isAttributable,
    };
    this.#all.push(intent);
    if (requestId === undefined) push(this.#bare, content, intent);
    else {
      push(this.#byId, idKey(send, requestId), intent);
      if (send.accountId === undefined) push(this.#strangers, requestId, intent);
    }
  }

  /** After its last use, an unresolved intent may go on under another `request_id`. */
  #noteIfLeft(intent: Intent | undefined, send: Exchange): void {
    if (intent?.requestId === undefined || !isUnresolved(send)) return;
    const lastUse = this.#lastUse.get(idKey(send, intent.requestId)) ?? 0;
    if (lastUse <= send.number) push(this.#left, intent.content, intent);
  }

  /** The intent of a send whose `request_id` is new, or that has none. */
  #ofContent(send: Exchange, content: string, id: string | undefined): Intent | undefined {
    const bare = this.#openBare(send, content);
    const inFlight = bare.filter((one) => isInFlight(lastOf(one), send));
    if (inFlight.length > 0 && id === undefined) {
      // Equal sends that were open at the same time: either may be the other's retry, or its own.
      for (const one of inFlight) one.isAttributable = false;
      return inFlight[0];
    }
    const open = bare.find((one) => !isInFlight(lastOf(one), send));
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

  /** A first `request_id` for an intent that had none. */
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
    if (intent === undefined) return undefined;
    intent.renamed.add(send);
    return id === undefined ? intent : this.#giveId(intent, send, id);
  }

  /** The client itself says that they are two. */
  #areNamedApart(a: string | undefined, b: string | undefined): boolean {
    const [first, second] = [this.#named.get(a ?? ''), this.#named.get(b ?? '')];
    return first !== undefined && second !== undefined && first !== second;
  }

  #sameId(send: Exchange, known: readonly Intent[]): Intent | undefined {
    const same = known.findLast(({ attempts: [first] }) => first && isSameMessage(first, send));
    if (same !== undefined) return same;
    const held = known.flatMap(({ attempts }) => attempts).findLast(isAccepted);
    if (held === undefined) {
      // What was refused for good comes again, corrected.
      const refused = known.at(-1);
      return refused !== undefined && !isUnresolved(lastOf(refused)) ? refused : undefined;
    }
    // After a day the id is free for another one.
    if (send.atMs - held.atMs <= dayMs) this.#reuses.push({ first: held, second: send });
    return undefined;
  }
}

export function lastOf({ attempts }: Intent): Exchange {
  const last = attempts.at(-1);
  if (last === undefined) throw new Error('an intent has an attempt');
  return last;
}

/** Confirmed before the send arrived: an equal send is another message. */
function isOver({ attempts }: Intent, send: Exchange): boolean {
  return attempts.some((one) => isConfirmed(one) && !isInFlight(one, send));
}

function idKey({ caller }: Exchange, id: string): string {
  return `${caller}\n${id}`;
}

function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
