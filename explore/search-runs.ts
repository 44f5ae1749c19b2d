/**
 * The runs of a search. Each counts against the budget, and the points that it reaches are kept.
 * Most runs may overlap; some must run alone. Also records why the search cannot go on.
 */
import type { Point, Schedule } from '#contract/fault-schedule.ts';
import { type RunClient, SearchStopped } from './client-run.ts';
import type { Learned, Problem } from './learn.ts';
import { pointKey, scheduleKey } from './schedule.ts';
import type { Stop } from './search-result.ts';
import { type Run, runOf } from './verdict.ts';

export interface RunOptions {
  readonly runClient: RunClient;
  /** The most runs of the client, including those that confirm and shrink a failure. */
  readonly maxRuns: number;
  /** True if a client that ends with an error has not failed. */
  readonly mayFail: boolean;
}

export class SearchRuns {
  readonly index = new RunIndex();
  readonly lock = new RunLock();
  problem: Problem | undefined;
  stop: Stop | undefined;
  readonly #options: RunOptions;
  readonly #reachedPoints = new Set<string>();
  #count = 0;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  get reachedPoints(): number {
    return this.#reachedPoints.size;
  }

  get areOver(): boolean {
    return this.stop !== undefined || this.problem !== undefined;
  }

  /** Runs the client. Throws a SearchStopped if the budget has ended. */
  async runClient(...run: Parameters<RunClient>): ReturnType<RunClient> {
    if (this.#count >= this.#options.maxRuns) throw new SearchStopped('budget');
    this.#count++;
    return this.#options.runClient(...run);
  }

  /** Runs the client under a schedule, and adds the run. */
  async try(schedule: Schedule, { knownIntents, expected, throttleWaits }: Learned): Promise<Run> {
    const raw = await this.runClient(schedule, knownIntents, throttleWaits);
    const run = runOf(raw, schedule, expected, this.#options);
    this.add(run);
    return run;
  }

  add(run: Run): void {
    this.index.add(run);
    for (const point of run.trace) this.#reachedPoints.add(pointKey(point));
  }

  /** Records why no more runs are possible; throws the error again if it has another cause. */
  endBy(error: unknown): void {
    if (!(error instanceof SearchStopped)) throw error;
    if (error.stop === 'interrupted') this.stop = 'interrupted';
    else this.stop ??= error.stop;
  }
}

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
