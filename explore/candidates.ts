/**
 * The schedules to try next. A search adds one more fault to the schedule of each run, at a point
 * that the run reached. It skips and counts a schedule if its run cannot differ from an earlier one:
 * because a run without one of its faults never reached the point of that fault, or because its
 * last fault has the same effect on client and service as another fault. A failure is shrunk by
 * simpler schedules.
 */
import { type FaultName, faultNames, type Point, type Schedule } from '#contract/fault-schedule.ts';
import { Rng } from '#src/sim/random.ts';
import { equalFault, faultsAt, pointKey, scheduleKey } from './schedule.ts';
import type { RunIndex } from './search-runs.ts';
import type { Run } from './verdict.ts';

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

/**
 * The smallest schedule that still fails. `fails`: true if a schedule fails for the same cause.
 * `tried`: the keys of schedules that need no other run.
 */
export async function shrink(
  schedule: Schedule,
  faults: readonly FaultName[],
  fails: (schedule: Schedule) => Promise<boolean>,
  tried = new Set([scheduleKey(schedule)]),
): Promise<Schedule> {
  for (const simpler of simplerSchedules(schedule, faults)) {
    const key = scheduleKey(simpler);
    if (simpler.length === 0 || tried.has(key)) continue;
    tried.add(key);
    if (await fails(simpler)) return shrink(simpler, faults, fails, tried);
  }
  return schedule;
}

/**
 * The simpler schedules, in the order to try them: without one of the faults, also without the
 * attempt that the fault causes, and with a weaker fault, the weakest first.
 */
export function simplerSchedules(schedule: Schedule, faults: readonly FaultName[]): Schedule[] {
  const weaker = schedule.flatMap(({ at, fault }, index) =>
    faultsAt(at.endpoint, faultNames.slice(0, faultNames.indexOf(fault)))
      .filter((name) => faults.includes(name))
      .map((name) => schedule.with(index, { at, fault: name })),
  );
  const withoutFault = schedule.map((_, dropped) => schedule.toSpliced(dropped, 1));
  const withoutFaultAndAttempt = schedule.map((_, dropped) => withoutAttempt(schedule, dropped));
  return [...withoutFault, ...withoutFaultAndAttempt, ...weaker];
}

/**
 * The schedule without one fault and the attempt that it causes: the client then makes one attempt
 * less, so faults at later attempts of the intent move to the attempt before.
 */
function withoutAttempt(schedule: Schedule, dropped: number): Schedule {
  const droppedAt = schedule[dropped]?.at;
  return schedule
    .filter((_, index) => index !== dropped)
    .map(({ at, fault }) => {
      const isLater =
        at.endpoint === droppedAt?.endpoint &&
        at.intent === droppedAt.intent &&
        at.attempt > droppedAt.attempt;
      return { at: isLater ? { ...at, attempt: at.attempt - 1 } : at, fault };
    });
}
