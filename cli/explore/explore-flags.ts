/**
 * The flags of `smstwin explore`.
 */

import { type FaultName, faultNames } from '#contract/fault-schedule.ts';
import { reservedVariables, type Variable, variables } from '#explore/command-runs.ts';
import { duration, fileValue, reportValue, wholeNumber } from '#io/flag-values.ts';
import { type Flag, type FlagValues, flag, heading, list, ValueError } from '#io/flags.ts';
import { rateValue, seedValue } from '#src/config/setting-values.ts';

// Node's timers can wait a little longer than 24 days.
const durationValue = duration('1ms', '24d');

export const exploreFlags = [
  heading('What is tried'),
  flag('--depth <n>', 'faults per schedule', wholeNumber(1, 10), 2),
  flag('--max-runs <n>', 'runs of the command at most', wholeNumber(1, 1_000_000), 500),
  flag('--jobs <n>', 'runs at one time', wholeNumber(1, 64), 2),
  flag('--timeout <duration>', 'how long a run may take', durationValue, 60_000, '60s'),
  flag('--slow <duration>', 'how long the fault slow holds a reply', durationValue, 3_000, '3s'),
  flag(
    '--throttle-waits <list>',
    'what the throttles of a schedule ask for: 2s,7s (default: more than twice ' +
      "the client's own wait)",
    (text) => text.split(',').map((each) => durationValue(each.trim())),
  ),
  flag('--crash', 'also kill the command before and after each request, and restart it'),
  flag(
    '--faults <list>',
    `which faults to try: ${faultNames.join(', ')} (default: all)`,
    faultsValue,
  ),
  heading('How the command runs'),
  flag('--rate <n>', 'run service and Node commands at so many seconds per second', rateValue),
  flag('--seed <n>', 'seed of all chance', seedValue, 1),
  flag('--world <file>', 'world file, JSON or YAML', fileValue),
  list(
    '--env <name=value>',
    `sets a variable of the client to ${variables.join(', ')}`,
    variableValue,
  ),
  heading('Results'),
  flag('--out <dir>', 'where findings are written', fileValue, 'smstwin-findings'),
  list('--report <kind=file>', 'junit, json, html, markdown, github', reportValue),
  flag('--schedule <file>', 'run this one schedule or finding', fileValue),
  flag('--bail', 'stop at the first finding'),
  flag('--command-may-fail', 'an exit code other than 0 is not a failure'),
] as const satisfies readonly Flag[];

export type ExploreFlags = FlagValues<typeof exploreFlags>;

/** The flags that concern only a search. All others also apply when a finding is replayed. */
export const searchFlags = [
  ...['--depth', '--max-runs', '--jobs', '--faults', '--out', '--report', '--schedule', '--bail'],
];

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
