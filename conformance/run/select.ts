/**
 * Which cases a run has: those that a pattern selects, without those that the target, the flags or
 * the profile rule out.
 */
import { rules } from '#contract/rules.ts';
import { secondMs } from '#contract/time.ts';
import { type Capabilities, type SkipReason, tooLong, whyMissing } from '../target/target.ts';
import { entriesOf, limitOf, sendsIn } from './budget.ts';
import type { AnyCase } from './case.ts';
import type { Recording } from './recording.ts';

/** Selects cases by rule id, assumption, group (`SEND`) or part of a case id; `*` matches all. */
export function select(cases: readonly AnyCase[], patterns: readonly string[]): AnyCase[] {
  return cases.filter(({ id, subject }) => isSelected(id, subject, patterns));
}

/** True if a pattern selects the case with this id and this rule or assumption, or if none is given. */
export function isSelected(id: string, subject: string, patterns: readonly string[]): boolean {
  const [lowerId, lowerSubject] = [id.toLowerCase(), subject.toLowerCase()];
  return (
    patterns.length === 0 ||
    patterns.some((pattern) => matches(lowerId, lowerSubject, pattern.toLowerCase()))
  );
}

/** The groups of rule ids, such as `send`. */
const groups = new Set(rules.map(({ id }) => id.replace(/-\d+$/, '').toLowerCase()));

function matches(id: string, subject: string, pattern: string): boolean {
  if (pattern.includes('*')) {
    const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    const glob = new RegExp(`^${parts.join('.*')}$`);
    return glob.test(id) || glob.test(subject);
  }
  if (/^[a-z]+-\d+$/.test(pattern)) return subject === pattern;
  if (groups.has(pattern)) return subject.startsWith(`${pattern}-`);
  return subject === pattern || id.includes(pattern);
}

export const profiles = ['readonly', 'budget', 'full'] as const;
export type Profile = (typeof profiles)[number];

interface MostSends {
  readonly ofCase: number;
  /** As planned, for the whole run. */
  readonly ofRun: number;
  /** With those that the run repeats, because a reply was lost or the machine was late. */
  readonly inAll: number;
}

const unlimited = Number.POSITIVE_INFINITY;

/** The most sends of each profile. */
export const mostSends: Readonly<Record<Profile, MostSends>> = {
  readonly: { ofCase: 0, ofRun: 0, inAll: 0 },
  budget: { ofCase: 10, ofRun: 55, inAll: 59 },
  full: { ofCase: unlimited, ofRun: unlimited, inAll: unlimited },
};

/** The cases that this target cannot run, or that exceed the profile, each with the reason. */
export function casesToSkip(
  cases: readonly AnyCase[],
  capabilities: Capabilities,
  profile: Profile,
): Map<AnyCase, SkipReason> {
  const reasons = new Map<AnyCase, SkipReason>();
  for (const each of cases) {
    const reason = whySkipped(each, capabilities, profile);
    if (reason !== undefined) reasons.set(each, reason);
  }
  const { ofRun } = mostSends[profile];
  const chosen = new Set<Recording>();
  let spent = 0;
  for (const each of inOrderOfValue(cases.filter((one) => !reasons.has(one)))) {
    const cost = sendsOf(each, chosen);
    if (spent + cost > ofRun) {
      const reason = `exceeds the ${ofRun} sends that --profile ${profile} allows in all`;
      reasons.set(each, { reason });
      continue;
    }
    spent += cost;
    for (const recording of each.recordings ?? []) chosen.add(recording);
  }
  return reasons;
}

/** Sorts the cheapest case of each rule first, then the other cases, then observations. */
function inOrderOfValue(cases: readonly AnyCase[]): AnyCase[] {
  const seen = new Set<string>();
  const cheapest: AnyCase[] = [];
  const others: AnyCase[] = [];
  const observations: AnyCase[] = [];
  for (const each of cases.toSorted((a, b) => sendsOf(a) - sendsOf(b))) {
    if ('run' in each) observations.push(each);
    else if (seen.has(each.subject)) others.push(each);
    else cheapest.push(each);
    seen.add(each.subject);
  }
  return [...cheapest, ...others, ...observations];
}

/** The sends of a case and its recordings, except those that an earlier case has chosen. */
function sendsOf(
  { spends, recordings = [] }: AnyCase,
  chosen: ReadonlySet<Recording> = new Set(),
): number {
  const added = recordings.filter((recording) => !chosen.has(recording));
  return added.reduce((sum, recording) => sum + sendsIn(recording.spends), sendsIn(spends));
}

/** Why this target cannot run the case, whatever the other cases cost; undefined if it can. */
function whySkipped(
  anyCase: AnyCase,
  capabilities: Capabilities,
  profile: Profile,
): SkipReason | undefined {
  const sends = sendsOf(anyCase);
  if (sends > mostSends[profile].ofCase)
    return { reason: `costs ${sends} sends, more than --profile ${profile} allows` };
  const { needs, spends, recordings = [] } = anyCase;
  const missing = needs.flatMap((need) => whyMissing(capabilities, need) ?? []);
  if (missing.length > 0) return { reason: `needs ${[...new Set(missing)].join(', ')}` };
  if (capabilities.hasControl) return undefined;
  const waits = [anyCase, ...recordings].map(({ waitSeconds = 0 }) => waitSeconds);
  const longestSeconds = Math.max(...waits);
  if (longestSeconds * secondMs > capabilities.timeoutMs)
    return { reason: `needs ${tooLong(`a wait of ${longestSeconds} s`)}`, isOutOfTime: true };
  const [bucket, count] = entriesOf(spends).find(([name, n]) => n > limitOf(name)) ?? [];
  return bucket === undefined
    ? undefined
    : { reason: `needs ${count} requests to ${bucket} within a minute` };
}
