/**
 * Counts, times, faults and scripted outcomes in words, and the prefix of a world's paths. Runs
 * anywhere: other files of the page need a browser.
 */
import { faultKinds } from '#contract/fault-kinds.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '#contract/time.ts';
import type { Reply } from './wire.ts';

/** `1 message`, `1,200 messages`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
}

/** The prefix of the paths of a world on the control port. */
export function prefixOf(worldId: string): string {
  return worldId === 'default' ? '' : `/w/${worldId}`;
}

/** From largest to smallest. */
const units = [
  { name: 'd', ms: dayMs },
  { name: 'h', ms: hourMs },
  { name: 'min', ms: minuteMs },
  { name: 's', ms: secondMs },
];

/**
 * `250 ms`, `1.5 s`, `2 min 5 s`, `3 h`, `4 d 2 h`: at most two units, of which zeros are omitted.
 */
export function durationText(ms: number): string {
  if (ms < secondMs) return `${ms} ms`;
  if (ms < minuteMs) return `${Math.round(ms / 10) / 100} s`;
  const largest = units.findIndex((unit) => ms >= unit.ms);
  let remainingMs = ms;
  const parts: string[] = [];
  for (const unit of units.slice(largest, largest + 2)) {
    const count = Math.floor(remainingMs / unit.ms);
    remainingMs -= count * unit.ms;
    if (count > 0) parts.push(`${count} ${unit.name}`);
  }
  return parts.join(' ');
}

/** What happens to a message with this outcome, such as `fails while sending`. */
export function outcomeText(outcome: Reply<'outcomes.get'>['outcomes'][number]): string {
  if (outcome.ends === 'refused') return `is refused: ${outcome.refuse}`;
  if (outcome.ends === 'failed') return `fails while ${outcome.in}`;
  if (outcome.ends === 'stuck') return `stays ${outcome.in}`;
  const { polls = 1 } = outcome;
  return polls === 1 ? 'is delivered' : `is delivered; each step takes ${polls} polls`;
}

/** What a finding says, without the time of its last request, which is beside it. */
export function findingText(what: string): string {
  return what.replace(/ \(request at [^)]*\)$/, '');
}

/** `1st, 3rd`, `22nd`. */
function ordinals(numbers: readonly number[]): string {
  const endings: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd' };
  const rules = new Intl.PluralRules('en', { type: 'ordinal' });
  return numbers.map((number) => `${number}${endings[rules.select(number)] ?? 'th'}`).join(', ');
}

type Fault = Reply<'faults.list'>['faults'][number];

/** What a fault does, such as `reply 3 s late`. */
export function faultWords({ fault }: Pick<Fault, 'fault'>): string {
  if (fault.kind === 'delay') return `delay: the reply is ${durationText(fault.ms)} late`;
  if (fault.kind === 'status') return `status: ${fault.status} in place of the reply`;
  return `${fault.kind.replace('_', ' ')}: ${faultKinds[fault.kind].about}`;
}

/** Which requests a fault strikes, such as `1st send of acme`. */
export function faultSubject(
  { when, match, times }: Pick<Fault, 'when' | 'match' | 'times'>,
  accountName: (id: string) => string,
): string {
  const { endpoint = 'request', account_id: id, to, text, headers = {} } = match;
  let which = `every ${endpoint}`;
  if ('nth' in when) which = `${ordinals(when.nth)} ${endpoint}`;
  else if ('every' in when && when.every > 1) which = `every ${ordinals([when.every])} ${endpoint}`;
  else if ('probability' in when) {
    const percent = Math.round(when.probability * 1e4) / 100;
    which = `${percent} % of ${match.endpoint ?? 'all'} requests`;
  }
  return [
    which,
    id === undefined ? '' : ` of ${accountName(id)}`,
    to === undefined ? '' : ` to ${to}`,
    text === undefined ? '' : ` with “${text}”`,
    ...Object.entries(headers).map(([name, part]) => ` with ${name}: ${part}`),
    times === undefined ? '' : `, at most ${counted(times, 'time')}`,
  ].join('');
}
