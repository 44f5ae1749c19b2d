/**
 * `smstwin explore`: runs a client's own command under every fault at every call, and shrinks what
 * fails. Exit codes: 0 nothing found, 1 found, 2 usage, 4 the command cannot be explored, 6 the
 * budget ended first, 130 interrupted.
 */
import { type Report, readReport } from '../../conformance/report-flag.ts';
import { writeReports } from '../../conformance/reports/write.ts';
import { UsageError } from '../config/command-error.ts';
import { readWorldFile } from '../config/world-file.ts';
import { CommandRuns, type Variable, variables } from '../explore/command-runs.ts';
import { exitCodeOf, exploredLine } from '../explore/exploration.ts';
import { type FaultName, faultNames } from '../explore/fault-names.ts';
import { checkFolder, readSchedule, writeFindings } from '../explore/finding-files.ts';
import { type Progress, replay, type SearchResult, search } from '../explore/search.ts';
import { durationMs } from '../operations/duration.ts';
import { exploreJson, exploreSummary, findingText } from './explore-summary.ts';
import { fileValue, rateValue, seedValue, wholeNumber } from './flag-values.ts';
import { addFlags, type CommandIo, newCommand, readFlags, ValueError } from './flags.ts';
import { many } from './table.ts';

interface ExploreFlags {
  readonly depth: number;
  readonly maxRuns: number;
  readonly jobs: number;
  readonly timeout: Duration;
  readonly slow: Duration;
  readonly faults?: readonly FaultName[];
  readonly rate?: number;
  readonly seed: number;
  readonly world?: string;
  readonly env: readonly { readonly name: string; readonly value: Variable }[];
  readonly out: string;
  readonly report: readonly Report[];
  readonly schedule?: string;
  readonly bail?: boolean;
  readonly commandMayFail?: boolean;
}

interface Duration {
  readonly text: string;
  readonly ms: number;
}

export async function explore(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('explore', "Run a client's own command under every fault.", io);
  command.argument('[command...]', 'the command, after --');
  addFlags(command, [
    { flag: '--depth <n>', about: 'faults per schedule', parse: wholeNumber(1, 10), fallback: 2 },
    {
      flag: '--max-runs <n>',
      about: 'runs of the command at most',
      parse: wholeNumber(1, 1_000_000),
      fallback: 500,
    },
    { flag: '--jobs <n>', about: 'runs at one time', parse: wholeNumber(1, 64), fallback: 2 },
    {
      flag: '--timeout <duration>',
      about: 'how long a run may take',
      parse: durationValue,
      fallback: { text: '60s', ms: 60_000 },
      shown: '60s',
    },
    {
      flag: '--slow <duration>',
      about: 'how long the fault slow holds a reply',
      parse: durationValue,
      fallback: { text: '3s', ms: 3_000 },
      shown: '3s',
    },
    {
      flag: '--faults <list>',
      about: `which faults to try: ${faultNames.join(', ')}`,
      parse: faultsValue,
      shown: 'all',
    },
    {
      flag: '--rate <n>',
      about: 'run service and Node commands at so many seconds per second',
      parse: rateValue,
    },
    { flag: '--seed <n>', about: 'seed of all chance', parse: seedValue, fallback: 1 },
    { flag: '--world <file>', about: 'world file, JSON or YAML', parse: fileValue },
    {
      flag: '--env <name=value>',
      about: `sets a variable of the client to ${variables.join(', ')}`,
      parse: variableValue,
      repeatable: true,
    },
    {
      flag: '--out <dir>',
      about: 'where findings are written',
      parse: fileValue,
      fallback: 'smstwin-findings',
    },
    {
      flag: '--report <kind=file>',
      about: 'junit, json, html, tap, markdown, github',
      parse: reportValue,
      repeatable: true,
    },
    { flag: '--schedule <file>', about: 'run this one schedule or finding', parse: fileValue },
    { flag: '--bail', about: 'stop at the first finding' },
    { flag: '--command-may-fail', about: 'an exit code other than 0 is no failure' },
  ]);
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  if (command.args.length === 0) {
    throw new UsageError('name the command to run: smstwin explore -- npm test');
  }
  return run(command.args, command.opts<ExploreFlags>(), io);
}

async function run(command: readonly string[], flags: ExploreFlags, io: CommandIo) {
  const { seed, world, rate, env: ownVariables, depth, maxRuns } = flags;
  const single = flags.schedule === undefined ? undefined : readSchedule(flags.schedule);
  if (single === undefined) checkFolder(flags.out);
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  const runs = new CommandRuns({
    command,
    env: io.env,
    ownVariables,
    settings: { seed, ...(world !== undefined && { world: await readWorldFile(world) }) },
    rate,
    slowMs: flags.slow.ms,
    timeoutMs: flags.timeout.ms,
    signal: interrupt.signal,
  });
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const startMs = Date.now();
  try {
    await runs.start();
    const options = {
      runClient: runs.run.bind(runs),
      faults: flags.faults ?? faultNames,
      depth,
      maxRuns,
      jobs: flags.jobs,
      seed,
      bail: flags.bail ?? false,
      mayFail: flags.commandMayFail ?? false,
      onProgress: progressTo(io),
    };
    const result =
      single === undefined
        ? await search(options)
        : await replay(options, single.schedule, single.intents);
    return report(result, { command, flags, startMs, isSingle: single !== undefined }, io);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    await runs.close();
  }
}

interface Context {
  readonly command: readonly string[];
  readonly flags: ExploreFlags;
  readonly startMs: number;
  readonly isSingle: boolean;
}

function report(
  result: SearchResult,
  { command, flags, startMs, isSingle }: Context,
  io: CommandIo,
): number {
  const { findings, unstable, problem, skipped, runs, points, intents } = result;
  const files =
    isSingle || findings.length === 0
      ? []
      : writeFindings(flags.out, findings, { command, flags: flagsAgain(flags), intents });
  for (const [at, finding] of findings.entries()) {
    io.out(findingText(finding, isSingle ? 'FAILED' : 'FOUND', files[at]));
  }
  for (const finding of unstable) io.out(findingText(finding, 'UNSTABLE', undefined));
  if (problem !== undefined) {
    io.error(`smstwin explore: ${problem.line}\n`);
    if (problem.tail !== '') io.error(`${problem.tail.replace(/^/gm, '  | ')}\n`);
  }
  if ((result.unmet ?? 0) > 0) {
    const met = `${many(result.unmet ?? 0, 'fault')} of the schedule met no call of the client`;
    io.error(`smstwin explore: ${met}: if its calls have changed, explore it again\n`);
  }
  const line = exploredLine(result, flags);
  io.out(`${line}\n`);
  if (!isSingle) {
    io.out(
      `${many(runs, 'run')}, ${many(points, 'decision point')}, ${many(findings.length, 'finding')}, ${unstable.length} unstable; ` +
        `${many(skipped, 'schedule')} skipped, which cannot differ from one already run\n`,
    );
  }
  const explored = {
    result,
    line,
    command: command.join(' '),
    startedAt: new Date(startMs).toISOString(),
    durationMs: Date.now() - startMs,
  };
  writeReports(flags.report, exploreSummary(explored), io.out, {
    json: () => `${JSON.stringify(exploreJson(explored), null, 2)}\n`,
  });
  return exitCodeOf(result);
}

/** What a replay needs to be the same run. */
function flagsAgain({ timeout, slow, rate, seed, world, env, commandMayFail }: ExploreFlags) {
  return [
    ...['--timeout', timeout.text, '--slow', slow.text, '--seed', String(seed)],
    ...(rate === undefined ? [] : ['--rate', String(rate)]),
    ...(world === undefined ? [] : ['--world', world]),
    ...env.flatMap(({ name, value }) => ['--env', `${name}=${value}`]),
    ...(commandMayFail === true ? ['--command-may-fail'] : []),
  ];
}

const progressEveryMs = 5_000;
/** Of Node's timers. */
const longestMs = 2_147_483_647;

/** One line every five seconds. */
function progressTo(io: CommandIo): (progress: Progress) => void {
  let shownMs = Date.now();
  return ({ levels, points, findings }) => {
    if (Date.now() - shownMs < progressEveryMs) return;
    shownMs = Date.now();
    const { size = 0, done = 0, total = 0 } = levels.at(-1) ?? {};
    const found = `${many(points, 'decision point')}, ${many(findings.length, 'finding')}`;
    io.error(`smstwin explore: depth ${size}: ${done} of ${total} schedules; ${found}\n`);
  };
}

function durationValue(text: string): Duration {
  try {
    const ms = durationMs(text, '');
    if (ms > 0 && ms <= longestMs) return { text, ms };
  } catch {
    // Said below.
  }
  throw new ValueError('expected a duration above 0 and below 24 days, such as 3s, 500ms or 2m');
}

function faultsValue(text: string): FaultName[] {
  const names = text.split(',').map((name) => name.trim());
  const known = faultNames.filter((name) => names.includes(name));
  if (known.length === new Set(names).size) return known;
  throw new ValueError(`expected names of ${faultNames.join(', ')}, with commas between`);
}

function variableValue(text: string): { readonly name: string; readonly value: Variable } {
  const [name = '', wanted] = text.split('=', 2);
  const value = variables.find((known) => known === wanted);
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && value !== undefined) return { name, value };
  throw new ValueError(`expected NAME=${variables.join('|')}`);
}

function reportValue(text: string): Report {
  const read = readReport(text);
  if (typeof read === 'string') throw new ValueError(read);
  return read;
}
