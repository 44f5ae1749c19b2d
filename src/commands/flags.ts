/**
 * The flag parser of every command. Commander parses the command line; the environment supplies
 * defaults, so `SMSTWIN_CONTROL_PORT` sets `--control-port`. Each mistake is one line that never
 * quotes a token or a key.
 */
import { Command, CommanderError, Option } from 'commander';
import { UsageError } from './command-error.ts';

/** A command's output streams, environment and version. */
export interface CommandIo {
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

/** One flag. Without a placeholder such as `<n>` it is a switch. */
export interface Flag {
  /** Such as `--port <port>`. */
  readonly flag: string;
  readonly about: string;
  /** Reads one value, or throws a ValueError. */
  readonly parse?: ((text: string) => unknown) | undefined;
  readonly fallback?: unknown;
  /** The fallback as shown in the help. */
  readonly shown?: string | undefined;
  /** Each use adds a value; the result is a list. */
  readonly repeatable?: true;
}

/** What commander reads for flags, by attribute name: `maxRuns` for `--max-runs <n>`. */
export type FlagValues<Flags extends readonly Flag[]> = {
  readonly [Each in Flags[number] as AttributeOf<Each['flag']>]: ValueOf<Each>;
};

type AttributeOf<Text extends string> = Text extends `--no-${infer Name}`
  ? CamelCase<Name>
  : Text extends `--${infer Name} <${string}>`
    ? CamelCase<Name>
    : Text extends `--${infer Name}`
      ? CamelCase<Name>
      : never;

type CamelCase<Name extends string> = Name extends `${infer Word}-${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : Name;

type ValueOf<Each extends Flag> = Each extends { repeatable: true }
  ? readonly OneOf<Each>[]
  : Each extends { fallback: unknown } | { flag: `--no-${string}` }
    ? OneOf<Each>
    : OneOf<Each> | undefined;

type OneOf<Each extends Flag> = Each extends { parse: (text: string) => infer Value }
  ? Value
  : Each['flag'] extends `${string} <${string}`
    ? string
    : boolean;

/** A switch. */
export function flag<const Text extends string>(
  flag: Text,
  about: string,
): { flag: Text; about: string };
/** A value; undefined where it is not given. */
export function flag<const Text extends string, Value>(
  flag: Text,
  about: string,
  parse: (text: string) => Value,
): { flag: Text; about: string; parse: (text: string) => Value };
/** A value with its fallback, and how the help shows that. */
export function flag<const Text extends string, Value>(
  flag: Text,
  about: string,
  parse: (text: string) => Value,
  fallback: NoInfer<Value>,
  shown?: string,
): { flag: Text; about: string; parse: (text: string) => Value; fallback: Value };
export function flag(flag: string, about: string, ...[parse, fallback, shown]: unknown[]): Flag {
  return { flag, about, parse, fallback, shown } as Flag;
}

/** A repeatable flag. */
export function list<const Text extends string, Value>(
  flag: Text,
  about: string,
  parse: (text: string) => Value,
  shown?: string,
) {
  return { flag, about, parse, shown, repeatable: true } as const;
}

/**
 * An invalid flag value. The message says what was expected; the parser adds the flag and value.
 */
export class ValueError extends Error {}

const environmentHelp = `
Every flag can also be set as SMSTWIN_<FLAG>: SMSTWIN_CONTROL_PORT=0 means --control-port 0.
A switch is 1 or 0 there; separate the values of a repeatable flag with commas.`;

export function newCommand(name: string, summary: string, io: CommandIo): Command {
  return new Command(`smstwin ${name}`)
    .description(summary)
    .version(io.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: io.out, outputError: () => {} })
    .addHelpText('after', environmentHelp);
}

export function addFlags(command: Command, flags: readonly Flag[]): void {
  for (const { flag, about, parse, fallback, shown, repeatable } of flags) {
    const option = new Option(flag, repeatable ? `${about}; repeatable` : about);
    if (repeatable) option.default([], shown ?? 'none');
    else option.default(fallback, shown);
    if (parse !== undefined) {
      const name = option.long ?? flag;
      option.argParser((text: string, earlier: unknown) => {
        const value = readValue(name, text, parse);
        return repeatable ? [...(earlier as readonly unknown[]), value] : value;
      });
    }
    command.addOption(option);
  }
}

/** A positional argument, `<name>` or `[name]`. */
export function addArgument(
  command: Command,
  argument: string,
  about: string,
  parse: (text: string) => unknown,
): void {
  const name = argument.slice(1, -1);
  command.argument(argument, about, (text: string) => readValue(name, text, parse));
}

/**
 * Parses the arguments; returns `answered` if `--help` or `--version` already printed the result.
 */
export function readFlags(
  command: Command,
  argv: readonly string[],
  env: CommandIo['env'],
): 'parsed' | 'answered' {
  try {
    // Commander uses the last value, so the environment's values come first.
    command.parse([...environmentArguments(command.options, env), ...argv], { from: 'user' });
    return 'parsed';
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 'answered';
    if (error.code === 'commander.excessArguments') {
      throw new UsageError(`unexpected argument '${command.args.join(' ')}'`);
    }
    throw new UsageError(oneLine(withoutValue(error)));
  }
}

/**
 * The arguments for a child process: the flags that `command` was given, on its command line or in
 * the environment, and that `taker` also has, except those that `without` names.
 */
export function passedOn(
  taker: Command,
  command: Command,
  argv: readonly string[],
  env: CommandIo['env'],
  without: readonly string[],
): readonly string[] {
  const given = [...environmentArguments(command.options, env), ...argv];
  const passed: string[] = [];
  for (let at = 0; at < given.length; at++) {
    const text = given[at] ?? '';
    const [name = ''] = text.split('=', 1);
    const option = command.options.find(({ long }) => long === name);
    const value = option?.required === true && text === name ? [given[++at] ?? ''] : [];
    const isTaken = taker.options.some(({ long }) => long === name) && !without.includes(name);
    if (isTaken) passed.push(text, ...value);
  }
  return passed;
}

/** The environment of a child process that gets all flags as arguments: no variable sets one. */
export function withoutFlags(env: CommandIo['env']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || name.startsWith('SMSTWIN_') ? [] : [[name, value]],
    ),
  );
}

/**
 * The flag as the user gave it, by its attribute name: `--api-key`, or its variable if the value
 * came from the environment.
 */
export function givenAs(command: Command, name: string, argv: readonly string[]): string {
  const flag = command.options.find((option) => option.attributeName() === name)?.long ?? name;
  return isOnCommandLine(flag, argv) ? flag : variableOf(flag);
}

export function isOnCommandLine(flag: string, argv: readonly string[]): boolean {
  return argv.some((text) => text === flag || text.startsWith(`${flag}=`));
}

function variableOf(flag: string): string {
  return `SMSTWIN_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`;
}

/** Removes the value of an unknown flag: it may be a token or key meant for another flag. */
function withoutValue({ code, message }: CommanderError): string {
  const line = message.replace(/^error: /, '');
  return code === 'commander.unknownOption' ? line.replace(/^([^=]*)=[\s\S]*'/, "$1'") : line;
}

function readValue(name: string, text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    const isSecret = /[-_](?:token|key)$/i.test(name);
    const place = text === '' || isSecret ? name : `${name} ${text}`;
    throw new UsageError(
      oneLine(`${place}: ${error.message}${text === '' ? '; the value is empty' : ''}`),
    );
  }
}

/** The environment's flags, as arguments. */
function environmentArguments(options: readonly Option[], env: CommandIo['env']): string[] {
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

/** Splits at commas; in `name=value` lists, only at a comma before the next `name=`. */
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

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ');
}
