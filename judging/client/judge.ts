/**
 * Judges a client by its record: one verdict per client rule. Live and offline reports both use it,
 * so their verdicts are equal.
 */
import { type ClientRuleId, clientRules, type Level } from '#contract/rules.ts';
import { atOnce } from '#io/event-loop.ts';
import { counted } from '#io/terminal.ts';
import { isSend } from '../evidence/exchange.ts';
import { retryAfter } from './client-1-retry-after.ts';
import { holdBack } from './client-2-hold-back.ts';
import { requests } from './client-3-requests.ts';
import { outcomes } from './client-5-outcomes.ts';
import { reported } from './client-10-reports.ts';
import { pace } from './client-11-pace.ts';
import {
  type ClientExchange,
  isAcceptedOrReplayed,
  isUnclear,
  type Reading,
  readsIn,
} from './exchange.ts';
import { groupingOf } from './intent-grouping.ts';
import { equalMessagesOf } from './intents-file.ts';
import {
  type ClientRecord,
  defaultGraceMs,
  type Finding,
  type Intents,
  type Judge,
  type Judgement,
  type Knowledge,
  type Notice,
  notExercised,
  UnclearSends,
} from './record.ts';

/** `failed`: a rule that a client must keep; `advice`: one that it should keep. */
export type ClientVerdict = 'passed' | 'failed' | 'advice' | 'not_exercised';

export interface RuleJudgement extends Judgement {
  readonly id: ClientRuleId;
  readonly level: Level;
  readonly verdict: ClientVerdict;
}

export interface RefereeReport {
  readonly rules: readonly RuleJudgement[];
  readonly exchanges: readonly ClientExchange[];
  readonly intents: Intents;
  /** What a reader must know but breaks no rule, such as why a part was not judged. */
  readonly notices: readonly Notice[];
}

/** What is known of a record besides its exchanges, and how to judge it. */
export interface JudgeOptions {
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
  readonly reports?: Knowledge['reports'];
  readonly equalMessages?: Knowledge['equalMessages'];
  /**
   * True if the message never becomes `delivered`. Without this function, a message counts as
   * undelivered if the client read it as `failed`.
   */
  readonly endsUndelivered?: ((messageId: string) => boolean) | undefined;
  /** True if advice counts as failure. */
  readonly isStrict?: boolean | undefined;
  /**
   * Other orders or overlaps that the record also permits: a finding must hold in each. They change
   * the exchanges that are judged, and change them back in the end.
   */
  readonly otherReadings?: (() => Iterable<Reading>) | undefined;
  /** Further notices about the record. */
  readonly notices?: readonly string[] | undefined;
}

const judges: Readonly<Record<ClientRuleId, Judge>> = {
  ...retryAfter,
  ...holdBack,
  ...requests,
  ...outcomes,
  ...reported,
  ...pace,
};

/** The verdict of each client rule on these exchanges. */
export function judge(
  exchanges: readonly ClientExchange[],
  options: JudgeOptions = {},
): RefereeReport {
  return atOnce(judging(exchanges, options));
}

/** Judges in slices, so that a running simulator can serve meanwhile. */
export function* judging(
  exchanges: readonly ClientExchange[],
  options: JudgeOptions,
): Generator<undefined, RefereeReport> {
  const { lack, otherReadings, notices = [], isStrict = false } = options;
  const record = yield* recordOf(exchanges, options);
  let found = yield* foundIn(record, clientRules, options);
  const readings = found.some(needsConfirmation) ? otherReadings?.() : [];
  for (const reading of readings ?? []) found = yield* confirmedBy(reading, found, options);
  const judgements = found.map(({ id, level, ...one }) => {
    return { id, level, verdict: verdictOf(level, one, isStrict), ...one };
  });
  return {
    rules: judgements,
    exchanges: record.exchanges,
    intents: record.intents,
    notices: [
      ...(lack === undefined ? [] : [{ what: lack, exchanges: [] }]),
      ...notices.filter((what) => what !== lack).map((what) => ({ what, exchanges: [] })),
      ...record.unclear.notices(),
      ...judgements.flatMap((one) => one.notices ?? []),
      ...notAcceptedNotice(record.intents),
    ],
  };
}

/** A notice if no send was accepted: such a run breaks few rules, but shows little. */
function notAcceptedNotice({ all }: Intents): Notice[] {
  if (all.length === 0 || all.some((intent) => intent.attempts.some(isAcceptedOrReplayed)))
    return [];
  const attempts = all.flatMap((intent) => intent.attempts);
  const statuses = [...new Set(attempts.map(({ reply }) => reply.status))].join(', ');
  const what = `none of ${counted(attempts.length, 'send')} was accepted (status ${statuses}): is that what the run was for?`;
  return [{ what, exchanges: attempts.slice(-1) }];
}

/** The rules that a missing exchange may excuse, such as a read that shows a failure. */
const gapless: readonly ClientRuleId[] = ['CLIENT-3', 'CLIENT-5', 'CLIENT-7'];

/** The rules that judge each exchange by what it holds. */
const timeless: readonly ClientRuleId[] = ['CLIENT-4', 'CLIENT-15', 'CLIENT-16'];

/** The rules that are judged without intents, which take long to find. */
const withoutIntents: readonly ClientRuleId[] = [
  ...timeless,
  'CLIENT-8',
  'CLIENT-11',
  'CLIENT-12',
  'CLIENT-13',
];

/** What the record shows of a rule. */
type Found = Omit<RuleJudgement, 'verdict'>;

/** True if the findings of the rule depend on the order or the overlaps of exchanges. */
function needsConfirmation({ id, findings }: Found): boolean {
  return findings.length > 0 && !timeless.includes(id);
}

function* foundIn(
  record: ClientRecord,
  judged: readonly Pick<Found, 'id' | 'level'>[],
  { hasGaps = false }: JudgeOptions,
): Generator<undefined, Found[]> {
  const found: Found[] = [];
  for (const { id, level } of judged) {
    const isExcused = hasGaps && gapless.includes(id);
    found.push({ id, level, ...(isExcused ? notExercised : judges[id](record)) });
    yield;
  }
  return found;
}

/** Drops the findings that the other reading lacks: whether they are true is not known. */
function* confirmedBy(
  exchanges: Reading,
  found: readonly Found[],
  options: JudgeOptions,
): Generator<undefined, Found[]> {
  const judged = found.filter(needsConfirmation);
  const isGrouped = judged.some(({ id }) => !withoutIntents.includes(id));
  const record = yield* recordOf(exchanges, options, isGrouped);
  const others = yield* foundIn(record, judged, options);
  return found.map((one) => {
    const other = others.find(({ id }) => id === one.id);
    if (other === undefined) return one;
    const confirmed = new Set(other.findings.map(faultIn));
    const findings = one.findings.filter((each) => confirmed.has(faultIn(each)));
    return { ...one, findings, exercised: one.exercised - one.findings.length + findings.length };
  });
}

/** What the finding is about: the exchange at fault, by its reply, which its copies share. */
function faultIn({ exchanges, what }: Finding) {
  return exchanges.at(-1)?.reply ?? what;
}

function verdictOf(
  level: Level,
  { exercised, findings }: Judgement,
  isStrict: boolean,
): ClientVerdict {
  if (findings.length > 0) return level === 'must' || isStrict ? 'failed' : 'advice';
  return exercised > 0 ? 'passed' : 'not_exercised';
}

const noIntents: ClientRecord['intents'] = { all: [], reuses: [], unattributable: 0 };

/** The record of these exchanges. `isGrouped`: false for rules that need no intents. */
function* recordOf(
  exchanges: readonly ClientExchange[],
  options: JudgeOptions,
  isGrouped = true,
): Generator<undefined, ClientRecord> {
  const { accounts, lack, reports, graceMs = defaultGraceMs } = options;
  const { equalMessages = equalMessagesOf(reports ?? []) } = options;
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
