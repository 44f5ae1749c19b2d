/**
 * The schedules to try next: the schedule of each run plus one more fault at a point that the run
 * reached. A schedule is skipped, and counted, if its run cannot differ from an earlier one:
 * because a run without one of its faults never reached the point of that fault, or because its
 * last fault has the same effect on client and service as another fault.
 */
import type { FaultName, Point, Schedule } from '#contract/fault-schedule.ts';
import { Rng } from '#src/sim/random.ts';
import { equalFault, faultsAt, pointKey, scheduleKey } from './schedule.ts';
import type { Run } from './verdict.ts';

/** The last run of each schedule, with all points that any run of the schedule reached. */
export class RunIndex {
  readonly #runs = new Map<string, Run>();
  /** The key of the schedule that was run, by the key of the skipped schedule that equals it. */
  readonly #equalKeys = new Map<string, string>();

  add(run: Run): void {
    const key = scheduleKey(run.schedule);
    const earlier = this.#runs.get(key)?.trace ?? [];
    const trace = [...run.trace, ...earlier.filter((point) => !reaches(run, point))];
    // The exchanges of a passed run are never read again, so they are not kept.
    this.#runs.set(key, { ...run, trace, seen: run.failures.length > 0 ? run.seen : [] });
  }

  /** The run of the schedule, or of the one that it equals. */
  get(schedule: Schedule): Run | undefined {
    const key = scheduleKey(schedule);
    return this.#runs.get(this.#equalKeys.get(key) ?? key);
  }

  /** Notes that the schedule is not run, because `equal` was. */
  skip(schedule: Schedule, equal: Schedule): void {
    const key = scheduleKey(equal);
    this.#equalKeys.set(scheduleKey(schedule), this.#equalKeys.get(key) ?? key);
  }

  /** The schedule without a fault that its run never reaches; undefined if all may be reached. */
  equalOf(schedule: Schedule): Schedule | undefined {
    for (const [dropped, { at }] of schedule.entries()) {
      const others = schedule.filter((_, index) => index !== dropped);
      const run = this.get(others);
      if (run !== undefined && !reaches(run, at)) return others;
    }
    return undefined;
  }
}

function reaches({ trace }: Run, at: Point): boolean {
  const key = pointKey(at);
  return trace.some((point) => pointKey(point) === key);
}

/**
 * The schedules with one more fault than those of `runs`, and how many were skipped. Adds the
 * skipped ones to the index.
 */
export function candidatesAfter(
  runs: readonly Run[],
  faults: readonly FaultName[],
  index: RunIndex,
): { readonly schedules: Schedule[]; readonly skipped: number } {
  const schedules = new Map<string, Schedule>();
  const skipped = new Set<string>();
  // One more fault of each kind at each point that each run reached.
  const extensions = runs.flatMap((run) =>
    pointsOf(run).flatMap((at) =>
      faultsAt(at.endpoint, faults).map((fault) => ({ run, at, fault })),
    ),
  );
  for (const { run, at, fault } of extensions) {
    const schedule = [...run.schedule, { at, fault }];
    const key = scheduleKey(schedule);
    if (schedules.has(key) || skipped.has(key)) continue;
    const other = equalFault(at.endpoint, fault, faults);
    const equal =
      other === undefined ? index.equalOf(schedule) : [...run.schedule, { at, fault: other }];
    if (equal === undefined) schedules.set(key, schedule);
    else {
      index.skip(schedule, equal);
      skipped.add(key);
    }
  }
  return { schedules: [...schedules.values()], skipped: skipped.size };
}

/** The points for one more fault: first the other attempts at the intent of the last fault. */
function pointsOf({ schedule, trace }: Run): Point[] {
  const taken = new Set(schedule.map(({ at }) => pointKey(at)));
  const last = schedule.at(-1)?.at;
  const isSameIntent = ({ endpoint, intent }: Point) =>
    endpoint === last?.endpoint && intent === last.intent;
  const free = trace.filter((point) => !taken.has(pointKey(point)));
  return [...free.filter(isSameIntent), ...free.filter((point) => !isSameIntent(point))];
}

/** The schedules in random order, so that a budget for only some of them covers all kinds. */
export function shuffled(schedules: readonly Schedule[], seed: number): Schedule[] {
  const rng = Rng.stream(seed, 'explore');
  const order = [...schedules];
  for (let index = order.length - 1; index > 0; index--) {
    const other = rng.below(index + 1);
    const [a, b] = [order[index], order[other]];
    if (a !== undefined && b !== undefined) [order[index], order[other]] = [b, a];
  }
  return order;
}
