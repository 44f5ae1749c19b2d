/**
 * `smstwin bench`: measures the service's cost relative to a bare handler, and audits its rate
 * limits. Exit codes: 2 the key is refused, 3 the base_url is unreachable, 7 a threshold or a limit
 * is broken, 8 the run is not valid.
 */
import { bearerHeader } from '#conformance/target/client.ts';
import { CommandError, UsageError } from '#io/command-error.ts';
import { ownReport } from '#io/flag-values.ts';
import type { CommandIo } from '#io/flags.ts';
import { writeOwn } from '#io/own-file.ts';
import { progressTo } from '#io/terminal.ts';
import { routeOf } from '#src/operations/table.ts';
import { ownAudit, remoteAudit } from './limit-audit.ts';
import { measure } from './measure.ts';
import { type BenchOptions, benchOptions } from './options.ts';
import { type AuditRun, isBroken } from './recount.ts';
import { htmlReport } from './report/html.ts';
import { type BenchResult, type CaseResult, caseResult } from './report/result.ts';
import { auditText, caseText, summaryText } from './report/text.ts';
import { cases } from './scenarios/bench-case.ts';
import {
  boundedClient,
  controlOf,
  notReachable,
  replyTimeoutMs,
} from './servers/running-service.ts';

const thresholdCrossed = 7;
const notValid = 8;
const auditedAccounts = 200;
const auditedMinutes = 5;

export async function bench(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = benchOptions(argv, io);
  if (options === undefined) return 0;
  await checkReachable(options);
  return run(options, io);
}

/** Checks before a long load that a running service answers and accepts the key. */
async function checkReachable(options: BenchOptions): Promise<void> {
  const { baseUrl, controlUrl, controlToken, apiKey } = options;
  if (baseUrl === undefined) return;
  const stats = new URL('/api/v1/account/stats/', baseUrl);
  const status = await statusOf(stats, bearerHeader(apiKey));
  if (apiKey !== undefined && status === 401)
    throw new UsageError(`--api-key: ${baseUrl.origin} refuses this key (401)`);
  if (controlUrl === undefined) return;
  const { path } = routeOf('simulator.health');
  const health = await statusOf(new URL(path, controlUrl), bearerHeader(controlToken));
  if (health === 200) return;
  if (health === 401)
    throw new UsageError(`--control-token: ${controlUrl.origin} requires another token (401)`);
  const why = `is not a control port: ${path} answered ${health}`;
  throw new CommandError(notReachable, `${controlUrl.origin} ${why}`);
}

/** The status of a GET. Does not use `fetch`, which refuses ports that a service may use. */
async function statusOf(url: URL, headers: Readonly<Record<string, string>>): Promise<number> {
  const client = boundedClient(url);
  const reply = await client.request({ method: 'GET', path: url.pathname, headers });
  client.close();
  if (reply.status !== 0) return reply.status;
  const { failure = 'no reply' } = reply;
  const why = failure === 'timed out' ? `no answer within ${replyTimeoutMs / 1_000} s` : failure;
  throw new CommandError(
    notReachable,
    `${url.origin} is not reachable: ${why}; start it, or name another address`,
  );
}

async function run(options: BenchOptions, io: CommandIo): Promise<number> {
  const startedAt = new Date().toISOString();
  const onProgress = progressTo(io.error);
  const measured: CaseResult[] = [];
  for (const benchCase of cases.filter(({ scenario }) => options.scenarios.includes(scenario))) {
    const measurement = await measure(benchCase, options, onProgress);
    onProgress('');
    const result = caseResult(measurement, {
      slos: options.slos,
      isOpenLoop: options.perSecond !== undefined,
    });
    io.out(caseText(result));
    measured.push(result);
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
    cases: measured,
    audit: audit ?? null,
  };
  io.out(summaryText(result));
  for (const { kind, file = '' } of options.reports) {
    const text =
      kind === 'json' ? `${JSON.stringify(result, null, 2)}\n` : await htmlReport(result);
    writeOwn({ what: `--report ${kind}=${file}`, path: file, kind: ownReport }, text);
    io.out(`\n${kind} report: ${file}\n`);
  }
  return exitCode(result);
}

/** Undefined if the run has no audit. */
async function runAudit(
  options: BenchOptions,
  onProgress: (line: string, step: string) => void,
): Promise<AuditRun | undefined> {
  if (!options.scenarios.includes('limit-audit')) return undefined;
  const { baseUrl, limits, durationMs, to } = options;
  if (baseUrl === undefined)
    return ownAudit({ accounts: auditedAccounts, minutes: auditedMinutes, limits, onProgress });
  const control = controlOf(options);
  return control && remoteAudit(baseUrl, control, { durationMs, to, onProgress });
}

function exitCode({ cases: measured, audit }: BenchResult): number {
  const isInvalid =
    measured.some(({ invalid }) => invalid.length > 0) || (audit?.invalid.length ?? 0) > 0;
  if (isInvalid) return notValid;
  const isCrossed = measured.some(({ slos }) => slos.some(({ met }) => !met));
  return isCrossed || (audit !== null && isBroken(audit)) ? thresholdCrossed : 0;
}
