/** Finds the variables `SMSTWIN_*` that no flag reads, so that a misspelt one is reported. */
import type { Command } from 'commander';
import type { CommandIo } from '#io/flags.ts';
import { variableOf } from '#io/given-flags.ts';
import { commandsOf, subcommands } from './subcommands.ts';

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
