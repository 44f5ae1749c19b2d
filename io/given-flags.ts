/**
 * Which flags the user gave, on the command line or in the environment: `SMSTWIN_CONTROL_PORT` sets
 * `--control-port`. Also selects those that a child process gets.
 */
import type { Command, Option } from 'commander';
import { UsageError } from './command-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Sets the flags that the command line leaves out and the environment has. */
export function readVariables(command: Command, env: Environment): void {
  for (const option of command.options) {
    const name = option.attributeName();
    const variable = variableOf(option.long ?? '');
    const text = env[variable] ?? '';
    if (text === '' || variable === 'SMSTWIN_VERSION' || isOnCommandLine(command, name)) continue;
    if (option.flags.endsWith('<port>') && isServiceAddress(text)) {
      const line = `${command.name()}: ${variable} ${text}: ignored; it is the address of a service`;
      command.configureOutput().writeErr?.(`${line}\n`);
    } else if (option.required) {
      let value: unknown = option.defaultValue;
      for (const each of valuesOf(option, text)) {
        value = parsed(option, variable, each, value);
        keepText(option, each);
      }
      command.setOptionValueWithSource(name, value, 'env');
    } else if (readSwitch(variable, text)) {
      command.setOptionValueWithSource(name, !option.negate, 'env');
      keepText(option);
    }
  }
}

/** Kubernetes and Docker set `SMSTWIN_PORT` to such an address for a service called `smstwin`. */
function isServiceAddress(text: string): boolean {
  return /^(?:tcp|udp|sctp):\/\//i.test(text);
}

/** Where a list of such values ends one of them: a value may have commas of its own. */
const betweenValues: readonly (readonly [sign: string, at: RegExp])[] = [
  ['=', /,(?=[\w.-]+=)/],
  [': ', /,(?=\s*[\w-]+:)/],
];

/**
 * Splits a list at commas; a list of `name=value` or `name: value` only at those before the next
 * name. Values of a list of lists (`<digest,digest>`) cannot be told apart: there is one.
 */
function valuesOf({ defaultValue, flags }: Option, text: string): readonly string[] {
  if (!Array.isArray(defaultValue) || flags.includes(',')) return [text];
  const [, at = ','] = betweenValues.find(([sign]) => flags.includes(sign)) ?? [];
  return text.split(at).map((value) => value.trim());
}

/** Reports an invalid value under the variable's name instead of the flag's. */
function parsed({ parseArg, long }: Option, variable: string, value: string, earlier: unknown) {
  try {
    return parseArg === undefined ? value : parseArg(value, earlier);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(error.message.replace(long ?? '', variable));
  }
}

const onWords = ['1', 'true', 'yes', 'on'];
const offWords = ['0', 'false', 'no', 'off'];

function readSwitch(variable: string, text: string): boolean {
  const word = text.toLowerCase();
  if (onWords.includes(word)) return true;
  if (offWords.includes(word)) return false;
  const expected = `expected ${onWords.join(', ')} or ${offWords.join(', ')}`;
  throw new UsageError(`${variable} ${text}: ${expected}`);
}

const givenTexts = new WeakMap<Option, readonly string[]>();

/** Remembers how the user wrote a flag; a switch has no text. */
export function keepText(option: Option, text = ''): void {
  givenTexts.set(option, [...(givenTexts.get(option) ?? []), text]);
}

interface PassedOn {
  readonly from: Command;
  readonly to: Command;
  /** Flags that are not passed on, such as `--port`. */
  readonly except: readonly string[];
}

/** The arguments for a child process: the flags given to one command that the other has, too. */
export function passedOn({ from, to, except }: PassedOn): readonly string[] {
  return from.options.flatMap((option) => {
    const flag = option.long ?? '';
    if (except.includes(flag) || !to.options.some(({ long }) => long === flag)) return [];
    const texts = givenTexts.get(option) ?? [];
    return texts.map((text) => (option.required ? `${flag}=${text}` : flag));
  });
}

/** The environment for a child process that gets its flags as arguments: no variable sets one. */
export function withoutFlags(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || name.startsWith('SMSTWIN_') ? [] : [[name, value]],
    ),
  );
}

/** A flag that has no effect alone: its attribute name, what it needs, and if that is there. */
export type DependentFlag = readonly [name: string, needs: string, isThere: boolean];

/** Throws a UsageError for a flag that was given without what it needs. */
export function refuseAlone(command: Command, dependent: readonly DependentFlag[]): void {
  for (const [name, needs, isThere] of dependent) {
    if (isThere || !['cli', 'env'].includes(command.getOptionValueSource(name) ?? '')) continue;
    throw new UsageError(`${givenAs(command, name)} needs ${needs}`);
  }
}

/**
 * How the user gave a flag: `--api-key`, or its variable if the value came from the environment.
 * `name`: its attribute name, such as `apiKey`.
 */
export function givenAs(command: Command, name: string): string {
  const flag = command.options.find((option) => option.attributeName() === name)?.long ?? name;
  return command.getOptionValueSource(name) === 'env' ? variableOf(flag) : flag;
}

/** `name`: the attribute name of a flag. */
export function isOnCommandLine(command: Command, name: string): boolean {
  return command.getOptionValueSource(name) === 'cli';
}

/** `SMSTWIN_API_KEY` for `--api-key`. */
export function variableOf(flag: string): string {
  return `SMSTWIN_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`;
}
