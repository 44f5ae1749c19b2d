/**
 * The findings of a search. Each lists the schedules that fail for the same cause: those with more
 * or stronger faults, and those with the same faults at other messages. `shrink` drops and weakens
 * the faults of a failing schedule until it needs every one that is left.
 */
import { type FaultName, faultNames, type Schedule } from '#contract/fault-schedule.ts';
import { faultsAt, scheduleKey, shapeOf } from './schedule.ts';
import type { Finding } from './search-result.ts';

export class Findings {
  readonly #faults: readonly FaultName[];
  /** The findings, by kind of failure and by the shape of their own schedule (`shapeOf`). */
  readonly #byShape = new Map<string, Finding>();
  /** The findings, by kind of failure and by each schedule that they list. */
  readonly #bySchedule = new Map<string, Finding>();

  constructor(faults: readonly FaultName[]) {
    this.#faults = faults;
  }

  get all(): Finding[] {
    return [...this.#byShape.values()].sort((a, b) => a.schedule.length - b.schedule.length);
  }

  /** The finding of a simpler schedule that fails alike, or of these faults at another message. */
  findAlike(schedule: Schedule, kind: string): Finding | undefined {
    const same = this.#byShape.get(`${kind}; ${shapeOf(schedule)}`);
    if (same !== undefined) return same;
    for (const simpler of simplerSchedules(schedule, this.#faults)) {
      const finding = this.#bySchedule.get(`${kind}; ${scheduleKey(simpler)}`);
      if (finding !== undefined) return finding;
    }
    return undefined;
  }

  /** Adds a finding, or its schedule to one of the same shape; returns the one that stays. */
  add(finding: Finding, kind: string): Finding {
    const shape = `${kind}; ${shapeOf(finding.schedule)}`;
    const kept = this.#byShape.get(shape) ?? finding;
    this.#byShape.set(shape, kept);
    this.addSchedule(kept, finding.schedule, kind);
    return kept;
  }

  /** Lists a schedule that fails for the same cause with a finding. */
  addSchedule(finding: Finding, schedule: Schedule, kind: string): void {
    const key = `${kind}; ${scheduleKey(schedule)}`;
    if (this.#bySchedule.has(key)) return;
    this.#bySchedule.set(key, finding);
    if (scheduleKey(finding.schedule) !== scheduleKey(schedule)) finding.also.push(schedule);
  }
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
function simplerSchedules(schedule: Schedule, faults: readonly FaultName[]): Schedule[] {
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
