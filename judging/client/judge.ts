/**
 * Judges a client by its record: one verdict per client rule. Live and offline reports both use it,
 * so their verdicts are equal.
 */
import { type ClientRuleId, clientRules, type Level } from '#contract/rules.ts';
import { atOnce } from '#io/slices.ts';
import { counted } from '#io/terminal.ts';
import { isSend } from '../evidence/exchange.ts';
import { retryAfter } from './client-1-retry-after.ts';
import { requests } from './client-3-requests.ts';
import { outcomes } from './client-5-outcomes.ts';
import { reported } from './client-10-reports.ts';
import { pace } from './client-11-pace.ts';
import { type ClientExchange, isAccepted, type Reading, readsIn } from './exchange.ts';
import { groupingOf } from './intent-grouping.ts';
import type { Report } from './intents-file.ts';
import {
  type ClientRecord,
  type Finding,
  type Intents,
  type Judge,
  type Judgement,
  type Knowledge,
  type Notice,
  notExercised,
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

export interface JudgeOptions {
  /** True if the client has not finished: more exchanges may follow. */
  readonly isPartial?: boolean | undefined;
  /** True if exchanges may be missing before the first: the record is then a partial one. */
  readonly isCutAtStart?: boolean | undefined;
  /** True if advice counts as failure. */
  readonly isStrict?: boolean | undefined;
  /** How long after a 429 a request still counts as sent before it (CLIENT-2). Default 1,000. */
  readonly graceMs?: number | undefined;
  /** Names or ids of accounts; others are not judged. */
  readonly accounts?: readonly string[] | undefined;
  /** Why the record is incomplete: it is then judged as a partial one. */
  readonly lack?: string | undefined;
  readonly reports?: readonly Report[] | undefined;
  /** See `Knowledge`. */
  readonly equalMessages?: Knowledge['equalMessages'];
  /** Other orders or overlaps that the record also permits: a finding must hold in each. */
  readonly otherReadings?: (() => Iterable<Reading>) | undefined;
  /** True if exchanges between the first and the last are missing. */
  readonly hasGaps?: boolean | undefined;
  /** Further notices about the record. */
  readonly notices?: readonly string[] | undefined;
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
  ...reported,
  ...pace,
};

export const defaultGraceMs = 1_000;

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
  const { records, unclear } = yield* recordsOf(exchanges, options);
  let found = yield* foundIn(records, clientRules, options);
  const readings = found.some(isBroken) ? otherReadings?.() : [];
  for (const reading of readings ?? []) found = yield* confirmedBy(reading, found, options);
  const judgements = found.map(({ id, level, ...one }) => {
    return { id, level, verdict: verdictOf(level, one, isStrict), ...one };
  });
  const intents = mergedIntents(records);
  return {
    rules: judgements,
    exchanges: records
      .flatMap((record) => record.exchanges)
      .toSorted((a, b) => a.number - b.number),
    intents,
    notices: [
      ...(lack === undefined ? [] : [{ what: lack, exchanges: [] }]),
      ...notices.filter((what) => what !== lack).map((what) => ({ what, exchanges: [] })),
      ...unclear.map(unclearNotice),
      ...judgements.flatMap((one) => one.notices ?? []),
      ...notAcceptedNotice(intents),
    ],
  };
}

/** The exchanges of scopes without an unclear send; of the others, those before it and from it on. */
type Records = readonly [clear: ClientRecord, before: ClientRecord, after: ClientRecord];

/** The records, each judged alone, and the first unclear send of each scope. */
function* recordsOf(
  exchanges: readonly ClientExchange[],
  options: JudgeOptions,
): Generator<
  undefined,
  { readonly records: Records; readonly unclear: readonly ClientExchange[] }
> {
  const { accounts, lack } = options;
  const ofAccounts = exchanges.filter(
    (exchange) =>
      !exchange.lacksCaller &&
      (accounts?.some((account) => isOfAccount(exchange, account)) ?? true),
  );
  const isCutAtStart = options.isCutAtStart === true || options.hasGaps === true;
  const isPartial = options.isPartial === true || isCutAtStart || lack !== undefined;
  /** By caller and endpoint: the first send whose content is unknown. */
  const firstUnclear = new Map<string, ClientExchange>();
  const unclearSends = exchanges.filter(isUnclear);
  for (const send of unclearSends) {
    // A send without a caller may belong to any caller.
    for (const scope of (send.lacksCaller ? ofAccounts.filter(isSend) : [send]).map(scopeOf))
      if (!firstUnclear.has(scope)) firstUnclear.set(scope, send);
    if (send.lacksCaller) break;
  }
  // What an unclear send means for later sends of its scope depends on its content.
  const unclearFrom = (exchange: ClientExchange) => firstUnclear.get(scopeOf(exchange))?.number;
  const doubtful = firstUnclear.size === 0 ? [] : ofAccounts.filter(unclearFrom);
  const clear =
    firstUnclear.size === 0 ? ofAccounts : ofAccounts.filter((exchange) => !unclearFrom(exchange));
  const before = doubtful.filter((exchange) => exchange.number < (unclearFrom(exchange) ?? 0));
  const after = doubtful.filter((exchange) => exchange.number >= (unclearFrom(exchange) ?? 0));
  const reads = readsIn(exchanges);
  const lacksSends = unclearSends.length > 0;
  const { reports, equalMessages } = options;
  const known = { isPartial, isCutAtStart, lacksSends, reports, equalMessages };
  const records = [
    yield* recordOf(clear, reads, known, options),
    yield* recordOf(before, reads, { ...known, isPartial: true }, options),
    yield* recordOf(after, reads, { ...known, isPartial: true, isCutAtStart: true }, options),
  ] as const;
  return { records, unclear: [...new Set(firstUnclear.values())] };
}

function scopeOf({ caller, endpoint, method }: ClientExchange): string {
  return JSON.stringify([caller.name, endpoint, method]);
}

function unclearNotice(send: ClientExchange): Notice {
  const { caller, endpoint, number, lacksCaller } = send;
  const [lacking, whose] = lacksCaller
    ? ['caller', 'all sends']
    : ['body', `the sends of ${caller.name}`];
  const what = `the ${lacking} of exchange ${number} was not recorded: from there on, ${whose} to ${endpoint ?? 'an unknown path'} are not judged by their content`;
  return { what, exchanges: [send] };
}

function mergedIntents(records: readonly ClientRecord[]): Intents {
  return {
    all: records.flatMap(({ intents }) => intents.all),
    reuses: records.flatMap(({ intents }) => intents.reuses),
    unattributable: records.reduce((sum, { intents }) => sum + intents.unattributable, 0),
  };
}

/** A notice if no send was accepted: such a run breaks few rules, but shows little. */
function notAcceptedNotice({ all }: Intents): Notice[] {
  if (all.length === 0 || all.some((intent) => intent.attempts.some(isAccepted))) return [];
  const attempts = all.flatMap((intent) => intent.attempts);
  const statuses = [...new Set(attempts.map(({ reply }) => reply.status))].join(', ');
  const what = `none of ${counted(attempts.length, 'send')} was accepted (status ${statuses}): is that what the run was for?`;
  return [{ what, exchanges: attempts.slice(-1) }];
}

/** The exchanges as the judges of the rules need them, with their intents. */
function* recordOf(
  exchanges: readonly ClientExchange[],
  reads: readonly ClientExchange[],
  knowledge: Knowledge,
  { graceMs = defaultGraceMs, endsUndelivered }: JudgeOptions,
): Generator<undefined, ClientRecord> {
  const judged = knowledge.isPartial ? exchanges.map(leftOpen) : exchanges;
  const intents = yield* groupingOf(judged, knowledge);
  return { ...knowledge, exchanges: judged, reads, intents, graceMs, endsUndelivered };
}

/** The rules that need no content of a send. */
const contentFree: readonly ClientRuleId[] = ['CLIENT-11', 'CLIENT-12', 'CLIENT-13', 'CLIENT-16'];

/** The rules that a missing exchange may excuse, such as a read that shows a failure. */
const gapless: readonly ClientRuleId[] = ['CLIENT-3', 'CLIENT-5', 'CLIENT-7'];

/** What the record shows of a rule. */
type Found = Omit<RuleJudgement, 'verdict'>;

function isBroken({ findings }: Found): boolean {
  return findings.length > 0;
}

/** `after` has exchanges that may belong to intents of unknown content. */
function* foundIn(
  [clear, before, after]: Records,
  judged: readonly Pick<Found, 'id' | 'level'>[],
  { hasGaps = false }: JudgeOptions,
): Generator<undefined, Found[]> {
  const found: Found[] = [];
  for (const { id, level } of judged) {
    const parts = [clear, before, ...(contentFree.includes(id) ? [after] : [])].map((record) =>
      hasGaps && gapless.includes(id) ? notExercised : judges[id](record),
    );
    const findings = parts.flatMap((one) => one.findings);
    const exercised = parts.reduce((sum, one) => sum + one.exercised, 0);
    const notices = parts.flatMap((one) => one.notices ?? []);
    found.push({ id, level, exercised, findings, notices });
    yield;
  }
  return found;
}

/** Drops the findings that the other reading lacks: whether they are true is not known. */
function* confirmedBy(
  { exchanges, numbers }: Reading,
  found: readonly Found[],
  options: JudgeOptions,
): Generator<undefined, Found[]> {
  const broken = found.filter(isBroken);
  const { records } = yield* recordsOf(exchanges, options);
  const others = yield* foundIn(records, broken, options);
  return found.map((one) => {
    const other = others.find(({ id }) => id === one.id);
    const confirmed = new Set(other?.findings.map((each) => faultIn(each, numbers)));
    const findings = one.findings.filter((each) => confirmed.has(faultIn(each)));
    return { ...one, findings, exercised: one.exercised - one.findings.length + findings.length };
  });
}

/** What the finding is about: the number of the exchange at fault in the reading that is judged. */
function faultIn({ exchanges, what }: Finding, numbers?: Reading['numbers']) {
  const last = exchanges.at(-1);
  return last === undefined || numbers === undefined
    ? (last?.number ?? what)
    : numbers[last.number - 1];
}

/** True for a send of unknown content or caller: any later send may belong to its intent. */
function isUnclear(exchange: ClientExchange): boolean {
  const { lacksBody = false, lacksCaller = false, body } = exchange;
  return isSend(exchange) && (lacksCaller || (lacksBody && body === ''));
}

/** A reply that may not have left by the end of the record is in flight for all later requests. */
function leftOpen(one: ClientExchange): ClientExchange {
  return one.isOpenAtEnd ? { ...one, openUntil: Number.POSITIVE_INFINITY } : one;
}

/** True if the exchange belongs to the account with this id or name. */
export function isOfAccount({ caller }: ClientExchange, idOrName: string): boolean {
  return caller.account === idOrName || caller.accountName === idOrName;
}

function verdictOf(
  level: Level,
  { exercised, findings }: Judgement,
  isStrict: boolean,
): ClientVerdict {
  if (findings.length > 0) return level === 'must' || isStrict ? 'failed' : 'advice';
  return exercised > 0 ? 'passed' : 'not_exercised';
}
