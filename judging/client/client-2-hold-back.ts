/**
 * CLIENT-2: during the wait that a 429 asks for, a client holds back all requests of its endpoint.
 * Retries of the refused request are CLIENT-1's (`client-1-retry-after.ts`), so this rule judges
 * only requests that cannot be retries.
 */
import { getOrAdd } from '#io/grouped.ts';
import { isSend, requestIdOf } from '../evidence/exchange.ts';
import { hasSeenWait, isEarly, refusalsOf } from './client-1-retry-after.ts';
import {
  areApart,
  type ClientExchange,
  haveSameRecipientAndText,
  recipientAndTextOf,
  wasKnownTo,
} from './exchange.ts';
import { IntentNames } from './intent-names.ts';
import {
  type ClientRecord,
  type Finding,
  finding,
  type Intent,
  type Judgement,
  type Judges,
  notExercised,
  spanText,
} from './record.ts';

export const holdBack = { 'CLIENT-2': holdsBackOthers } satisfies Judges;

function holdsBackOthers(record: ClientRecord): Judgement {
  const { exchanges, isCutAtStart } = record;
  // In a record that is cut at its start, a request may retry one that is not in the record.
  if (isCutAtStart || !refusalsOf(record).some((refusal) => hasSeenWait(refusal, 429)))
    return notExercised;
  /** Made for the first candidate: most records have none. */
  let retries: PossibleRetries | undefined;
  /** By caller and endpoint: the 429 whose wait is in force. */
  const refusals = new Map<string, ClientExchange>();
  const findings: Finding[] = [];
  let exercised = 0;
  for (const exchange of exchanges) {
    const key = `${exchange.caller.name} ${exchange.endpoint}`;
    const refused = refusals.get(key);
    const isCovered = refused !== undefined && isEarly({ refused, request: exchange });
    if (isCovered && knewOf(refused, exchange, record)) {
      retries ??= new PossibleRetries(record);
      if (!retries.has(exchange, refused)) findings.push(coveredFinding(refused, exchange));
    }
    if (!hasSeenWait(exchange, 429)) continue;
    exercised++;
    if (!isCovered) refusals.set(key, exchange);
  }
  return { exercised, findings };
}

/** True if the client certainly knew of the 429, for longer than the grace, and could hold back. */
function knewOf(
  refused: ClientExchange,
  exchange: ClientExchange,
  { graceMs, unclear }: ClientRecord,
): boolean {
  const openMs = refused.answeredAt - refused.sentAt;
  return (
    areApart(openMs + graceMs, refused, exchange) &&
    wasKnownTo(exchange, refused) &&
    !unclear.areBetween(refused, exchange)
  );
}

function coveredFinding(refused: ClientExchange, exchange: ClientExchange): Finding {
  const later = spanText(exchange.sentAt - refused.sentAt);
  return finding(
    `another request arrived ${later} after a 429 that covers it (Retry-After: ${refused.retryAfter}): ` +
      'hold back all requests of this endpoint until the wait is over',
    [refused, exchange],
  );
}

/** Distinguishes the possible retries of a refused request (CLIENT-1) from other requests (CLIENT-2). */
class PossibleRetries {
  readonly #lacksSends: boolean;
  readonly #names: IntentNames;
  readonly #intentOf = new Map<ClientExchange, Intent>();
  readonly #messages = new Map<Intent, ReadonlySet<string>>();
  /** The first send under each id of a caller; only for a record that lacks sends. */
  readonly #firstUses = new Map<string, ClientExchange>();

  constructor({ sends, intents, isPartial, unclear, reports }: ClientRecord) {
    this.#names = new IntentNames(reports);
    this.#lacksSends = isPartial || !unclear.areNone;
    for (const intent of intents.all)
      for (const attempt of intent.attempts) this.#intentOf.set(attempt, intent);
    for (const send of this.#lacksSends ? sends : []) {
      const key = idKeyOf(send);
      if (key !== undefined && !this.#firstUses.has(key)) this.#firstUses.set(key, send);
    }
  }

  /** True if `exchange` may retry `refused`. */
  has(exchange: ClientExchange, refused: ClientExchange): boolean {
    if (!isSend(exchange)) {
      return (
        exchange.target === refused.target &&
        exchange.caller.credential === refused.caller.credential
      );
    }
    if (this.#intentOf.get(exchange) === this.#intentOf.get(refused)) return true;
    // If sends are missing, the same message, or another one under a known id, may be a retry.
    const name = this.#nameOf(exchange);
    return (
      this.#lacksSends &&
      ((name !== undefined && name === this.#nameOf(refused)) ||
        this.#reusesId(exchange) ||
        this.#intentHasMessageOf(exchange, refused) ||
        this.#intentHasMessageOf(refused, exchange))
    );
  }

  #nameOf(send: ClientExchange): string | undefined {
    const id = requestIdOf(send);
    return id === undefined ? undefined : this.#names.of(send, id);
  }

  #reusesId(send: ClientExchange): boolean {
    const first = this.#firstUses.get(idKeyOf(send) ?? '');
    return first !== undefined && !haveSameRecipientAndText(first, send);
  }

  /** True if an attempt of the first send's intent has the same recipient and text as the other. */
  #intentHasMessageOf(first: ClientExchange, other: ClientExchange): boolean {
    const intent = this.#intentOf.get(first);
    if (intent === undefined) return false;
    const make = () => new Set(intent.attempts.map(recipientAndTextOf));
    return getOrAdd(this.#messages, intent, make).has(recipientAndTextOf(other));
  }
}

/** The caller and the `request_id` of a send; undefined without an id. */
function idKeyOf(send: ClientExchange): string | undefined {
  const id = requestIdOf(send);
  return id === undefined ? undefined : `${send.caller.name}\n${id}`;
}
