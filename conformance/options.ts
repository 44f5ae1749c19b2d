/** The flags of `smstwin conform`. Contradictory flags are refused before anything is sent. */
import { existsSync, statSync } from 'node:fs';
import { rules } from '#contract/rules.ts';
import { dayMs } from '#contract/time.ts';
import { UsageError } from '#io/command-error.ts';
import {
  baseUrlValue,
  duration,
  fileValue,
  headerPair,
  headerValue,
  oneOf,
  phoneNumber,
  reportKinds,
  reportValue,
  wholeNumber,
  writableFile,
} from '#io/flag-values.ts';
import {
  addArgument,
  type CommandIo,
  type FlagValues,
  flag,
  flagsIn,
  heading,
  list,
  newCommand,
  readValue,
  ValueError,
} from '#io/flags.ts';
import { givenAs, refuseWithoutNeeds } from '#io/given-flags.ts';
import { expectedFile, readExpectations } from '#judging/report/expected.ts';
import { discoveredFile } from '#judging/report/outcome.ts';
import { readReport } from '#judging/report/result.ts';
import { profiles } from './run/select.ts';
import {
  flagsOfTarget,
  refuseOtherRecipient,
  refuseWithoutTarget,
  targetFlagsIn,
} from './target/target-flags.ts';

const wholeCount = wholeNumber(0, 999_999_999);
const timeoutValue = duration('1ms', '24h');

const flagsOfConform = [
  heading('The target'),
  ...flagsOfTarget,
  flag('--control-url <url>', "a simulator's control port", baseUrlValue),
  flag(
    '--control-token <token>',
    "the control port's bearer token, if it requires one",
    headerValue,
  ),
  list(
    '--header <name: value>',
    'sent with every request, for a gateway in front; never in a report',
    headerPair,
  ),
  heading('What is checked, and at what cost'),
  flag(
    '--profile <name>',
    'readonly: no sends; budget: only cases of at most 10 sends; full: all cases (default on loopback or with --control-url; elsewhere budget)',
    oneOf(profiles),
  ),
  flag('--max-sends <n>', 'the largest number of sends', wholeCount),
  list('--allow-to <number>', 'send messages only to this recipient', phoneNumber),
  flag('--list', 'print the selected cases and exit'),
  flag('--dry-run', 'print what a run would cost (sends, 429s, minutes) and exit'),
  heading('Results'),
  list('--report <kind=file>', `write a report: ${reportKinds.join(', ')}`, reportValue),
  flag('--expected <file>', 'a file of known failures, each with a reason', fileValue),
  flag(
    '--write-expected <file>',
    'write the failures of this run to such a file',
    writableFile(expectedFile),
  ),
  flag(
    '--compare <report.json>',
    'print what is newly failing, fixed and newly skipped since an earlier JSON report',
    fileValue,
  ),
  list(
    '--require <rule>',
    'exit 4 if no case tests this rule; all means every rule of the run',
    requiredRule,
  ),
  flag('--recheck', 'judge each failure once more; it is flaky if it passes then'),
  flag(
    '--discover <file>',
    'write the observed answers to this file, for serve --assumptions',
    writableFile(discoveredFile),
  ),
  heading('The run'),
  flag('--seed <n>', 'seed of random values', wholeCount, weekOfYear(), 'the week of the year'),
  flag(
    '--timeout <duration>',
    'longest wait for time to pass on a real clock; 2m is enough for every case',
    timeoutValue,
    120_000,
    '2m',
  ),
  flag('--reply-timeout <duration>', 'longest wait for a reply', timeoutValue, 30_000, '30s'),
  flag('--bail', 'stop at the first failure'),
  heading('Recorded traffic'),
  list(
    '--traffic <file>',
    'judge recorded traffic and send nothing: a recording, a HAR file or a journal',
    fileValue,
  ),
  flag(
    '--traffic-complete',
    'the files hold all traffic of these accounts and addresses: judge limits, too',
  ),
  list(
    '--same-account <digest,digest>',
    'these keys, as the recording names them, belong to one account',
    String,
  ),
  flag(
    '--drift <old>',
    'print what changed since an older recording; exit 1 if something did',
    fileValue,
  ),
] as const;

/** Each week selects other rows of the tables of which a run sends only a part. */
function weekOfYear(): number {
  const now = new Date();
  return 1 + Math.floor((now.getTime() - Date.UTC(now.getUTCFullYear())) / (7 * dayMs));
}

type Values = FlagValues<typeof flagsOfConform>;
export type ConformOptions = NonNullable<ReturnType<typeof parseOptions>>;

/** The id of a rule, or `all`. */
function requiredRule(text: string): string {
  if (text === 'all' || rules.some(({ id }) => id === text)) return text;
  throw new ValueError('expected the id of a rule, such as SEND-4, or all');
}

/** Parses the arguments; undefined if `--help` or `--version` has printed its text. */
export function parseOptions(argv: readonly string[], io: CommandIo) {
  const about =
    'Check a server rule by rule; without a base_url, a simulator that it starts itself.';
  const command = newCommand('conform', about, io);
  addArgument(command, '[base_url]', "the service's base URL (http:// or https://)", String);
  addArgument(
    command,
    '[pattern...]',
    'rule ids, assumption names or parts of case ids; * matches anything',
    String,
  );
  const values = flagsIn(command, flagsOfConform, argv, io);
  if (values === undefined) return undefined;
  const { baseUrl, patterns } = splitArguments(command.args);
  const nameOf: NameOf = (attribute) => givenAs(command, attribute);
  const isRecorded = values.traffic.length > 0;
  refuseWithoutNeeds(command, [
    { name: 'trafficComplete', needs: '--traffic', isThere: isRecorded },
    { name: 'drift', needs: '--traffic', isThere: isRecorded },
    { name: 'sameAccount', needs: '--traffic', isThere: isRecorded },
  ]);
  const traffic = trafficOf(values, baseUrl, patterns, nameOf);
  // The list of cases does not depend on the target.
  if (!values.list) refuseWithoutTarget(command, baseUrl);
  const flags = targetFlagsIn(values);
  refuseOtherRecipient(flags, values.allowTo);
  return {
    ...values,
    baseUrl,
    traffic,
    patterns: patterns.filter((pattern) => !traffic?.files.includes(pattern)),
    flags,
    allowTo: values.allowTo.length > 0 ? values.allowTo : undefined,
    expected: values.expected === undefined ? [] : readExpectations(values.expected),
    compare: values.compare === undefined ? undefined : readReport(values.compare),
  };
}

/** Matches a text that is meant as an address, even a wrong one. No pattern looks like one. */
const addressLike = /:\/|^https?:|^[\w.-]+:\d+|^localhost|^\d+\.\d+\.\d+\.\d+/i;

/** True for a text with a sign of a host name or a path, and no sign of a rule id. */
export function looksLikeHost(text: string): boolean {
  return /^[a-z\d][^*]*[-./:]/.test(text);
}

/** The base_url, if the first argument is one, and the patterns that select cases. */
function splitArguments(args: readonly string[]): { baseUrl?: string; patterns: string[] } {
  const [first, ...rest] = args;
  if (first === undefined) return { patterns: [] };
  const misplaced = rest.find((argument) => addressLike.test(argument));
  if (misplaced !== undefined)
    throw new UsageError(`base_url '${misplaced}' must be the first argument, before all patterns`);
  if (!addressLike.test(first)) return { patterns: [...args] };
  return { baseUrl: readValue('base_url', first, baseUrlValue), patterns: rest };
}

/** Recorded traffic to judge in place of a target. */
export type TrafficFlags = NonNullable<ReturnType<typeof trafficOf>>;

/** Names a flag as the user gave it: on the command line, or by a variable of the environment. */
type NameOf = (attribute: string) => string;

/**
 * The flags about recorded traffic; undefined without `--traffic`. A shell expands `*` to several
 * arguments, so arguments that name files are recordings too.
 */
function trafficOf(
  values: Values,
  baseUrl: string | undefined,
  patterns: readonly string[],
  nameOf: NameOf,
) {
  const { traffic: named, drift, sameAccount, trafficComplete } = values;
  if (named.length === 0) return undefined;
  if (baseUrl !== undefined)
    throw new UsageError('--traffic judges recordings and sends nothing: leave out the base_url');
  const targetOnly = (['list', 'dryRun', 'recheck'] as const).find((name) => values[name]);
  if (targetOnly !== undefined)
    throw new UsageError(`${nameOf(targetOnly)} is for a target: leave it out with --traffic`);
  const files = [...named, ...patterns.filter((pattern) => existsSync(pattern))];
  refuseOverwriting(values, drift === undefined ? files : [...files, drift], nameOf);
  return {
    files,
    /** True if the files hold all traffic of their accounts and addresses. */
    isComplete: trafficComplete === true,
    /** Lists of keys; the keys of a list belong to one account. */
    joined: sameAccount.map(keysOfOneAccount),
    drift,
  };
}

function keysOfOneAccount(text: string): string[] {
  const keys = text.split(',').map((key) => key.trim());
  const misnamed = keys.find((key) => !keyName.test(key));
  if (misnamed === undefined) return keys;
  throw new UsageError(
    `--same-account ${misnamed}: expected the name of a key in the file, such as key:0123456789ab`,
  );
}

/** The name of a key: its digest in a recording or a HAR file, its id in a journal. */
const keyName = /^(?:(?:key|sha256):[0-9a-f]{12,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Refuses an output file that is also an input: it would replace the recording. */
function refuseOverwriting(values: Values, inputs: readonly string[], nameOf: NameOf): void {
  const inputIds = new Set(inputs.map(fileId));
  const outputs = [
    { attribute: 'discover', file: values.discover },
    { attribute: 'writeExpected', file: values.writeExpected },
    ...values.report.map(({ file }) => ({ attribute: 'report', file })),
  ];
  for (const { attribute, file } of outputs) {
    const id = file === undefined ? undefined : fileId(file);
    if (id !== undefined && inputIds.has(id)) {
      throw new UsageError(
        `${nameOf(attribute)} ${file}: it is read by this run; name another file`,
      );
    }
  }
}

/** Equal for all paths of one file; undefined if there is none. */
function fileId(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev} ${found.ino}`;
}
