/**
 * The flags of `smstwin explore`.
 */
import { duration, fileValue, reportValue, wholeNumber } from '../commands/flag-values.ts';
import { type Flag, type FlagValues, ValueError } from '../commands/flags.ts';
import { reservedVariables, type Variable, variables } from '../explore/command-runs.ts';
import { type FaultName, faultNames } from '../explore/fault-names.ts';
import { rateValue, seedValue } from './flag-values.ts';

interface Duration {
  readonly text: string;
  readonly ms: number;
}

export const exploreFlags = [
  { flag: '--depth <n>', about: 'faults per schedule', parse: wholeNumber(1, 10), fallback: 2 },
  {
    flag: '--max-runs <n>',
    about: 'runs of the command at most',
    parse: wholeNumber(1, 1_000_000),
    fallback: 500,
  },
  { flag: '--jobs <n>', about: 'runs at one time', parse: wholeNumber(1, 64), fallback: 2 },
  {
    flag: '--timeout <duration>',
    about: 'how long a run may take',
    parse: durationValue,
    fallback: { text: '60s', ms: 60_000 },
    shown: '60s',
  },
  {
    flag: '--slow <duration>',
    about: 'how long the fault slow holds a reply',
    parse: durationValue,
    fallback: { text: '3s', ms: 3_000 },
    shown: '3s',
  },
  {
    flag: '--throttle-waits <list>',
    about: 'what the throttles of a schedule ask for: 2s,7s',
    parse: (text: string) => text.split(',').map((each) => durationValue(each.trim())),
    shown: "more than twice the client's own wait",
  },
  { flag: '--crash', about: 'also kill the command before and after each request, and restart it' },
  {
    flag: '--faults <list>',
    about: `which faults to try: ${faultNames.join(', ')}`,
    parse: faultsValue,
    shown: 'all',
  },
  {
    flag: '--rate <n>',
    about: 'run service and Node commands at so many seconds per second',
    parse: rateValue,
  },
  { flag: '--seed <n>', about: 'seed of all chance', parse: seedValue, fallback: 1 },
  { flag: '--world <file>', about: 'world file, JSON or YAML', parse: fileValue },
  {
    flag: '--env <name=value>',
    about: `sets a variable of the client to ${variables.join(', ')}`,
    parse: variableValue,
    repeatable: true,
  },
  {
    flag: '--out <dir>',
    about: 'where findings are written',
    parse: fileValue,
    fallback: 'smstwin-findings',
  },
  {
    flag: '--report <kind=file>',
    about: 'junit, json, html, tap, markdown, github',
    parse: reportValue,
    repeatable: true,
  },
  { flag: '--schedule <file>', about: 'run this one schedule or finding', parse: fileValue },
  { flag: '--bail', about: 'stop at the first finding' },
  { flag: '--command-may-fail', about: 'an exit code other than 0 is not a failure' },
] as const satisfies readonly Flag[];

export type ExploreFlags = FlagValues<typeof exploreFlags>;

/** The flags that a replay needs to run the command in the same way. */
export function flagsAgain({
  timeout,
  slow,
  rate,
  seed,
  world,
  env,
  commandMayFail,
  throttleWaits,
  crash,
}: ExploreFlags) {
  return [
    ...['--timeout', timeout.text, '--slow', slow.text, '--seed', String(seed)],
    ...(rate === undefined ? [] : ['--rate', String(rate)]),
    ...(world === undefined ? [] : ['--world', world]),
    ...env.flatMap(({ name, value }) => ['--env', `${name}=${value}`]),
    ...(commandMayFail === true ? ['--command-may-fail'] : []),
    ...(throttleWaits ? ['--throttle-waits', throttleWaits.map(({ text }) => text).join()] : []),
    ...(crash === true ? ['--crash'] : []),
  ];
}

/** The longest delay of Node's timers. */
const longestMs = 2_147_483_647;

function durationValue(text: string): Duration {
  const expected = 'a duration above 0 and below 24 days, such as 3s, 500ms or 2m';
  return { text, ms: duration({ mostMs: longestMs, expected })(text) };
}

function faultsValue(text: string): FaultName[] {
  const names = text.split(',').map((name) => name.trim());
  const known = faultNames.filter((name) => names.includes(name));
  if (known.length === new Set(names).size) return known;
  throw new ValueError(`expected names of ${faultNames.join(', ')}, with commas between`);
}

function variableValue(text: string): { readonly name: string; readonly value: Variable } {
  const [name = '', wanted] = text.split('=', 2);
  if (reservedVariables.includes(name)) {
    throw new ValueError(`each run sets ${name} itself; name a variable of the client's own`);
  }
  const value = variables.find((known) => known === wanted);
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && value !== undefined) return { name, value };
  throw new ValueError(`expected NAME=${variables.join('|')}`);
}
