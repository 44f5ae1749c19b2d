/**
 * The command line of `conform`: every flag can also be set as SMSTWIN_<FLAG>. A mistake becomes a
 * UsageError of one line.
 */
import { readFileSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { refuseOtherRecipient, refuseUnsendable, refuseWithoutBaseUrl } from './contradictions.ts';
import { type Expectation, readExpectations } from './expected-file.ts';
import { type Report, readReport, reportKinds } from './report-flag.ts';
import { type Profile, profiles, type TargetFlags } from './target.ts';
import { Answered, UsageError } from './usage-error.ts';
import { isWritable } from './writable.ts';

export interface ConformOptions {
  readonly baseUrl?: string;
  readonly patterns: readonly string[];
  readonly flags: TargetFlags;
  readonly controlUrl?: string;
  readonly controlToken?: string;
  readonly profile?: Profile;
  readonly maxSends?: number;
  readonly allowTo?: readonly string[];
  readonly list: boolean;
  readonly dryRun: boolean;
  readonly reports: readonly Report[];
  readonly expected: readonly Expectation[];
  readonly discover?: string;
  readonly seed: number;
  readonly timeoutMs: number;
  readonly bail: boolean;
}

const keyFlags = [
  'apiKey',
  'otherApiKey',
  'secondApiKey',
  'revokedKey',
  'exhaustedApiKey',
  'deviceId',
] as const;
const numberFlags = [
  'from',
  'to',
  'secondFrom',
  'exhaustedFrom',
  'inactiveFrom',
  'foreignFrom',
  'unknownFrom',
] as const;

function e164(value: string): string {
  if (/^\+[1-9]\d{1,14}$/.test(value)) return value;
  throw new InvalidArgumentError('expected a number in E.164, such as +12025550101');
}

function webAddress(value: string): string {
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) return value;
  throw new InvalidArgumentError('expected a URL that starts with http:// or https://');
}

function wholeNumber(value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('expected a whole number from 0 to 999999999');
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, '': 1_000 };

function duration(value: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(value) ?? [];
  const ms = Number(amount) * (unitMs[unit] ?? 0);
  if (ms > 0 && ms <= 86_400_000) return ms;
  throw new InvalidArgumentError('expected a duration such as 10s, 500ms or 2m');
}

/** A repeatable flag; in the environment commas separate its values. */
function repeated<T>(one: (value: string) => T) {
  return (value: string, previous: readonly T[] | undefined): readonly T[] => [
    ...(previous ?? []),
    ...value.split(',').map((part) => one(part.trim())),
  ];
}

function report(value: string): Report {
  const read = readReport(value);
  if (typeof read === 'string') throw new InvalidArgumentError(read);
  return read;
}

function writable(file: string): string {
  if (isWritable(file)) return file;
  throw new InvalidArgumentError(`${file} cannot be written`);
}

function versionOfPackage(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return String((JSON.parse(text) as { version?: unknown }).version ?? '0.0.0');
}

function command(): Command {
  const flag = (flags: string, text: string) => {
    const option = new Option(flags, text);
    return option.env(`SMSTWIN_${option.name().replaceAll('-', '_').toUpperCase()}`);
  };
  const textOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const program = new Command('smstwin conform')
    .description(
      'Checks a target rule by rule; without a base_url it starts a simulator of its own.',
    )
    .argument('[base_url]', "the service's base URL (http:// or https://)")
    .argument('[pattern...]', 'rule ids, assumption names or parts of case ids; * matches anything')
    .version(versionOfPackage())
    .addHelpText(
      'after',
      '\nEvery flag can also be set in the environment as SMSTWIN_<FLAG>, with commas between the values of a repeatable flag.',
    )
    .exitOverride()
    .showSuggestionAfterError(false);
  const meaning: Record<string, string> = {
    apiKey: 'a key of the account to send with',
    otherApiKey: 'another key of the same account',
    secondApiKey: "another account's key",
    secondFrom: 'a number that the account of --second-api-key may send from',
    exhaustedFrom: 'a number that the account of --exhausted-api-key may send from',
    revokedKey: 'a key that was revoked',
    exhaustedApiKey: 'a key of an account whose quota is spent',
    deviceId: 'the id of the device behind --from',
    from: 'a number that the account may send from',
    to: 'the recipient of messages',
    inactiveFrom: 'a number of the account whose SIM is deactivated',
    foreignFrom: 'a number that exists but that the account may not use',
    unknownFrom: 'a number that no SIM has',
  };
  for (const name of keyFlags)
    program.addOption(flag(`--${textOf(name)} <value>`, meaning[name] ?? ''));
  for (const name of numberFlags)
    program.addOption(flag(`--${textOf(name)} <number>`, meaning[name] ?? '').argParser(e164));
  return program
    .addOption(flag('--control-url <url>', "a simulator's control port").argParser(webAddress))
    .addOption(
      flag('--control-token <token>', "the control port's bearer token, if it requires one"),
    )
    .addOption(
      flag(
        '--profile <name>',
        'readonly: no sends; budget: only cases of at most 10 sends; full: all cases (default on loopback or with --control-url; elsewhere budget)',
      ).choices(profiles),
    )
    .addOption(flag('--max-sends <n>', 'the largest number of sends').argParser(wholeNumber))
    .addOption(
      flag('--allow-to <number>', 'send messages only to this recipient').argParser(repeated(e164)),
    )
    .addOption(flag('--list', 'print the selected cases and exit'))
    .addOption(flag('--dry-run', 'print what a run would cost (sends, 429s, minutes) and exit'))
    .addOption(
      flag('--report <kind=file>', `write a report: ${reportKinds.join(', ')}`).argParser(
        repeated(report),
      ),
    )
    .addOption(
      flag('--expected <file>', 'a file of known failures, each with a reason').argParser(
        readExpectations,
      ),
    )
    .addOption(
      flag(
        '--discover <file>',
        'write the observed answers to this file, for serve --assumptions',
      ).argParser(writable),
    )
    .addOption(flag('--seed <n>', 'seed of random values').argParser(wholeNumber).default(1))
    .addOption(
      flag('--timeout <duration>', 'longest wait for a reply, or for time to pass on a real clock')
        .argParser(duration)
        .default(10_000, '10s'),
    )
    .addOption(flag('--bail', 'stop at the first failure'));
}

export function parseOptions(
  argv: readonly string[],
  write: (text: string) => void,
): ConformOptions {
  let complaint = '';
  const program = command().configureOutput({
    writeOut: write,
    writeErr: (text) => {
      complaint += text;
    },
  });
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) throw new Answered();
    const [line = error.message] = complaint.split('\n');
    throw new UsageError(
      line
        .replace(/^error: /, '')
        // The value of an unknown flag may be a key that was meant for a known flag.
        .replace(/^(unknown option '[^=]*)=.*$/, "$1'")
        .replace(/^option '[^']*' value '(.*)' from env '(\w+)' is invalid\. /, '$2 $1: ')
        .replace(/^option '(--[\w-]+)[^']*' argument '(.*)' is invalid\. /, '$1 $2: ')
        .replace(/Allowed choices are (.*)\.$/, 'expected $1'),
    );
  }
  const given = program.opts<Record<string, unknown>>();
  const { baseUrl, patterns } = splitArguments(program.args);
  refuseUnsendable(program);
  // The list of cases does not depend on the target.
  if (baseUrl === undefined && given['list'] !== true) refuseWithoutBaseUrl(program);
  const flags = Object.fromEntries(
    [...keyFlags, ...numberFlags]
      // An empty key counts as absent: CI sets such a variable if the secret is missing.
      .filter((name) => given[name] !== undefined && given[name] !== '')
      .map((name) => [name, given[name]]),
  ) as TargetFlags;
  refuseOtherRecipient(flags, given['allowTo'] as readonly string[] | undefined);
  return {
    ...(baseUrl === undefined ? {} : { baseUrl }),
    patterns,
    flags,
    ...pick(given, 'controlUrl', 'controlToken', 'profile', 'maxSends', 'allowTo', 'discover'),
    list: given['list'] === true,
    dryRun: given['dryRun'] === true,
    reports: (given['report'] as readonly Report[] | undefined) ?? [],
    expected: (given['expected'] as readonly Expectation[] | undefined) ?? [],
    seed: given['seed'] as number,
    timeoutMs: given['timeout'] as number,
    bail: given['bail'] === true,
  };
}

function pick(given: Record<string, unknown>, ...names: string[]): Partial<ConformOptions> {
  return Object.fromEntries(
    names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]),
  );
}

/**
 * Matches texts that are meant as an address, even a wrong one; no rule, assumption or case has
 * such a name.
 */
const addressLike = /:\/|^https?:|^[\w.-]+:\d+|^localhost|^\d+\.\d+\.\d+\.\d+/i;

function splitArguments(args: readonly string[]): { baseUrl?: string; patterns: string[] } {
  const [first, ...rest] = args;
  if (first === undefined) return { patterns: [] };
  const late = rest.find((argument) => addressLike.test(argument));
  if (late !== undefined)
    throw new UsageError(`base_url '${late}' must be the first argument, before all patterns`);
  if (/^https?:\/\//i.test(first) && URL.canParse(first)) return { baseUrl: first, patterns: rest };
  if (addressLike.test(first))
    throw new UsageError(`base_url '${first}' is not a URL that starts with http:// or https://`);
  return { patterns: [...args] };
}
