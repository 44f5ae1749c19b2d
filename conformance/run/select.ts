/**
 * What is known before any request: which cases a pattern selects, which of them the flags allow,
 * and what a run costs in sends and time (`--list`, `--dry-run`, `--profile`).
 */
import { rules } from '#contract/rules.ts';
import { secondMs } from '#contract/time.ts';
import { grouped } from '#io/grouped.ts';
import { counted } from '#io/terminal.ts';
import {
  type Capabilities,
  type Profile,
  type SkipReason,
  tooLong,
  whyMissing,
} from '../target/target.ts';
import { BucketLedger, entriesOf, limitOf, sendsIn } from './budget.ts';
import type { AnyCase } from './case.ts';
import { type Item, itemsOf } from './items.ts';
import { Schedule } from './order.ts';
import type { Recording } from './recording.ts';

/** Selects cases by rule id, assumption, group (`SEND`) or part of a case id; `*` matches all. */
export function select(cases: readonly AnyCase[], patterns: readonly string[]): AnyCase[] {
  if (patterns.length === 0) return [...cases];
  return cases.filter(({ id, subject }) => isSelected(id, subject, patterns));
}

/** True if a pattern selects the case with this id and this rule or assumption. */
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

/** The text of `--list`: a line for each case. */
export function listing(cases: readonly AnyCase[]): string {
  const lines = cases.map(({ id, sends, needs }) => {
    const needed = needs.length === 0 ? '' : `  (needs ${needs.join(', ')})`;
    return `${id}  ${sends}${needed}\n`;
  });
  return lines.join('');
}

/** The most sends of one case and of a whole run, for each profile. */
const mostSends: Readonly<Record<Profile, { readonly ofCase: number; readonly ofRun: number }>> = {
  readonly: { ofCase: 0, ofRun: 0 },
  budget: { ofCase: 10, ofRun: 55 },
  full: { ofCase: Number.POSITIVE_INFINITY, ofRun: Number.POSITIVE_INFINITY },
};

/** The cases that are skipped on this target, each with the reason. */
export function unaffordable(
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

interface Estimate {
  readonly sends: number;
  /** The number of 429s. */
  readonly throttled: number;
  readonly seconds: number;
  /** Cases that would wait longer than the flags allow, each with the reason. */
  readonly late?: ReadonlyMap<AnyCase, SkipReason>;
}

/** The text of `--dry-run`. Refused sends count as sends: a target might accept them. */
export function dryRun(
  cases: readonly AnyCase[],
  capabilities: Capabilities,
  profile: Profile,
): string {
  const skipped = unaffordable(cases, capabilities, profile);
  const runnable = cases.filter((each) => !skipped.has(each));
  const { late = new Map(), ...estimate } = capabilities.hasControl
    ? withControl(runnable)
    : withoutControl(runnable, capabilities);
  for (const [each, reason] of late) skipped.set(each, reason);
  const { maxSends = estimate.sends } = capabilities;
  const capped =
    capabilities.maxSends === undefined ? '' : ` (--max-sends ${capabilities.maxSends})`;
  const minutes = estimate.seconds / 60;
  const lines = [
    `Cases: ${cases.length - skipped.size} of ${cases.length} (profile ${profile})`,
    `Sends: about ${Math.min(estimate.sends, maxSends)}${capped}`,
    `429s: about ${estimate.throttled}`,
    `Minutes: about ${minutes < 0.1 ? '0.1' : minutes.toFixed(1)}`,
  ];
  // Reasons that differ only in their number of sends share a line.
  const reasons = grouped([...skipped], ([, { reason }]) =>
    reason.replace(/^costs \d+ sends, more/, 'costs more sends'),
  );
  for (const [reason, alike] of [...reasons].sort(([, a], [, b]) => b.length - a.length))
    lines.push(`Skipped: ${counted(alike.length, 'case')}: ${reason}`);
  const ofSubject = grouped(cases, ({ subject }) => subject);
  const open = rules
    .map(({ id }) => id)
    .filter((id) => ofSubject.get(id)?.every((each) => skipped.has(each)));
  if (open.length > 0)
    lines.push(`Not tested: ${counted(open.length, 'rule')}: ${open.join(', ')}`);
  return `${lines.join('\n')}\n`;
}

/** Rough figures of a run with a control port, for its estimate. */
const secondsPerRequest = 0.0005;
const requestsPerCase = 20;

/** With a control port the run moves the clock, so only requests take time. */
function withControl(cases: readonly AnyCase[]): Estimate {
  const sends = cases.reduce((sum, { spends }) => sum + sendsIn(spends), 0);
  const throttled = cases.reduce((sum, each) => sum + (each.throttled ?? 0), 0);
  const seconds = (sends + cases.length * requestsPerCase) * secondsPerRequest;
  return { sends, throttled, seconds };
}

/** Without a control port: plays the schedule through with a clock of its own, and sends nothing. */
function withoutControl(cases: readonly AnyCase[], capabilities: Capabilities): Estimate {
  const ledger = new BucketLedger();
  const schedule = new Schedule(itemsOf(cases, capabilities), ledger, 0, capabilities.timeoutMs);
  const late = new Map<AnyCase, SkipReason>();
  const running: { readonly item: Item; readonly untilMs: number }[] = [];
  let sends = 0;
  let throttled = 0;
  let nowMs = 0;
  const finishNext = () => {
    running.sort((a, b) => a.untilMs - b.untilMs);
    const next = running.shift();
    if (next === undefined) return;
    nowMs = Math.max(nowMs, next.untilMs);
    schedule.finished(next.item);
  };
  for (;;) {
    const decision = schedule.next(nowMs);
    if (decision.kind === 'done') return { sends, throttled, seconds: nowMs / secondMs, late };
    if (decision.kind === 'busy') {
      finishNext();
    } else if (decision.kind === 'wait') {
      const nextEndMs = Math.min(...running.map(({ untilMs }) => untilMs));
      if (nextEndMs <= nowMs + decision.ms) finishNext();
      else nowMs += decision.ms;
    } else if (decision.skip !== undefined) {
      if (decision.item.case !== undefined) late.set(decision.item.case, decision.skip);
      schedule.finished(decision.item);
    } else {
      const { item } = decision;
      for (const [bucket, count] of entriesOf(item.spends))
        for (let i = 0; i < count; i += 1) ledger.note(bucket, nowMs, { isSuccess: true });
      running.push({ item, untilMs: nowMs + item.seconds * secondMs });
      sends += sendsIn(item.spends);
      throttled += item.throttled;
    }
  }
}
