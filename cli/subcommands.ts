/**
 * The subcommands of `smstwin`, and the variables `SMSTWIN_*` that no flag of theirs reads. Each is
 * loaded on demand, with only the packages that it needs. The commands themselves declare the flags.
 */
import type { Command } from 'commander';
import { type CommandIo, newCommand } from '#io/flags.ts';
import { variableOf } from '#io/given-flags.ts';
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

/** Variables of clients, `smstwin/clock`, the action and the tests of smstwin: they set no flag. */
export const otherVariables: readonly string[] = [
  'API_KEY',
  'BASE_URL',
  'CONTROL_URL',
  'FROM',
  'STATE',
  'INTENTS',
  'EXPLORE',
  'RATE',
  'CA_FILE',
  'CLOCK_SINCE',
  'COMMAND',
  'PID',
  'UWS',
  'VERSION',
  'TEST_PROGRAM',
  'DEFECT',
  'CLIENTS',
  'KILLS',
  'MATRIX',
  'RUNS',
  'SAMPLE',
  'SEED',
  'SEEDS',
  'SIZES',
  'STARTS',
  'VARIATION',
  'WORLDS',
  'WORLDS_SEED',
].map((name) => `SMSTWIN_${name}`);

const setBy = 'Kubernetes and Docker set such variables for services';
const serviceVariable =
  /^SMSTWIN_(?:\w+_)?(?:SERVICE_(?:HOST|PORT\w*)|PORT_\d+_(?:TCP|UDP|SCTP)\w*)$|^SMSTWIN_(?:NAME|ENV_\w+)$/;

/** One line for each variable that no flag reads, and one for all variables of services. */
export async function ignoredVariables(name: string, io: CommandIo): Promise<readonly string[]> {
  const given = Object.keys(io.env).filter((each) => /^SMSTWIN_/i.test(each) && io.env[each]);
  const ofServices = given.filter((each) => serviceVariable.test(each));
  const lines = ofServices.length === 0 ? [] : [`${ofServices.join(', ')}: ignored; ${setBy}`];
  // The other commands are loaded only if this one does not know a variable.
  let unknown = given.filter((each) => ![...ofServices, ...otherVariables].includes(each));
  for (const names of [[name], Object.keys(subcommands)]) {
    if (unknown.length === 0) return lines;
    const ofFlags = (await commandsOf(names, io)).flatMap(variablesOf);
    unknown = unknown.filter((each) => !ofFlags.includes(each));
  }
  const [command] = await commandsOf([name], io);
  return [
    ...lines,
    ...unknown.map((each) => `${each}: ignored; no flag has it${hint(each, command)}`),
  ];
}

function variablesOf({ options }: Command): readonly string[] {
  return options.map(({ long }) => variableOf(long ?? ''));
}

/** Suggests a variable. Commander finds the flag with the most similar name. */
function hint(variable: string, command: Command | undefined): string {
  if (command === undefined) return '';
  const alike = variable.toUpperCase();
  if (variablesOf(command).includes(alike)) return ` (did you mean ${alike}?)`;
  try {
    command.parse([`--${variable.slice('SMSTWIN_'.length).toLowerCase().replaceAll('_', '-')}`], {
      from: 'user',
    });
  } catch (error) {
    const [, flags] = /\(Did you mean (.*)\?\)/.exec(String(error)) ?? [];
    if (flags !== undefined) return ` (did you mean ${flags.replace(/--[\w-]+/g, variableOf)}?)`;
  }
  return '';
}
