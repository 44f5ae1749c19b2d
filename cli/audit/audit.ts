/**
 * `smstwin audit`: learns what the rate limiter of any HTTP endpoint does. Exit codes: 0 learned
 * and as expected, 1 differs from `--expect`, 2 usage, 3 not reachable, 4 no refusal came, 6 the
 * budget or the time ended first, 130 interrupted.
 */
import { setTimeout } from 'node:timers/promises';
import { requestsForLimit } from '#audit/allowance.ts';
import { type AuditResult, learn } from '#audit/audit.ts';
import { differencesFrom, expectValue } from '#audit/report/expectations.ts';
import { reportHtml } from '#audit/report/html.ts';
import {
  assumptionsText,
  type Reported,
  reportJson,
  reportMarkdown,
  reportText,
} from '#audit/report/report.ts';
import { minuteMs } from '#contract/time.ts';
import { CommandError, onStopSignal, UsageError } from '#io/command-error.ts';
import {
  duration,
  fileValue,
  headerLine,
  isLoopback,
  ownReport,
  plainHost,
  reportOf,
  webAddress,
  wholeNumber,
  writableFile,
} from '#io/flag-values.ts';
import {
  addArgument,
  type CommandIo,
  type FlagValues,
  flag,
  flagsIn,
  heading,
  list,
  newCommand,
} from '#io/flags.ts';
import { type OwnKind, writeOwn } from '#io/own-file.ts';
import { foreignText, progressTo } from '#io/terminal.ts';
import {
  askersOf,
  callerLine,
  callersOf,
  flagAdvice,
  methodValue,
  pathValue,
  templateOf,
} from './audited-requests.ts';
import { HttpRequests } from './http-requests.ts';

/** Checked before the audit, so that no result is lost. */
const ownAssumptions: OwnKind = {
  name: 'file of assumptions',
  isOwn: (start) => start.startsWith('# What an audit learned'),
};

const seconds = (ms: number) => Math.ceil(ms / 1_000);
/** A request without a reply after this time counts as unanswered. */
const replyTimeoutMs = 30_000;
/** An audit needs at most this many windows, with the time that its last steps take. */
const mostWindows = 6;
const defaultMaxWindowMs = 2 * minuteMs;
/** A plan that takes no longer is not refused for its time. */
const acceptedMs = mostWindows * defaultMaxWindowMs;

const auditFlags = [
  heading('The request'),
  flag('--method <name>', 'its method', methodValue, 'GET'),
  list('--header <name: value>', 'a header', headerLine),
  flag('--body <text>', 'its body; @FILE reads a file', String),
  flag('--request <file>', 'a raw HTTP/1.1 request, instead of the three above', fileValue),
  list('--refused <status>', 'a status that means "too many"', wholeNumber(400, 599), '429'),
  heading('Who may share the limit'),
  list(
    '--caller <name=values>',
    "a header of different callers: 'Name: a, b' or Name=a,b",
    callerLine,
  ),
  list('--vary-path <path>', 'another path or query that may share the limit', pathValue),
  heading('How far'),
  flag(
    '--max-window <duration>',
    'the longest window to look for',
    duration('1s', '24h'),
    defaultMaxWindowMs,
    '2m',
  ),
  flag('--budget <n>', 'requests at most', wholeNumber(1, 1_000_000), 2_000),
  flag('--rate <n>', 'requests per second at most, except in a race', wholeNumber(1, 10_000), 50),
  flag(
    '--timeout <duration>',
    'how long the audit may take (default: what its plan needs at most, up to 20m)',
    duration('1s', '24d'),
  ),
  list('--allow-host <name>', 'a host that may be asked, besides loopback', String),
  flag('--dry-run', 'print what it will need at most, and ask nothing'),
  flag(
    '--seed <n>',
    'accepted as by other commands; an audit draws nothing',
    wholeNumber(0, 2 ** 31),
    1,
  ),
  heading('Results'),
  list(
    '--expect <list>',
    "the expected values: 'algorithm=sliding_log limit=120 window=60'",
    expectValue,
  ),
  list('--report <kind=file>', 'text, json=FILE, html=FILE, markdown=FILE', reportKind),
  flag(
    '--assumptions <file>',
    'write what serve --assumptions needs to behave like this limiter',
    writableFile(ownAssumptions),
  ),
] as const;

type AuditFlags = FlagValues<typeof auditFlags>;

export async function audit(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('audit', 'Learn what the rate limiter of any HTTP endpoint does.', io);
  addArgument(command, '<url>', 'the endpoint', webAddress);
  const flags = flagsIn(command, auditFlags, argv, io);
  const [text = ''] = command.args;
  return flags === undefined ? 0 : run(new URL(text), flags, io);
}

async function run(url: URL, flags: AuditFlags, io: CommandIo): Promise<number> {
  refuseOtherHost(url, flags);
  const timeoutMs = flags.timeout ?? Math.min(longestAuditMs(flags), 20 * minuteMs);
  refuseUnreachableLimit(flags, timeoutMs);
  const plan = `at most ${flags.budget} requests in ${seconds(timeoutMs)} s to ${url.origin}\n`;
  // Read even for a dry run, which then reports files and flags that cannot be used.
  const template = templateOf(flags);
  const callers = callersOf(url, flags);
  const askers = askersOf(url, callers, template, flags);
  if (flags.dryRun) {
    io.out(plan);
    return 0;
  }
  const requests = new HttpRequests(url, template, callers, replyTimeoutMs);
  const interrupt = new AbortController();
  const ignoreSignals = onStopSignal(() => interrupt.abort());
  const progress = progressTo(io.error);
  try {
    io.error(`smstwin audit: ${plan}`);
    const result = await learn({
      ...askers,
      request: requests.request,
      advice: flagAdvice,
      now: () => performance.timeOrigin + performance.now(),
      // An interrupt ends the wait early; the run then sees it.
      sleep: (ms) => setTimeout(ms, undefined, { signal: interrupt.signal }).catch(() => {}),
      maxWindow: flags.maxWindow,
      budget: flags.budget,
      rate: flags.rate,
      timeout: timeoutMs,
      refused: flags.refused.length > 0 ? flags.refused : [429],
      onProgress: (exchanges, doing) =>
        progress(
          `smstwin audit: ${exchanges.length} of at most ${flags.budget} requests: ${doing}`,
          doing,
        ),
      signal: interrupt.signal,
    });
    progress('');
    return await report(url, result, flags, io);
  } finally {
    ignoreSignals();
    requests.close();
  }
}

/** The longest time that an audit needs: its windows, and its requests at their rate. */
function longestAuditMs({ maxWindow, budget, rate }: AuditFlags): number {
  return mostWindows * maxWindow + (budget / rate) * 1_000;
}

function refuseOtherHost({ hostname }: URL, { allowHost }: AuditFlags): void {
  const host = plainHost(hostname);
  if (isLoopback(host) || allowHost.includes(host)) return;
  throw new UsageError(
    `${host} is no loopback address: add --allow-host ${host} if you may load it`,
  );
}

/** Refuses flags with which the audit cannot reach the expected limit: it would learn nothing. */
function refuseUnreachableLimit(flags: AuditFlags, timeoutMs: number): void {
  const expected = new Map(flags.expect.flat().map(({ name, value }) => [name, Number(value)]));
  const expectedMs = (expected.get('window_seconds') ?? 0) * 1_000;
  const windowMs = Math.max(expectedMs, flags.maxWindow);
  const requests = requestsForLimit(expected.get('limit') ?? 0);
  const needed = { requests, ms: mostWindows * windowMs };
  const isShort = expectedMs > flags.maxWindow || needed.requests > flags.budget;
  if (!isShort && needed.ms <= Math.max(timeoutMs, acceptedMs)) return;
  const budget = Math.max(needed.requests, flags.budget);
  throw new UsageError(
    `a window of ${seconds(windowMs)} s takes up to ${seconds(needed.ms)} s ` +
      `and ${needed.requests} requests; ` +
      `allow that with --max-window ${seconds(windowMs)}s --timeout ${seconds(needed.ms * 1.1)}s ` +
      `--budget ${budget}, or audit it in a test with fake timers`,
  );
}

type ReportKind = { readonly kind: 'text' | 'json' | 'html' | 'markdown'; readonly file?: string };

function reportKind(text: string): ReportKind {
  if (text === 'text') return { kind: text };
  return reportOf(['json', 'html', 'markdown'], ['text'])(text);
}

async function report(
  url: URL,
  result: AuditResult,
  flags: AuditFlags,
  io: CommandIo,
): Promise<number> {
  const { exchanges, statements, stopped } = result;
  if (stopped === 'not_reachable')
    throw new CommandError(3, `${url.origin} is not reachable: start it, or name another address`);
  const differences = differencesFrom(flags.expect.flat(), statements);
  const reported: Reported = { url: url.href, result, differences };
  const makers = { json: reportJson, html: reportHtml, markdown: reportMarkdown };
  io.out(reportText(reported).split('\n').map(foreignText).join('\n'));
  for (const { kind, file = '' } of flags.report) {
    if (kind === 'text') continue;
    const what = `--report ${kind}=${file}`;
    writeOwn({ what, path: file, kind: ownReport }, await makers[kind](reported));
  }
  const { assumptions: path } = flags;
  if (path !== undefined) {
    const file = { what: `--assumptions ${path}`, path, kind: ownAssumptions };
    writeOwn(file, assumptionsText(statements));
  }
  if (stopped === 'interrupted') return 130;
  if (exchanges.every(({ outcome }) => outcome !== 'refused')) return 4;
  if (stopped !== undefined) return 6;
  return differences.length > 0 ? 1 : 0;
}
