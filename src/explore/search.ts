/**
 * The search: learns the client's decision points, tries every fault at each, then one more at each
 * point that those runs reached, to `depth` faults. A failure is run again, shrunk and grouped.
 */
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
import { Ended, type Run, type RunClient, runOf } from './run.ts';
import { pointKey, type Schedule, scheduleKey } from './schedule.ts';
import {
  type Finding,
  findingOf,
  kindOfRun,
  type Level,
  type Progress,
  type SearchResult,
  type Stop,
} from './search-result.ts';

export interface SearchOptions extends LearnOptions {
  readonly runClient: RunClient;
  /** Faults per schedule, at most. */
  readonly depth: number;
  /** Bounds all runs of the client, those that confirm and shrink a failure included. */
  readonly maxRuns: number;
  /** Runs at the same time. */
  readonly jobs: number;
  readonly seed: number;
  /** Stop at the first finding. */
  readonly bail: boolean;
  readonly mayFail: boolean;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
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
  readonly #turns = new Turns();
  readonly #points = new Set<string>();
  readonly #levels: Level[] = [];
  readonly #findings: Findings;
  readonly #unstable: Finding[] = [];
  /** Failures that are being run again, by kind. */
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
    return this.#after((learned) => this.#descend(learned));
  }

  async replay(schedule: Schedule): Promise<SearchResult> {
    let unmet = 0;
    const result = await this.#after(async (learned) => {
      const run = await this.#try(schedule, learned);
      unmet = schedule.length - run.seen.filter(({ fault }) => fault !== undefined).length;
      const kind = kindOfRun(run);
      if (kind !== undefined) this.#findings.add(findingOf(run), kind);
    });
    return { ...result, unmet };
  }

  /** Learns what the client does without faults, then explores. */
  async #after(explore: (learned: Learned) => Promise<void>): Promise<SearchResult> {
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
    return {
      ...this.#progress(),
      intents: this.#learned?.known ?? {},
      problem: this.#problem,
      unconfirmed: [...this.#unconfirmed]
        .filter(([{ schedule }, kind]) => this.#findings.like(schedule, kind) === undefined)
        .map(([failure]) => failure),
      unstable: this.#unstable,
      skipped: this.#skipped,
      stop: this.#stop,
    };
  }

  async #descend(learned: Learned): Promise<void> {
    const { depth, faults, maxRuns, seed } = this.#options;
    this.#note(learned.run);
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
    const work = async (): Promise<void> => {
      for (const schedule of waiting) {
        if (this.#isOver) return;
        const run = await this.#turns.together(() => this.#try(schedule, learned));
        tried.push(schedule);
        level.done++;
        await this.#explain(run, learned);
        this.#options.onProgress?.(this.#progress());
      }
    };
    const ended = await Promise.allSettled(
      Array.from({ length: this.#options.jobs }, () => work()),
    );
    for (const end of ended) if (end.status === 'rejected') this.#endBy(end.reason);
    // From the book: a run that confirms a failure may pass, and reach points that the first hid.
    return tried.flatMap((schedule) => this.#index.get(schedule) ?? []);
  }

  get #isOver(): boolean {
    return this.#stop !== undefined || this.#problem !== undefined;
  }

  /** Notes why no more runs are possible; throws any other error. */
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

  async #try(schedule: Schedule, { known, expected, throttleWaits }: Learned): Promise<Run> {
    const raw = await this.#runClient(schedule, known, throttleWaits);
    const run = runOf(raw, schedule, expected, this.#options.mayFail);
    this.#note(run);
    return run;
  }

  #note(run: Run): void {
    this.#index.add(run);
    for (const point of run.trace) this.#points.add(pointKey(point));
  }

  /** A failure is run again alone: what only happens beside other runs is not a finding. */
  async #explain(run: Run, learned: Learned): Promise<void> {
    const kind = kindOfRun(run);
    if (kind === undefined || this.#isKnown(run.schedule, kind)) return;
    await this.#turns.alone(() => this.#repeat(run, learned));
  }

  /**
   * Runs a failing schedule again until it passes or fails for the second time for the same cause.
   * Such a failure is shrunk and added to the findings; those seen once did not repeat.
   */
  async #repeat(first: Run, learned: Learned): Promise<void> {
    const once = new Map<string, Finding>();
    let run = first;
    let kind = kindOfRun(run);
    while (kind !== undefined && !this.#isKnown(run.schedule, kind) && !once.has(kind)) {
      const failure = findingOf(run);
      once.set(kind, failure);
      this.#unconfirmed.set(failure, kind);
      run = await this.#try(run.schedule, learned);
      kind = kindOfRun(run);
    }
    const isConfirmed = kind !== undefined && once.has(kind);
    if (isConfirmed) {
      this.#problem ??= controlProblem(await this.#runClient([], learned.known, []), learned);
    }
    for (const [cause, failure] of once) {
      if (!isConfirmed || cause !== kind) this.#unstable.push(failure);
      this.#unconfirmed.delete(failure);
    }
    if (kind === undefined || !isConfirmed || this.#problem !== undefined) return;
    const finding = this.#findings.add(await this.#shrunk(run, kind, learned), kind);
    this.#findings.addSchedule(finding, run.schedule, kind);
    if (this.#options.bail) this.#stop ??= 'bail';
  }

  /** Counts the schedule with the finding that has the same cause, if there is one. */
  #isKnown(schedule: Schedule, kind: string): boolean {
    const known = this.#findings.like(schedule, kind);
    if (known !== undefined) this.#findings.addSchedule(known, schedule, kind);
    return known !== undefined;
  }

  /** The smallest schedule that fails alike; that of the run if the search ends first. */
  async #shrunk(run: Run, kind: string, learned: Learned): Promise<Finding> {
    try {
      const schedule = await shrink(run.schedule, this.#options.faults, async (one) => {
        const equal = this.#index.equalOf(one);
        const known = this.#index.get(equal ?? one);
        return kindOfRun(known ?? (await this.#try(one, learned))) === kind;
      });
      if (scheduleKey(schedule) === scheduleKey(run.schedule)) return findingOf(run);
      const again = await this.#try(schedule, learned);
      return findingOf(kindOfRun(again) === kind ? again : run);
    } catch (error) {
      this.#endBy(error);
      return { ...findingOf(run), isShrunk: false };
    }
  }

  #progress(): Progress {
    return {
      runs: this.#runs,
      points: this.#points.size,
      levels: this.#levels,
      findings: this.#findings.all,
    };
  }
}

/**
 * Lets some work go on together, and some alone: that waits for all other work to end, and new work
 * waits for it.
 */
class Turns {
  readonly #together = new Set<Promise<unknown>>();
  #alone: Promise<unknown> = Promise.resolve();

  async together<T>(work: () => Promise<T>): Promise<T> {
    for (let last: unknown; last !== this.#alone; ) {
      last = this.#alone;
      await last;
    }
    const running = work();
    this.#together.add(running);
    return running.finally(() => this.#together.delete(running));
  }

  alone(work: () => Promise<void>): Promise<void> {
    const running = Promise.allSettled([this.#alone, ...this.#together]).then(work);
    this.#alone = running.catch(() => {});
    return running;
  }
}
