/**
 * What `smstwin explore` reports: text for a terminal, JSON, and the summary that the harness writes
 * its reports from, with one result for each finding.
 */
import { faultKinds } from '#contract/fault-kinds.ts';
import { kindNamed, type Schedule, type TimelineEntry } from '#contract/fault-schedule.ts';
import { clientRules } from '#contract/rules.ts';
import { scheduleText } from '#explore/schedule.ts';
import {
  exitCodeOf,
  type Finding,
  findingView,
  type SearchResult,
} from '#explore/search-result.ts';
import type { CommandIo } from '#io/flags.ts';
import { counted, foreignText, foreignTexts } from '#io/terminal.ts';
import type { Result } from '#judging/report/result.ts';
import type { Summary } from '#judging/report/summary.ts';
import { noticesTo } from '../process.ts';
import { clientSummary, reportExchange } from '../referee/referee-summary.ts';

/** A search that has ended, and how it was run. */
export interface Explored {
  readonly result: SearchResult;
  /** What was explored, such as `explored 34 of 34 single faults and …`. */
  readonly line: string;
  readonly command: string;
  readonly startedAt: string;
  readonly durationMs: number;
}

export function exploreSummary(explored: Explored): Summary {
  const { result, line, command, startedAt, durationMs } = explored;
  const results = [
    ...result.findings.map((finding, index) => resultOf(finding, `finding ${index + 1}`)),
    ...result.unconfirmed.map((finding, index) => resultOf(finding, `not confirmed ${index + 1}`)),
    ...otherResults(result, line),
  ];
  return clientSummary(results, sentences, {
    title: 'Exploration',
    baseUrl: command,
    startedAt,
    durationMs,
    exitCode: exitCodeOf(result),
    interrupted: result.stop === 'interrupted',
    sends: result.runs,
    sendsAre: 'runs',
  });
}

const sentences = new Map<string, string>([
  ...clientRules.map(({ id, sentence }) => [id, `The client ${sentence}`] as const),
  ['sent_twice', 'A message was accepted more often than without faults.'],
  ['not_accepted', 'The client ended without an error, but a message was not accepted.'],
  ['timeout', 'The client did not end in time.'],
  ['failed', 'The client ended with an error.'],
  ['explored', 'The client passes under every fault schedule that was tried.'],
]);

function resultOf(finding: Finding, title: string): Result {
  const { cause, what, timeline } = findingView(finding);
  const { seen } = finding.run;
  const first = seen[0]?.exchange;
  const startMs = startOf(timeline);
  return {
    id: `${title}: ${scheduleText(finding.schedule)}`,
    subject: cause,
    kind: 'rule',
    sends: scheduleText(finding.schedule),
    verdict: 'failed',
    reason: what,
    exercised: 1,
    durationMs: 0,
    exchanges: seen.map(({ exchange, fault }) => {
      const reported = reportExchange(exchange, first);
      return fault === undefined
        ? reported
        : { ...reported, requestHeaders: { ...reported.requestHeaders, fault } };
    }),
    timeline: timeline.map((entry) => entryText(entry, startMs)),
    omitted: 0,
  };
}

/** The time of the first exchange; NaN for an empty timeline. */
function startOf([first]: readonly TimelineEntry[]): number {
  return Date.parse(first?.at ?? '');
}

/** One result for the whole exploration, unless it has findings; one for each unstable finding. */
function otherResults(
  { findings, unconfirmed, problem, unstable }: SearchResult,
  line: string,
): Result[] {
  const common = {
    subject: 'explored',
    kind: 'rule',
    sends: line,
    exercised: 1,
    durationMs: 0,
    exchanges: [],
    omitted: 0,
  } as const;
  if (problem !== undefined)
    return [{ ...common, id: 'explored', verdict: 'error', reason: problem.line }];
  const unstableResults = unstable.map((finding, index): Result => {
    const { cause, what } = findingView(finding);
    const schedule = scheduleText(finding.schedule);
    const reason = `${cause} under ${schedule} did not repeat when this schedule was run again: ${what}`;
    return { ...common, id: `unstable ${index + 1}: ${schedule}`, verdict: 'skipped', reason };
  });
  if (findings.length + unconfirmed.length > 0) return unstableResults;
  return [{ ...common, id: 'explored', verdict: 'passed', reason: line }, ...unstableResults];
}

/**
 * Prints the findings and what else a user must know. `files`: those that the findings were written
 * to. `hints`: what may have made a failure unstable.
 */
export function printResult(
  result: SearchResult,
  {
    files,
    givenSchedule,
    hints,
  }: {
    readonly files: readonly string[];
    readonly givenSchedule: Schedule | undefined;
    readonly hints: readonly string[];
  },
  io: CommandIo,
): void {
  const { findings, unconfirmed, unstable, problem, unmet = 0 } = result;
  for (const notice of result.notices) io.out(`NOTICE  ${foreignText(notice)}\n\n`);
  const complain = noticesTo(io, 'smstwin explore');
  for (const [index, finding] of findings.entries())
    io.out(findingText(finding, givenSchedule ? 'FAILED' : 'FOUND', files[index]));
  for (const finding of unconfirmed) io.out(findingText(finding, 'NOT CONFIRMED', seenOnce));
  const note = [passedAgain, ...hints].join('; ');
  for (const finding of unstable) io.out(findingText(finding, 'UNSTABLE', note));
  if (problem !== undefined) {
    complain(problem.line);
    const output = problem.tail === '' ? [] : problem.tail.split('\n');
    for (const line of output) io.error(`  | ${foreignText(line)}\n`);
  }
  if (unmet > 0) {
    const faults = `${counted(unmet, 'fault')} of the schedule met no call of the client`;
    complain(`${faults}: if its calls have changed, explore it again`);
  }
  if (givenSchedule && findings.length === 0 && problem === undefined && !result.stop)
    io.out(`PASSED  ${scheduleText(givenSchedule)}\n`);
}

const seenOnce = 'seen once: the exploration ended before this schedule was run again';
const passedAgain = 'did not repeat when this schedule was run again';

export function countsLine(result: SearchResult): string {
  const { runs, points, findings, unconfirmed, unstable, skipped } = result;
  const counts = [
    counted(runs, 'run'),
    counted(points, 'decision point'),
    counted(findings.length, 'finding'),
    ...(unconfirmed.length > 0 ? [`${unconfirmed.length} not confirmed`] : []),
    `${unstable.length} unstable`,
  ];
  const same = 'skipped, which cannot differ from one already run';
  return `${counts.join(', ')}; ${counted(skipped, 'schedule')} ${same}`;
}

const notShrunk =
  '  not shrunk: the exploration ended first, and fewer or weaker faults may be enough';
const shownExchanges = 12;
const shownOutputLines = 10;

/** A finding as text for a terminal. `note`: its last line, such as the file of the finding. */
export function findingText(finding: Finding, title: string, note: string | undefined): string {
  const view = findingView(finding);
  const { cause, what, failures, timeline, also, shrunk } = foreignTexts(view);
  const lines = [`${title}  ${cause}  ${scheduleText(finding.schedule)}`, `  ${what}`];
  const causes = new Map(failures.map((failure) => [failure.cause, failure.what]));
  causes.delete(cause);
  for (const [other, why] of causes) lines.push(`  and ${other}: ${why}`);
  const startMs = startOf(timeline);
  for (const entry of timeline.slice(0, shownExchanges))
    lines.push(`    ${entryText(entry, startMs)}`);
  const more = timeline.length - shownExchanges;
  if (more > 0) lines.push(`    … and ${more} more exchanges`);
  if (view.output !== '') {
    const output = endsOf(view.output.split('\n'));
    lines.push('  its output:', ...output.map((line) => `    | ${foreignText(line)}`));
  }
  if (also.length > 0) lines.push(`  also under ${counted(also.length, 'other schedule')}`);
  if (!shrunk) lines.push(notShrunk);
  if (note !== undefined) lines.push(`  ${note}`);
  return `${lines.join('\n')}\n\n`;
}

/** The first and the last lines: an error message may be at either end. */
function endsOf(lines: readonly string[]): readonly string[] {
  const first = lines.slice(0, -shownOutputLines);
  if (first.length === 0) return lines;
  const cut = first.length > shownOutputLines ? ['…'] : [];
  return [...first.slice(0, shownOutputLines), ...cut, ...lines.slice(-shownOutputLines)];
}

function entryText(entry: TimelineEntry, startMs: number): string {
  const { number, at, method, target, endpoint, intent, attempt, status, fault, seen } = entry;
  const seconds = ((Date.parse(at) - startMs) / 1_000).toFixed(3);
  const place = intent === null ? '' : ` (${endpoint} ${intent}, attempt ${attempt})`;
  const reply = seen ? `${status}` : unseenReply(entry);
  const met = fault === null ? '' : `  ← ${fault}`;
  return `${number}  ${seconds} s  ${method} ${target}${place} → ${reply}${met}`;
}

/** Describes a reply that the client did not see: by its status if the request was handled. */
function unseenReply({ status, fault }: TimelineEntry): string {
  const { isHandled = true, reply } = fault === null ? {} : faultKinds[kindNamed(fault)];
  if (isHandled || reply === 'stated') return `${status}, not seen by the client`;
  return reply === 'hang' ? 'not handled' : 'closed';
}

export function exploreJson({ result, line, command, startedAt, durationMs }: Explored) {
  const { problem, findings, unconfirmed, unstable, runs, points, skipped, levels, stop } = result;
  return {
    command,
    started_at: startedAt,
    duration_ms: durationMs,
    exit_code: exitCodeOf(result),
    explored: line,
    stopped_by: stop ?? null,
    problem: problem?.line ?? null,
    notices: result.notices,
    runs,
    points,
    levels: levels.map(({ size, done, total }) => ({ faults: size, done, total })),
    skipped,
    findings: findings.map(findingView),
    unconfirmed: unconfirmed.map(findingView),
    unstable: unstable.map(findingView),
  };
}
