/**
 * `smstwin explore`: runs a client's own command under every fault at every call, and shrinks each
 * fault schedule that makes it fail. Exit codes: 0 nothing found, 1 found, 2 usage, 4 the command
 * cannot be explored, 6 the budget ended first, 130 interrupted.
 */
import { type FaultName, faultNames, isCrash, type Schedule } from '#contract/fault-schedule.ts';
import { isoTime } from '#contract/time.ts';
import { CommandRuns, reservedVariables, type Variable, variables } from '#explore/command-runs.ts';
import { checkFolder, readSchedule, writeFindings } from '#explore/finding-files.ts';
import { tryLess } from '#explore/learn.ts';
import { scheduleText } from '#explore/schedule.ts';
import { replay, type SearchOptions, search } from '#explore/search.ts';
import { exploredLine, type Progress, type SearchResult } from '#explore/search-result.ts';
import { onStopSignal, UsageError } from '#io/command-error.ts';
import {
  duration,
  fileValue,
  nameAndValue,
  reportValue,
  someOf,
  wholeNumber,
} from '#io/flag-values.ts';
import {
  type CommandIo,
  type FlagValues,
  flag,
  flagsIn,
  heading,
  list,
  newCommand,
  ValueError,
} from '#io/flags.ts';
import { passedOn } from '#io/given-flags.ts';
import { counted, progressTo } from '#io/terminal.ts';
import { writeReports } from '#judging/report/write.ts';
import { rateValue, seedValue } from '#src/config/setting-values.ts';
import { readWorldFile } from '#src/config/world-file.ts';
import { noticesTo } from '../process.ts';
import { countsLine, exploreJson, exploreSummary, printResult } from './explore-summary.ts';

// Node's timers can wait a little longer than 24 days.
const durationValue = duration('1ms', '24d');

const exploreFlags = [
  heading('What is tried'),
  flag('--depth <n>', 'faults per schedule', wholeNumber(1, 10), 2),
  flag('--max-runs <n>', 'runs of the command at most', wholeNumber(1, 1_000_000), 500),
  flag('--jobs <n>', 'runs at one time', wholeNumber(1, 64), 2),
  flag('--timeout <duration>', 'how long a run may take', durationValue, 60_000, '60s'),
  flag('--slow <duration>', 'how long the fault slow holds a reply', durationValue, 3_000, '3s'),
  flag(
    '--throttle-waits <list>',
    'what the throttles of a schedule ask for: 2s,7s (default: more than twice ' +
      "the client's own wait)",
    (text) => text.split(',').map((each) => durationValue(each.trim())),
  ),
  flag('--crash', 'also kill the command before and after each request, and restart it'),
  flag(
    '--faults <list>',
    `which faults to try: ${faultNames.join(', ')} (default: all)`,
    someOf(faultNames),
  ),
  heading('How the command runs'),
  flag('--rate <n>', 'run service and Node commands at so many seconds per second', rateValue),
  flag('--seed <n>', 'seed of all chance', seedValue, 1),
  flag('--world <file>', 'world file, JSON or YAML', fileValue),
  list(
    '--env <name=value>',
    `sets a variable of the client to ${variables.join(', ')}`,
    variableValue,
  ),
  heading('Results'),
  flag('--out <dir>', 'where findings are written', fileValue, 'smstwin-findings'),
  list('--report <kind=file>', 'junit, json, html, markdown, github', reportValue),
  flag('--schedule <file>', 'run this one schedule or finding', fileValue),
  flag('--bail', 'stop at the first finding'),
  flag('--command-may-fail', 'an exit code other than 0 is not a failure'),
] as const;

type ExploreFlags = FlagValues<typeof exploreFlags>;

/** The flags that concern only a search. All others also apply when a finding is replayed. */
const searchFlags = [
  '--depth',
  '--max-runs',
  '--jobs',
  '--faults',
  '--out',
  '--report',
  '--schedule',
  '--bail',
];

export async function explore(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('explore', "Run a client's own command under every fault.", io);
  command.argument('[command...]', 'the command, after --');
  const flags = flagsIn(command, exploreFlags, argv, io);
  if (flags === undefined) return 0;
  if (command.args.length === 0 || command.args[0] === '')
    throw new UsageError('name the command to run: smstwin explore -- npm test');
  const replayFlags = passedOn({ from: command, to: command, except: searchFlags });
  return run(command.args, flags, replayFlags, io);
}

/** `replayFlags`: the flags with which a replay runs the command in the same way. */
async function run(
  command: readonly string[],
  flags: ExploreFlags,
  replayFlags: readonly string[],
  io: CommandIo,
) {
  const { seed, world, rate, env: ownVariables } = flags;
  refuseDuplicates(flags);
  const givenSchedule = flags.schedule === undefined ? undefined : readSchedule(flags.schedule);
  const faults = faultsToTry(flags, givenSchedule?.schedule ?? []);
  if (givenSchedule === undefined) checkFolder(flags.out);
  const interrupt = new AbortController();
  const runs = new CommandRuns({
    command,
    env: io.env,
    ownVariables,
    settings: { seed, ...(world !== undefined && { world: await readWorldFile(world) }) },
    rate,
    slowMs: flags.slow,
    timeoutMs: flags.timeout,
    signal: interrupt.signal,
  });
  const ignoreSignals = onStopSignal(() => interrupt.abort());
  const startMs = Date.now();
  const show = progressTo(io.error);
  const complain = noticesTo(io, 'smstwin explore');
  try {
    await runs.start();
    const options: SearchOptions = {
      ...searchOptionsIn(flags),
      faults,
      runClient: runs.run.bind(runs),
      onProgress: (progress) => show(progressLine(progress), ''),
      onFinding: ({ schedule, failures: [gravest] }) => {
        show('');
        complain(`found ${gravest?.cause} under ${scheduleText(schedule)}: ${gravest?.what}`);
      },
    };
    const result =
      givenSchedule === undefined
        ? await search(options)
        : await replay(options, givenSchedule.schedule, givenSchedule.intents);
    show('');
    const schedule = givenSchedule?.schedule;
    return report(result, { command, flags, replayFlags, startMs, givenSchedule: schedule, io });
  } finally {
    ignoreSignals();
    await runs.close();
  }
}

/** Throws a UsageError if a fault to try, or one of the given schedule, needs `--crash`. */
function faultsToTry({ faults: named, crash = false }: ExploreFlags, given: Schedule) {
  const faults: readonly FaultName[] =
    named ?? faultNames.filter((name) => crash || !isCrash(name));
  const needsCrash = [...faults, ...given.map(({ fault }) => fault)].find(isCrash);
  if (needsCrash === undefined || crash) return faults;
  throw new UsageError(
    `${needsCrash} kills the command and starts it again: add --crash to allow it`,
  );
}

function variableValue(text: string): { readonly name: string; readonly value: Variable } {
  const [name, wanted] = nameAndValue(text);
  if (reservedVariables.includes(name))
    throw new ValueError(`each run sets ${name} itself; name a variable of the client's own`);
  const value = variables.find((each) => each === wanted);
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && value !== undefined) return { name, value };
  throw new ValueError(`expected NAME=${variables.join('|')}`);
}

function searchOptionsIn(flags: ExploreFlags) {
  const { depth, maxRuns, jobs, seed, bail = false, commandMayFail = false } = flags;
  return {
    depth,
    maxRuns,
    jobs,
    seed,
    bail,
    mayFail: commandMayFail,
    subject: 'command' as const,
    throttleWaits: flags.throttleWaits?.map((ms) => Math.ceil(ms / 1_000)),
    isScaled: flags.rate !== undefined,
  };
}

/** Throws a UsageError for a variable that is set twice. */
function refuseDuplicates({ env }: ExploreFlags): void {
  const names = env.map((variable) => variable.name);
  const name = names.find((each, index) => names.indexOf(each) !== index);
  if (name !== undefined)
    throw new UsageError(`--env ${name}: the variable is set twice; remove one of the two`);
}

interface Context {
  readonly command: readonly string[];
  readonly flags: ExploreFlags;
  readonly replayFlags: readonly string[];
  readonly startMs: number;
  readonly givenSchedule: Schedule | undefined;
  readonly io: CommandIo;
}

function report(result: SearchResult, context: Context): number {
  const { command, flags, replayFlags, startMs, givenSchedule, io } = context;
  const complain = noticesTo(io, 'smstwin explore');
  const { findings, intents, levels } = result;
  const replayed = { command, flags: replayFlags, intents };
  // A replay has no levels, and its schedule is in a file already.
  const files = levels.length === 0 ? [] : writeFindings(flags.out, findings, replayed, complain);
  const hints = [
    ...(flags.rate === undefined ? [] : [tryLess]),
    ...(flags.jobs > 1 ? [tryOneJob] : []),
  ];
  printResult(result, { files, givenSchedule, hints }, io);
  const line = exploredLine(result, flags);
  io.out(`${line}\n`);
  if (givenSchedule === undefined) io.out(`${countsLine(result)}\n`);
  const explored = {
    result,
    line,
    command: command.join(' '),
    startedAt: isoTime(startMs),
    durationMs: Date.now() - startMs,
  };
  const streams = { out: io.out, error: complain };
  const json = () => `${JSON.stringify(exploreJson(explored), null, 2)}\n`;
  return writeReports(flags.report, exploreSummary(explored), streams, { json });
}

const tryOneJob = 'if two runs at one time share a port or a file, use --jobs 1';

function progressLine({ levels, points, findings }: Progress): string {
  const { size = 0, done = 0, total = 0 } = levels.at(-1) ?? {};
  const found = `${counted(points, 'decision point')}, ${counted(findings.length, 'finding')}`;
  return `smstwin explore: depth ${size}: ${done} of ${total} schedules; ${found}`;
}
