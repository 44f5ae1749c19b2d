/**
 * The command `smstwin`: finds the subcommand, runs it, and turns an error into lines and an exit
 * code. Each subcommand is loaded on demand, with only the packages that it needs.
 */
import * as nodeModule from 'node:module';
import type { CommandIo } from './cli/flags.ts';
import { CommandError } from './config/command-error.ts';
import { smstwinVersion } from './config/version.ts';

// Node 22.8 and later keep compiled code between runs. The types are those of Node 20.
(nodeModule as { enableCompileCache?: () => void }).enableCompileCache?.();

interface Subcommand {
  readonly summary: string;
  readonly run: (argv: readonly string[], io: CommandIo) => Promise<number>;
}

const subcommands: Readonly<Record<string, Subcommand>> = {
  serve: {
    summary: 'run the simulator',
    run: async (argv, io) => (await import('./cli/serve.ts')).serve(argv, io),
  },
  conform: {
    summary: 'check a target rule by rule; without a base_url, a simulator of its own',
    run: async (argv, io) => (await import('./cli/conform.ts')).conform(argv, io),
  },
  bench: {
    summary: 'load a service and audit its rate limits; without a base_url, a simulator of its own',
    run: async (argv, io) => (await import('../bench/main.ts')).bench(argv, io),
  },
  replay: {
    summary: 'play a recorded run again and compare every reply',
    run: async (argv, io) => (await import('./cli/replay.ts')).replay(argv, io),
  },
  referee: {
    summary: 'judge a client by its recorded requests',
    run: async (argv, io) => (await import('./cli/referee.ts')).referee(argv, io),
  },
  explore: {
    summary: "run a client's own tests under every fault, and shrink what fails",
    run: async (argv, io) => (await import('./cli/explore.ts')).explore(argv, io),
  },
  rules: {
    summary: 'print the rules that the document states',
    run: async (argv, io) => (await import('./cli/rules.ts')).rules(argv, io),
  },
  assumptions: {
    summary: 'print the gaps of the document, with every answer',
    run: async (argv, io) => (await import('./cli/assumptions.ts')).assumptions(argv, io),
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
    const problem = name === undefined ? 'a command is missing' : `unknown command '${name}'`;
    io.error(`smstwin: ${problem}; there are ${Object.keys(subcommands).join(', ')} (--help)\n`);
    return 2;
  }
  try {
    return await subcommand.run(rest, io);
  } catch (error) {
    return failure(`smstwin ${name}`, error, io);
  }
}

function failure(prefix: string, error: unknown, io: CommandIo): number {
  if (!(error instanceof CommandError)) {
    io.error(`${prefix}: ${error instanceof Error ? (error.stack ?? error.message) : error}\n`);
    return 1;
  }
  for (const line of error.lines) io.error(`${prefix}: ${line}\n`);
  return error.exitCode;
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

// The reader of a pipe may close it early, as `head` does.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

process.exitCode = await main(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  error: (text) => void process.stderr.write(text),
  env: process.env,
  version: smstwinVersion(),
});
