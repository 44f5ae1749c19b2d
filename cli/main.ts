/**
 * The command `smstwin`: finds the subcommand and runs it. Each subcommand is loaded on demand,
 * with only the packages that it needs.
 */

import type { CommandIo } from '#io/flags.ts';
import { foreignText } from '#io/foreign-text.ts';
import { processIo, runSubcommand, type Subcommand } from './process.ts';

const subcommands: Readonly<
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
};

async function main(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  if (name === '--version' || name === '-V') {
    io.out(`${io.version}\n`);
    return 0;
  }
  if (name === '--help' || name === '-h' || (name === 'help' && rest.length === 0)) {
    io.out(help());
    return 0;
  }
  if (name === 'help') return main([...rest.slice(0, 1), '--help'], io);
  const subcommand = name !== undefined && Object.hasOwn(subcommands, name) && subcommands[name];
  if (!subcommand) {
    const problem =
      name === undefined ? 'a command is missing' : `unknown command '${foreignText(name)}'`;
    io.error(`smstwin: ${problem}; there are ${Object.keys(subcommands).join(', ')} (--help)\n`);
    return 2;
  }
  return runSubcommand(name, subcommand.run, rest, io);
}

function help(): string {
  const lines = Object.entries(subcommands).map(
    ([name, { summary }]) => `  ${name.padEnd(13)}${summary}\n`,
  );
  return [
    'Usage: smstwin <command> [flags]\n\n',
    'A simulated twin of the Outbound SMS Service, and a harness for its rules.\n\n',
    ...lines,
    '\nsmstwin <command> --help lists its flags; --version prints the version.\n',
  ].join('');
}

void main(process.argv.slice(2), processIo()).then((code) => {
  process.exitCode = code;
});
