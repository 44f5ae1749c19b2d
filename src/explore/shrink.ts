/**
 * Shrinks a failing schedule: drops and weakens faults until every one is needed.
 */
import { type FaultName, faultNames, faultsAt } from './fault-names.ts';
import { type Schedule, scheduleKey, withoutOne } from './schedule.ts';

/** `fails` is true for a schedule that fails for the same cause. */
export async function shrink(
  schedule: Schedule,
  faults: readonly FaultName[],
  fails: (schedule: Schedule) => Promise<boolean>,
): Promise<Schedule> {
  const tried = new Set([scheduleKey(schedule)]);
  let smallest = schedule;
  for (;;) {
    const next = await firstOf(simpler(smallest, faults), async (one) => {
      const key = scheduleKey(one);
      if (one.length === 0 || tried.has(key)) return false;
      tried.add(key);
      return fails(one);
    });
    if (next === undefined) return smallest;
    smallest = next;
  }
}

/** First the schedules that lack one fault, then those with a weaker one, the weakest first. */
export function simpler(schedule: Schedule, faults: readonly FaultName[]): Schedule[] {
  const weaker = schedule.flatMap(({ at, fault }, place) =>
    faultsAt(at.endpoint, faultNames.slice(0, faultNames.indexOf(fault)))
      .filter((name) => faults.includes(name))
      .map((name) => schedule.with(place, { at, fault: name })),
  );
  const shifted = schedule.map((_, place) => withoutAttempt(schedule, place));
  return [...withoutOne(schedule), ...shifted, ...weaker];
}

/** Without a fault and its attempt: faults at later attempts of the intent move up by one. */
function withoutAttempt(schedule: Schedule, dropped: number): Schedule {
  const gone = schedule[dropped]?.at;
  return schedule
    .filter((_, place) => place !== dropped)
    .map(({ at, fault }) => {
      const isLater =
        at.endpoint === gone?.endpoint && at.intent === gone.intent && at.attempt > gone.attempt;
      return { at: isLater ? { ...at, attempt: at.attempt - 1 } : at, fault };
    });
}

async function firstOf<T>(
  all: readonly T[],
  is: (one: T) => Promise<boolean>,
): Promise<T | undefined> {
  for (const one of all) if (await is(one)) return one;
  return undefined;
}
