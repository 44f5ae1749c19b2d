/**
 * The one flag parser of every command: commander for the command line, the environment beneath it, and one
 * line per mistake that never repeats a token or a key.
 * A flag `--control-port` is also `SMSTWIN_CONTROL_PORT`; the command line wins over the environment.
 */
import { Command, CommanderError, Option } from 'commander';
import { UsageError } from '../config/command-error.ts';

/** Where a command writes, what it reads besides its flags, and which version it is. */
export interface CommandIo {
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

/** One flag; without a placeholder such as `<n>` it is a switch. */
export interface Flag {
  /** `--port <port>`. */
  readonly flag: string;
  readonly about: string;
  /** Reads one value, or throws a ValueError. */
  readonly parse?: (text: string) => unknown;
  readonly fallback?: unknown;
  /** How the help prints the fallback. */
  readonly shown?: string;
  /** Given again, it adds a value; its value is a list. */
  readonly repeatable?: true;
}

/** A value that a flag does not take. Its message says what was expected; the parser adds which flag and value. */
export class ValueError extends Error {}

const environmentHelp = `
Every flag is also SMSTWIN_<FLAG> in the environment: SMSTWIN_CONTROL_PORT=0 is --control-port 0.
There a switch is 1 or 0, and commas separate the values of a repeatable flag.`;

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

/** Parses; `answered` when `--help` or `--version` was all that was asked for. */
export function readFlags(
  command: Command,
  argv: readonly string[],
  env: CommandIo['env'],
): 'parsed' | 'answered' {
  try {
    // A flag is taken from the last place that gives it, so the environment comes first.
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

/** What follows the `=` of an unknown flag may be a token or a key that was meant for a known one. */
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

/** The flags that the environment sets, as arguments. */
function environmentArguments(options: readonly Option[], env: CommandIo['env']): string[] {
  return options.flatMap((option) => {
    const flag = option.long ?? '';
    const variable = `SMSTWIN_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`;
    const text = env[variable] ?? '';
    if (text === '' || flag === '--version') return [];
    if (!option.required) return readSwitch(variable, text) ? [flag] : [];
    return valuesOf(option, text).map((value) => {
      checkValue(option, variable, value);
      return `${flag}=${value}`;
    });
  });
}

/** A value such as `failsFrom=queued,sent` has commas of its own: only one before a `name=` separates. */
function valuesOf({ defaultValue, flags }: Option, text: string): readonly string[] {
  if (!Array.isArray(defaultValue)) return [text];
  return text.split(flags.includes('=') ? /,(?=[\w.-]+=)/ : ',').map((value) => value.trim());
}

/** A mistake in a variable is reported by the variable's name, not by the flag's. */
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
