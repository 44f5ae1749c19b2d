/**
 * Decides which failures of a search are findings. A failing schedule is run again: if it fails for
 * the same cause, it is shrunk to the faults that it needs, and grouped with those that fail alike.
 * A failure that does not repeat is unstable.
 */
import type { FaultName, Schedule } from '#contract/fault-schedule.ts';
import { shrink, simplerSchedules } from './candidates.ts';
import { controlProblem, type Learned } from './learn.ts';
import { scheduleKey, shapeOf } from './schedule.ts';
import { type Finding, findingOf, kindOfRun } from './search-result.ts';
import type { SearchRuns } from './search-runs.ts';
import type { Run } from './verdict.ts';

export interface ConfirmationOptions {
  readonly faults: readonly FaultName[];
  /** True if the first finding ends the search. */
  readonly bail: boolean;
  /** Called once a failure is confirmed and shrunk. */
  readonly onFinding?: ((finding: Finding) => void) | undefined;
}

export class Confirmation {
  readonly findings: Findings;
  readonly unstable: Finding[] = [];
  readonly #runs: SearchRuns;
  readonly #learned: Learned;
  readonly #options: ConfirmationOptions;
  /** Failures that are being run again, each with its kind. */
  readonly #repeating = new Map<Finding, string>();

  constructor(runs: SearchRuns, learned: Learned, options: ConfirmationOptions) {
    this.#runs = runs;
    this.#learned = learned;
    this.#options = options;
    this.findings = new Findings(options.faults);
  }

  /** Failures that the search had not run again when it ended. */
  get unconfirmed(): Finding[] {
    return [...this.#repeating]
      .filter(([{ schedule }, kind]) => this.findings.findAlike(schedule, kind) === undefined)
      .map(([failure]) => failure);
  }

  /** Repeats a failed run without other runs: a failure that needs them is not a finding. */
  async confirm(run: Run): Promise<void> {
    const kind = kindOfRun(run);
    if (kind === undefined || this.#addToKnown(run.schedule, kind)) return;
    await this.#runs.lock.exclusive(() => this.#repeat(run));
  }

  /** Adds a failure that repeats to the findings; the others are unstable. */
  async #repeat(first: Run): Promise<void> {
    const { run, kind, failures } = await this.#failAgain(first);
    const isConfirmed = kind !== undefined && failures.has(kind);
    if (isConfirmed) {
      const undisturbed = await this.#runs.runClient([], this.#learned.knownIntents, []);
      this.#runs.problem ??= controlProblem(undisturbed, this.#learned);
    }
    for (const [failureKind, failure] of failures) {
      if (!isConfirmed || failureKind !== kind) this.unstable.push(failure);
      this.#repeating.delete(failure);
    }
    if (isConfirmed && this.#runs.problem === undefined) await this.#addFinding(run, kind);
  }

  /**
   * Runs a failing schedule again until it passes, fails for the second time for the same cause, or
   * fails as a finding does. Returns the last run with its kind, and the failures by their kinds.
   */
  async #failAgain(first: Run) {
    const failures = new Map<string, Finding>();
    let run = first;
    let kind = kindOfRun(run);
    while (kind !== undefined && !this.#addToKnown(run.schedule, kind) && !failures.has(kind)) {
      const failure = findingOf(run);
      failures.set(kind, failure);
      this.#repeating.set(failure, kind);
      run = await this.#runs.try(run.schedule, this.#learned);
      kind = kindOfRun(run);
    }
    return { run, kind, failures };
  }

  /** Shrinks a confirmed failure and adds it to the findings. */
  async #addFinding(run: Run, kind: string): Promise<void> {
    const finding = this.findings.add(await this.#shrunk(run, kind), kind);
    this.findings.addSchedule(finding, run.schedule, kind);
    this.#options.onFinding?.(finding);
    if (this.#options.bail) this.#runs.stop ??= 'bail';
  }

  /** True if a finding has the same cause; lists the schedule with that finding. */
  #addToKnown(schedule: Schedule, kind: string): boolean {
    const known = this.findings.findAlike(schedule, kind);
    if (known !== undefined) this.findings.addSchedule(known, schedule, kind);
    return known !== undefined;
  }

  /** The finding of a run, with the smallest schedule that fails alike. */
  async #shrunk(run: Run, kind: string): Promise<Finding> {
    const { index } = this.#runs;
    try {
      const schedule = await shrink(run.schedule, this.#options.faults, async (simpler) => {
        const earlier = index.get(index.equalOf(simpler) ?? simpler);
        return kindOfRun(earlier ?? (await this.#runs.try(simpler, this.#learned))) === kind;
      });
      if (scheduleKey(schedule) === scheduleKey(run.schedule)) return findingOf(run);
      const again = await this.#runs.try(schedule, this.#learned);
      return findingOf(kindOfRun(again) === kind ? again : run);
    } catch (error) {
      this.#runs.endBy(error);
      return { ...findingOf(run), isShrunk: false };
    }
  }
}

/**
 * The findings of a search. Each lists the schedules that fail for the same cause: those with more
 * or stronger faults, and those with the same faults at other messages.
 */
class Findings {
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
