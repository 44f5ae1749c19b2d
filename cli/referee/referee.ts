/**
 * `smstwin referee`: judges a client by its requests in a journal, a recording or a HAR file. Exit
 * codes: 0 passed, 1 the client broke a rule that it must keep, 2 usage, 4 no rule was exercised, 5
 * an expectation is stale.
 */
import { basename } from 'node:path';
import type { NoticeTaker, TrafficExchange } from '#contract/exchange.ts';
import { CommandError, UsageError } from '#io/command-error.ts';
import { duration, fileValue, reportValue } from '#io/flag-values.ts';
import {
  addArgument,
  addFlags,
  type CommandIo,
  type Flag,
  type FlagValues,
  flag,
  list,
  newCommand,
  readFlags,
} from '#io/flags.ts';
import { readText, reasonOf } from '#io/plain-file.ts';
import type { Exchange } from '#judging/client/exchange.ts';
import { readIntentsFile } from '#judging/client/intents-file.ts';
import { isOfAccount, judge } from '#judging/client/judge.ts';
import { reportJson } from '#judging/client/report-json.ts';
import { exchangesOfHar, exchangesOfTraffic } from '#judging/evidence/exchanges-of-traffic.ts';
import { isRecording, readTraffic } from '#judging/evidence/read-traffic.ts';
import { readExpectations } from '#judging/report/expected.ts';
import { writeReports } from '#judging/report/write.ts';
import { noticesTo } from '../process.ts';
import { exchangesOfJournalFile } from '../replay/replay-journal.ts';
import { clientRulesTable, refereeSummary, refereeText } from './referee-summary.ts';

const refereeFlags = [
  list('--account <name>', 'judge this account alone, by name or id', (text) => text),
  flag('--intents <file>', 'what the client meant to send, and what it reported', fileValue),
  flag('--strict', 'advice counts as failure'),
  flag('--partial', 'the client has not finished: judge nothing that depends on what comes'),
  flag(
    '--grace <duration>',
    'how long after a 429 a request was still in flight',
    duration('0s', '365d'),
    1_000,
    '1s',
  ),
  list('--report <kind=file>', 'junit, json, html, markdown, github', reportValue),
  flag('--expected <file>', 'failures that are known, each with a reason', fileValue),
  flag('--list', 'print the client rules'),
] as const satisfies readonly Flag[];

type RefereeFlags = FlagValues<typeof refereeFlags>;

export async function referee(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('referee', 'Judge a client by its recorded requests.', io);
  addArgument(
    command,
    '[traffic]',
    'a journal or a recording (.ndjson), or a HAR 1.2 file (.har)',
    fileValue,
  );
  addFlags(command, refereeFlags);
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  const flags = command.opts<RefereeFlags>();
  if (flags.list === true) {
    io.out(clientRulesTable());
    return 0;
  }
  const [file] = command.args;
  if (file === undefined)
    throw new UsageError('name the recorded traffic: a journal, a recording or a HAR file');
  return judgeFile(file, flags, io);
}

async function judgeFile(file: string, flags: RefereeFlags, io: CommandIo): Promise<number> {
  const { strict = false, partial = false, grace, account } = flags;
  const expected = flags.expected === undefined ? [] : readExpectations(flags.expected);
  const reports = flags.intents === undefined ? undefined : readIntentsFile(flags.intents);
  const { exchanges, hasAccount, ...known } = await trafficOf(file, io, partial);
  const missing = account.find((name) => !hasAccount(name));
  if (missing !== undefined)
    throw new UsageError(`--account ${missing}: the record has no such account`);
  const report = judge(exchanges, {
    isPartial: partial,
    isStrict: strict,
    graceMs: grace,
    reports,
    ...known,
    ...(account.length > 0 && { accounts: account }),
  });
  const summary = refereeSummary(report, { file: basename(file), expected });
  io.out(refereeText(report, summary));
  const streams = { out: io.out, error: noticesTo(io, 'smstwin referee') };
  return writeReports(flags.report, summary, streams, {
    json: () => `${JSON.stringify(reportJson(report), null, 2)}\n`,
  });
}

/** Bounds a HAR file, as its text and its exchanges are in memory together. */
const mostHarBytes = 256 * 2 ** 20;

/** Reads the exchanges of a file of any kind. Throws a CommandError. */
async function trafficOf(file: string, io: CommandIo, isPartial: boolean) {
  const print = noticesTo(io, 'smstwin referee');
  let lack: string | undefined;
  const notice = (line: string, lacksTraffic = false) => {
    if (lacksTraffic) lack ??= line;
    print(line);
  };
  const recorded = isRecording(file) ? await exchangesOfRecording(file, notice) : undefined;
  if (!file.endsWith('.har') && recorded === undefined) {
    const { notices, ...traffic } = exchangesOfJournalFile(file);
    for (const line of notices) notice(line);
    return traffic;
  }
  try {
    const exchanges = recorded ?? exchangesOfHar(readText(file, mostHarBytes), file, notice);
    const hasAccount = (name: string) => exchanges.some((exchange) => isOfAccount(exchange, name));
    // A recorder may have started after the client.
    return { exchanges, lack, isCutAtStart: isPartial, endsUndelivered: undefined, hasAccount };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new UsageError(`cannot read ${file}: ${reasonOf(error)}`);
  }
}

/** The exchanges that the proxy of `smstwin record` wrote, with any service. */
async function exchangesOfRecording(file: string, notice: NoticeTaker): Promise<Exchange[]> {
  const traffic: TrafficExchange[] = [];
  for await (const event of readTraffic([file], notice)) if (event !== 'cut') traffic.push(event);
  return exchangesOfTraffic(traffic);
}
