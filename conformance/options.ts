/**
 * The flags of `smstwin conform`.
 */

import { existsSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { UsageError } from '../src/commands/command-error.ts';
import {
  duration,
  fileValue,
  headerValue,
  isWebAddress,
  oneOf,
  phoneNumber,
  reportKinds,
  reportValue,
  webAddress,
  wholeNumber,
  writableFile,
} from '../src/commands/flag-values.ts';
import {
  addFlags,
  type CommandIo,
  type Flag,
  type FlagValues,
  givenAs,
  newCommand,
  readFlags,
  ValueError,
} from '../src/commands/flags.ts';
import { rules } from '../src/ledger/rules.ts';
import { readReport } from './comparison.ts';
import { readExpectations } from './expected.ts';
import { profiles } from './target.ts';
import {
  flagsOfTarget,
  refuseOtherRecipient,
  refuseWithoutBaseUrl,
  targetFlagsIn,
} from './target-flags.ts';

const wholeCount = wholeNumber(0, 999_999_999);

const flagsOfConform = [
  ...flagsOfTarget,
  { flag: '--control-url <url>', about: "a simulator's control port", parse: webAddress },
  {
    flag: '--control-token <token>',
    about: "the control port's bearer token, if it requires one",
    parse: headerValue,
  },
  {
    flag: '--profile <name>',
    about:
      'readonly: no sends; budget: only cases of at most 10 sends; full: all cases (default on loopback or with --control-url; elsewhere budget)',
    parse: oneOf(profiles),
  },
  { flag: '--max-sends <n>', about: 'the largest number of sends', parse: wholeCount },
  {
    flag: '--allow-to <number>',
    about: 'send messages only to this recipient',
    parse: phoneNumber,
    repeatable: true,
  },
  { flag: '--list', about: 'print the selected cases and exit' },
  { flag: '--dry-run', about: 'print what a run would cost (sends, 429s, minutes) and exit' },
  {
    flag: '--report <kind=file>',
    about: `write a report: ${reportKinds.join(', ')}`,
    parse: reportValue,
    repeatable: true,
  },
  {
    flag: '--expected <file>',
    about: 'a file of known failures, each with a reason',
    parse: fileValue,
  },
  {
    flag: '--write-expected <file>',
    about: 'write the failures of this run to such a file',
    parse: writableFile,
  },
  {
    flag: '--compare <report.json>',
    about: 'print what is newly failing, fixed and newly skipped since an earlier JSON report',
    parse: fileValue,
  },
  {
    flag: '--require <rule>',
    about: 'exit 4 if no case tests this rule; all means every rule of the run',
    parse: requiredRule,
    repeatable: true,
  },
  { flag: '--recheck', about: 'judge each failure once more; it is flaky if it passes then' },
  {
    flag: '--discover <file>',
    about: 'write the observed answers to this file, for serve --assumptions',
    parse: writableFile,
  },
  { flag: '--seed <n>', about: 'seed of random values', parse: wholeCount, fallback: 1 },
  {
    flag: '--timeout <duration>',
    about: 'longest wait for time to pass on a real clock; 2m is enough for every case',
    parse: timeoutValue,
    fallback: 120_000,
    shown: '2m',
  },
  {
    flag: '--reply-timeout <duration>',
    about: 'longest wait for a reply',
    parse: timeoutValue,
    fallback: 30_000,
    shown: '30s',
  },
  { flag: '--bail', about: 'stop at the first failure' },
  {
    flag: '--traffic <file>',
    about: 'judge recorded traffic and send nothing: a recording, a HAR file or a journal',
    parse: fileValue,
    repeatable: true,
  },
  {
    flag: '--traffic-complete',
    about: 'the files hold all traffic of these accounts and addresses: judge limits, too',
  },
  {
    flag: '--same-account <digest,digest>',
    about: 'these keys, as the recording names them, belong to one account',
    parse: String,
    repeatable: true,
  },
  {
    flag: '--drift <old>',
    about: 'print what changed since an older recording; exit 1 if something did',
    parse: fileValue,
  },
] as const satisfies readonly Flag[];

type Given = FlagValues<typeof flagsOfConform>;
export type ConformOptions = NonNullable<ReturnType<typeof parseOptions>>;
/** Recorded traffic to judge in place of a target. */
export type TrafficFlags = NonNullable<ReturnType<typeof trafficOf>>;

/** A number without a unit is seconds. */
function timeoutValue(text: string): number {
  const expected = 'a duration such as 10s, 500ms or 2m';
  const withUnit = /^\d+(\.\d+)?$/.test(text) ? `${text}s` : text;
  return duration({ mostMs: 86_400_000, expected })(withUnit);
}

function requiredRule(text: string): string {
  if (text === 'all' || rules.some(({ id }) => id === text)) return text;
  throw new ValueError('expected the id of a rule, such as SEND-4, or all');
}

/** Undefined if `--help` or `--version` has printed its text. */
export function parseOptions(argv: readonly string[], io: CommandIo) {
  const about =
    'Checks a target rule by rule; without a base_url it starts a simulator of its own.';
  const command = newCommand('conform', about, io)
    .argument('[base_url]', "the service's base URL (http:// or https://)")
    .argument(
      '[pattern...]',
      'rule ids, assumption names or parts of case ids; * matches anything',
    );
  addFlags(command, flagsOfConform);
  if (readFlags(command, argv, io.env) === 'answered') return undefined;
  const given = command.opts<Given>();
  const { baseUrl, patterns } = splitArguments(command.args);
  const traffic = trafficOf(given, baseUrl, patterns, command, argv);
  // The list of cases does not depend on the target.
  if (baseUrl === undefined && !given.list) refuseWithoutBaseUrl(command, argv);
  const flags = targetFlagsIn(given);
  refuseOtherRecipient(flags, given.allowTo);
  return {
    ...given,
    baseUrl,
    traffic,
    patterns: patterns.filter((one) => !traffic?.files.includes(one)),
    flags,
    allowTo: given.allowTo.length > 0 ? given.allowTo : undefined,
    expected: given.expected === undefined ? [] : readExpectations(given.expected),
    compare: given.compare === undefined ? undefined : readReport(given.compare),
  };
}

/** With `--traffic`, arguments that name files are more of them, as a shell expands `*`. */
function trafficOf(
  given: Given,
  baseUrl: string | undefined,
  patterns: readonly string[],
  command: Command,
  argv: readonly string[],
) {
  const { traffic: named, drift, sameAccount } = given;
  if (named.length === 0) {
    const lone = (['trafficComplete', 'drift'] as const).find((name) => given[name] !== undefined);
    const needy = lone ?? (sameAccount.length > 0 ? 'sameAccount' : undefined);
    if (needy === undefined) return undefined;
    throw new UsageError(`${givenAs(command, needy, argv)} needs --traffic`);
  }
  if (baseUrl !== undefined)
    throw new UsageError('--traffic judges recordings and sends nothing: leave out the base_url');
  const useless = (['list', 'dryRun', 'recheck'] as const).find((name) => given[name]);
  if (useless !== undefined)
    throw new UsageError(
      `${givenAs(command, useless, argv)} is for a target: leave it out with --traffic`,
    );
  const files = [...named, ...patterns.filter((one) => existsSync(one))];
  refuseOverwriting(given, drift === undefined ? files : [...files, drift], command, argv);
  const joined = sameAccount.map((keys) => keys.split(',').map((key) => key.trim()));
  const misnamed = joined.flat().find((key) => !keyName.test(key));
  if (misnamed !== undefined)
    throw new UsageError(
      `--same-account ${misnamed}: expected the name of a key in the file, such as key:0123456789ab`,
    );
  // `isComplete`: they hold all traffic of their accounts and addresses. `joined`: of one account each.
  return { files, isComplete: given.trafficComplete === true, joined, drift };
}

/** A digest in a recording or a HAR file; the id of a key in a journal. */
const keyName = /^(?:(?:key|sha256):[0-9a-f]{12,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** A report would replace what it reports on. */
function refuseOverwriting(
  given: Given,
  inputs: readonly string[],
  command: Command,
  argv: readonly string[],
): void {
  const idOf = (file: string) => {
    const found = statSync(file, { throwIfNoEntry: false, bigint: true });
    return found && `${found.dev} ${found.ino}`;
  };
  const read = new Set(inputs.map(idOf));
  const outputs = [
    ...(['discover', 'writeExpected'] as const).map((name) => [name, given[name]] as const),
    ...given.report.map(({ file }) => ['report', file] as const),
  ];
  for (const [name, file] of outputs) {
    const id = file === undefined ? undefined : idOf(file);
    if (id === undefined || !read.has(id)) continue;
    const flag = givenAs(command, name, argv);
    throw new UsageError(`${flag} ${file}: it is read by this run; name another file`);
  }
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
  if (isWebAddress(first)) return { baseUrl: first, patterns: rest };
  if (addressLike.test(first))
    throw new UsageError(`base_url '${first}' is not a URL that starts with http:// or https://`);
  return { patterns: [...args] };
}
