/**
 * Intents that ended unresolved and whose `request_id` is not used again. A send under another id,
 * or without one, may continue them: it has the same content, or, after a 503 `device_inactive`,
 * the same message from any sender.
 */
import { push } from '#io/grouped.ts';
import {
  contentOf,
  type Exchange,
  isInactive,
  isInFlight,
  isUnresolved,
  recipientAndTextOf,
} from './exchange.ts';
import type { GatheredIntent } from './id-use.ts';
import { lastAttempt } from './intents.ts';

export class AbandonedIntents {
  readonly #byContent = new Map<string, GatheredIntent[]>();
  /** By message: the intents whose sender's SIM is deactivated. */
  readonly #withInactiveSim = new Map<string, GatheredIntent[]>();

  /** `last`: the attempt that left the intent unresolved. */
  add(intent: GatheredIntent, last: Exchange): void {
    push(this.#byContent, contentOf(last), intent);
    if (isInactive(last)) push(this.#withInactiveSim, recipientAndTextOf(last), intent);
  }

  /** True if an intent that the send may continue was ever added. */
  mayHold(send: Exchange): boolean {
    return (
      this.#byContent.has(contentOf(send)) || this.#withInactiveSim.has(recipientAndTextOf(send))
    );
  }

  /** Removes and returns the first intent that the send continues. `name`: in the client's file. */
  take(send: Exchange, name: string | undefined): GatheredIntent | undefined {
    if (this.#byContent.size === 0) return undefined;
    return (
      takeFrom(this.#byContent.get(contentOf(send)), send, name) ??
      takeFrom(this.#withInactiveSim.get(recipientAndTextOf(send)), send, name)
    );
  }
}

function takeFrom(
  intents: GatheredIntent[] = [],
  send: Exchange,
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
