/**
 * `smstwin referee`: judges a client by its requests in a journal, a recording or a HAR file. Exit
 * codes: 0 passed, 1 the client broke a rule that it must keep, 2 usage, 4 no rule was exercised, 5
 * an expectation is stale.
 */
import { basename } from 'node:path';
import type { NoticeTaker, TrafficExchange } from '#contract/exchange.ts';
import { UsageError } from '#io/command-error.ts';
import { duration, fileValue, reportValue } from '#io/flag-values.ts';
import {
  addArgument,
  type CommandIo,
  type FlagValues,
  flag,
  flagsIn,
  list,
  newCommand,
} from '#io/flags.ts';
import { counted } from '#io/terminal.ts';
import { readIntentsFile } from '#judging/client/intents-file.ts';
import { isOfAccount, judge } from '#judging/client/judge.ts';
import { reportJson } from '#judging/client/report-json.ts';
import { exchangesOfTraffic } from '#judging/evidence/exchanges-of-traffic.ts';
import { readTraffic, trafficKindOf } from '#judging/evidence/read-traffic.ts';
import { KeyNames } from '#judging/evidence/reading.ts';
import { readExpectations } from '#judging/report/expected.ts';
import { writeReports } from '#judging/report/write.ts';
import { noticesTo } from '../process.ts';
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
] as const;

type RefereeFlags = FlagValues<typeof refereeFlags>;

export async function referee(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('referee', 'Judge a client by its recorded requests.', io);
  addArgument(
    command,
    '[traffic]',
    'a journal, a recording or a HAR 1.2 file, gzipped or not',
    fileValue,
  );
  const flags = flagsIn(command, refereeFlags, argv, io);
  if (flags === undefined) return 0;
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
  const { exchanges, hasAccount, ...options } = await trafficOf(file, io, { isPartial: partial });
  const missing = account.find((name) => !hasAccount(name));
  if (missing !== undefined)
    throw new UsageError(`--account ${missing}: the record has no such account`);
  const report = judge(exchanges, {
    isPartial: partial,
    isStrict: strict,
    graceMs: grace,
    reports,
    ...options,
    ...(account.length > 0 && { accounts: account }),
  });
  const summary = refereeSummary(report, { file: basename(file), expected });
  io.out(refereeText(report, summary));
  const streams = { out: io.out, error: noticesTo(io, 'smstwin referee') };
  return writeReports(flags.report, summary, streams, {
    json: () => `${JSON.stringify(reportJson(report), null, 2)}\n`,
  });
}

/** Reads the exchanges of a file of any kind. Throws a CommandError. */
async function trafficOf(
  file: string,
  io: CommandIo,
  { isPartial }: { readonly isPartial: boolean },
) {
  const print = noticesTo(io, 'smstwin referee');
  const notices: string[] = [];
  let lack: string | undefined;
  let hasGaps = false;
  const notice: NoticeTaker = (line, lacks) => {
    if (lacks !== undefined) lack ??= line;
    if (lacks === 'some' || lacks === 'order') hasGaps = true;
    notices.push(line);
    print(line);
  };
  if ((await trafficKindOf(file)) === 'journal') {
    const replayed = await replayedJournal(file, notice);
    if (replayed !== undefined) return { ...replayed, notices };
  }
  const keys = new KeyNames();
  const traffic: TrafficExchange[] = [];
  for await (const events of readTraffic([file], notice, keys))
    for (const event of events) if (event !== 'cut') traffic.push(event);
  const { exchanges, otherReadings } = exchangesOfTraffic(traffic, keys);
  const hasAccount = (name: string) => exchanges.some((exchange) => isOfAccount(exchange, name));
  // A recorder may have started after the client.
  const isCutAtStart = isPartial;
  return { exchanges, otherReadings, lack, hasGaps, notices, isCutAtStart, hasAccount };
}

/**
 * Replays a journal: its exchanges are then those of the recorded run, with the names of accounts.
 * Undefined if a reply differs. The journal is then read like any other recorded traffic.
 */
async function replayedJournal(file: string, notice: NoticeTaker) {
  // Only a journal needs the simulator, which takes long to load.
  const { exchangesOfJournalFile, unpackedJournal } = await import('../replay/replay-journal.ts');
  const unpacked = await unpackedJournal(file);
  try {
    const { differing, ...replayed } = exchangesOfJournalFile(unpacked?.file ?? file);
    if (differing === 0) return replayed;
    const differ = `${counted(differing, 'recorded answer')} differ when played again`;
    notice(`${file}: ${differ}, so keys stand for accounts: it was edited, or by another version`);
    return undefined;
  } finally {
    unpacked?.remove();
  }
}
