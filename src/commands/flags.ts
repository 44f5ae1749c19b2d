/**
 * The flag parser of every command. Commander parses the command line; the environment supplies
 * defaults, so `SMSTWIN_CONTROL_PORT` sets `--control-port`. The error for a mistake is one line,
 * which never quotes a token or a key.
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
  /** Its line in the help. */
  readonly about: string;
  /** Reads one value, or throws a ValueError. */
  readonly parse?: ((text: string) => unknown) | undefined;
  /** The value without the flag. */
  readonly fallback?: unknown;
  /** The fallback as the help shows it. */
  readonly shown?: string | undefined;
  /** True if each use adds a value to a list. */
  readonly repeatable?: true;
}

/** The values of flags, by attribute name: `maxRuns` for `--max-runs <n>`. */
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
  ? readonly SingleValue<Each>[]
  : Each extends { fallback: unknown } | { flag: `--no-${string}` }
    ? SingleValue<Each>
    : SingleValue<Each> | undefined;

type SingleValue<Each extends Flag> = Each extends { parse: (text: string) => infer Value }
  ? Value
  : Each['flag'] extends `${string} <${string}`
    ? string
    : boolean;

/** A switch. */
export function flag<const Text extends string>(
  flag: Text,
  about: string,
): { flag: Text; about: string };
/** A value; undefined without the flag. */
export function flag<const Text extends string, Value>(
  flag: Text,
  about: string,
  parse: (text: string) => Value,
): { flag: Text; about: string; parse: (text: string) => Value };
/** A value with its fallback. `shown`: the fallback as the help shows it. */
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

/** A command without flags, which prints to `io` and throws its errors. */
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

/** Adds flags to a command. Their values are in `command.opts()` after `readFlags`. */
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
 * Parses the arguments. Returns `answered` if `--help` or `--version` has printed its text. Throws
 * a UsageError.
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
 * The arguments for a child process: the flags given to `command`, on its command line or in the
 * environment, that `childCommand` also has, except those that `without` names.
 */
export function passedOn(
  childCommand: Command,
  command: Command,
  argv: readonly string[],
  env: CommandIo['env'],
  without: readonly string[],
): readonly string[] {
  const given = [...environmentArguments(command.options, env), ...argv];
  const passed: string[] = [];
  for (let index = 0; index < given.length; index++) {
    const text = given[index] ?? '';
    const [name = ''] = text.split('=', 1);
    const option = command.options.find(({ long }) => long === name);
    const value = option?.required === true && text === name ? [given[++index] ?? ''] : [];
    const isKnown = childCommand.options.some(({ long }) => long === name);
    if (isKnown && !without.includes(name)) passed.push(text, ...value);
  }
  return passed;
}

/** The environment for a child process that gets its flags as arguments: no variable sets one. */
export function withoutFlags(env: CommandIo['env']): Record<string, string> {
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

/** The message of an error without the value of an unknown flag, which may be a token or a key. */
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
    const shown = text === '' || isSecret ? name : `${name} ${text}`;
    const hint = text === '' ? '; the value is empty' : '';
    throw new UsageError(oneLine(`${shown}: ${error.message}${hint}`));
  }
}

/** The flags that the environment sets, as arguments. */
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

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ');
}
