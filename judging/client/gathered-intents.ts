/**
 * What a record shows of intents while its sends are read: which of them used one `request_id` of
 * one caller, which message the service keeps under it for 24 hours, and which ended unresolved.
 */

import { dayMs } from '#contract/time.ts';
import { push } from '#io/grouped.ts';
import {
  type ClientExchange,
  contentOf,
  haveSameRecipientAndText,
  haveSameSenderAndTime,
  isAccepted,
  isInactive,
  isInFlight,
  isUnresolved,
  recipientAndTextOf,
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

export class IdUse {
  /** The number of the last send in the record that carries the id. */
  lastNumber = 0;
  #holder: GatheredIntent | undefined;
  #isHolderAccepted = false;
  /** The latest 202 under the id. */
  #created: Attempt | undefined;
  /** The latest 202 or 200 under the id. */
  #accepted: Attempt | undefined;
  /** The first attempt under the id, and the intents that had an equal one. */
  #first: ClientExchange | undefined;
  #ofFirst: GatheredIntent[] | undefined;
  /** By recipient and text: the intents with another attempt. Most ids have none. */
  #ofOthers: Map<string, GatheredIntent[]> | undefined;

  /** The intent that got the id last; undefined before the first send under the id. */
  get holder(): GatheredIntent | undefined {
    return this.#holder;
  }

  /** True if the service accepted an attempt of the holder under this id. */
  get isHolderAccepted(): boolean {
    return this.#isHolderAccepted;
  }

  giveTo(intent: GatheredIntent): void {
    this.#holder = intent;
    this.#isHolderAccepted = false;
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
    if (!isAccepted(send)) return;
    this.#accepted = { intent, send };
    if (send.reply.status === 202) this.#created = this.#accepted;
    if (this.#holder === intent) this.#isHolderAccepted = true;
  }

  /** The intents that had an attempt of this recipient and text. */
  #intentsOf(send: ClientExchange): GatheredIntent[] | undefined {
    const isLikeFirst = this.#first !== undefined && haveSameRecipientAndText(this.#first, send);
    return isLikeFirst ? this.#ofFirst : this.#ofOthers?.get(recipientAndTextOf(send));
  }

  /**
   * The attempt that created the message of the id, if it is at most a day older than `send`: the
   * latest 202. If the record lacks it and `send` is a replay, the latest replay takes its place.
   */
  originalOf(send: ClientExchange): Attempt | undefined {
    const isRecent = (attempt: Attempt | undefined) =>
      attempt !== undefined && send.sentAt - attempt.send.sentAt <= dayMs;
    if (isRecent(this.#created)) return this.#created;
    return send.reply.status === 200 && isRecent(this.#accepted) ? this.#accepted : undefined;
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

/**
 * Intents that ended unresolved and whose `request_id` is not used again. A send under another id,
 * or without one, may continue them: it has the same content, or, after a 503 `device_inactive`,
 * the same message from any sender.
 */
export class AbandonedIntents {
  /** Of all that were ever added: most sends go to others, so that nothing is looked up for them. */
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

/** Undefined for a recipient that is not text. */
function recipientOf({ fields }: ClientExchange): string | undefined {
  const { to } = fields ?? {};
  return typeof to === 'string' ? to : undefined;
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
