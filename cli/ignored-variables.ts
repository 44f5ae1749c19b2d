/**
 * The variables `SMSTWIN_*` that no command reads: a misspelt one must not go unnoticed. The names
 * of flags come from the commands themselves.
 */
import type { Command } from 'commander';
import type { Environment } from '#io/given-flags.ts';
import { variableOf } from '#io/given-flags.ts';

/** They set no flag: what clients, `smstwin/clock`, the action and the tests of smstwin read. */
const otherVariables: readonly string[] = [
  ...['API_KEY', 'BASE_URL', 'CONTROL_URL', 'FROM', 'STATE', 'INTENTS', 'EXPLORE', 'RATE'],
  ...['CA_FILE', 'CLOCK_SINCE', 'COMMAND', 'PID', 'UWS', 'VERSION', 'TEST_PROGRAM', 'DEFECT'],
  ...['CLIENTS', 'KILLS', 'MATRIX', 'RUNS', 'SEED', 'SEEDS', 'WORLDS', 'WORLDS_SEED'],
].map((name) => `SMSTWIN_${name}`);

const setBy = 'Kubernetes and Docker set such variables for services';
const serviceVariable =
  /^SMSTWIN_(?:\w+_)?(?:SERVICE_(?:HOST|PORT\w*)|PORT_\d+_(?:TCP|UDP|SCTP)\w*)$|^SMSTWIN_(?:NAME|ENV_\w+)$/;

/**
 * A line for each variable that is ignored, and one for those of services together. `own` returns
 * the command that runs, `all` every command; each is called only if it is needed.
 */
export async function ignoredVariables(
  env: Environment,
  own: () => Promise<readonly Command[]>,
  all: () => Promise<readonly Command[]>,
): Promise<readonly string[]> {
  const given = Object.keys(env).filter((name) => /^SMSTWIN_/i.test(name) && env[name] !== '');
  const ofServices = given.filter((name) => serviceVariable.test(name));
  const lines = ofServices.length === 0 ? [] : [`${ofServices.join(', ')}: ignored; ${setBy}`];
  let unknown = given.filter((name) => ![...ofServices, ...otherVariables].includes(name));
  for (const commands of [own, all]) {
    if (unknown.length === 0) return lines;
    const known = (await commands()).flatMap(variablesOf);
    unknown = unknown.filter((name) => !known.includes(name));
  }
  const commands = await own();
  const hints = unknown.map((name) => commands.map((command) => hint(command, name)).join(''));
  return [...lines, ...unknown.map((name, at) => `${name}: ignored; no flag has it${hints[at]}`)];
}

function variablesOf({ options }: Command): readonly string[] {
  return options.map(({ long }) => variableOf(long ?? ''));
}

/** Asks commander for the flag that is spelt alike. */
function hint(command: Command, variable: string): string {
  const alike = variable.toUpperCase();
  if (variablesOf(command).includes(alike)) return ` (did you mean ${alike}?)`;
  try {
    command.parse([`--${variable.slice(8).toLowerCase().replaceAll('_', '-')}`], { from: 'user' });
  } catch (error) {
    const [, flags] = /\(Did you mean (.*)\?\)/.exec(String(error)) ?? [];
    if (flags !== undefined) return ` (did you mean ${flags.replace(/--[\w-]+/g, variableOf)}?)`;
  }
  return '';
}
