/**
 * The findings of a search, each with the schedules that fail for the same cause: those with more
 * or stronger faults, and those with the same faults at other messages. Shrinks a failing schedule:
 * drops and weakens faults until every one is needed.
 */
import { type FaultName, faultNames, faultsAt } from './fault-names.ts';
import { type Schedule, scheduleKey, shapeOf } from './schedule.ts';
import type { Finding } from './search-result.ts';

export class Findings {
  readonly #faults: readonly FaultName[];
  readonly #byShape = new Map<string, Finding>();
  readonly #bySchedule = new Map<string, Finding>();

  constructor(faults: readonly FaultName[]) {
    this.#faults = faults;
  }

  /** The smallest schedules first. */
  get all(): Finding[] {
    return [...this.#byShape.values()].sort((a, b) => a.schedule.length - b.schedule.length);
  }

  /**
   * The finding of a simpler schedule that fails alike, or of the same faults at another message.
   */
  like(schedule: Schedule, kind: string): Finding | undefined {
    const same = this.#byShape.get(`${kind}; ${shapeOf(schedule)}`);
    if (same !== undefined) return same;
    for (const one of simpler(schedule, this.#faults)) {
      const finding = this.#bySchedule.get(`${kind}; ${scheduleKey(one)}`);
      if (finding !== undefined) return finding;
    }
    return undefined;
  }

  /** Adds a finding, or counts its schedule with an equal one; returns the finding that is kept. */
  add(finding: Finding, kind: string): Finding {
    const shape = `${kind}; ${shapeOf(finding.schedule)}`;
    const kept = this.#byShape.get(shape) ?? finding;
    this.#byShape.set(shape, kept);
    this.addSchedule(kept, finding.schedule, kind);
    return kept;
  }

  /** Counts a schedule that fails for the same cause with a finding. */
  addSchedule(finding: Finding, schedule: Schedule, kind: string): void {
    const key = `${kind}; ${scheduleKey(schedule)}`;
    if (this.#bySchedule.has(key)) return;
    this.#bySchedule.set(key, finding);
    if (scheduleKey(finding.schedule) !== scheduleKey(schedule)) finding.also.push(schedule);
  }
}

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
  const without = schedule.map((_, dropped) => schedule.filter((_, place) => place !== dropped));
  const shifted = schedule.map((_, place) => withoutAttempt(schedule, place));
  return [...without, ...shifted, ...weaker];
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
