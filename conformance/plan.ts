/**
 * Before any request: which cases the flags allow, and what they cost in sends and time.
 */

import { rules } from '../src/ledger/rules.ts';
import { BucketLedger, entriesOf, limitOf, sendsIn } from './buckets.ts';
import type { AnyCase } from './case.ts';
import type { Recording } from './recording.ts';
import { Schedule } from './schedule.ts';
import { itemsOf, type RunItem } from './schedule-items.ts';
import { lacks, longerThanAllowed, type Means, type Profile } from './target.ts';

/** The most sends of one case and of a whole run, for each profile. */
const most: Readonly<Record<Profile, { readonly each: number; readonly inAll: number }>> = {
  readonly: { each: 0, inAll: 0 },
  budget: { each: 10, inAll: 59 },
  full: { each: Number.POSITIVE_INFINITY, inAll: Number.POSITIVE_INFINITY },
};

export function listing(cases: readonly AnyCase[]): string {
  const lines = cases.map((one) => {
    const needs = one.needs.length === 0 ? '' : `  (needs ${one.needs.join(', ')})`;
    return `${one.id}  ${one.sends}${needs}\n`;
  });
  return lines.join('');
}

/** Why cases are skipped on this target. */
export function unaffordable(
  cases: readonly AnyCase[],
  means: Means,
  profile: Profile,
): Map<AnyCase, string> {
  const reasons = new Map<AnyCase, string>();
  for (const one of cases) {
    const reason = whatIsMissing(one, means, profile);
    if (reason !== undefined) reasons.set(one, reason);
  }
  const { inAll } = most[profile];
  const chosen = new Set<Recording>();
  let spent = 0;
  for (const one of byWorth(cases.filter((each) => !reasons.has(each)))) {
    const cost = sendsOf(one, chosen);
    if (spent + cost > inAll) {
      reasons.set(one, `exceeds the ${inAll} sends that --profile ${profile} allows in all`);
      continue;
    }
    spent += cost;
    for (const recording of one.recordings ?? []) chosen.add(recording);
  }
  return reasons;
}

/** Sorts the cheapest case of each rule first, then the other cases, then observations. */
function byWorth(cases: readonly AnyCase[]): AnyCase[] {
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

/** The sends of a case, plus those of recordings that it is the first to judge. */
function sendsOf(one: AnyCase, made: ReadonlySet<Recording> = new Set()): number {
  const recordings = (one.recordings ?? []).filter((recording) => !made.has(recording));
  return recordings.reduce((sum, { spends }) => sum + sendsIn(spends), sendsIn(one.spends));
}

function whatIsMissing(one: AnyCase, means: Means, profile: Profile): string | undefined {
  const sends = sendsOf(one);
  if (sends > most[profile].each)
    return `costs ${sends} sends, more than --profile ${profile} allows`;
  const missing = one.needs.map((need) => lacks(means, need)).filter((lack) => lack !== undefined);
  if (missing.length > 0) return `needs ${[...new Set(missing)].join(', ')}`;
  if (means.hasControl) return undefined;
  const waits = Math.max(...[one, ...(one.recordings ?? [])].map(({ waits: each = 0 }) => each));
  if (waits * 1000 > means.timeoutMs) return `needs a wait of ${waits} s, ${longerThanAllowed}`;
  const [bucket, count] = entriesOf(one.spends).find(([name, n]) => n > limitOf(name)) ?? [];
  return bucket === undefined ? undefined : `needs ${count} requests to ${bucket} within a minute`;
}

interface Estimate {
  readonly sends: number;
  readonly throttled: number;
  readonly seconds: number;
}

/** The costs of a run. Refused sends count as sends: a target might accept them. */
export function dryRun(cases: readonly AnyCase[], means: Means, profile: Profile): string {
  const reasons = new Map(unaffordable(cases, means, profile));
  const found = means.hasControl
    ? withControl(cases.filter((one) => !reasons.has(one)))
    : simulateSchedule(cases, reasons, means);
  const capped = means.maxSends === undefined ? '' : ` (--max-sends ${means.maxSends})`;
  const minutes = found.seconds / 60;
  const lines = [
    `Cases: ${cases.length - reasons.size} of ${cases.length} (profile ${profile})`,
    `Sends: about ${Math.min(found.sends, means.maxSends ?? found.sends)}${capped}`,
    `429s: about ${found.throttled}`,
    `Minutes: about ${minutes < 0.1 ? '0.1' : minutes.toFixed(1)}`,
  ];
  for (const one of cases) {
    const reason = reasons.get(one);
    if (reason !== undefined) lines.push(`Skipped: ${one.id}: ${reason}`);
  }
  return `${lines.join('\n')}\n`;
}

/** With a control port, time is moved, and the target is near. */
const secondsPerRequest = 0.0005;

function withControl(cases: readonly AnyCase[]): Estimate {
  const sum = (cost: (one: AnyCase) => number | undefined) =>
    cases.reduce((total, one) => total + (cost(one) ?? 0), 0);
  const sends = sum((one) => sendsIn(one.spends));
  return {
    sends,
    throttled: sum((one) => one.throttled),
    seconds: (sends + cases.length * 20) * secondsPerRequest,
  };
}

/** Without a control port: a run of the schedule that sends nothing. Adds what would wait too long to `skipped`. */
function simulateSchedule(
  cases: readonly AnyCase[],
  skipped: Map<AnyCase, string>,
  means: Means,
): Estimate {
  const ledger = new BucketLedger();
  const runnable = cases.filter((one) => !skipped.has(one));
  const schedule = new Schedule(itemsOf(runnable, means), ledger, 0, means.timeoutMs);
  const running: { readonly item: RunItem; readonly until: number }[] = [];
  const total = { sends: 0, throttled: 0 };
  let now = 0;
  const untilNext = () => {
    running.sort((a, b) => a.until - b.until);
    const next = running.shift();
    if (next === undefined) return;
    now = Math.max(now, next.until);
    schedule.finished(next.item);
  };
  for (;;) {
    const decision = schedule.next(now);
    if (decision.kind === 'done') return { ...total, seconds: now / 1000 };
    if (decision.kind === 'busy') {
      untilNext();
      continue;
    }
    const { item } = decision;
    if (decision.kind === 'wait') {
      const next = Math.min(...running.map(({ until }) => until));
      if (next <= now + decision.ms) untilNext();
      else now += decision.ms;
    } else if (decision.lack !== undefined) {
      if (item.one !== undefined) skipped.set(item.one, decision.lack);
      schedule.finished(item);
    } else {
      for (const [bucket, count] of entriesOf(item.spends))
        for (let i = 0; i < count; i += 1) ledger.note(bucket, now, true);
      running.push({ item, until: now + item.seconds * 1000 });
      total.sends += sendsIn(item.spends);
      total.throttled += item.throttled;
    }
  }
}

/**
 * Selects cases by rule id, assumption name, group (`SEND`), case id, or a part of it; `*` matches
 * anything.
 */
export function select(cases: readonly AnyCase[], patterns: readonly string[]): AnyCase[] {
  if (patterns.length === 0) return [...cases];
  return cases.filter((one) => isSelected(one.id, one.subject, patterns));
}

export function isSelected(id: string, subject: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    matches(id.toLowerCase(), subject.toLowerCase(), pattern.toLowerCase()),
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
