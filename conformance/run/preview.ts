/**
 * What is printed instead of a run, before any request: the selected cases (`--list`), and what a
 * run of them would cost in sends and time (`--dry-run`).
 */
import { rules } from '#contract/rules.ts';
import { secondMs } from '#contract/time.ts';
import { grouped } from '#io/grouped.ts';
import { counted } from '#io/terminal.ts';
import type { Capabilities, SkipReason } from '../target/target.ts';
import { BucketLedger, entriesOf, sendsIn } from './budget.ts';
import type { AnyCase } from './case.ts';
import { type Item, itemsOf } from './items.ts';
import { Schedule } from './order.ts';
import { casesToSkip, type Profile } from './select.ts';

/** The text of `--list`: a line for each case. */
export function listing(cases: readonly AnyCase[]): string {
  const lines = cases.map(({ id, sends, needs }) => {
    const needed = needs.length === 0 ? '' : `  (needs ${needs.join(', ')})`;
    return `${id}  ${sends}${needed}\n`;
  });
  return lines.join('');
}

/** The text of `--dry-run`. Refused sends count as sends: a target might accept them. */
export function dryRun(
  cases: readonly AnyCase[],
  capabilities: Capabilities,
  profile: Profile,
): string {
  const skipped = casesToSkip(cases, capabilities, profile);
  const runnable = cases.filter((each) => !skipped.has(each));
  const estimate = capabilities.hasControl
    ? estimateWithControl(runnable)
    : estimateBySchedule(runnable, capabilities);
  for (const [each, reason] of estimate.tooSlow) skipped.set(each, reason);
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
  lines.push(...skippedLines(skipped));
  const untested = untestedRules(cases, skipped);
  if (untested.length > 0)
    lines.push(`Not tested: ${counted(untested.length, 'rule')}: ${untested.join(', ')}`);
  return `${lines.join('\n')}\n`;
}

/** A line for each reason, the most common first. */
function skippedLines(skipped: ReadonlyMap<AnyCase, SkipReason>): string[] {
  // Reasons that differ only in their number of sends share a line.
  const reasons = grouped([...skipped], ([, { reason }]) =>
    reason.replace(/^costs \d+ sends, more/, 'costs more sends'),
  );
  return [...reasons]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([reason, alike]) => `Skipped: ${counted(alike.length, 'case')}: ${reason}`);
}

/** The rules of which every selected case is skipped. */
function untestedRules(cases: readonly AnyCase[], skipped: ReadonlyMap<AnyCase, SkipReason>) {
  const casesOf = grouped(cases, ({ subject }) => subject);
  return rules
    .map(({ id }) => id)
    .filter((id) => casesOf.get(id)?.every((each) => skipped.has(each)));
}

interface Estimate {
  readonly sends: number;
  /** The number of 429s. */
  readonly throttled: number;
  readonly seconds: number;
  /** Cases that would wait longer than the flags allow, each with the reason. */
  readonly tooSlow: ReadonlyMap<AnyCase, SkipReason>;
}

/** Rough figures of a run with a control port, for its estimate. */
const secondsPerRequest = 0.0005;
const requestsPerCase = 20;

/** With a control port the run moves the clock, so only requests take time. */
function estimateWithControl(cases: readonly AnyCase[]): Estimate {
  const sends = cases.reduce((sum, { spends }) => sum + sendsIn(spends), 0);
  const throttled = cases.reduce((sum, each) => sum + (each.throttled ?? 0), 0);
  const seconds = (sends + cases.length * requestsPerCase) * secondsPerRequest;
  return { sends, throttled, seconds, tooSlow: new Map() };
}

/** Without a control port: plays the schedule through with a clock of its own, and sends nothing. */
function estimateBySchedule(cases: readonly AnyCase[], capabilities: Capabilities): Estimate {
  const ledger = new BucketLedger();
  const schedule = new Schedule(itemsOf(cases, capabilities), ledger, 0, capabilities.timeoutMs);
  const tooSlow = new Map<AnyCase, SkipReason>();
  const running: { readonly item: Item; readonly untilMs: number }[] = [];
  let sends = 0;
  let throttled = 0;
  let nowMs = 0;
  const start = (item: Item) => {
    for (const [bucket, count] of entriesOf(item.spends))
      for (let i = 0; i < count; i += 1) ledger.note(bucket, nowMs, { isSuccess: true });
    running.push({ item, untilMs: nowMs + item.seconds * secondMs });
    sends += sendsIn((item.case ?? item).spends);
    throttled += item.throttled;
  };
  const finishNext = () => {
    running.sort((a, b) => a.untilMs - b.untilMs);
    const next = running.shift();
    if (next === undefined) return;
    nowMs = Math.max(nowMs, next.untilMs);
    schedule.finished(next.item);
  };
  for (;;) {
    const decision = schedule.next(nowMs);
    if (decision.kind === 'done') return { sends, throttled, seconds: nowMs / secondMs, tooSlow };
    if (decision.kind === 'busy') {
      finishNext();
    } else if (decision.kind === 'wait') {
      const nextEndMs = Math.min(...running.map(({ untilMs }) => untilMs));
      if (nextEndMs <= nowMs + decision.ms) finishNext();
      else nowMs += decision.ms;
    } else if (decision.skip !== undefined) {
      if (decision.item.case !== undefined) tooSlow.set(decision.item.case, decision.skip);
      schedule.finished(decision.item);
    } else {
      start(decision.item);
    }
  }
}
