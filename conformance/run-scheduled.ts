/**
 * Runs a schedule in real time: starts its items, waits when it says so, and regularly prints what
 * it waits for.
 */
import type { AnyCase } from './case.ts';
import { startRecording } from './recording.ts';
import { Schedule } from './schedule.ts';
import { itemsOf, type RunItem } from './schedule-items.ts';
import type { Target } from './target.ts';

export interface Driver {
  /** Runs a case; if `lack` is given, skips it for that reason. */
  readonly execute: (one: AnyCase, lack?: string) => Promise<void>;
  readonly isStopped: () => boolean;
  readonly say: (line: string) => void;
}

/** The longest time without output. */
const silenceMs = 4_000;

export async function runScheduled(
  cases: readonly AnyCase[],
  missing: ReadonlyMap<AnyCase, string>,
  target: Target,
  driver: Driver,
): Promise<void> {
  const { clock, ledger, startedAt, timeoutMs, signal } = target;
  for (const one of cases) if (missing.has(one)) await driver.execute(one);
  const runnable = cases.filter((one) => !missing.has(one));
  const schedule = new Schedule(itemsOf(runnable, target), ledger, startedAt, timeoutMs);
  const active = new Set<Promise<void>>();
  let spokenAt = clock.now();
  const start = (item: RunItem, lack?: string) => {
    const work = runItem(item, target, driver, lack).finally(() => {
      // A finished case prints its verdict; a recording prints nothing.
      if (item.one !== undefined) spokenAt = clock.now();
      schedule.finished(item);
      active.delete(work);
    });
    active.add(work);
  };
  for (;;) {
    const decision = schedule.next(clock.now());
    if (decision.kind === 'done') break;
    if (decision.kind === 'start') {
      start(decision.item, decision.lack);
      continue;
    }
    if (decision.kind === 'wait' && driver.isStopped()) {
      start(decision.item);
      schedule.drop(decision.item);
      continue;
    }
    const timer = new AbortController();
    const both = AbortSignal.any([timer.signal, signal]);
    const untilSpeech = Math.max(0, spokenAt + silenceMs - clock.now());
    const pause = clock
      .sleep(decision.kind === 'wait' ? Math.min(decision.ms, untilSpeech) : untilSpeech, both)
      .then(
        () => {
          driver.say(progress(target, schedule, decision));
          spokenAt = clock.now();
        },
        () => {},
      );
    await Promise.race([pause, ...active]);
    timer.abort();
  }
  await Promise.all(active);
}

async function runItem(
  item: RunItem,
  target: Target,
  driver: Driver,
  lack: string | undefined,
): Promise<void> {
  if (item.one !== undefined) return driver.execute(item.one, lack);
  if (lack !== undefined || driver.isStopped()) return;
  await Promise.allSettled(
    item.recordings.map((recording) => startRecording(target, recording).result),
  );
}

function progress(
  target: Target,
  schedule: Schedule<RunItem>,
  decision: { readonly kind: string; readonly ms?: number; readonly bucket?: string },
): string {
  const seconds = (ms: number) => Math.max(1, Math.ceil(ms / 1000));
  const left = `${schedule.waiting.length} left`;
  if (decision.kind === 'wait' && decision.bucket !== undefined)
    return `waiting ${seconds(decision.ms ?? 0)} s for the limit of ${decision.bucket} (${left})`;
  const [soonest] = [...target.waits].sort((a, b) => a.until - b.until);
  if (soonest !== undefined)
    return `waiting ${seconds(soonest.until - target.clock.now())} s for ${soonest.what} (${left})`;
  return `running ${schedule.running.map(({ id }) => id).join(', ')} (${left})`;
}
