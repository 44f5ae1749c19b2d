/**
 * Gives each request its point as it arrives, such as the second attempt at the first intent to
 * send. The referee groups sends into intents; other requests with the same target are one intent.
 * Intents keep their numbers from the run without faults, so that a fault hits the same intent
 * again even if the client's requests come in another order. Where a name is new although no fault
 * has struck yet, names hold a time or a code: there the order of arrival counts.
 */
import type { Point } from '#contract/fault-schedule.ts';
import type { EndpointName } from '#contract/limits.ts';
import { matchRoute } from '#contract/routes.ts';
import { atOnce } from '#io/event-loop.ts';
import { getOrAdd } from '#io/grouped.ts';
import { type ClientExchange, contentOf, messageIdIfAny } from '#judging/client/exchange.ts';
import { groupingOf } from '#judging/client/intent-grouping.ts';
import { type Intent, UnclearSends } from '#judging/client/record.ts';
import { isSend } from '#judging/evidence/exchange.ts';

/** The names of the intents of each endpoint, in the order of their numbers. */
export type KnownIntents = Readonly<Partial<Record<EndpointName, readonly string[]>>>;

export class Points {
  /** True once a fault has struck: then a new name may be a new intent. */
  isStruck = false;
  readonly #knownIntents: KnownIntents;
  /** The number of each intent, by endpoint and name. */
  readonly #numbers = new Map<EndpointName, Map<string, number>>();
  /** How many attempts each intent has, by endpoint and number. */
  readonly #attempts = new Map<string, number>();
  /** The endpoints whose names differ from those that are known. */
  readonly #changing = new Set<EndpointName>();

  constructor(knownIntents: KnownIntents = {}) {
    this.#knownIntents = knownIntents;
  }

  /** The point of a request that has no reply yet; undefined if it has no endpoint. */
  arrive(exchange: ClientExchange, earlier: readonly ClientExchange[]): Point | undefined {
    const { endpoint } = exchange;
    if (endpoint === undefined) return undefined;
    const name = isSend(exchange) ? sendName(exchange, earlier) : targetName(exchange, earlier);
    const intent = this.#numberOf(endpoint, name);
    const key = `${endpoint} ${intent}`;
    const attempt = (this.#attempts.get(key) ?? 0) + 1;
    this.#attempts.set(key, attempt);
    return { endpoint, intent, attempt };
  }

  get intents(): KnownIntents {
    return Object.fromEntries(
      [...this.#numbers].map(([endpoint, numbers]) => [
        endpoint,
        [...numbers].sort(([, a], [, b]) => a - b).map(([name]) => name),
      ]),
    );
  }

  #numberOf(endpoint: EndpointName, name: string): number {
    const numbers = getOrAdd(this.#numbers, endpoint, () => new Map<string, number>());
    const assigned = numbers.get(name);
    if (assigned !== undefined) return assigned;
    const names = this.#knownIntents[endpoint] ?? [];
    const index = names.indexOf(name);
    if (index < 0 && !this.isStruck) this.#changing.add(endpoint);
    const firstOfNew = this.#changing.has(endpoint) ? 1 : names.length + 1;
    const taken = new Set(numbers.values());
    let number = index >= 0 ? index + 1 : firstOfNew;
    while (taken.has(number)) number++;
    numbers.set(name, number);
    return number;
  }
}

/** The content of a send, and the number of its intent among those with the same content. */
function sendName(send: ClientExchange, earlier: readonly ClientExchange[]): string {
  const knowledge = {
    isPartial: false,
    isCutAtStart: false,
    unclear: new UnclearSends([]),
    reports: undefined,
  };
  const { all } = atOnce(groupingOf([...earlier, send].filter(isSend), knowledge));
  const hasSend = ({ attempts }: Intent) => attempts.includes(send);
  const intent = all.find(hasSend);
  const first = intent?.attempts[0] ?? send;
  const content = contentOf(first);
  const equalIntents = all.filter(({ attempts: [one] }) => one && contentOf(one) === content);
  return `${contentName(first)} ${equalIntents.findIndex(hasSend) + 1}`;
}

/** A read of a message is named after the send that created the message. */
function targetName(
  { method, target, caller }: ClientExchange,
  earlier: readonly ClientExchange[],
): string {
  const match = matchRoute(target.split('?', 1)[0] ?? '');
  const id = match?.route.endpoint === 'read' ? match.id : undefined;
  const send = earlier.find((one) => isSend(one) && messageIdIfAny(one) === id);
  const name = id === undefined || send === undefined ? target : contentName(send);
  return `${caller.accountName ?? ''} ${method} ${name}`;
}

/** The content of a send, without the ids that differ in each world. */
function contentName(exchange: ClientExchange): string {
  return contentOf({
    ...exchange,
    caller: { ...exchange.caller, name: exchange.caller.accountName ?? '' },
  });
}

/**
 * The intents that two runs without faults share. An endpoint whose intents differ between runs,
 * for example because a text holds the time, is left out: there the order of arrival counts.
 */
export function agreedIntents(one: KnownIntents, other: KnownIntents): KnownIntents {
  return Object.fromEntries(
    Object.entries(one).filter(
      ([endpoint, names]) =>
        JSON.stringify([...names].sort()) ===
        JSON.stringify([...(other[endpoint as EndpointName] ?? [])].sort()),
    ),
  );
}
