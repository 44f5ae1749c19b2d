/**
 * The text of a bench run at the terminal. For a case: its headline, which is the CPU per request
 * as a multiple of the bare handler's, then a table of its servers, then its thresholds.
 */

import { servers } from '../measure.ts';
import { type AuditRun, isBroken } from '../recount.ts';
import { type BenchResult, type CaseResult, type ServerFigures, withoutRatio } from './result.ts';

export function caseText(result: CaseResult): string {
  const lines = [`\n${result.case}: ${result.what}\n`];
  if (result.invalid.length > 0) {
    lines.push(...result.invalid.map((why) => `  INVALID: ${why}\n`));
  } else if (result.cpu_ratio !== null) {
    const bar = result.bar === null ? '' : `, the bar is ${result.bar}x`;
    lines.push(
      `  CPU per request: ${result.cpu_ratio.toFixed(2)}x the bare HyperExpress handler${bar}\n`,
    );
  } else if (result.without_floors !== null) {
    lines.push(`  ${withoutRatio(result)}\n`);
  }
  lines.push('                 CPU us/req      req/s   p50 ms   p99 ms   max ms   RSS MB\n');
  for (const name of servers) {
    const figures = result.servers[name];
    // An invalid run has no headline.
    if (figures !== undefined) lines.push(serverRow(name, figures, result.invalid.length === 0));
  }
  for (const { slo, met } of result.slos) lines.push(`  ${met ? 'met    ' : 'CROSSED'} ${slo}\n`);
  return lines.join('');
}

function serverRow(name: string, figures: ServerFigures, showsCpu: boolean): string {
  const { p50, p99, max } = figures.latency_ms;
  const cpu = showsCpu ? number(figures.cpu_us_per_request, 1) : '-';
  const rate = number(figures.requests_per_second, 0);
  const rss = figures.rss_bytes === null ? null : figures.rss_bytes / 1e6;
  const others = [number(p50, 2), number(p99, 2), number(max, 2), number(rss, 0)];
  const cells = [cpu.padStart(11), rate.padStart(11), ...others.map((cell) => cell.padStart(9))];
  return `  ${name.padEnd(14)}${cells.join('')}\n`;
}

export function auditText(run: AuditRun): string {
  const seconds = run.simulatedSeconds.toFixed(0);
  const lines = [`\nlimit-audit: ${run.requests} requests in ${seconds} simulated seconds\n`];
  for (const why of run.invalid.slice(0, 3)) lines.push(`  INVALID: ${why}\n`);
  for (const audited of run.endpoints) {
    const { endpoint, limit, users, passed, refused, fullestWindow, over, under } = audited;
    const breaches: string[] = [];
    if (over > 0) breaches.push(`OVER-ADMISSION: ${over} passed beyond the limit`);
    if (under > 0) breaches.push(`UNDER-ADMISSION: ${under} refused below the limit`);
    const verdict = breaches.join(', ') || 'no over-admission, no under-admission';
    lines.push(
      `  ${endpoint.padEnd(15)} limit ${limit}, ${users} users: ` +
        `${passed} passed, ${refused} refused, fullest 60 s ${fullestWindow}: ${verdict}\n`,
    );
    for (const { kind, user, atMs, passedBefore } of audited.firstBreaches.slice(0, 2)) {
      const act = kind === 'over' ? 'passed' : 'was refused';
      lines.push(
        `    ${new Date(atMs).toISOString()} ${user}: a request ${act} with ${passedBefore} ` +
          'passed in the last 60 s\n',
      );
    }
  }
  if (run.endpoints.length === 0) lines.push('  no limited endpoint was called\n');
  lines.push(`  ${isBroken(run) ? 'a limit was BROKEN' : 'every limit held'}\n`);
  return lines.join('');
}

export function summaryText({ cases }: BenchResult): string {
  const lines = ['\nCPU per request over a bare HyperExpress handler, same run:\n'];
  for (const { case: name, cpu_ratio: ratio, bar, invalid } of cases) {
    const measured = ratio === null ? 'unknown' : `${ratio.toFixed(2)}x`;
    const shown = invalid.length > 0 ? 'invalid' : measured;
    const barText = bar === null ? '' : `  (bar ${bar}x)`;
    lines.push(`  ${name.padEnd(18)}${shown.padStart(8)}${barText}\n`);
  }
  return cases.length === 0 ? '' : lines.join('');
}

function number(value: number | null, digits: number): string {
  return value === null || !Number.isFinite(value) ? '-' : value.toFixed(digits);
}
