/**
 * The command line of long runs, which is read like that of `smstwin`: kills by default, a soak with
 * `--days`. Prints a report as JSON; exit codes: 0 no complaint, 1 complaints, 2 a wrong flag.
 * `verify/README.md` has a command for each.
 */
import { processIo, runSubcommand } from '#cli/process.ts';
import { minuteMs } from '#contract/time.ts';
import { oneOf, wholeNumber } from '#io/flag-values.ts';
import { type CommandIo, flag, flagsIn, newCommand, ValueError } from '#io/flags.ts';
import { refuseWithoutNeeds } from '#io/given-flags.ts';
import { transports } from '#src/config/settings.ts';
import { endsOfDays, longRun, type RoundEnd } from './long-run.ts';
import { endings } from './service.ts';

/** The load's share of a soak; the rest is for restarts and the verdict. */
const loadShare = 0.6;

function minutesValue(text: string): number {
  if (Number(text) > 0) return Number(text);
  throw new ValueError('expected a number above 0');
}

const flags = [
  flag('--kills <n>', 'how often the service is ended', wholeNumber(1, 10_000), 20),
  flag('--ending <kind>', `how it ends: ${endings.join(', ')}`, oneOf(endings), endings[0]),
  flag('--sends <n>', 'the most messages of a round', wholeNumber(1, 1_000_000), 2_000),
  flag('--journal-max <size>', 'the bound of the journal, such as 2MiB', String),
  flag('--days <n>', 'a soak of so many simulated days', wholeNumber(2, 3_650)),
  flag('--minutes <n>', 'how long a soak takes in real time', minutesValue, 5),
  flag('--seed <n>', 'the seed of all random choices', wholeNumber(0, 2 ** 32 - 1), 1),
  flag('--transport <kind>', transports.join(' or '), oneOf(transports), 'hyperexpress'),
] as const;

async function program(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('long run', '', io);
  const given = flagsIn(command, flags, argv, io);
  if (given === undefined) return 0;
  const { kills, ending, days, minutes, ...options } = given;
  const isSoak = days !== undefined;
  refuseWithoutNeeds(command, [
    { name: 'minutes', needs: '--days', isThere: isSoak },
    { name: 'kills', needs: 'a run without --days', isThere: !isSoak },
    { name: 'ending', needs: 'a run without --days', isThere: !isSoak },
  ]);
  const dayLoadMs = isSoak ? (minutes * minuteMs * loadShare) / days : undefined;
  const ends = isSoak ? endsOfDays(days) : Array<RoundEnd>(kills).fill(ending);
  const plan = { ...options, ends, dayLoadMs };
  const report = await longRun(plan);
  io.out(`${JSON.stringify({ ...plan, ...report }, null, 2)}\n`);
  return report.complaints.length === 0 ? 0 : 1;
}

process.exitCode = await runSubcommand('long run', program, process.argv.slice(2), processIo());
