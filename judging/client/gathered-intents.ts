/**
 * The intents of a record while its sends are read, by what a later send may continue them with: the
 * `request_id` of their caller, under which the service keeps a message for 24 hours; their content,
 * without an id; the id of an unknown key; and, if they ended unresolved, another id or none.
 */
import { dayMs } from '#contract/time.ts';
import { push } from '#io/grouped.ts';
import {
  type ClientExchange,
  contentOf,
  haveSameRecipientAndText,
  haveSameSenderAndTime,
  isAcceptedOrReplayed,
  isConfirmed,
  isInactive,
  isInFlight,
  isUnresolved,
  mayBeAccepted,
  recipientAndTextOf,
  recipientOf,
  wasKnownTo,
} from './exchange.ts';
import { type Intent, lastAttempt } from './record.ts';

/** An intent while its attempts are gathered. */
export interface GatheredIntent extends Intent {
  /** The name in the client's file of its latest attempt that has one. */
  name: string | undefined;
  /** The highest number of a send that can retry it: no confirmed reply left before that send. */
  lastRetryNumber: number;
  /** When the client first saw an acceptance; infinity before. */
  confirmedAtMs: number;
}

/** True a day after a seen acceptance: the same id and message are a new intent from then on. */
export function isOver({ confirmedAtMs }: GatheredIntent, send: ClientExchange): boolean {
  return send.sentAt - confirmedAtMs > dayMs;
}

export interface Attempt {
  readonly intent: GatheredIntent;
  readonly send: ClientExchange;
}

/** The use of one `request_id` by one caller. */
export class IdUse {
  /** The number of the last send in the record that carries the id. */
  lastNumber = 0;
  /** The intent that got the id last; undefined before the first send under the id. */
  holder: GatheredIntent | undefined;
  /** True if the service accepted an attempt of the holder under this id. */
  isHolderAccepted = false;
  /** The latest 202 under the id. */
  #created: Attempt | undefined;
  /** The latest 202 or 200 under the id. */
  #accepted: Attempt | undefined;
  /** The latest attempt under the id that the service may have accepted: its reply is not known. */
  #open: Attempt | undefined;
  /** The first attempt under the id, and the intents that had an equal one. */
  #first: ClientExchange | undefined;
  #ofFirst: GatheredIntent[] | undefined;
  /** By recipient and text: the intents with another attempt. Most ids have none. */
  #ofOthers: Map<string, GatheredIntent[]> | undefined;
  /** The intents that had an attempt since the last seen acceptance under the id. */
  #unconfirmed: Set<GatheredIntent> | undefined;

  giveTo(intent: GatheredIntent, id: string): GatheredIntent {
    this.holder = intent;
    this.isHolderAccepted = false;
    intent.requestId = id;
    return intent;
  }

  add(intent: GatheredIntent, send: ClientExchange): void {
    const intents = this.#intentsOf(send);
    if (this.#first === undefined) {
      this.#first = send;
      this.#ofFirst = [intent];
    } else if (intents === undefined) {
      this.#ofOthers ??= new Map();
      this.#ofOthers.set(recipientAndTextOf(send), [intent]);
    } else if (!intents.includes(intent)) intents.push(intent);
    if (isConfirmed(send)) this.#endAt(send.sentAt);
    else {
      this.#unconfirmed ??= new Set();
      this.#unconfirmed.add(intent);
    }
    if (!isAcceptedOrReplayed(send)) {
      if (mayBeAccepted(send)) this.#open = { intent, send };
      return;
    }
    this.#accepted = { intent, send };
    if (send.reply.status === 202) this.#created = this.#accepted;
    if (this.holder === intent) this.isHolderAccepted = true;
  }

  /** A seen acceptance under the id ends all that it stands for, a day later. */
  #endAt(confirmedAtMs: number): void {
    for (const one of this.#unconfirmed ?? [])
      one.confirmedAtMs = Math.min(one.confirmedAtMs, confirmedAtMs);
    this.#unconfirmed = undefined;
  }

  /** The intents that had an attempt of this recipient and text. */
  #intentsOf(send: ClientExchange): GatheredIntent[] | undefined {
    const isLikeFirst = this.#first !== undefined && haveSameRecipientAndText(this.#first, send);
    return isLikeFirst ? this.#ofFirst : this.#ofOthers?.get(recipientAndTextOf(send));
  }

  /**
   * The attempt that created the message of the id, if it is at most a day older than `send`: the
   * latest 202. If the record lacks it and `send` is a replay, the latest replay takes its place, or,
   * if none of the sends before had this message, the latest one whose reply is not known.
   * `lacksEarlier`: a send that the record lacks may have created it.
   */
  originalOf(send: ClientExchange, lacksEarlier: boolean): Attempt | undefined {
    const isRecent = (attempt: Attempt | undefined) =>
      attempt !== undefined && send.sentAt - attempt.send.sentAt <= dayMs;
    if (isRecent(this.#created)) return this.#created;
    if (send.reply.status !== 200) return undefined;
    if (isRecent(this.#accepted)) return this.#accepted;
    const isFirstOfMessage = !lacksEarlier && this.#intentsOf(send) === undefined;
    return isFirstOfMessage && isRecent(this.#open) ? this.#open : undefined;
  }

  /**
   * The latest intent that sent this message under the id and that the send can continue. If the id
   * has passed to another message, intents that began before that message are over.
   */
  intentOfSameMessage(
    send: ClientExchange,
    original: Attempt | undefined,
  ): GatheredIntent | undefined {
    const isReuse = original !== undefined && isOtherMessage(original.send, send);
    return this.#intentsOf(send)?.findLast((intent) => {
      const [first] = intent.attempts;
      return !isOver(intent, send) && (!isReuse || (first?.number ?? 0) > original.send.number);
    });
  }
}

/**
 * True if the send is another message than the original one of its id. A retry may have another
 * sender or `send_at` only if the client did not see the original accepted.
 */
export function isOtherMessage(original: ClientExchange, send: ClientExchange): boolean {
  if (!haveSameRecipientAndText(original, send)) return true;
  return wasKnownTo(send, original) && !haveSameSenderAndTime(original, send);
}

/** Intents without a `request_id`: a later send of the same content may continue them. */
export class IntentsWithoutId {
  /** The recipients of all intents that were ever added: most sends go to others. */
  readonly #recipients = new Set<unknown>();
  readonly #byContent = new Map<string, GatheredIntent[]>();

  /** `first`: the send that began the intent. */
  add(intent: GatheredIntent, first: ClientExchange): void {
    this.#recipients.add(recipientOf(first));
    push(this.#byContent, contentOf(first), intent);
  }

  /** Those that the send may continue. Drops those that no later send can continue either. */
  continuableBy(send: ClientExchange): readonly GatheredIntent[] {
    if (!this.#recipients.has(recipientOf(send))) return [];
    const content = contentOf(send);
    const intents = this.#byContent.get(content);
    if (intents === undefined) return [];
    const continuable = intents.filter(
      ({ requestId, lastRetryNumber }) => requestId === undefined && send.number <= lastRetryNumber,
    );
    this.#byContent.set(content, continuable);
    return continuable;
  }
}

/**
 * Intents that began with a key which the service did not know. The client may have another key by
 * now, which makes it another caller for the record, and go on under the same `request_id`.
 */
export class IntentsOfUnknownKeys {
  readonly #byId = new Map<string, GatheredIntent[]>();

  add(intent: GatheredIntent, id: string): void {
    push(this.#byId, id, intent);
  }

  /** The intent of this message that was never accepted. */
  find(send: ClientExchange, id: string): GatheredIntent | undefined {
    return this.#byId
      .get(id)
      ?.find(
        (intent) =>
          intent.attempts.every(hasUnknownKey) &&
          haveSameRecipientAndText(lastAttempt(intent), send),
      );
  }
}

function hasUnknownKey(exchange: ClientExchange): boolean {
  return exchange.caller.account === undefined && !isAcceptedOrReplayed(exchange);
}

/**
 * Intents that ended unresolved and whose `request_id` is not used again. A send under another id,
 * or without one, may continue them: it has the same content, or, after a 503 `device_inactive`,
 * the same message from any sender.
 */
export class AbandonedIntents {
  /** The recipients of all intents that were ever added: most sends go to others. */
  readonly #recipients = new Set<unknown>();
  readonly #byContent = new Map<string, GatheredIntent[]>();
  /** By message: the intents whose sender's SIM is deactivated. */
  readonly #withInactiveSim = new Map<string, GatheredIntent[]>();

  /** `last`: the attempt that left the intent unresolved. */
  add(intent: GatheredIntent, last: ClientExchange): void {
    this.#recipients.add(recipientOf(last));
    push(this.#byContent, contentOf(last), intent);
    if (isInactive(last)) push(this.#withInactiveSim, recipientAndTextOf(last), intent);
  }

  /** True if an intent that the send may continue was ever added. */
  mayHold(send: ClientExchange): boolean {
    return (
      this.#recipients.has(recipientOf(send)) &&
      (this.#byContent.has(contentOf(send)) || this.#withInactiveSim.has(recipientAndTextOf(send)))
    );
  }

  /** Removes and returns the first intent that the send continues. `name`: in the client's file. */
  take(send: ClientExchange, name: string | undefined): GatheredIntent | undefined {
    if (!this.#recipients.has(recipientOf(send))) return undefined;
    return (
      takeFrom(this.#byContent.get(contentOf(send)), send, name) ??
      takeFrom(this.#withInactiveSim.get(recipientAndTextOf(send)), send, name)
    );
  }
}

function takeFrom(
  intents: GatheredIntent[] = [],
  send: ClientExchange,
  name: string | undefined,
): GatheredIntent | undefined {
  // A later attempt may have resolved an intent: dropping those in front keeps each search short.
  while (intents[0] !== undefined && !isUnresolved(lastAttempt(intents[0]))) intents.shift();
  const index = intents.findIndex((intent) => {
    const last = lastAttempt(intent);
    // The client's file may show that the two are different intents.
    const isOtherName = intent.name !== undefined && name !== undefined && intent.name !== name;
    return isUnresolved(last) && !isInFlight(last, send) && !isOtherName;
  });
  return index < 0 ? undefined : intents.splice(index, 1)[0];
}
