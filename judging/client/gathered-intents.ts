/**
 * The intents of a record while its sends are read: those that used one `request_id` of one caller,
 * with the message that the service keeps under it for 24 hours; those to which the client's file
 * gives one name; and those that ended unresolved.
 */
import { dayMs } from '#contract/time.ts';
import { getOrAdd, push } from '#io/grouped.ts';
import {
  type ClientExchange,
  contentOf,
  haveSameRecipientAndText,
  haveSameSenderAndTime,
  isAccepted,
  isConfirmed,
  isInactive,
  isInFlight,
  isUnresolved,
  mayBeAccepted,
  recipientAndTextOf,
  wasKnownTo,
} from './exchange.ts';
import { IntentNames, type ReportedIntent } from './intents-file.ts';
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
    if (!isAccepted(send)) {
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

/** The intents to which the client's file gives one name. */
interface NamedIntents {
  /** The number of the last send in the record whose id has the name. */
  lastNumber: number;
  /** The intent that got the name last; undefined before the first send with the name. */
  latest: GatheredIntent | undefined;
  readonly ids: Set<string>;
  readonly byRecipientAndText: Map<string, GatheredIntent>;
}

/** Intents by the names that the client's file gives to their ids. */
export class IntentsByName {
  readonly names: IntentNames;
  readonly #named = new Map<string, NamedIntents>();

  constructor(reports: readonly ReportedIntent[] | undefined) {
    this.names = new IntentNames(reports);
  }

  /** Takes each send of the record once, before the first is grouped. */
  noteSend(send: ClientExchange, id: string): void {
    const named = this.#namedOf(send, id);
    if (named !== undefined) named.lastNumber = send.number;
  }

  /**
   * The intent with the name of the id. `mayDiffer`: the id may already have been used for another
   * message. Then, and if two accounts use the id, only an equal message proves the intent.
   */
  intentFor(send: ClientExchange, id: string, mayDiffer: boolean): GatheredIntent | undefined {
    const named = this.#namedOf(send, id);
    const same = named?.byRecipientAndText.get(recipientAndTextOf(send));
    if (same !== undefined && !isOver(same, send)) return same;
    if (named?.latest === undefined || isOver(named.latest, send)) return undefined;
    return mayDiffer || named.ids.has(id) ? undefined : named.latest;
  }

  record(intent: GatheredIntent, send: ClientExchange, id: string): void {
    const named = this.#namedOf(send, id);
    if (named === undefined) return;
    intent.name = this.names.of(send, id);
    named.latest = intent;
    named.ids.add(id);
    named.byRecipientAndText.set(recipientAndTextOf(send), intent);
  }

  /** The number of the last send in the record whose id has the name; 0 without one. */
  lastNumberOf(name: string | undefined): number {
    return this.#named.get(name ?? '')?.lastNumber ?? 0;
  }

  #namedOf(send: ClientExchange, id: string): NamedIntents | undefined {
    const name = this.names.of(send, id);
    if (name === undefined) return undefined;
    return getOrAdd<string, NamedIntents>(this.#named, name, () => ({
      lastNumber: 0,
      latest: undefined,
      ids: new Set(),
      byRecipientAndText: new Map(),
    }));
  }
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

/** Undefined for a recipient that is not text. */
export function recipientOf({ fields }: ClientExchange): string | undefined {
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
