/**
 * Which flags the user gave, on the command line or in the environment: `SMSTWIN_CONTROL_PORT` sets
 * `--control-port`. Also what a child process gets of them.
 */
import type { Command, Option } from 'commander';
import { UsageError } from './command-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The flags that the environment sets, as arguments. */
export function environmentArguments(options: readonly Option[], env: Environment): string[] {
  return options.flatMap((option) => {
    const flag = option.long ?? '';
    const variable = variableOf(flag);
    const text = env[variable] ?? '';
    if (text === '' || flag === '--version') return [];
    if (!option.required) return readSwitch(variable, text) ? [flag] : [];
    return valuesOf(option, text).map((value) => {
      checkValue(option, variable, value);
      return `${flag}=${value}`;
    });
  });
}

/** Splits a list at commas; a list of `name=value` only at commas before the next `name=`. */
function valuesOf({ defaultValue, flags }: Option, text: string): readonly string[] {
  if (!Array.isArray(defaultValue)) return [text];
  return text.split(flags.includes('=') ? /,(?=[\w.-]+=)/ : ',').map((value) => value.trim());
}

/** Reports an invalid value under the variable's name instead of the flag's. */
function checkValue({ parseArg, defaultValue, long }: Option, variable: string, value: string) {
  try {
    parseArg?.(value, defaultValue);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(error.message.replace(long ?? '', variable));
  }
}

function readSwitch(variable: string, text: string): boolean {
  const word = text.toLowerCase();
  if (['1', 'true', 'yes', 'on'].includes(word)) return true;
  if (['0', 'false', 'no', 'off'].includes(word)) return false;
  throw new UsageError(`${variable} ${text}: expected 1 or 0`);
}

interface PassedOn {
  readonly from: Command;
  /** The command line of `from`. */
  readonly argv: readonly string[];
  readonly env: Environment;
  readonly to: Command;
  /** Flags that are not passed on, such as `--port`. */
  readonly except: readonly string[];
}

/** The arguments for a child process: the flags given to one command that the other has, too. */
export function passedOn({ from, argv, env, to, except }: PassedOn): readonly string[] {
  const given = [...environmentArguments(from.options, env), ...argv];
  const passed: string[] = [];
  for (let index = 0; index < given.length; index++) {
    const text = given[index] ?? '';
    const [name = ''] = text.split('=', 1);
    const option = from.options.find(({ long }) => long === name);
    const value = option?.required === true && text === name ? [given[++index] ?? ''] : [];
    const isKnown = to.options.some(({ long }) => long === name);
    if (isKnown && !except.includes(name)) passed.push(text, ...value);
  }
  return passed;
}

/** The environment for a child process that gets its flags as arguments: no variable sets one. */
export function withoutFlags(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || name.startsWith('SMSTWIN_') ? [] : [[name, value]],
    ),
  );
}

/**
 * How the user gave a flag: `--api-key`, or its variable if the value came from the environment.
 * `name`: its attribute name, such as `apiKey`.
 */
export function givenAs(command: Command, name: string, argv: readonly string[]): string {
  const flag = command.options.find((option) => option.attributeName() === name)?.long ?? name;
  return isOnCommandLine(flag, argv) ? flag : variableOf(flag);
}

/** `flag`: such as `--api-key`. */
export function isOnCommandLine(flag: string, argv: readonly string[]): boolean {
  return argv.some((text) => text === flag || text.startsWith(`${flag}=`));
}

function variableOf(flag: string): string {
  return `SMSTWIN_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`;
}
