/**
 * The command line of long runs, which is read like that of `smstwin`. Prints a report as JSON;
 * exit codes: 0 no complaint, 1 complaints, 2 a wrong flag. `npm run test:kills -- --kills 20
 * --ending SIGKILL|SIGTERM|shutdown --transport hyperexpress|node` `npm run test:checkpoints --
 * --kills 40 --seed 1 --journal-max 2MiB --sends 2000` `npm run soak -- --days 30 --minutes 5
 * --seed 1 --transport hyperexpress|node`
 */
import { processIo, runSubcommand } from '#cli/process.ts';
import { oneOf, wholeNumber } from '#io/flag-values.ts';
import { type CommandIo, flag, flagsIn, newCommand, ValueError } from '#io/flags.ts';
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
  flag('--kills <n>', 'how often', wholeNumber(1, 10_000), 20),
  flag('--ending <kind>', endings.join('|'), oneOf(endings), endings[0]),
  flag('--sends <n>', 'most messages of a round', wholeNumber(1, 1_000_000), 2_000),
  flag('--journal-max <size>', 'of the journal, such as 2MiB', String),
  flag('--days <n>', 'a soak of so many simulated days', wholeNumber(2, 3_650)),
  flag('--minutes <n>', 'real minutes of a soak', minutesValue, 5),
  flag('--seed <n>', 'of all chance', wholeNumber(0, 2 ** 32 - 1), 1),
  flag('--transport <kind>', transports.join('|'), oneOf(transports), 'hyperexpress'),
] as const;

async function program(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('long run', '', io);
  const given = flagsIn(command, flags, argv, io);
  if (given === undefined) return 0;
  const { kills, ending, days, minutes, ...options } = given;
  const dayLoadMs = days && (minutes * 60_000 * loadShare) / days;
  const ends = days === undefined ? Array<RoundEnd>(kills).fill(ending) : endsOfDays(days);
  const plan = { ...options, ends, dayLoadMs };
  const report = await longRun(plan);
  io.out(`${JSON.stringify({ ...plan, ...report }, null, 2)}\n`);
  return report.complaints.length === 0 ? 0 : 1;
}

process.exitCode = await runSubcommand('long run', program, process.argv.slice(2), processIo());
