/**
 * The flag parser of every command. Commander parses the command line; the environment supplies
 * defaults (`given-flags.ts`). The error for a mistake is one line, which never quotes the value of a
 * flag for a token or a key.
 */
import { resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { UsageError } from './command-error.ts';
import { type Environment, keepText, readVariables } from './given-flags.ts';

/** A command's output streams, environment and version. */
export interface CommandIo {
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
  readonly env: Environment;
  readonly version: string;
  /** Is given the command, with its flags, when it prints its help. */
  readonly onHelp?: ((command: Command) => void) | undefined;
}

/** One flag. Without a placeholder such as `<n>` it is a switch. */
export interface Flag {
  /** Such as `--port <port>`. */
  readonly flag: string;
  /** Its line in the help. */
  readonly about: string;
  /** Reads one value, or throws a ValueError. */
  readonly parse?: ((text: string) => unknown) | undefined;
  /** The value if the flag is not given. */
  readonly fallback?: unknown;
  /** The fallback as the help shows it. */
  readonly fallbackText?: string | undefined;
  /** True if each use adds a value to a list. */
  readonly isRepeatable?: true;
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
type ValueOf<Each extends Flag> = Each extends { isRepeatable: true }
  ? readonly SingleValue<Each>[]
  : Each extends { fallback: unknown } | { flag: `--no-${string}` }
    ? SingleValue<Each>
    : SingleValue<Each> | undefined;

/** What `parse` returns. Without `parse`: a boolean for a switch, a text for another flag. */
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
/** A value with its fallback. `fallbackText`: the fallback as the help shows it. */
export function flag<const Text extends string, Value>(
  flag: Text,
  about: string,
  parse: (text: string) => Value,
  fallback: NoInfer<Value>,
  fallbackText?: string,
): { flag: Text; about: string; parse: (text: string) => Value; fallback: Value };
export function flag(
  flag: string,
  about: string,
  parse?: Flag['parse'],
  fallback?: unknown,
  fallbackText?: string,
): Flag {
  return { flag, about, parse, fallback, fallbackText };
}

export function list<const Text extends string, Value>(
  flag: Text,
  about: string,
  parse: (text: string) => Value,
  fallbackText?: string,
) {
  return { flag, about, parse, fallbackText, isRepeatable: true } as const;
}

/** An invalid value. The message says what was expected; the parser adds the flag and value. */
export class ValueError extends Error {}

/** Starts a group in the help: the flags after it have this heading. */
export function heading(text: string) {
  return { flag: '', about: text } as const;
}

const environmentHelp = `
Every flag can also be set as SMSTWIN_<FLAG>, which the flag overrides:
SMSTWIN_CONTROL_PORT=0 means --control-port 0. A switch is 1 or 0 there;
separate the values of a repeatable flag with commas.`;

/** A command without flags, which prints to `io` and throws its errors. */
export function newCommand(name: string, summary: string, io: CommandIo): Command {
  return new Command(`smstwin ${name}`.trim())
    .description(summary)
    .version(io.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .allowExcessArguments(false)
    .exitOverride()
    .configureHelp({ helpWidth: 80 })
    .configureOutput({ writeOut: io.out, writeErr: io.error, outputError: () => {} })
    .addHelpText('after', ({ command }) => {
      io.onHelp?.(command);
      return environmentHelp;
    });
}

/** Adds flags to a command. Their values are in `command.opts()` after `readFlags`. */
export function addFlags(command: Command, flags: readonly Flag[]): void {
  for (const { flag, about, parse, fallback, fallbackText, isRepeatable } of flags) {
    if (flag === '') {
      command.optionsGroup(`${about}:`);
      continue;
    }
    const option = new Option(flag, isRepeatable ? `${about}; repeatable` : about);
    if (isRepeatable) option.default([], fallbackText ?? 'none');
    else option.default(fallback, fallbackText);
    if (parse !== undefined) {
      if ('words' in parse) option.argChoices = [...(parse.words as readonly string[])];
      const name = option.long ?? flag;
      option.argParser((text: string, earlier: unknown) => {
        const value = readValue(name, text, parse);
        if (!isRepeatable) return value;
        const values = earlier as readonly unknown[];
        if (!values.some((each) => isSameFile(each, value))) return [...values, value];
        const clash = `another ${name} names that file too; name a second file`;
        throw new UsageError(`${name} ${text}: ${clash}`);
      });
    }
    command.on(`option:${option.name()}`, (text?: string) => keepText(option, text));
    command.addOption(option);
  }
}

/** True for reports of two kinds of which one would replace the other. */
function isSameFile(...reports: readonly unknown[]): boolean {
  const [one, other] = reports.map((report) => Object(report) as { kind?: string; file?: string });
  if (one?.file === undefined || other?.file === undefined) return false;
  return one.kind !== other.kind && resolve(one.file) === resolve(other.file);
}

/** Adds a positional argument, `<name>` or `[name]`. */
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
 * Adds flags to a command, and parses the arguments. Returns the values of the flags; undefined if
 * `--help` or `--version` has printed its text. Throws a UsageError.
 */
export function flagsIn<const Flags extends readonly Flag[]>(
  command: Command,
  flags: Flags,
  argv: readonly string[],
  { env }: Pick<CommandIo, 'env'>,
): FlagValues<Flags> | undefined {
  addFlags(command, flags);
  return readFlags(command, argv, env) === 'answered' ? undefined : command.opts();
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
    command.parse(argv, { from: 'user' });
    readVariables(command, env);
    return 'parsed';
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 'answered';
    const excess = command.args.slice(command.registeredArguments.length);
    const line =
      error.code === 'commander.excessArguments'
        ? `unexpected argument '${excess.map(beginOf).join(' ')}'`
        : oneLine(withoutValue(error, command));
    // The caller adds the list of subcommands to an error of `smstwin` itself.
    const isClear = /Did you mean|takes no value/.test(line) || command.name() === 'smstwin';
    throw new UsageError(isClear ? line : `${line}; see ${command.name()} --help`);
  }
}

/** A longer argument may be a key. */
const longestShown = 12;

/** What the reader recognises an argument by; a long one may be a key whose flag is missing. */
function beginOf(argument: string): string {
  return argument.length > longestShown ? `${argument.slice(0, longestShown / 3)}…` : argument;
}

/** The message of an error without the value of an unknown flag, which may be a token or a key. */
function withoutValue({ code, message }: CommanderError, command: Command): string {
  const line = message.replace(/^error: /, '');
  if (code !== 'commander.unknownOption') return line;
  const [, flag = ''] = /^unknown option '(--[^=']+)=/.exec(line) ?? [];
  const options = command.createHelp().visibleOptions(command);
  if (options.some(({ long }) => long === flag)) return `${flag} takes no value`;
  // Keeps `unknown option '--tokn'` of `unknown option '--tokn=secret'`.
  return line.replace(/^([^=]*)=[\s\S]*'/, "$1'");
}

/** Reads a value. Throws a UsageError that names it, without a secret that it holds. */
export function readValue<Value>(name: string, text: string, parse: (text: string) => Value) {
  try {
    const value = parse(text);
    if (text === '') throw new ValueError('expected a value');
    return value;
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    const isSecret = /[-_](?:token|key|header|caller)$/i.test(name);
    const flagAndValue = text === '' || isSecret ? name : `${name} ${withoutPassword(text)}`;
    const hint = text === '' ? '; the value is empty' : '';
    throw new UsageError(oneLine(`${flagAndValue}: ${error.message}${hint}`));
  }
}

function withoutPassword(url: string): string {
  return url.replace(/(\/\/[^/@:]*):[^/@]*@/, '$1:…@');
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ');
}
