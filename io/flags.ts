/**
 * The flag parser of every command. Commander parses the command line; the environment supplies
 * defaults (`given-flags.ts`). The error for a mistake is one line, which never quotes a token or a
 * key.
 */
import { Command, CommanderError, Option } from 'commander';
import { UsageError } from './command-error.ts';
import { type Environment, environmentArguments } from './given-flags.ts';

/** A command's output streams, environment and version. */
export interface CommandIo {
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
  readonly env: Environment;
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

/** `maxRuns` for `--max-runs <n>`, and `control` for `--no-control`. */
type AttributeOf<Text extends string> = Text extends `--no-${infer Name}`
  ? CamelCase<Name>
  : Text extends `--${infer Name} <${string}>`
    ? CamelCase<Name>
    : Text extends `--${infer Name}`
      ? CamelCase<Name>
      : never;

/** `maxRuns` for `max-runs`. */
type CamelCase<Name extends string> = Name extends `${infer Word}-${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** Undefined without the flag, unless it has a fallback; a `--no-` switch is then true. */
type ValueOf<Each extends Flag> = Each extends { repeatable: true }
  ? readonly SingleValue<Each>[]
  : Each extends { fallback: unknown } | { flag: `--no-${string}` }
    ? SingleValue<Each>
    : SingleValue<Each> | undefined;

/** What `parse` returns; without it a text, or of a switch a boolean. */
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
export function flag(
  flag: string,
  about: string,
  parse?: Flag['parse'],
  fallback?: unknown,
  shown?: string,
): Flag {
  return { flag, about, parse, fallback, shown };
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
  env: Environment,
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

/** The message of an error without the value of an unknown flag, which may be a token or a key. */
function withoutValue({ code, message }: CommanderError): string {
  const line = message.replace(/^error: /, '');
  // Keeps `unknown option '--tokn'` of `unknown option '--tokn=secret'`.
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

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ');
}
