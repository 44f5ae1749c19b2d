/**
 * `smstwin bench`: measures the service's cost relative to a bare handler, and audits its rate
 * limits. Exit codes: 3 base_url unreachable, 7 a threshold or a limit broken, 8 the run is not
 * valid.
 */
import { writeFileSync } from 'node:fs';
import { type CommandIo, newCommand, readFlags } from '../src/commands/flags.ts';
import { ownAudit } from './audit/own-audit.ts';
import { type AuditRun, isBroken } from './audit/recount.ts';
import { remoteAudit } from './audit/remote-audit.ts';
import { enduranceCases, endure } from './endurance/endurance.ts';
import type { EnduranceResult } from './endurance/endurance-result.ts';
import { measure } from './measure.ts';
import { addBenchFlags, type BenchOptions, benchOptions } from './options.ts';
import { reach } from './reach.ts';
import { htmlReport } from './report/html.ts';
import { type BenchResult, type CaseResult, caseResult } from './report/result.ts';
import {
  auditText,
  caseText,
  enduranceText,
  intervalHead,
  intervalText,
  summaryText,
} from './report/text.ts';
import { type BenchCase, cases } from './scenarios/bench-case.ts';
import { remoteServer } from './servers/remote-server.ts';

const thresholdCrossed = 7;
const notValid = 8;
const auditedAccounts = 200;
const auditedMinutes = 5;

export async function bench(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('bench', 'Load a service and audit its rate limits.', io);
  addBenchFlags(command);
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  const options = benchOptions(command);
  await reach(options);
  return run(options, io);
}

async function run(options: BenchOptions, io: CommandIo): Promise<number> {
  const startedAt = new Date().toISOString();
  const onProgress = progress(io);
  const results: CaseResult[] = [];
  for (const benchCase of cases) {
    if (!options.scenarios.includes(benchCase.scenario)) continue;
    const result = await runCase(benchCase, options, onProgress);
    onProgress('');
    io.out(caseText(result));
    results.push(result);
  }
  const endured: EnduranceResult[] = [];
  for (const endurance of options.scenarios.includes('endurance') ? enduranceCases : []) {
    io.out(`\n${endurance.name}: ${endurance.what}\n${intervalHead}`);
    const result = await endure(endurance, options, (interval) => io.out(intervalText(interval)));
    io.out(enduranceText(result));
    endured.push(result);
  }
  const audit = await runAudit(options, onProgress);
  onProgress('');
  if (audit !== undefined) io.out(auditText(audit));
  const result: BenchResult = {
    node: process.version,
    started_at: startedAt,
    open_loop_rate: options.perSecond ?? null,
    connections: options.connections,
    duration_ms: options.durationMs,
    held: options.baseUrl === undefined ? options.held : null,
    cases: results,
    endurance: endured,
    audit: audit ?? null,
  };
  io.out(summaryText(result));
  for (const { kind, file = '' } of options.reports) {
    const text = kind === 'json' ? `${JSON.stringify(result, null, 2)}\n` : htmlReport(result);
    writeFileSync(file, text);
    io.out(`\n${kind} report: ${file}\n`);
  }
  return exitCode(result);
}

async function runCase(
  benchCase: BenchCase,
  options: BenchOptions,
  onProgress: (line: string) => void,
): Promise<CaseResult> {
  const { baseUrl, perSecond } = options;
  const measured = baseUrl === undefined ? benchCase : withThrottling(benchCase);
  const measurement = await measure(measured, {
    ...options,
    onProgress,
    ...(baseUrl === undefined
      ? {}
      : { startService: () => remoteServer(baseUrl, options, benchCase) }),
  });
  return caseResult(measurement, options.slos, perSecond !== undefined);
}

/** A service that is not our own may have limits on, so a 429 is an expected reply there. */
function withThrottling(benchCase: BenchCase): BenchCase {
  return {
    ...benchCase,
    workload: (caller) => {
      const workload = benchCase.workload(caller);
      return { ...workload, expects: [...workload.expects, 429] };
    },
  };
}

async function runAudit(
  options: BenchOptions,
  onProgress: (line: string) => void,
): Promise<AuditRun | undefined> {
  if (!options.scenarios.includes('limit-audit')) return undefined;
  const { baseUrl, controlUrl, limits, durationMs, to } = options;
  if (baseUrl === undefined) {
    return ownAudit({ accounts: auditedAccounts, minutes: auditedMinutes, limits, onProgress });
  }
  return controlUrl && remoteAudit(baseUrl, controlUrl, { durationMs, to, onProgress });
}

function exitCode({ cases: measured, endurance, audit }: BenchResult): number {
  const results = [...measured, ...endurance];
  const isInvalid =
    results.some(({ invalid }) => invalid.length > 0) || (audit?.invalid.length ?? 0) > 0;
  if (isInvalid) return notValid;
  const isCrossed = results.some(({ slos }) => slos.some(({ met }) => !met));
  return isCrossed || (audit !== null && isBroken(audit)) ? thresholdCrossed : 0;
}

/** Overwrites one line on a terminal; prints one line each elsewhere. */
function progress(io: CommandIo): (line: string) => void {
  let last = '';
  return (line) => {
    if (line === last) return;
    last = line;
    if (process.stderr.isTTY) io.error(`\r\u001b[K${line}`);
    else if (line !== '') io.error(`${line}\n`);
  };
}
