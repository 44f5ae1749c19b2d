/**
 * The command line of the long-running test programs, which is read like that of `smstwin`: a wrong
 * flag ends the program with exit code 2 and a line that names the flag.
 */
import { processIo, runSubcommand } from '#cli/process.ts';
import { oneOf } from '#io/flag-values.ts';
import {
  addFlags,
  type Flag,
  type FlagValues,
  newCommand,
  readFlags,
  ValueError,
} from '#io/flags.ts';

interface Program<Flags extends readonly Flag[]> {
  readonly name: string;
  readonly flags: Flags;
}

/** Runs a program; returns its exit code. */
export function runProgram<const Flags extends readonly Flag[]>(
  { name, flags }: Program<Flags>,
  run: (flags: FlagValues<Flags>) => Promise<number>,
  argv: readonly string[] = process.argv.slice(2),
  io = processIo(),
): Promise<number> {
  const program = async (): Promise<number> => {
    const command = newCommand(name, '', io);
    addFlags(command, flags);
    if (readFlags(command, argv, io.env) === 'answered') return 0;
    return run(command.opts());
  };
  return runSubcommand(name, program, argv, io);
}

export const transportFlag = {
  flag: '--transport <kind>',
  about: 'hyperexpress|node',
  parse: oneOf(['hyperexpress', 'node']),
} as const satisfies Flag;

/** Reads a number that may have a fraction. */
export function number(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new ValueError(`expected a number from ${least} to ${most}`);
  };
}
