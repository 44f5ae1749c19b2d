/**
 * The subcommands of `smstwin`. Each is loaded on demand, with only the packages that it needs.
 */
import type { Command } from 'commander';
import type { CommandIo } from '#io/flags.ts';
import type { Subcommand } from './process.ts';

export const subcommands: Readonly<
  Record<string, { readonly summary: string; readonly run: Subcommand }>
> = {
  serve: {
    summary: 'run the simulator',
    run: async (argv, io) => (await import('./serve/serve.ts')).serve(argv, io),
  },
  fleet: {
    summary: 'run several simulators behind HAProxy, on one address',
    run: async (argv, io) => (await import('./fleet.ts')).fleet(argv, io),
  },
  conform: {
    summary: 'check a target rule by rule; without a base_url, a simulator of its own',
    run: async (argv, io) => (await import('./conform.ts')).conform(argv, io),
  },
  bench: {
    summary: 'load a service and audit its rate limits; without a base_url, a simulator of its own',
    run: async (argv, io) => (await import('#bench/main.ts')).bench(argv, io),
  },
  replay: {
    summary: 'play a recorded run again and compare every reply',
    run: async (argv, io) => (await import('./replay/replay.ts')).replay(argv, io),
  },
  referee: {
    summary: 'judge a client by its recorded requests',
    run: async (argv, io) => (await import('./referee/referee.ts')).referee(argv, io),
  },
  record: {
    summary: 'forward requests to a service, and record what it answers',
    run: async (argv, io) => (await import('./record.ts')).record(argv, io),
  },
  explore: {
    summary: "run a client's own tests under every fault, and shrink what fails",
    run: async (argv, io) => (await import('./explore/explore.ts')).explore(argv, io),
  },
  rules: {
    summary: 'print the rules that the document states',
    run: async (argv, io) => (await import('./rules.ts')).rules(argv, io),
  },
  assumptions: {
    summary: 'print the gaps of the document, with every answer',
    run: async (argv, io) => (await import('./assumptions.ts')).assumptions(argv, io),
  },
  completion: {
    summary: 'print a script that completes commands and flags in bash, zsh or fish',
    run: async (argv, io) => (await import('./completion.ts')).completion(argv, io),
  },
};

/** Commands with their flags, which each declares when it is asked for its help. */
export async function commandsOf(names: readonly string[], io: CommandIo): Promise<Command[]> {
  const commands: Command[] = [];
  for (const name of names) {
    const onHelp = (command: Command) => void commands.push(command.name(name));
    await subcommands[name]?.run(['--help'], { ...io, out: () => {}, onHelp });
  }
  return commands;
}
