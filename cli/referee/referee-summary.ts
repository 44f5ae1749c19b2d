/**
 * The referee's report as text for a terminal, and as the summary that the harness writes reports
 * from: one result for each finding, or one for a rule without findings.
 */
import { isObject } from '#contract/request-and-reply.ts';
import { clientRules } from '#contract/rules.ts';
import { isoTime } from '#contract/time.ts';
import { counted, foreignText, table } from '#io/terminal.ts';
import type { ClientExchange } from '#judging/client/exchange.ts';
import type { RefereeReport, RuleJudgement } from '#judging/client/judge.ts';
import type { Finding } from '#judging/client/record.ts';
import { countsOf } from '#judging/client/report-json.ts';
import { requestIdOf } from '#judging/evidence/exchange.ts';
import { type Expectation, type Weighed, weigh } from '#judging/report/expected.ts';
import { counts, ruleVerdicts } from '#judging/report/outcome.ts';
import type { Result, Verdict } from '#judging/report/result.ts';
import type { Summary } from '#judging/report/summary.ts';

/** Reports list this many findings of a rule; the JSON report lists all. */
const listedFindings = 1_000;
/** Later findings of a rule are reported without their exchanges. */
const detailedFindings = 50;
/** The exchanges and the lines of its timeline that reports show of one finding. */
const longestTimeline = 50;
/** A finding is described with the numbers of this many exchanges. */
const shownNumbers = 20;
/** The text for a terminal lists this many findings of a rule. */
const shownFindings = 10;

interface Context {
  readonly file: string;
  /** The failures that are known, from `--expected`. */
  readonly expected: readonly Expectation[];
}

export function refereeSummary(report: RefereeReport, context: Context): Summary {
  const { file, expected } = context;
  const detailed = report.rules.flatMap(({ findings }) => findings.slice(0, detailedFindings));
  const shown = new Set(detailed.flatMap(({ exchanges }) => exchanges));
  const attemptsOf = new Map<ClientExchange, readonly ClientExchange[]>();
  for (const { attempts } of report.intents.all)
    for (const attempt of attempts) if (shown.has(attempt)) attemptsOf.set(attempt, attempts);
  const results = report.rules.flatMap((rule) => resultsOf(rule, attemptsOf));
  const weighed = weighFindings(expected, results, report);
  return clientSummary(results, sentences, {
    title: 'Referee',
    observedName: 'advice',
    baseUrl: file,
    startedAt: new Date().toISOString(),
    durationMs: 0,
    exitCode: exitCodeOf(report, results, weighed),
    sends: report.exchanges.length,
    weighed,
  });
}

/**
 * Compares results with the expectations. A case is a finding by the id of its result, or all
 * findings of a rule by the id of the rule.
 */
function weighFindings(
  expected: readonly Expectation[],
  results: readonly Result[],
  { rules }: RefereeReport,
): Weighed {
  const ofRules = expected.map((entry): Expectation => {
    const isRule = rules.some(({ id }) => id === entry.case);
    return isRule ? { rule: entry.case, reason: entry.reason } : entry;
  });
  return weigh(ofRules, results, [...rules.map(({ id }) => ({ id, subject: id })), ...results]);
}

type OwnFacts = 'title' | 'baseUrl' | 'startedAt' | 'durationMs' | 'exitCode' | 'sends';

/** The summary of a command that judges a client, and so sent nothing to a target itself. */
export function clientSummary(
  results: readonly Result[],
  sentenceOfRule: ReadonlyMap<string, string>,
  own: Pick<Summary, OwnFacts> & Partial<Summary>,
): Summary {
  return {
    sentenceOf: (id) => sentenceOfRule.get(id) ?? '',
    interrupted: false,
    reachable: true,
    throttled: 0,
    interruptions: {},
    weighed: { expected: new Map(), stale: [] },
    discovered: { answers: {}, undetermined: {} },
    counts: counts(results),
    rules: ruleVerdicts(results),
    results,
    ...own,
  };
}

/** The exit code; the header of `referee.ts` says what each means. */
function exitCodeOf(
  report: RefereeReport,
  results: readonly Result[],
  { expected, stale }: Weighed,
): number {
  if (results.some(({ id, verdict }) => verdict === 'failed' && !expected.has(id))) return 1;
  if (stale.length > 0) return 5;
  return report.rules.some(({ exercised }) => exercised > 0) ? 0 : 4;
}

const sentences = new Map<string, string>(
  clientRules.map(({ id, level, sentence }) => [id, `(${level}) The client ${sentence}`]),
);

type Attempts = ReadonlyMap<ClientExchange, readonly ClientExchange[]>;

function resultsOf(rule: RuleJudgement, attempts: Attempts): Result[] {
  const { id, exercised, findings } = rule;
  const common = { subject: id, kind: 'rule', exercised, durationMs: 0, omitted: 0 } as const;
  if (findings.length === 0) {
    const verdict: Verdict = exercised > 0 ? 'passed' : 'skipped';
    const reason =
      exercised > 0 ? `exercised ${counted(exercised, 'time')}` : 'the record never exercises it';
    return [{ ...common, id, verdict, reason, sends: reason, exchanges: [] }];
  }
  const verdict: Verdict = rule.verdict === 'failed' ? 'failed' : 'observed';
  const listed = findings.slice(0, listedFindings).map((finding, index): Result => {
    const { what, exchanges } = finding;
    return {
      ...common,
      id: findings.length === 1 ? id : `${id} (${index + 1})`,
      verdict,
      reason: what,
      seen: what,
      sends: placeOf(finding),
      ...(index < detailedFindings
        ? detailsOf(finding, attempts)
        : { exchanges: [], timeline: [], omitted: exchanges.length }),
    };
  });
  const more = findings.length - listedFindings;
  if (more <= 0) return listed;
  const reason = `${counted(more, 'more finding')}; the JSON report lists all of them`;
  const last = { ...common, id: `${id} (more)`, verdict, reason, sends: reason, exchanges: [] };
  return [...listed, last];
}

function detailsOf(finding: Finding, attempts: Attempts) {
  const { exchanges } = finding;
  const listed = exchanges.slice(0, longestTimeline);
  return {
    exchanges: listed.map((exchange) => reportExchange(exchange, exchanges[0])),
    timeline: timelineOf(finding, attempts),
    omitted: exchanges.length - listed.length,
  };
}

/** Where a finding was made: its account, endpoint and exchanges. */
function placeOf({ accountId, endpoint, exchanges }: Finding): string {
  const listed = exchanges.slice(0, shownNumbers).map(({ number }) => number);
  const more = exchanges.length - listed.length;
  const numbers = `${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const account = exchanges.at(-1)?.caller.accountName ?? accountId ?? 'an unauthenticated caller';
  return `${account}, ${endpoint ?? 'no endpoint'}, exchanges ${numbers}`;
}

/** One line for each exchange of a finding, and for each other attempt at their messages. */
function timelineOf({ exchanges }: Finding, attempts: Attempts): readonly string[] {
  // Attempts are in order, so only the first of each message can be among the first of all.
  const related = new Set(
    exchanges
      .slice(0, longestTimeline)
      .flatMap((exchange) => [
        ...(attempts.get(exchange) ?? []).slice(0, longestTimeline),
        exchange,
      ]),
  );
  const ordered = [...related].sort((a, b) => a.number - b.number).slice(0, longestTimeline);
  const [first] = ordered;
  return ordered.map((exchange) => {
    const { number, method, target, reply, retryAfter, sentAt, isSeen } = exchange;
    const id = requestIdOf(exchange);
    return [
      `${isoTime(sentAt)} (+${sinceText(first, exchange)}) ${number}: ${method} ${target} → ${reply.status}`,
      ...(retryAfter === undefined ? [] : [`Retry-After: ${retryAfter}`]),
      ...(id === undefined ? [] : [`request_id ${id}`]),
      ...(isSeen ? [] : ['not seen by the client']),
      ...(exchanges.includes(exchange) ? ['(finding)'] : []),
    ].join(', ');
  });
}

/** An exchange as reports show it, with its time since the first one. */
export function reportExchange(exchange: ClientExchange, first: ClientExchange | undefined) {
  const { method, target, body, reply, retryAfterMs, isSeen, sentAt } = exchange;
  return {
    method,
    url: target,
    requestHeaders: { at: isoTime(sentAt), 'after-the-first': sinceText(first, exchange) },
    ...(body !== '' && { requestBody: body }),
    status: reply.status,
    replyHeaders: retryAfterMs === undefined ? {} : { 'retry-after': String(retryAfterMs / 1_000) },
    replyBody: isObject(reply.json) ? JSON.stringify(reply.json) : '',
    ...(!isSeen && { failure: `${reply.status}, which the client did not see` }),
    durationMs: exchange.answeredAt - sentAt,
  };
}

/** The time since the first exchange, such as `1.250 s`. */
function sinceText(first: ClientExchange | undefined, { sentAt }: ClientExchange): string {
  return `${((sentAt - (first?.sentAt ?? sentAt)) / 1_000).toFixed(3)} s`;
}

export function refereeText(
  { rules, intents: { all, unattributable }, exchanges: { length }, notices }: RefereeReport,
  summary: Summary,
): string {
  const rulesWithFindings = rules.filter(({ findings }) => findings.length > 0);
  const lines = rulesWithFindings.flatMap((rule) => [...findingLines(rule, summary), '']);
  for (const line of summary.weighed.stale) lines.push(`Stale expectation: ${foreignText(line)}`);
  const count = (verdict: string) => rules.filter((rule) => rule.verdict === verdict).length;
  lines.push(
    `${counted(length, 'exchange')}: ${counted(count('passed'), 'rule')} passed, ${count('failed')} failed, ${count('advice')} advice, ${count('not_exercised')} not exercised.`,
  );
  const { accepted, refused, open } = countsOf(all);
  if (all.length > 0)
    lines.push(`Intents: ${accepted} accepted, ${refused} refused for good, ${open} left open.`);
  for (const { what } of notices) lines.push(`Note: ${what}.`);
  if (unattributable > 0)
    lines.push(
      `${counted(unattributable, 'send')} cannot be attributed to one message, which fails no rule.`,
    );
  return `${lines.join('\n')}\n`;
}

function findingLines({ id: ruleId, verdict, findings }: RuleJudgement, summary: Summary) {
  const { results, weighed } = summary;
  const isExpected = results.some(
    ({ subject, id }) => subject === ruleId && weighed.expected.has(id),
  );
  const head = isExpected ? 'EXPECTED' : verdict.toUpperCase();
  const lines = [`${head}  ${ruleId}  ${sentences.get(ruleId) ?? ''}`];
  for (const finding of findings.slice(0, shownFindings))
    lines.push(`  ${foreignText(finding.what)}`, `    ${foreignText(placeOf(finding))}`);
  const more = findings.length - shownFindings;
  if (more > 0) lines.push(`  … and ${more} more`);
  return lines;
}

export function clientRulesTable(): string {
  return table([
    ['RULE', 'LEVEL', 'THE CLIENT'],
    ...clientRules.map(({ id, level, sentence }) => [id, level, sentence]),
  ]);
}
