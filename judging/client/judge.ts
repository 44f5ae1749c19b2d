/**
 * Judges a client by its record: one verdict per client rule. Live and offline reports both use it,
 * so their verdicts are equal.
 */

import { type ClientRuleId, clientRules, type Level } from '#contract/rules.ts';
import { atOnce } from '#io/at-once.ts';
import { many } from '#io/table.ts';
import { retryAfter } from './client-1-retry-after.ts';
import { requests } from './client-3-requests.ts';
import { outcomes } from './client-5-outcomes.ts';
import { pace } from './client-11-pace.ts';
import type { Exchange } from './exchange.ts';
import { groupingOf } from './intent-grouping.ts';
import type { Intents } from './intents.ts';
import type { Report } from './intents-file.ts';
import type { ClientRecord, Finding, Judge, Judgement } from './record.ts';

/** `failed`: a rule that a client must keep; `advice`: one that it should keep. */
export type ClientVerdict = 'passed' | 'failed' | 'advice' | 'not_exercised';

export interface RuleJudgement extends Judgement {
  readonly id: ClientRuleId;
  readonly level: Level;
  readonly verdict: ClientVerdict;
}

export interface RefereeReport {
  readonly rules: readonly RuleJudgement[];
  readonly exchanges: readonly Exchange[];
  readonly intents: Intents;
  /** Why not all of the run was judged; undefined if all of it was. */
  readonly notice: string | undefined;
}

export interface JudgeOptions {
  /** The client has not finished: more exchanges may follow. */
  readonly isPartial?: boolean | undefined;
  /** Exchanges may be missing before the first: it is then judged as a partial record. */
  readonly isCutAtStart?: boolean | undefined;
  /** Advice counts as failure. */
  readonly isStrict?: boolean | undefined;
  /** How long after a 429 a request still counts as sent before it (CLIENT-2). Default 1,000. */
  readonly graceMs?: number | undefined;
  /** Names or ids of accounts; others are not judged. */
  readonly accounts?: readonly string[] | undefined;
  /** Why the record is incomplete: it is then judged as a partial one. */
  readonly lack?: string | undefined;
  readonly reports?: readonly Report[] | undefined;
  /**
   * True if the message never becomes `delivered`. Without this function, a message counts as
   * undelivered if the client read it as `failed`.
   */
  readonly endsUndelivered?: ((messageId: string) => boolean) | undefined;
}

const judges: Readonly<Record<ClientRuleId, Judge>> = {
  ...retryAfter,
  ...requests,
  ...outcomes,
  ...pace,
};

export const defaultGraceMs = 1_000;

/** The verdict of each client rule on these exchanges. */
export function judge(exchanges: readonly Exchange[], options: JudgeOptions = {}): RefereeReport {
  return atOnce(judging(exchanges, options));
}

/** The same in slices, so that a running simulator can serve meanwhile. */
export function* judging(
  exchanges: readonly Exchange[],
  options: JudgeOptions,
): Generator<undefined, RefereeReport> {
  const { accounts, lack } = options;
  const ofAccounts = exchanges.filter(
    (exchange) => accounts?.some((account) => isOfAccount(exchange, account)) ?? true,
  );
  const withoutBody = ofAccounts.filter(({ lacksBody }) => lacksBody).length;
  // What came before an unclear exchange is not judged: the record begins behind it.
  const skipped = ofAccounts.findLastIndex(isUnclear) + 1;
  const isCutAtStart = options.isCutAtStart === true || skipped > 0;
  const isPartial =
    options.isPartial === true || isCutAtStart || withoutBody > 0 || lack !== undefined;
  const knowledge = { isPartial, isCutAtStart, reports: options.reports };
  const record = yield* recordOf(ofAccounts.slice(skipped), knowledge, options);
  return {
    rules: yield* verdictsOn(record, options.isStrict === true),
    exchanges: record.exchanges,
    intents: record.intents,
    notice: lack ?? noticeOf(withoutBody, skipped),
  };
}

/** The exchanges as the judges of the rules need them, with their intents. */
function* recordOf(
  exchanges: readonly Exchange[],
  knowledge: Pick<ClientRecord, 'isPartial' | 'isCutAtStart' | 'reports'>,
  { graceMs = defaultGraceMs, endsUndelivered }: JudgeOptions,
): Generator<undefined, ClientRecord> {
  const judged = knowledge.isPartial ? exchanges.map(leftOpen) : exchanges;
  const intents = yield* groupingOf(judged, knowledge);
  return { ...knowledge, exchanges: judged, intents, graceMs, endsUndelivered };
}

function* verdictsOn(
  record: ClientRecord,
  isStrict: boolean,
): Generator<undefined, RuleJudgement[]> {
  const rules: RuleJudgement[] = [];
  for (const { id, level } of clientRules) {
    const { exercised, findings } = judges[id](record);
    const verdict = verdictOf(isStrict ? 'must' : level, exercised, findings);
    rules.push({ id, level, verdict, exercised, findings });
    yield;
  }
  return rules;
}

/**
 * True for a send of unknown content, and for a 503 whose body could have shown that it is final.
 * Later sends may continue its intent, so exchanges up to it are not judged.
 */
function isUnclear({ lacksBody = false, method, text, status }: Exchange): boolean {
  return lacksBody && method === 'POST' && (text === '' || status === 503);
}

function noticeOf(withoutBody: number, skipped: number): string | undefined {
  if (withoutBody === 0) return undefined;
  const skippedPart =
    skipped === 0 ? '' : `; the first ${many(skipped, 'exchange')} are not judged`;
  return `the bodies of ${many(withoutBody, 'exchange')} were not saved: judged as --partial${skippedPart}`;
}

/** A reply that may not have left by the end of the record is in flight for all later requests. */
function leftOpen(one: Exchange): Exchange {
  return one.isOpenAtEnd ? { ...one, openUntil: Number.POSITIVE_INFINITY } : one;
}

/** True if the exchange belongs to the account with this id or name. */
export function isOfAccount({ accountId, accountName }: Exchange, idOrName: string): boolean {
  return accountId === idOrName || accountName === idOrName;
}

function verdictOf(level: Level, exercised: number, findings: readonly Finding[]): ClientVerdict {
  if (findings.length > 0) return level === 'must' ? 'failed' : 'advice';
  return exercised > 0 ? 'passed' : 'not_exercised';
}
