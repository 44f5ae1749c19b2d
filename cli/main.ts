/**
 * The command `smstwin`: finds the subcommand and runs it.
 */
import { UsageError } from '#io/command-error.ts';
import { type CommandIo, newCommand, readFlags } from '#io/flags.ts';
import { foreignText } from '#io/foreign-text.ts';
import { ignoredVariables } from './ignored-variables.ts';
import { noticesTo, processIo, runSubcommand } from './process.ts';
import { commandsOf, subcommands } from './subcommands.ts';

async function main(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name = '', ...rest] = argv;
  if (name === 'help' && rest[0] !== undefined) return main([rest[0], '--help'], io);
  if (name === 'complete' && rest[0] === '--') {
    const { complete } = await import('./completion.ts');
    complete(rest.slice(1), await commandsOf(Object.keys(subcommands), io), io);
    return 0;
  }
  const subcommand = Object.hasOwn(subcommands, name) && subcommands[name];
  if (!subcommand) return runSubcommand('', withoutSubcommand, argv, io);
  const run = async () => {
    const own = () => commandsOf([name], io);
    const all = () => commandsOf(Object.keys(subcommands), io);
    const notice = noticesTo(io, `smstwin ${name}`);
    for (const line of await ignoredVariables(io.env, own, all)) notice(line);
    return subcommand.run(rest, io);
  };
  return runSubcommand(name, run, rest, io);
}

/** Answers `--help` and `--version`, and refuses what is no subcommand. */
async function withoutSubcommand([name]: readonly string[], io: CommandIo): Promise<number> {
  const about = 'A simulated twin of the Outbound SMS Service, and a harness for its rules.';
  const program = newCommand('', about, io);
  const names = Object.keys(subcommands);
  for (const each of names) program.command(each).description(subcommands[each]?.summary ?? '');
  try {
    if (name === undefined) throw new UsageError('a command is missing');
    readFlags(program, [foreignText(name)], {});
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message}; there are ${names.join(', ')} (--help)`);
  }
}

void main(process.argv.slice(2), processIo()).then((code) => {
  process.exitCode = code;
});
