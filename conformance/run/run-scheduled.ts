/** Runs cases in real time, by the schedule (`order.ts`), and prints what the run waits for. */
import { secondMs } from '#contract/time.ts';
import type { SkipReason, Target } from '../target/target.ts';
import type { AnyCase } from './case.ts';
import { type Item, itemsOf } from './items.ts';
import { type Decision, Schedule } from './order.ts';
import { startRecording } from './recording.ts';

/** Runs a case; if `skip` is given, skips it for that reason. */
export type Execute = (anyCase: AnyCase, skip?: SkipReason) => Promise<void>;

interface Driver {
  readonly execute: Execute;
  /** True if no more recordings are made; `execute` decides about cases. */
  readonly isStopped: () => boolean;
  readonly print: (line: string) => void;
}

/** The longest time without a line of output. */
const longestSilenceMs = 4_000;

/** Starts the items that the schedule permits. Resolves when every case has been executed. */
export async function runScheduled(
  cases: readonly AnyCase[],
  target: Target,
  driver: Driver,
): Promise<void> {
  const { clock, ledger, startedAt, timeoutMs, signal } = target;
  const schedule = new Schedule(itemsOf(cases, target), ledger, startedAt, timeoutMs);
  const active = new Set<Promise<void>>();
  let printedAt = clock.now();
  const start = (item: Item, skip?: SkipReason) => {
    const work = runItem(item, target, driver, skip).finally(() => {
      // A finished case prints its verdict; a recording prints nothing.
      if (item.case !== undefined) printedAt = clock.now();
      schedule.finished(item);
      active.delete(work);
    });
    active.add(work);
  };
  /** Waits until an item ends or, if none does in time, prints what the run waits for. */
  const pause = async (decision: Decision) => {
    const itemEnded = new AbortController();
    const untilPrintMs = Math.max(0, printedAt + longestSilenceMs - clock.now());
    const pauseMs = decision.kind === 'wait' ? Math.min(decision.ms, untilPrintMs) : untilPrintMs;
    const printAfterSilence = clock
      .sleep(pauseMs, AbortSignal.any([itemEnded.signal, signal]))
      .then(
        () => {
          driver.print(progress(target, schedule, decision));
          printedAt = clock.now();
        },
        // Aborted: an item or the run has ended, so nothing is printed.
        () => {},
      );
    await Promise.race([printAfterSilence, ...active]);
    itemEnded.abort();
  };
  while (!driver.isStopped()) {
    const decision = schedule.next(clock.now());
    if (decision.kind === 'done') break;
    if (decision.kind === 'start') start(decision.item, decision.skip);
    else await pause(decision);
  }
  await Promise.all(active);
  // A stopped run waits for no limit: each case that is left is reported as not run.
  for (const item of schedule.waiting) await runItem(item, target, driver, undefined);
}

async function runItem(
  item: Item,
  target: Target,
  driver: Driver,
  skip: SkipReason | undefined,
): Promise<void> {
  if (item.case !== undefined) return driver.execute(item.case, skip);
  if (skip !== undefined || driver.isStopped()) return;
  await Promise.allSettled(
    item.recordings.map((recording) => startRecording(target, recording).result),
  );
}

/** A line that says what the run waits for or, if it does not wait, what it runs. */
function progress(target: Target, schedule: Schedule, decision: Decision): string {
  const seconds = (ms: number) => Math.max(1, Math.ceil(ms / secondMs));
  const left = `${schedule.waiting.length} left`;
  if (decision.kind === 'wait' && decision.bucket !== undefined)
    return `waiting ${seconds(decision.ms)} s for the limit of ${decision.bucket} (${left})`;
  const [soonest] = [...target.waits].sort((a, b) => a.until - b.until);
  if (soonest !== undefined)
    return `waiting ${seconds(soonest.until - target.clock.now())} s for ${soonest.what} (${left})`;
  return `running ${schedule.running.map(({ id }) => id).join(', ')} (${left})`;
}
