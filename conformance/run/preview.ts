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
    : new PlayedRun(runnable, capabilities).play();
  for (const [each, reason] of estimate.tooSlow) skipped.set(each, reason);
  const { maxSends } = capabilities;
  const minutes = estimate.seconds / 60;
  const lines = [
    `Cases: ${cases.length - skipped.size} of ${cases.length} (profile ${profile})`,
    `Sends: ${sendsText(estimate, maxSends)}`,
    `429s: about ${estimate.throttled}`,
    `Minutes: about ${minutes < 0.1 ? '0.1' : minutes.toFixed(1)}`,
    ...skippedLines(skipped),
  ];
  const untested = untestedRules(cases, skipped);
  if (untested.length > 0)
    lines.push(`Not tested: ${counted(untested.length, 'rule')}: ${untested.join(', ')}`);
  return `${lines.join('\n')}\n`;
}

function sendsText({ sends }: Estimate, maxSends: number | undefined): string {
  if (maxSends === undefined) return `about ${sends}`;
  return `about ${Math.min(sends, maxSends)} (--max-sends ${maxSends})`;
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

/** A run without a control port, played with a clock of its own: nothing is sent. */
class PlayedRun {
  readonly #ledger = new BucketLedger();
  readonly #schedule: Schedule;
  readonly #running: { readonly item: Item; readonly untilMs: number }[] = [];
  #nowMs = 0;
  #sends = 0;
  #throttled = 0;
  readonly #tooSlow = new Map<AnyCase, SkipReason>();

  constructor(cases: readonly AnyCase[], capabilities: Capabilities) {
    const items = itemsOf(cases, capabilities);
    this.#schedule = new Schedule(items, this.#ledger, this.#nowMs, capabilities.timeoutMs);
  }

  play(): Estimate {
    for (;;) {
      const decision = this.#schedule.next(this.#nowMs);
      if (decision.kind === 'done') return this.#estimate();
      if (decision.kind === 'busy') this.#finishNext();
      else if (decision.kind === 'wait') this.#wait(decision.ms);
      else if (decision.skip === undefined) this.#start(decision.item);
      else this.#skip(decision.item, decision.skip);
    }
  }

  #estimate(): Estimate {
    const seconds = this.#nowMs / secondMs;
    return { sends: this.#sends, throttled: this.#throttled, seconds, tooSlow: this.#tooSlow };
  }

  #start(item: Item): void {
    for (const [bucket, count] of entriesOf(item.spends)) {
      for (let i = 0; i < count; i += 1)
        this.#ledger.note(bucket, this.#nowMs, { isSuccess: true });
    }
    this.#running.push({ item, untilMs: this.#nowMs + item.seconds * secondMs });
    this.#sends += sendsIn((item.case ?? item).spends);
    this.#throttled += item.throttled;
  }

  #skip(item: Item, reason: SkipReason): void {
    if (item.case !== undefined) this.#tooSlow.set(item.case, reason);
    this.#schedule.finished(item);
  }

  /** Waits, but not beyond the end of a running item: the schedule may then decide otherwise. */
  #wait(ms: number): void {
    const nextEndMs = Math.min(...this.#running.map(({ untilMs }) => untilMs));
    if (nextEndMs <= this.#nowMs + ms) this.#finishNext();
    else this.#nowMs += ms;
  }

  #finishNext(): void {
    this.#running.sort((a, b) => a.untilMs - b.untilMs);
    const next = this.#running.shift();
    if (next === undefined) return;
    this.#nowMs = Math.max(this.#nowMs, next.untilMs);
    this.#schedule.finished(next.item);
  }
}
