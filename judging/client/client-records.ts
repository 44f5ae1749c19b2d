/**
 * Divides the exchanges of a client into records that are judged alone. What an unclear send (of
 * unknown content or caller) means for later sends of its scope depends on its content.
 */
import { isSend } from '../evidence/exchange.ts';
import { type ClientExchange, readsIn } from './exchange.ts';
import { groupingOf } from './intent-grouping.ts';
import type { Report } from './intents-file.ts';
import type { ClientRecord, Knowledge, Notice } from './record.ts';

/** What decides how exchanges are divided, and what is known of each record. */
export interface RecordOptions {
  /** True if the client has not finished: more exchanges may follow. */
  readonly isPartial?: boolean | undefined;
  /** True if exchanges may be missing before the first: the record is then a partial one. */
  readonly isCutAtStart?: boolean | undefined;
  /** True if exchanges between the first and the last are missing. */
  readonly hasGaps?: boolean | undefined;
  /** Why the record is incomplete: it is then judged as a partial one. */
  readonly lack?: string | undefined;
  /** How long after a 429 a request still counts as sent before it (CLIENT-2). Default 1,000. */
  readonly graceMs?: number | undefined;
  /** Names or ids of accounts; others are not judged. */
  readonly accounts?: readonly string[] | undefined;
  readonly reports?: readonly Report[] | undefined;
  /** See `Knowledge`. */
  readonly equalMessages?: Knowledge['equalMessages'];
  /**
   * True if the message never becomes `delivered`. Without this function, a message counts as
   * undelivered if the client read it as `failed`.
   */
  readonly endsUndelivered?: ((messageId: string) => boolean) | undefined;
}

export const defaultGraceMs = 1_000;

/** The exchanges of scopes without an unclear send; of the others, those before it and from it on. */
export type Records = readonly [clear: ClientRecord, before: ClientRecord, after: ClientRecord];

/** The records, and the first unclear send of each scope. */
export function* recordsOf(
  exchanges: readonly ClientExchange[],
  options: RecordOptions,
): Generator<
  undefined,
  { readonly records: Records; readonly unclear: readonly ClientExchange[] }
> {
  const { accounts, lack, reports, equalMessages } = options;
  const ofAccounts = exchanges.filter(
    (exchange) =>
      !exchange.lacksCaller &&
      (accounts?.some((account) => isOfAccount(exchange, account)) ?? true),
  );
  const isCutAtStart = options.isCutAtStart === true || options.hasGaps === true;
  const isPartial = options.isPartial === true || isCutAtStart || lack !== undefined;
  const unclearSends = exchanges.filter(isUnclear);
  const lacksSends = unclearSends.length > 0;
  const known = { isPartial, isCutAtStart, lacksSends, reports, equalMessages };
  const firstUnclear = firstOfScopes(unclearSends, ofAccounts);
  const [clear, before, after] = dividedBy(firstUnclear, ofAccounts);
  const reads = readsIn(exchanges);
  const records = [
    yield* recordOf(clear, reads, known, options),
    yield* recordOf(before, reads, { ...known, isPartial: true }, options),
    yield* recordOf(after, reads, { ...known, isPartial: true, isCutAtStart: true }, options),
  ] as const;
  return { records, unclear: [...new Set(firstUnclear.values())] };
}

/** By scope: its first unclear send. */
function firstOfScopes(
  unclearSends: readonly ClientExchange[],
  exchanges: readonly ClientExchange[],
): ReadonlyMap<string, ClientExchange> {
  const first = new Map<string, ClientExchange>();
  for (const send of unclearSends) {
    // A send without a caller may belong to any caller.
    for (const scope of (send.lacksCaller ? exchanges.filter(isSend) : [send]).map(scopeOf))
      if (!first.has(scope)) first.set(scope, send);
    if (send.lacksCaller) break;
  }
  return first;
}

function dividedBy(
  firstUnclear: ReadonlyMap<string, ClientExchange>,
  exchanges: readonly ClientExchange[],
): readonly [clear: readonly ClientExchange[], before: ClientExchange[], after: ClientExchange[]] {
  if (firstUnclear.size === 0) return [exchanges, [], []];
  const clear: ClientExchange[] = [];
  const before: ClientExchange[] = [];
  const after: ClientExchange[] = [];
  for (const exchange of exchanges) {
    const unclear = firstUnclear.get(scopeOf(exchange));
    if (unclear === undefined) clear.push(exchange);
    else if (exchange.number < unclear.number) before.push(exchange);
    else after.push(exchange);
  }
  return [clear, before, after];
}

/** The exchanges as the judges of the rules need them, with their intents. */
function* recordOf(
  exchanges: readonly ClientExchange[],
  reads: readonly ClientExchange[],
  knowledge: Knowledge,
  { graceMs = defaultGraceMs, endsUndelivered }: RecordOptions,
): Generator<undefined, ClientRecord> {
  const judged = knowledge.isPartial ? exchanges.map(leftOpen) : exchanges;
  const intents = yield* groupingOf(judged, knowledge);
  return { ...knowledge, exchanges: judged, reads, intents, graceMs, endsUndelivered };
}

/** A reply that may not have left by the end of the record is in flight for all later requests. */
function leftOpen(one: ClientExchange): ClientExchange {
  return one.isOpenAtEnd ? { ...one, openUntil: Number.POSITIVE_INFINITY } : one;
}

/** Any later send of the scope may belong to the intent of an unclear one. */
function scopeOf({ caller, endpoint, method }: ClientExchange): string {
  return JSON.stringify([caller.name, endpoint, method]);
}

function isUnclear(exchange: ClientExchange): boolean {
  const { lacksBody = false, lacksCaller = false, body } = exchange;
  return isSend(exchange) && (lacksCaller || (lacksBody && body === ''));
}

export function unclearNotice(send: ClientExchange): Notice {
  const { caller, endpoint, number, lacksCaller } = send;
  const [lacking, whose] = lacksCaller
    ? ['caller', 'all sends']
    : ['body', `the sends of ${caller.name}`];
  const what = `the ${lacking} of exchange ${number} was not recorded: from there on, ${whose} to ${endpoint ?? 'an unknown path'} are not judged by their content`;
  return { what, exchanges: [send] };
}

/** True if the exchange belongs to the account with this id or name. */
export function isOfAccount({ caller }: ClientExchange, idOrName: string): boolean {
  return caller.account === idOrName || caller.accountName === idOrName;
}
