/**
 * How every command reads its flags: commander for the command line, the environment beneath it,
 * and a mistake as one line, in which no token or key stands.
 * A flag `--control-port` is also `SMSTWIN_CONTROL_PORT`; the command line wins over the
 * environment. Repeatable flags are separated by commas there, switches are 1 or 0.
 */
import { Command, CommanderError, InvalidArgumentError, type Option } from 'commander';
import { UsageError } from './usage-error.ts';

/** Where a command writes, what it reads besides its flags, and which version it is. */
export interface CommandIo {
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

export function newCommand(name: string, summary: string, io: CommandIo): Command {
  return new Command(`smstwin ${name}`)
    .description(summary)
    .version(io.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: io.out, outputError: () => {} })
    .addHelpText('after', '\nEvery flag is also SMSTWIN_<FLAG> in the environment.');
}

/** Parses; `answered` when `--help` or `--version` was all that was asked for. */
export function readFlags(
  command: Command,
  argv: readonly string[],
  env: CommandIo['env'],
): 'parsed' | 'answered' {
  try {
    // A flag is taken from the last place that gives it, so the environment stands first.
    command.parse([...environmentArguments(command.options, env), ...argv], { from: 'user' });
    return 'parsed';
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 'answered';
    if (error.code === 'commander.excessArguments') {
      throw new UsageError(`unexpected argument '${command.args.join(' ')}'`);
    }
    throw new UsageError(oneLine(withoutSecrets(error, command.options)));
  }
}

/** Commander repeats what was typed, which may be a token or a key. */
function withoutSecrets({ code, message }: CommanderError, options: readonly Option[]): string {
  const line = message.replace(/^error: /, '');
  // Behind the `=` of a flag that is not known stands what was meant for one that is.
  if (code === 'commander.unknownOption') return line.replace(/^([^=]*)=[\s\S]*'/, "$1'");
  const secret = options.find(
    ({ flags, long }) => isSecret(long ?? '') && line.startsWith(`option '${flags}' argument '`),
  );
  if (secret === undefined) return line;
  const reason = line.slice(line.lastIndexOf("' is invalid.") + 1);
  return `option '${secret.flags}' argument${reason}`;
}

function isSecret(flag: string): boolean {
  return /-(?:token|key)$/.test(flag);
}

/** The flags that the environment sets, as arguments. A flag whose default is a list repeats. */
function environmentArguments(options: readonly Option[], env: CommandIo['env']): string[] {
  return options.flatMap((option) => {
    const flag = option.long ?? '';
    const variable = `SMSTWIN_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`;
    const text = env[variable] ?? '';
    if (text === '' || flag === '--version') return [];
    if (!option.required) return readSwitch(variable, text) ? [flag] : [];
    const pieces = Array.isArray(option.defaultValue) ? text.split(/,(?=[\w.-]+=)/) : [text];
    return pieces.map((piece) => {
      check(variable, () => option.parseArg?.(piece, option.defaultValue));
      return `${flag}=${piece}`;
    });
  });
}

function readSwitch(variable: string, text: string): boolean {
  const word = text.toLowerCase();
  if (['1', 'true', 'yes', 'on'].includes(word)) return true;
  if (['0', 'false', 'no', 'off'].includes(word)) return false;
  throw new UsageError(`${variable}: expected 1 or 0, got "${text}"`);
}

function check(variable: string, parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new UsageError(oneLine(`${variable}: ${error.message}`));
  }
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ');
}
