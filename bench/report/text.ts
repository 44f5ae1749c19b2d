/**
 * The text of a bench run at the terminal. For a case: its headline, which is the CPU per request
 * as a multiple of the bare handler's, then a table of its servers, then its thresholds.
 */
import { isoTime } from '#contract/time.ts';
import { servers } from '../measure.ts';
import { type AuditRun, isBroken } from '../recount.ts';
import type { BenchResult, CaseResult, ServerFigures } from './result.ts';

export function caseText(result: CaseResult): string {
  const lines = [`\n${result.case}: ${result.what}\n`];
  for (const line of headLines(result)) lines.push(`  ${line}\n`);
  const row = (name: string, figures: readonly string[]) =>
    `  ${name.padEnd(14)}${figures.map((each, at) => each.padStart(widths[at] ?? 0)).join('')}\n`;
  lines.push(row('', figureNames));
  for (const [name = '', ...figures] of serverRows(result)) lines.push(row(name, figures));
  for (const { slo, met } of result.slos) lines.push(`  ${met ? 'met    ' : 'CROSSED'} ${slo}\n`);
  return lines.join('');
}

export function headLines(result: CaseResult): readonly string[] {
  const { invalid, cpu_ratio: ratio, bar, without_floors: why } = result;
  if (invalid.length > 0) return invalid.map((reason) => `INVALID: ${reason}`);
  if (ratio === null) return why === null ? [] : [`No ratio: there is no floor. ${why}`];
  const barText = bar === null ? '' : `, the bar is ${bar}x`;
  return [`CPU per request: ${ratio.toFixed(2)}x the bare HyperExpress handler${barText}`];
}

/** CPU and rate have the longest names and figures. */
const widths = [11, 11, 9, 9, 9, 9];
export const figureNames = ['CPU us/req', 'req/s', 'p50 ms', 'p99 ms', 'max ms', 'RSS MB'] as const;

/** The name of each server and its figures; an invalid run has no figure of CPU. */
export function serverRows(result: CaseResult): readonly (readonly string[])[] {
  return servers.flatMap((name) => {
    const figures = result.servers[name];
    return figures === undefined
      ? []
      : [[name, ...shownFigures(figures, result.invalid.length === 0)]];
  });
}

function shownFigures(figures: ServerFigures, showsCpu: boolean): readonly string[] {
  const { p50, p99, max } = figures.latency_ms;
  const cpu = showsCpu ? fixed(figures.cpu_us_per_request, 1) : '-';
  const rate = fixed(figures.requests_per_second, 0);
  const rss = figures.rss_bytes === null ? null : figures.rss_bytes / 1e6;
  return [cpu, rate, fixed(p50, 2), fixed(p99, 2), fixed(max, 2), fixed(rss, 0)];
}

/** How a limiter broke the limit of an endpoint; empty if it held. */
export function breachesOf({ over, under }: AuditRun['endpoints'][number]): readonly string[] {
  return [
    ...(over > 0 ? [`OVER-ADMISSION: ${over} passed beyond the limit`] : []),
    ...(under > 0 ? [`UNDER-ADMISSION: ${under} refused below the limit`] : []),
  ];
}

/** A sentence for each of the first breaches of a limit. */
export function firstBreaches(audited: AuditRun['endpoints'][number]): readonly string[] {
  return audited.firstBreaches.map(({ kind, user, atMs, passedBefore }) => {
    const act = kind === 'over' ? 'passed' : 'was refused';
    return `${isoTime(atMs)} ${user}: a request ${act} with ${passedBefore} passed in the last 60 s`;
  });
}

export function auditText(run: AuditRun): string {
  const seconds = run.simulatedSeconds.toFixed(0);
  const lines = [`\nlimit-audit: ${run.requests} requests in ${seconds} simulated seconds\n`];
  for (const why of run.invalid.slice(0, 3)) lines.push(`  INVALID: ${why}\n`);
  for (const audited of run.endpoints) {
    const { endpoint, limit, users, passed, refused, fullestWindow } = audited;
    const verdict = breachesOf(audited).join(', ') || 'no over-admission, no under-admission';
    lines.push(
      `  ${endpoint.padEnd(15)} limit ${limit}, ${users} users: ` +
        `${passed} passed, ${refused} refused, fullest 60 s ${fullestWindow}: ${verdict}\n`,
    );
    for (const line of firstBreaches(audited).slice(0, 2)) lines.push(`    ${line}\n`);
  }
  if (run.endpoints.length === 0) lines.push('  no limited endpoint was called\n');
  lines.push(`  ${isBroken(run) ? 'a limit was BROKEN' : 'every limit held'}\n`);
  return lines.join('');
}

export function summaryText({ cases }: BenchResult): string {
  const lines = ['\nCPU per request over a bare HyperExpress handler, same run:\n'];
  for (const { case: name, cpu_ratio: ratio, bar, invalid } of cases) {
    const measured = ratio === null ? 'unknown' : `${ratio.toFixed(2)}x`;
    const value = invalid.length > 0 ? 'invalid' : measured;
    const barText = bar === null ? '' : `  (bar ${bar}x)`;
    lines.push(`  ${name.padEnd(18)}${value.padStart(8)}${barText}\n`);
  }
  return cases.length === 0 ? '' : lines.join('');
}

function fixed(value: number | null, digits: number): string {
  return value === null || !Number.isFinite(value) ? '-' : value.toFixed(digits);
}
