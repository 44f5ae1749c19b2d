/** The command `smstwin`: finds the subcommand and runs it. */
import { UsageError } from '#io/command-error.ts';
import { type CommandIo, readFlags } from '#io/flags.ts';
import { foreignText } from '#io/terminal.ts';
import { noticesTo, processIo, runSubcommand } from './process.ts';
import { ignoredVariables, subcommands, wholeProgram } from './subcommands.ts';

async function main(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name = '', ...rest] = argv;
  if (name === 'help' && rest[0] !== undefined) return main([rest[0], '--help'], io);
  const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (subcommand === undefined) return runSubcommand('', withoutSubcommand, argv, io);
  const run = async () => {
    const notice = noticesTo(io, `smstwin ${name}`);
    for (const line of await ignoredVariables(name, io)) notice(line);
    return subcommand(rest, io);
  };
  return runSubcommand(name, run, rest, io);
}

/** Answers a shell, `--help` and `--version`, and refuses what is not a subcommand. */
async function withoutSubcommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...words] = argv;
  const program = await wholeProgram(io);
  if (name === 'complete') {
    const { complete } = await import('./completion.ts');
    // The shell's script puts `--` before the words.
    complete(words.slice(1), program, io);
    return 0;
  }
  try {
    if (name === undefined) throw new UsageError('a command is missing');
    readFlags(program, [foreignText(name)], {});
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const names = Object.keys(subcommands).join(', ');
    throw new UsageError(`${error.message}; use one of ${names} (--help)`);
  }
}

void main(process.argv.slice(2), processIo()).then((code) => {
  process.exitCode = code;
});
