/**
 * The schedules to try next: those of each run plus one more fault at a point that it reached. A
 * schedule is skipped and counted if it cannot differ from one that was run: the run of its other
 * faults never reaches one of its faults, or its last fault has the same effect on client and
 * service as another fault.
 */
import { Rng } from '../sim/random.ts';
import { equalFault, type FaultName, faultsAt } from './fault-names.ts';
import type { Run } from './run.ts';
import { type Point, pointKey, type Schedule, scheduleKey } from './schedule.ts';

/** The last run of each schedule, with the points that any run of this schedule reached. */
export class RunIndex {
  readonly #runs = new Map<string, Run>();
  /** From each skipped schedule to the equal one that was run. */
  readonly #equal = new Map<string, string>();

  add(run: Run): void {
    const key = scheduleKey(run.schedule);
    const earlier = this.#runs.get(key)?.trace ?? [];
    const trace = [...run.trace, ...earlier.filter((point) => !reaches(run, point))];
    // The exchanges of a passed run are never read again, so they are not kept.
    this.#runs.set(key, { ...run, trace, seen: run.failures.length > 0 ? run.seen : [] });
  }

  get(schedule: Schedule): Run | undefined {
    const key = scheduleKey(schedule);
    return this.#runs.get(this.#equal.get(key) ?? key);
  }

  skip(schedule: Schedule, equal: Schedule): void {
    const key = scheduleKey(equal);
    this.#equal.set(scheduleKey(schedule), this.#equal.get(key) ?? key);
  }

  /** The schedule without a fault that its run never reaches; undefined if all may be reached. */
  equalOf(schedule: Schedule): Schedule | undefined {
    for (const [dropped, { at }] of schedule.entries()) {
      const rest = schedule.filter((_, place) => place !== dropped);
      const run = this.get(rest);
      if (run !== undefined && !reaches(run, at)) return rest;
    }
    return undefined;
  }
}

function reaches({ trace }: Run, at: Point): boolean {
  const key = pointKey(at);
  return trace.some((point) => pointKey(point) === key);
}

export interface Candidates {
  readonly schedules: readonly Schedule[];
  readonly skipped: number;
}

/** `runs` have schedules of the same size. Adds the skipped schedules to the index. */
export function candidatesAfter(
  runs: readonly Run[],
  faults: readonly FaultName[],
  index: RunIndex,
): Candidates {
  const schedules = new Map<string, Schedule>();
  const skipped = new Set<string>();
  for (const run of runs) {
    for (const at of pointsOf(run)) {
      for (const fault of faultsAt(at.endpoint, faults)) {
        const schedule = [...run.schedule, { at, fault }];
        const key = scheduleKey(schedule);
        if (schedules.has(key) || skipped.has(key)) continue;
        const twin = equalFault(at.endpoint, fault, faults);
        const equal =
          twin === undefined ? index.equalOf(schedule) : [...run.schedule, { at, fault: twin }];
        if (equal === undefined) schedules.set(key, schedule);
        else {
          index.skip(schedule, equal);
          skipped.add(key);
        }
      }
    }
  }
  return { schedules: [...schedules.values()], skipped: skipped.size };
}

/** Where one more fault may strike: first the other attempts at the intent of the last fault. */
function pointsOf({ schedule, trace }: Run): Point[] {
  const hit = new Set(schedule.map(({ at }) => pointKey(at)));
  const last = schedule.at(-1)?.at;
  const isNext = ({ endpoint, intent }: Point) =>
    endpoint === last?.endpoint && intent === last.intent;
  const free = trace.filter((point) => !hit.has(pointKey(point)));
  return [...free.filter(isNext), ...free.filter((point) => !isNext(point))];
}

/** In random order, so that a budget that ends early is spread over all schedules. */
export function shuffled(schedules: readonly Schedule[], seed: number): Schedule[] {
  const rng = Rng.stream(seed, 'explore');
  const order = [...schedules];
  for (let at = order.length - 1; at > 0; at--) {
    const other = rng.below(at + 1);
    const [one, two] = [order[at], order[other]];
    if (one !== undefined && two !== undefined) [order[at], order[other]] = [two, one];
  }
  return order;
}
