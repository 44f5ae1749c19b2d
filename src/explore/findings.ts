/**
 * The findings of a search, each with the schedules that fail for the same cause: those with more
 * or stronger faults, and those with the same faults at other messages.
 */
import type { FaultName } from './fault-names.ts';
import { type Schedule, scheduleKey, shapeOf } from './schedule.ts';
import type { Finding } from './search-result.ts';
import { simpler } from './shrink.ts';

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
