/**
 * The subcommands of `smstwin`. Each is loaded on demand, with only the packages that it needs.
 * The commands themselves declare the flags.
 */
import type { Command } from 'commander';
import { type CommandIo, newCommand } from '#io/flags.ts';
import type { Subcommand } from './process.ts';

export const subcommands: Readonly<Record<string, Subcommand>> = {
  serve: async (argv, io) => (await import('./serve/serve.ts')).serve(argv, io),
  fleet: async (argv, io) => (await import('./fleet.ts')).fleet(argv, io),
  conform: async (argv, io) => (await import('./conform.ts')).conform(argv, io),
  bench: async (argv, io) => (await import('#bench/main.ts')).bench(argv, io),
  audit: async (argv, io) => (await import('./audit/audit.ts')).audit(argv, io),
  replay: async (argv, io) => (await import('./replay/replay-journal.ts')).replay(argv, io),
  referee: async (argv, io) => (await import('./referee/referee.ts')).referee(argv, io),
  record: async (argv, io) => (await import('./record.ts')).record(argv, io),
  explore: async (argv, io) => (await import('./explore/explore.ts')).explore(argv, io),
  rules: async (argv, io) => (await import('./ledgers.ts')).rules(argv, io),
  assumptions: async (argv, io) => (await import('./ledgers.ts')).assumptions(argv, io),
  completion: async (argv, io) => (await import('./completion.ts')).completion(argv, io),
};

/** `smstwin` with all its subcommands and their flags. */
export async function wholeProgram(io: CommandIo): Promise<Command> {
  const about = 'A simulated twin of the Outbound SMS Service, and a harness for its rules.';
  const program = newCommand('', about, io);
  program.helpCommand('help [command]', 'Print the help of a command.');
  program.configureHelp({ helpWidth: 80, subcommandTerm: (command) => command.name() });
  for (const command of await commandsOf(Object.keys(subcommands), io)) program.addCommand(command);
  return program;
}

/** The commands of these names. They declare their flags when they run, so each prints its help. */
export async function commandsOf(names: readonly string[], io: CommandIo): Promise<Command[]> {
  const commands: Command[] = [];
  for (const name of names) {
    const onHelp = (command: Command) => void commands.push(command.name(name));
    await subcommands[name]?.(['--help'], { ...io, out: () => {}, onHelp });
  }
  return commands;
}
