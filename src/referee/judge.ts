/**
 * Judges a client by its record: one verdict per client rule. Live and offline reports both use it,
 * so their verdicts are equal.
 */
import { many } from '../commands/table.ts';
import { type ClientRuleId, clientRules, type Level } from '../ledger/rules.ts';
import { atOnce } from '../sim/at-once.ts';
import { isoTime } from '../sim/clock.ts';
import { retryAfter } from './client-1-retry-after.ts';
import { requests } from './client-3-requests.ts';
import { outcomes } from './client-5-outcomes.ts';
import { pace } from './client-11-pace.ts';
import { type Exchange, isAccepted, messageIdOf, requestIdOf } from './exchange.ts';
import { groupingOf } from './intent-grouping.ts';
import { type Intent, type Intents, isAttributable } from './intents.ts';
import type { Report } from './intents-file.ts';
import type { ClientRecord, Finding, Judge, Judgement, Judges } from './record.ts';

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

const judges: Judges = {
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
  const { graceMs = defaultGraceMs, accounts, reports, lack, endsUndelivered } = options;
  const isOfAccounts = (exchange: Exchange) =>
    accounts === undefined || accounts.some((account) => isOfAccount(exchange, account));
  const ofAccounts = exchanges.filter(isOfAccounts);
  const withoutBody = ofAccounts.filter(({ lacksBody }) => lacksBody).length;
  // What came before an unclear exchange is not judged: the record begins behind it.
  const skipped = ofAccounts.findLastIndex(isUnclear) + 1;
  const isCutAtStart = options.isCutAtStart === true || skipped > 0;
  const isPartial =
    options.isPartial === true || isCutAtStart || withoutBody > 0 || lack !== undefined;
  const judged = ofAccounts.slice(skipped).map((one) => (isPartial ? leftOpen(one) : one));
  const knowledge = { isPartial, isCutAtStart, reports };
  const record: ClientRecord = {
    ...knowledge,
    exchanges: judged,
    intents: yield* groupingOf(judged, knowledge),
    graceMs,
    endsUndelivered,
  };
  const rules: RuleJudgement[] = [];
  for (const { id, level } of clientRules) {
    const { exercised, findings } = (judges[id] as Judge)(record);
    const judgedLevel = options.isStrict === true ? 'must' : level;
    const verdict = verdictOf(judgedLevel, exercised, findings);
    rules.push({ id, level, verdict, exercised, findings });
    yield;
  }
  return {
    rules,
    exchanges: judged,
    intents: record.intents,
    notice: lack ?? noticeOf(withoutBody, skipped),
  };
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

/** The report as JSON; findings name exchanges by their numbers in the record. */
export function reportJson({ rules, exchanges, intents, notice }: RefereeReport) {
  return {
    ...(notice !== undefined && { notice }),
    rules: rules.map(({ findings, ...rule }) => ({
      ...rule,
      findings: findings.map(({ accountId, endpoint, what, exchanges: proof }) => ({
        account_id: accountId ?? null,
        endpoint: endpoint ?? null,
        what,
        exchanges: proof.map(({ number }) => number),
      })),
    })),
    unattributable: intents.unattributable,
    exchanges: exchanges.length,
  };
}

/** The exchanges and intents of a report, for the dashboard and other views. */
export function detailsOf({ exchanges, intents }: Pick<ClientRecord, 'exchanges' | 'intents'>) {
  return { exchanges: exchanges.map(exchangeDetails), intents: intents.all.map(intentDetails) };
}

function exchangeDetails(one: Exchange) {
  const status = one.reply?.['status'];
  return {
    number: one.number,
    at: isoTime(one.atMs),
    answered_at: isoTime(one.answeredAtMs),
    seen: one.isSeen,
    account_id: one.accountId ?? null,
    account: one.accountName ?? null,
    endpoint: one.endpoint ?? null,
    method: one.method,
    path: one.target,
    request_id: requestIdOf(one) ?? null,
    status: one.status,
    retry_after: one.retryAfter ?? null,
    retry_after_ms: one.retryAfterMs ?? null,
    message_id: messageIdOf(one) ?? null,
    message_status: typeof status === 'string' ? status : null,
  };
}

function intentDetails(intent: Intent) {
  const { attempts, requestId } = intent;
  const [first] = attempts;
  const accepted = attempts.filter(isAccepted).map((one) => messageIdOf(one) ?? one.number);
  const to = first?.body?.['to'];
  return {
    account_id: first?.accountId ?? null,
    endpoint: first?.endpoint ?? null,
    to: typeof to === 'string' ? to : null,
    request_id: requestId ?? null,
    attributable: isAttributable(intent),
    accepted: new Set(accepted).size,
    exchanges: attempts.map(({ number }) => number),
  };
}
