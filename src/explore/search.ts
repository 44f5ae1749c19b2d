/**
 * The search: learns the client's decision points, tries every fault at each, then one more fault
 * at each point of those runs, down to the depth. What fails is run again, shrunk and grouped.
 */
import { candidatesAfter, RunBook, shuffled } from './candidates.ts';
import type { FaultName } from './fault-names.ts';
import { controlProblem, isProblem, type Learned, learn, type Problem } from './learn.ts';
import type { KnownIntents } from './points.ts';
import { Interrupted, type Run, type RunClient, runOf } from './run.ts';
import { pointKey, type Schedule, scheduleKey, shapeOf } from './schedule.ts';
import { shrink, simpler } from './shrink.ts';
import { type Failure, kindOf } from './verdict.ts';

export interface SearchOptions {
  readonly runClient: RunClient;
  readonly faults: readonly FaultName[];
  /** Faults in a schedule, at most. */
  readonly depth: number;
  readonly maxRuns: number;
  /** Runs at one time. */
  readonly jobs: number;
  readonly seed: number;
  /** Stop at the first finding. */
  readonly bail: boolean;
  readonly mayFail: boolean;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface Finding {
  readonly schedule: Schedule;
  /** Why it fails, the gravest first; never empty. */
  readonly failures: readonly Failure[];
  readonly run: Run;
  /** Schedules that fail for the same cause, and were shrunk to this one or to its like. */
  readonly also: Schedule[];
}

/** All schedules with so many faults. */
export interface Level {
  readonly size: number;
  readonly total: number;
  done: number;
}

/** Why the search ended before all was tried. */
export type Stop = 'budget' | 'bail' | 'interrupted';

export interface Progress {
  readonly runs: number;
  readonly points: number;
  readonly levels: readonly Level[];
  readonly findings: readonly Finding[];
}

export interface SearchResult extends Progress {
  /** The intents whose numbers all runs share. */
  readonly intents: KnownIntents;
  readonly problem: Problem | undefined;
  /** Failures that did not repeat. */
  readonly unstable: readonly Finding[];
  /** Schedules that cannot differ from one that was run. */
  readonly skipped: number;
  /** Faults of a schedule that was run alone, at calls that the client did not make. */
  readonly unmet?: number;
  readonly stop: Stop | undefined;
}

export function search(options: SearchOptions): Promise<SearchResult> {
  return new Search(options).run();
}

/** Runs one schedule, after runs without faults that show what is expected. */
export async function replay(
  { runClient, mayFail }: Pick<SearchOptions, 'runClient' | 'mayFail'>,
  schedule: Schedule,
  intents: KnownIntents = {},
): Promise<SearchResult> {
  const result = { points: 0, levels: [], unstable: [], skipped: 0, intents };
  const none = { ...result, findings: [], stop: undefined, problem: undefined };
  try {
    const learned = await learn(runClient, intents);
    if (isProblem(learned)) return { ...none, runs: 2, problem: learned };
    const raw = await runClient(schedule, learned.known);
    const run = runOf(raw, schedule, learned.expected, mayFail);
    const unmet = schedule.length - raw.seen.filter(({ fault }) => fault !== undefined).length;
    return { ...none, runs: 3, unmet, findings: run.failures.length > 0 ? [findingOf(run)] : [] };
  } catch (error) {
    if (error instanceof Interrupted) return { ...none, runs: 0, stop: 'interrupted' };
    throw error;
  }
}

class Search {
  readonly #options: SearchOptions;
  readonly #book = new RunBook();
  readonly #points = new Set<string>();
  readonly #levels: Level[] = [];
  readonly #findings = new Map<string, Finding>();
  readonly #unstable: Finding[] = [];
  /** Which finding each failing schedule belongs to, by the kind of its failure. */
  readonly #findingOf = new Map<string, Finding>();
  #learned: Learned | undefined;
  #problem: Problem | undefined;
  #skipped = 0;
  #runs = 0;
  #stop: Stop | undefined;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  async run(): Promise<SearchResult> {
    try {
      const learned = await learn((schedule, known) => this.#runClient(schedule, known));
      if (isProblem(learned)) this.#problem = learned;
      else {
        this.#learned = learned;
        this.#note(learned.run);
        await this.#descend([learned.run]);
      }
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      this.#stop = 'interrupted';
    }
    return {
      ...this.#progress(),
      intents: this.#learned?.known ?? {},
      problem: this.#problem,
      unstable: this.#unstable,
      skipped: this.#skipped,
      stop: this.#stop,
    };
  }

  async #descend(start: readonly Run[]): Promise<void> {
    const { depth, faults, maxRuns, seed } = this.#options;
    let runs = start;
    for (let size = 1; size <= depth && !this.#isOver; size++) {
      const { schedules, skipped } = candidatesAfter(runs, faults, this.#book);
      this.#skipped += skipped;
      const level: Level = { size, total: schedules.length, done: 0 };
      this.#levels.push(level);
      const fits = this.#runs + schedules.length <= maxRuns;
      runs = await this.#tryAll(fits ? schedules : shuffled(schedules, seed), level);
    }
  }

  async #tryAll(schedules: readonly Schedule[], level: Level): Promise<Run[]> {
    const runs: Run[] = [];
    const waiting = schedules.values();
    const work = async (): Promise<void> => {
      for (const schedule of waiting) {
        if (this.#runs >= this.#options.maxRuns) this.#stop ??= 'budget';
        if (this.#isOver) return;
        const run = await this.#try(schedule);
        runs.push(run);
        level.done++;
        if (run.failures.length > 0) await this.#explain(run);
        this.#options.onProgress?.(this.#progress());
      }
    };
    const ended = await Promise.allSettled(
      Array.from({ length: this.#options.jobs }, () => work()),
    );
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
    return runs;
  }

  get #isOver(): boolean {
    return this.#stop !== undefined || this.#problem !== undefined;
  }

  async #runClient(...[schedule, known]: Parameters<RunClient>): ReturnType<RunClient> {
    this.#runs++;
    return this.#options.runClient(schedule, known);
  }

  async #try(schedule: Schedule): Promise<Run> {
    const { known = {}, expected } = this.#learned ?? {};
    const raw = await this.#runClient(schedule, known);
    const run = runOf(raw, schedule, expected, this.#options.mayFail);
    this.#note(run);
    return run;
  }

  #note(run: Run): void {
    this.#book.add(run);
    for (const point of run.trace) this.#points.add(pointKey(point));
  }

  /** Confirms a failure, shrinks it, and adds it to the findings, or to those that did not repeat. */
  async #explain(run: Run): Promise<void> {
    const kind = kindOfRun(run) ?? '';
    const known = this.#findingLike(run.schedule, kind);
    if (known !== undefined) {
      this.#addTo(known, run.schedule, kind);
      return;
    }
    if (kindOfRun(await this.#try(run.schedule)) !== kind) {
      this.#unstable.push(findingOf(run));
      return;
    }
    const learned = this.#learned;
    if (learned === undefined) return;
    this.#problem ??= controlProblem(await this.#runClient([], learned.known), learned);
    if (this.#problem !== undefined) return;
    const smallest = await this.#shrunk(run, kind);
    const signature = `${kind}; ${shapeOf(smallest.schedule)}`;
    const finding = this.#findings.get(signature) ?? findingOf(smallest);
    this.#findings.set(signature, finding);
    this.#addTo(finding, smallest.schedule, kind);
    this.#addTo(finding, run.schedule, kind);
    if (this.#options.bail) this.#stop ??= 'bail';
  }

  /** The finding of a simpler schedule that fails alike, or of the same at another message. */
  #findingLike(schedule: Schedule, kind: string): Finding | undefined {
    const same = this.#findings.get(`${kind}; ${shapeOf(schedule)}`);
    if (same !== undefined) return same;
    for (const one of simpler(schedule, this.#options.faults)) {
      const finding = this.#findingOf.get(`${kind}; ${scheduleKey(one)}`);
      if (finding !== undefined) return finding;
    }
    return undefined;
  }

  #addTo(finding: Finding, schedule: Schedule, kind: string): void {
    const key = `${kind}; ${scheduleKey(schedule)}`;
    if (this.#findingOf.has(key)) return;
    this.#findingOf.set(key, finding);
    if (scheduleKey(finding.schedule) !== scheduleKey(schedule)) finding.also.push(schedule);
  }

  async #shrunk(run: Run, kind: string): Promise<Run> {
    const schedule = await shrink(run.schedule, this.#options.faults, async (one) => {
      const equal = this.#book.equalOf(one);
      const known = this.#book.get(equal ?? one);
      return kindOfRun(known ?? (await this.#try(one))) === kind;
    });
    if (scheduleKey(schedule) === scheduleKey(run.schedule)) return run;
    const again = await this.#try(schedule);
    return kindOfRun(again) === kind ? again : run;
  }

  #progress(): Progress {
    return {
      runs: this.#runs,
      points: this.#points.size,
      levels: this.#levels,
      findings: [...this.#findings.values()].sort((a, b) => a.schedule.length - b.schedule.length),
    };
  }
}

function kindOfRun({ failures }: Run): string | undefined {
  const [gravest] = failures;
  return gravest && kindOf(gravest);
}

function findingOf(run: Run): Finding {
  return { schedule: run.schedule, failures: run.failures, run, also: [] };
}
