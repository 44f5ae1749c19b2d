/**
 * `smstwin explore`: runs a client's own command under every fault at every call, and shrinks what
 * fails. Exit codes: 0 nothing found, 1 found, 2 usage, 4 the command cannot be explored, 6 the
 * budget ended first, 130 interrupted.
 */
import { writeReports } from '../../conformance/reports/write.ts';
import { UsageError } from '../config/command-error.ts';
import { readWorldFile } from '../config/world-file.ts';
import { CommandRuns } from '../explore/command-runs.ts';
import { exitCodeOf, exploredLine } from '../explore/exploration.ts';
import { faultNames } from '../explore/fault-names.ts';
import { checkFolder, readSchedule, writeFindings } from '../explore/finding-files.ts';
import { replay } from '../explore/replay.ts';
import { type SearchOptions, search } from '../explore/search.ts';
import type { Progress, SearchResult } from '../explore/search-result.ts';
import { type ExploreFlags, exploreFlags, flagsAgain } from './explore-flags.ts';
import { exploreJson, exploreSummary, findingText } from './explore-summary.ts';
import { addFlags, type CommandIo, newCommand, readFlags } from './flags.ts';
import { many } from './table.ts';

export async function explore(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('explore', "Run a client's own command under every fault.", io);
  command.argument('[command...]', 'the command, after --');
  addFlags(command, exploreFlags);
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
    const options: SearchOptions = {
      runClient: runs.run.bind(runs),
      faults: flags.faults ?? faultNames,
      depth,
      maxRuns,
      jobs: flags.jobs,
      seed,
      bail: flags.bail ?? false,
      mayFail: flags.commandMayFail ?? false,
      subject: 'command',
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
  const { findings, unconfirmed, unstable, problem, intents } = result;
  const again = { command, flags: flagsAgain(flags), intents };
  const files = result.levels.length === 0 ? [] : writeFindings(flags.out, findings, again);
  for (const [at, finding] of findings.entries()) {
    io.out(findingText(finding, isSingle ? 'FAILED' : 'FOUND', files[at]));
  }
  for (const finding of unconfirmed) io.out(findingText(finding, 'NOT CONFIRMED', seenOnce));
  const note = flags.jobs > 1 ? `${passedAgain}; ${tryOneJob}` : passedAgain;
  for (const finding of unstable) io.out(findingText(finding, 'UNSTABLE', note));
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
  if (!isSingle) io.out(`${countsLine(result)}\n`);
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

const seenOnce = 'seen once: the exploration ended before this schedule was run again';

const passedAgain = 'did not repeat when this schedule was run again';
const tryOneJob = 'if two runs at one time share a port or a file, use --jobs 1';

function countsLine(result: SearchResult): string {
  const { runs, points, findings, unconfirmed, unstable, skipped } = result;
  const counts = [
    many(runs, 'run'),
    many(points, 'decision point'),
    many(findings.length, 'finding'),
    ...(unconfirmed.length > 0 ? [`${unconfirmed.length} not confirmed`] : []),
    `${unstable.length} unstable`,
  ];
  const same = 'skipped, which cannot differ from one already run';
  return `${counts.join(', ')}; ${many(skipped, 'schedule')} ${same}`;
}

const progressEveryMs = 5_000;

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
