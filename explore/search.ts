/**
 * The search for schedules (sets of faults) under which the client fails. It first learns at which
 * points the client calls the service, then tries every fault at each point, then adds one more
 * fault at each point that those runs reached, up to `depth` faults. `confirmation.ts` decides which
 * failures are findings.
 */
import type { Schedule } from '#contract/fault-schedule.ts';
import { workOn } from '#io/event-loop.ts';
import { candidatesAfter, shuffled } from './candidates.ts';
import { Confirmation, type ConfirmationOptions } from './confirmation.ts';
import { isProblem, type Learned, type LearnOptions, learn } from './learn.ts';
import type { KnownIntents } from './points.ts';
import {
  findingOf,
  kindOfRun,
  type Level,
  type Progress,
  type SearchResult,
} from './search-result.ts';
import { type RunOptions, SearchRuns } from './search-runs.ts';
import type { Run } from './verdict.ts';

export interface SearchOptions extends LearnOptions, RunOptions, ConfirmationOptions {
  /** Faults per schedule, at most. */
  readonly depth: number;
  readonly jobs: number;
  readonly seed: number;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export function search(options: SearchOptions): Promise<SearchResult> {
  return exploreWith(options, (found) => found.tryAllSizes());
}

/** Runs one schedule, after runs without faults that show what the client achieves by itself. */
export function replay(
  options: SearchOptions,
  schedule: Schedule,
  intents: KnownIntents = {},
): Promise<SearchResult> {
  const faults = schedule.map(({ fault }) => fault);
  const maxRuns = Number.POSITIVE_INFINITY;
  return exploreWith({ ...options, faults, intents, maxRuns }, (found) => found.tryOne(schedule));
}

/** Learns, calls `explore` with a search that knows what was learned, and returns the result. */
async function exploreWith(
  options: SearchOptions,
  explore: (search: Search) => Promise<void>,
): Promise<SearchResult> {
  const runs = new SearchRuns(options);
  let search: Search | undefined;
  try {
    const learned = await learn((...run) => runs.runClient(...run), options);
    if (isProblem(learned)) runs.problem = learned;
    else {
      search = new Search(options, runs, learned);
      await explore(search);
    }
  } catch (error) {
    runs.endBy(error);
  }
  const { count, reachedPoints, problem, stop } = runs;
  const found = search?.found ?? nothingFound;
  return { ...found, runs: count, points: reachedPoints, problem, stop };
}

/** What a search has found so far. Its runs know the rest of the result. */
type Found = Omit<SearchResult, 'runs' | 'points' | 'problem' | 'stop'>;

const nothingFound: Found = {
  intents: {},
  levels: [],
  findings: [],
  unconfirmed: [],
  unstable: [],
  skipped: 0,
  triedWaits: [],
  notices: [],
};

class Search {
  readonly #options: SearchOptions;
  readonly #runs: SearchRuns;
  readonly #learned: Learned;
  readonly #confirmation: Confirmation;
  readonly #levels: Level[] = [];
  #skipped = 0;
  /** Faults of the only schedule at calls that the client did not make. */
  #unmet: number | undefined;

  constructor(options: SearchOptions, runs: SearchRuns, learned: Learned) {
    this.#options = options;
    this.#runs = runs;
    this.#learned = learned;
    this.#confirmation = new Confirmation(runs, learned, options);
  }

  get found(): Found {
    const { faults, depth } = this.#options;
    const { knownIntents, throttleWaits, notices } = this.#learned;
    const { findings, unconfirmed, unstable } = this.#confirmation;
    return {
      intents: knownIntents,
      levels: this.#levels,
      findings: findings.all,
      unconfirmed,
      unstable,
      skipped: this.#skipped,
      triedWaits: faults.includes('throttle') ? [...new Set(throttleWaits.slice(0, depth))] : [],
      notices,
      ...(this.#unmet !== undefined && { unmet: this.#unmet }),
    };
  }

  /** Tries the schedules of each size, from single faults up to `depth`. */
  async tryAllSizes(): Promise<void> {
    const { depth, faults, maxRuns, seed } = this.#options;
    this.#runs.add(this.#learned.run);
    let runs: readonly Run[] = [this.#learned.run];
    for (let size = 1; size <= depth && !this.#runs.areOver; size++) {
      const { schedules, skipped } = candidatesAfter(runs, faults, this.#runs.index);
      this.#skipped += skipped;
      const level: Level = { size, total: schedules.length, done: 0 };
      this.#levels.push(level);
      const fits = this.#runs.count + schedules.length <= maxRuns;
      runs = await this.#tryAll(fits ? schedules : shuffled(schedules, seed), level);
    }
  }

  /** Tries one schedule. Its failure is a finding, because an earlier search has confirmed it. */
  async tryOne(schedule: Schedule): Promise<void> {
    const run = await this.#runs.try(schedule, this.#learned);
    this.#unmet = schedule.length - run.seen.filter(({ fault }) => fault !== undefined).length;
    const kind = kindOfRun(run);
    if (kind !== undefined) this.#confirmation.findings.add(findingOf(run), kind);
  }

  async #tryAll(schedules: readonly Schedule[], level: Level): Promise<Run[]> {
    const tried: Schedule[] = [];
    await workOn(schedules.values(), this.#options.jobs, async (schedule) => {
      if (this.#runs.areOver) return;
      try {
        const run = await this.#runs.lock.shared(() => this.#runs.try(schedule, this.#learned));
        tried.push(schedule);
        level.done++;
        await this.#confirmation.confirm(run);
        const { count: runs, reachedPoints: points } = this.#runs;
        this.#options.onProgress?.({ ...this.found, runs, points });
      } catch (error) {
        this.#runs.endBy(error);
      }
    });
    // Reads the index, because a run that confirms a failure may have reached more points.
    return tried.flatMap((schedule) => this.#runs.index.get(schedule) ?? []);
  }
}
