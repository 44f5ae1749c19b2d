/**
 * Which flags the user gave, on the command line or in the environment: `SMSTWIN_CONTROL_PORT` sets
 * `--control-port`; and which of them a child process gets.
 */
import type { Command, Option } from 'commander';
import { UsageError } from './command-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Sets the flags that the command line leaves out and the environment has. */
export function readVariables(command: Command, env: Environment): void {
  for (const option of command.options) {
    const name = option.attributeName();
    const variable = variableOf(longNameOf(option));
    const text = env[variable] ?? '';
    // Not --version: images and installers set this variable to the version to install.
    if (variable === 'SMSTWIN_VERSION') continue;
    if (text === '' || isOnCommandLine(command, name)) continue;
    if (option.flags.endsWith('<port>') && isServiceAddress(text)) {
      const why = `ignored, because Kubernetes or Docker set it; set ${longNameOf(option)}`;
      const line = `${command.name()}: ${variable} ${text}: ${why}`;
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

/**
 * How a list of `name=value` or `name: value` is split: at the commas before the next name, because
 * a value may have commas of its own.
 */
const splitBySign: readonly (readonly [sign: string, at: RegExp])[] = [
  ['=', /,(?=[\w.-]+=)/],
  [': ', /,(?=\s*[\w-]+:)/],
];

/** Splits a list. A list of lists (`<digest,digest>`) is one value, as its commas look alike. */
function valuesOf({ defaultValue, flags }: Option, text: string): readonly string[] {
  if (!Array.isArray(defaultValue) || flags.includes(',')) return [text];
  const [, at = ','] = splitBySign.find(([sign]) => flags.includes(sign)) ?? [];
  return text.split(at).map((value) => value.trim());
}

/** Reports an invalid value under the variable's name instead of the flag's. */
function parsed(option: Option, variable: string, value: string, earlier: unknown) {
  const { parseArg } = option;
  try {
    return parseArg === undefined ? value : parseArg(value, earlier);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(error.message.replace(longNameOf(option), variable));
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
    const flag = longNameOf(option);
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

/** A flag that has no effect alone. */
export interface DependentFlag {
  /** Its attribute name. */
  readonly name: string;
  readonly needs: string;
  readonly isThere: boolean;
}

/** Throws a UsageError for a flag that was given without what it needs. */
export function refuseWithoutNeeds(command: Command, dependent: readonly DependentFlag[]): void {
  for (const { name, needs, isThere } of dependent) {
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

/** Every option has a long name; some also have a short one. */
function longNameOf({ long }: Option): string {
  if (long === undefined) throw new Error('an option without a long name');
  return long;
}

/** `SMSTWIN_API_KEY` for `--api-key`. */
export function variableOf(flag: string): string {
  return `SMSTWIN_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`;
}
