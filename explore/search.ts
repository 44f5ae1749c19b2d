/**
 * The search for schedules (sets of faults) under which the client fails. It first learns at which
 * points the client calls the service, then tries every fault at each point, then adds one more
 * fault at each point that those runs reached, up to `depth` faults. A failing schedule is run
 * again to confirm it, shrunk to the faults that it needs, and grouped with those that fail alike.
 */
import type { Schedule } from '#contract/fault-schedule.ts';
import { candidatesAfter, RunIndex, shuffled } from './candidates.ts';
import { Findings, shrink } from './findings.ts';
import {
  controlProblem,
  isProblem,
  type Learned,
  type LearnOptions,
  learn,
  type Problem,
} from './learn.ts';
import type { KnownIntents } from './points.ts';
import { pointKey, scheduleKey } from './schedule.ts';
import {
  type Finding,
  findingOf,
  kindOfRun,
  type Level,
  type Progress,
  type SearchResult,
  type Stop,
} from './search-result.ts';
import { Ended, type Run, type RunClient, runOf } from './verdict.ts';

export interface SearchOptions extends LearnOptions {
  readonly runClient: RunClient;
  /** Faults per schedule, at most. */
  readonly depth: number;
  /** The most runs of the client, including those that confirm and shrink a failure. */
  readonly maxRuns: number;
  readonly jobs: number;
  readonly seed: number;
  readonly bail: boolean;
  /** True if a client that ends with an error has not failed. */
  readonly mayFail: boolean;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Called once a failure is confirmed and shrunk. */
  readonly onFinding?: ((finding: Finding) => void) | undefined;
}

export function search(options: SearchOptions): Promise<SearchResult> {
  return new Search(options).run();
}

/** Runs one schedule, after runs without faults that show what the client achieves by itself. */
export function replay(
  options: SearchOptions,
  schedule: Schedule,
  intents: KnownIntents = {},
): Promise<SearchResult> {
  const faults = schedule.map(({ fault }) => fault);
  const maxRuns = Number.POSITIVE_INFINITY;
  return new Search({ ...options, faults, intents, maxRuns }).replay(schedule);
}

class Search {
  readonly #options: SearchOptions;
  readonly #index = new RunIndex();
  readonly #lock = new RunLock();
  readonly #reachedPoints = new Set<string>();
  readonly #levels: Level[] = [];
  readonly #findings: Findings;
  readonly #unstable: Finding[] = [];
  /** Failures that are being run again, each with its kind. */
  readonly #unconfirmed = new Map<Finding, string>();
  #learned: Learned | undefined;
  #problem: Problem | undefined;
  #skipped = 0;
  #runs = 0;
  #stop: Stop | undefined;

  constructor(options: SearchOptions) {
    this.#options = options;
    this.#findings = new Findings(options.faults);
  }

  run(): Promise<SearchResult> {
    return this.#learnThen((learned) => this.#tryAllSizes(learned));
  }

  async replay(schedule: Schedule): Promise<SearchResult> {
    let unmet = 0;
    const result = await this.#learnThen(async (learned) => {
      const run = await this.#trySchedule(schedule, learned);
      unmet = schedule.length - run.seen.filter(({ fault }) => fault !== undefined).length;
      const kind = kindOfRun(run);
      if (kind !== undefined) this.#findings.add(findingOf(run), kind);
    });
    return { ...result, unmet };
  }

  /** Learns, calls `explore` with what was learned, and returns the result. */
  async #learnThen(explore: (learned: Learned) => Promise<void>): Promise<SearchResult> {
    try {
      const learned = await learn((...run) => this.#runClient(...run), this.#options);
      if (isProblem(learned)) this.#problem = learned;
      else {
        this.#learned = learned;
        await explore(learned);
      }
    } catch (error) {
      this.#endBy(error);
    }
    return this.#result();
  }

  #result(): SearchResult {
    return {
      ...this.#progress(),
      intents: this.#learned?.knownIntents ?? {},
      problem: this.#problem,
      unconfirmed: [...this.#unconfirmed]
        .filter(([{ schedule }, kind]) => this.#findings.findAlike(schedule, kind) === undefined)
        .map(([failure]) => failure),
      unstable: this.#unstable,
      skipped: this.#skipped,
      triedWaits: this.#triedWaits(),
      notices: this.#learned?.notices ?? [],
      stop: this.#stop,
    };
  }

  #triedWaits(): readonly number[] {
    const { faults, depth } = this.#options;
    const waits = this.#learned?.throttleWaits ?? [];
    return faults.includes('throttle') ? [...new Set(waits.slice(0, depth))] : [];
  }

  async #tryAllSizes(learned: Learned): Promise<void> {
    const { depth, faults, maxRuns, seed } = this.#options;
    this.#recordRun(learned.run);
    let runs: readonly Run[] = [learned.run];
    for (let size = 1; size <= depth && !this.#isOver; size++) {
      const { schedules, skipped } = candidatesAfter(runs, faults, this.#index);
      this.#skipped += skipped;
      const level: Level = { size, total: schedules.length, done: 0 };
      this.#levels.push(level);
      const fits = this.#runs + schedules.length <= maxRuns;
      runs = await this.#tryAll(fits ? schedules : shuffled(schedules, seed), level, learned);
    }
  }

  async #tryAll(schedules: readonly Schedule[], level: Level, learned: Learned): Promise<Run[]> {
    const tried: Schedule[] = [];
    const waiting = schedules.values();
    const tryWaiting = async (): Promise<void> => {
      for (const schedule of waiting) {
        if (this.#isOver) return;
        const run = await this.#lock.shared(() => this.#trySchedule(schedule, learned));
        tried.push(schedule);
        level.done++;
        await this.#confirm(run, learned);
        this.#options.onProgress?.(this.#progress());
      }
    };
    const jobs = Array.from({ length: this.#options.jobs }, tryWaiting);
    for (const job of await Promise.allSettled(jobs))
      if (job.status === 'rejected') this.#endBy(job.reason);
    // Reads the index, because a run that confirms a failure may have reached more points.
    return tried.flatMap((schedule) => this.#index.get(schedule) ?? []);
  }

  get #isOver(): boolean {
    return this.#stop !== undefined || this.#problem !== undefined;
  }

  /** Records why no more runs are possible; throws the error again if it has another cause. */
  #endBy(error: unknown): void {
    if (!(error instanceof Ended)) throw error;
    if (error.stop === 'interrupted') this.#stop = 'interrupted';
    else this.#stop ??= error.stop;
  }

  async #runClient(...run: Parameters<RunClient>): ReturnType<RunClient> {
    if (this.#runs >= this.#options.maxRuns) throw new Ended('budget');
    this.#runs++;
    return this.#options.runClient(...run);
  }

  async #trySchedule(
    schedule: Schedule,
    { knownIntents, expected, throttleWaits }: Learned,
  ): Promise<Run> {
    const raw = await this.#runClient(schedule, knownIntents, throttleWaits);
    const run = runOf(raw, schedule, expected, this.#options.mayFail);
    this.#recordRun(run);
    return run;
  }

  #recordRun(run: Run): void {
    this.#index.add(run);
    for (const point of run.trace) this.#reachedPoints.add(pointKey(point));
  }

  /** Repeats a failed run without other runs: a failure that needs them is not a finding. */
  async #confirm(run: Run, learned: Learned): Promise<void> {
    const kind = kindOfRun(run);
    if (kind === undefined || this.#addToKnown(run.schedule, kind)) return;
    await this.#lock.exclusive(() => this.#repeat(run, learned));
  }

  /** Adds a failure that repeats to the findings; the others are unstable. */
  async #repeat(first: Run, learned: Learned): Promise<void> {
    const { run, kind, failures } = await this.#failAgain(first, learned);
    const isConfirmed = kind !== undefined && failures.has(kind);
    if (isConfirmed) {
      const undisturbed = await this.#runClient([], learned.knownIntents, []);
      this.#problem ??= controlProblem(undisturbed, learned);
    }
    for (const [failureKind, failure] of failures) {
      if (!isConfirmed || failureKind !== kind) this.#unstable.push(failure);
      this.#unconfirmed.delete(failure);
    }
    if (isConfirmed && this.#problem === undefined) await this.#addFinding(run, kind, learned);
  }

  /**
   * Runs a failing schedule again until it passes, fails for the second time for the same cause, or
   * fails as a finding does. Returns the last run with its kind, and the failures by their kinds.
   */
  async #failAgain(first: Run, learned: Learned) {
    const failures = new Map<string, Finding>();
    let run = first;
    let kind = kindOfRun(run);
    while (kind !== undefined && !this.#addToKnown(run.schedule, kind) && !failures.has(kind)) {
      const failure = findingOf(run);
      failures.set(kind, failure);
      this.#unconfirmed.set(failure, kind);
      run = await this.#trySchedule(run.schedule, learned);
      kind = kindOfRun(run);
    }
    return { run, kind, failures };
  }

  /** Shrinks a confirmed failure and adds it to the findings. */
  async #addFinding(run: Run, kind: string, learned: Learned): Promise<void> {
    const finding = this.#findings.add(await this.#shrunk(run, kind, learned), kind);
    this.#findings.addSchedule(finding, run.schedule, kind);
    this.#options.onFinding?.(finding);
    if (this.#options.bail) this.#stop ??= 'bail';
  }

  /** True if a finding has the same cause; lists the schedule with that finding. */
  #addToKnown(schedule: Schedule, kind: string): boolean {
    const known = this.#findings.findAlike(schedule, kind);
    if (known !== undefined) this.#findings.addSchedule(known, schedule, kind);
    return known !== undefined;
  }

  /** The finding of a run, with the smallest schedule that fails alike. */
  async #shrunk(run: Run, kind: string, learned: Learned): Promise<Finding> {
    try {
      const schedule = await shrink(run.schedule, this.#options.faults, async (simpler) => {
        const equal = this.#index.equalOf(simpler);
        const earlier = this.#index.get(equal ?? simpler);
        return kindOfRun(earlier ?? (await this.#trySchedule(simpler, learned))) === kind;
      });
      if (scheduleKey(schedule) === scheduleKey(run.schedule)) return findingOf(run);
      const again = await this.#trySchedule(schedule, learned);
      return findingOf(kindOfRun(again) === kind ? again : run);
    } catch (error) {
      this.#endBy(error);
      return { ...findingOf(run), isShrunk: false };
    }
  }

  #progress(): Progress {
    return {
      runs: this.#runs,
      points: this.#reachedPoints.size,
      levels: this.#levels,
      findings: this.#findings.all,
    };
  }
}

/**
 * A lock for runs: shared by those that may overlap, and exclusive for those that must run alone.
 * An exclusive run waits until all others have ended, and later runs wait for it.
 */
class RunLock {
  readonly #shared = new Set<Promise<unknown>>();
  #lastExclusive: Promise<unknown> = Promise.resolve();

  async shared<T>(work: () => Promise<T>): Promise<T> {
    let awaited: Promise<unknown>;
    // While this waits, another exclusive run may queue up: then it also waits for that one.
    do {
      awaited = this.#lastExclusive;
      await awaited;
    } while (awaited !== this.#lastExclusive);
    const running = work();
    this.#shared.add(running);
    return running.finally(() => this.#shared.delete(running));
  }

  exclusive(work: () => Promise<void>): Promise<void> {
    const running = Promise.allSettled([this.#lastExclusive, ...this.#shared]).then(work);
    this.#lastExclusive = running.catch(() => {});
    return running;
  }
}
