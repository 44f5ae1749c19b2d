/** Makes the record of a client, as its rules need it, from its exchanges. */
import { isSend } from '../evidence/exchange.ts';
import { type ClientExchange, isUnclear, readsIn } from './exchange.ts';
import { groupingOf } from './intent-grouping.ts';
import type { ReportedIntent } from './intents-file.ts';
import { type ClientRecord, type Knowledge, UnclearSends } from './record.ts';

/** What is known of a record besides its exchanges. */
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
  readonly reports?: readonly ReportedIntent[] | undefined;
  /** See `Knowledge`. */
  readonly equalMessages?: Knowledge['equalMessages'];
  /**
   * True if the message never becomes `delivered`. Without this function, a message counts as
   * undelivered if the client read it as `failed`.
   */
  readonly endsUndelivered?: ((messageId: string) => boolean) | undefined;
}

export const defaultGraceMs = 1_000;

const noIntents: ClientRecord['intents'] = { all: [], reuses: [], unattributable: 0 };

/** The record of these exchanges. `isGrouped`: false for rules that need no intents. */
export function* recordOf(
  exchanges: readonly ClientExchange[],
  options: RecordOptions,
  isGrouped = true,
): Generator<undefined, ClientRecord> {
  const { accounts, lack, reports, equalMessages, graceMs = defaultGraceMs } = options;
  const isCutAtStart = options.isCutAtStart === true || options.hasGaps === true;
  const isPartial = options.isPartial === true || isCutAtStart || lack !== undefined;
  const ofAccounts = exchanges.filter(
    (exchange) =>
      !exchange.lacksCaller &&
      (accounts?.some((account) => isOfAccount(exchange, account)) ?? true),
  );
  const judged = isPartial ? ofAccounts.map(leftOpen) : ofAccounts;
  const unclear = new UnclearSends(exchanges.filter(isUnclear));
  const known = { isPartial, isCutAtStart, unclear, reports, equalMessages };
  const sends = judged.filter(isSend);
  const intents = isGrouped ? yield* groupingOf(sends, known) : noIntents;
  const { endsUndelivered } = options;
  return {
    ...known,
    exchanges: judged,
    sends,
    reads: readsIn(exchanges),
    intents,
    graceMs,
    endsUndelivered,
  };
}

/** A reply that may not have left by the end of the record is in flight for all later requests. */
function leftOpen(one: ClientExchange): ClientExchange {
  return one.isOpenAtEnd ? { ...one, openUntil: Number.POSITIVE_INFINITY } : one;
}

/** True if the exchange belongs to the account with this id or name. */
export function isOfAccount({ caller }: ClientExchange, idOrName: string): boolean {
  return caller.account === idOrName || caller.accountName === idOrName;
}
