/** What a run would do and cost, told before anything is asked of the target. */
import { type AnyCase, idOf } from './case.ts';
import { type Means, type Profile, whatIsMissing } from './target.ts';

export function listing(cases: readonly AnyCase[]): string {
  const lines = cases.map((one) => {
    const needs = one.needs.length === 0 ? '' : `  (needs ${one.needs.join(', ')})`;
    return `${idOf(one)}  ${one.sends}${needs}\n`;
  });
  return lines.join('');
}

/** The most that a run can cost. Refused sends are counted as sends: a target might accept them. */
export function dryRun(cases: readonly AnyCase[], means: Means, profile: Profile): string {
  const runnable = cases.filter((one) => whatIsMissing(one, means, profile) === undefined);
  const sum = (cost: (one: AnyCase) => number | undefined) =>
    runnable.reduce((total, one) => total + (cost(one) ?? 0), 0);
  const sends = sum((one) => one.cost.sends);
  const waits = means.hasLevers ? 0 : sum((one) => one.cost.waits);
  // Where there are levers, time itself is moved and the target is near.
  const secondsEach = means.hasLevers ? 0.002 : 0.05;
  const minutes = (waits + (sends + runnable.length * 5) * secondsEach) / 60;
  const capped = means.maxSends === undefined ? '' : ` (--max-sends ${means.maxSends})`;
  const lines = [
    `Cases: ${runnable.length} of ${cases.length} (profile ${profile})`,
    `Sends: at most ${Math.min(sends, means.maxSends ?? sends)}${capped}`,
    `429s: about ${sum((one) => one.cost.throttled)}`,
    `Minutes: about ${minutes < 0.1 ? '0.1' : minutes.toFixed(1)}`,
  ];
  for (const one of cases) {
    const missing = whatIsMissing(one, means, profile);
    if (missing !== undefined) lines.push(`Skipped: ${idOf(one)}: ${missing}`);
  }
  return `${lines.join('\n')}\n`;
}
