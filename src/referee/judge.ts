/**
 * Judges a client by its record: one verdict for each client rule. Live and offline judgements are
 * the same, as both come from this function.
 */

import { retryAfter } from './client-1-retry-after.ts';
import { requestIds } from './client-3-request-ids.ts';
import { outcomes } from './client-5-outcomes.ts';
import { polling } from './client-11-polling.ts';
import { pace } from './client-14-pace.ts';
import { bodies } from './client-15-bodies.ts';
import { type ClientRuleId, clientRules, type Level } from './client-rules.ts';
import type { Exchange } from './exchange.ts';
import { intentsOf } from './intents.ts';
import type { Report } from './intents-file.ts';
import type { ClientRecord, Finding, Judge, Judges } from './record.ts';

/** `failed`: a rule that a client must keep; `advice`: one that it should keep. */
export type ClientVerdict = 'passed' | 'failed' | 'advice' | 'not_exercised';

export interface RuleJudgement {
  readonly id: ClientRuleId;
  readonly level: Level;
  readonly verdict: ClientVerdict;
  readonly exercised: number;
  readonly findings: readonly Finding[];
}

export interface RefereeReport {
  readonly rules: readonly RuleJudgement[];
  /** Sends that cannot be attributed to one intent; they fail no rule. */
  readonly unattributable: number;
  readonly exchanges: number;
}

export interface JudgeOptions {
  readonly isPartial?: boolean | undefined;
  /** Default 1,000. */
  readonly graceMs?: number | undefined;
  /** Ids of accounts; others are not judged. */
  readonly accountIds?: readonly string[] | undefined;
  readonly reports?: readonly Report[] | undefined;
}

const judges: Judges = {
  ...retryAfter,
  ...requestIds,
  ...outcomes,
  ...polling,
  ...pace,
  ...bodies,
};

export const defaultGraceMs = 1_000;

export function judge(exchanges: readonly Exchange[], options: JudgeOptions = {}): RefereeReport {
  const { isPartial = false, graceMs = defaultGraceMs, accountIds, reports } = options;
  const own =
    accountIds === undefined
      ? exchanges
      : exchanges.filter(
          ({ accountId }) => accountId !== undefined && accountIds.includes(accountId),
        );
  const intents = intentsOf(own, isPartial);
  const record: ClientRecord = { exchanges: own, intents, isPartial, graceMs, reports };
  return {
    rules: clientRules.map(({ id, level }) => {
      const { exercised, findings } = (judges[id] as Judge)(record);
      return { id, level, verdict: verdictOf(level, exercised, findings), exercised, findings };
    }),
    unattributable: intents.unattributable,
    exchanges: own.length,
  };
}

function verdictOf(level: Level, exercised: number, findings: readonly Finding[]): ClientVerdict {
  if (findings.length > 0) return level === 'must' ? 'failed' : 'advice';
  return exercised > 0 ? 'passed' : 'not_exercised';
}

/** The report as JSON has it: exchanges by their number in the record. */
export function reportJson({ rules, unattributable, exchanges }: RefereeReport) {
  return {
    rules: rules.map(({ findings, ...rule }) => ({
      ...rule,
      findings: findings.map(({ accountId, endpoint, what, exchanges: proof }) => ({
        account_id: accountId ?? null,
        endpoint: endpoint ?? null,
        what,
        exchanges: proof.map(({ number }) => number),
      })),
    })),
    unattributable,
    exchanges,
  };
}
