/**
 * Runs one schedule, after runs without faults that show what the client achieves by itself.
 */
import { isProblem, type LearnOptions, learn } from './learn.ts';
import type { KnownIntents } from './points.ts';
import { Ended, type RunClient, runOf } from './run.ts';
import type { Schedule } from './schedule.ts';
import { findingOf, type SearchResult } from './search-result.ts';

export interface ReplayOptions
  extends Pick<LearnOptions, 'subject' | 'throttleWaits' | 'isScaled'> {
  readonly runClient: RunClient;
  readonly mayFail: boolean;
}

export async function replay(
  { runClient, mayFail, ...options }: ReplayOptions,
  schedule: Schedule,
  intents: KnownIntents = {},
): Promise<SearchResult> {
  let runs = 0;
  const counted: RunClient = (...run) => {
    runs++;
    return runClient(...run);
  };
  const empty = {
    ...{ points: 0, levels: [], findings: [], unconfirmed: [], unstable: [], skipped: 0, intents },
    ...{ stop: undefined, problem: undefined },
  };
  try {
    const faults = schedule.map(({ fault }) => fault);
    const learned = await learn(counted, { ...options, intents, faults });
    if (isProblem(learned)) return { ...empty, runs, problem: learned };
    const raw = await counted(schedule, learned.known, learned.throttleWaits);
    const run = runOf(raw, schedule, learned.expected, mayFail);
    const unmet = schedule.length - raw.seen.filter(({ fault }) => fault !== undefined).length;
    return { ...empty, runs, unmet, findings: run.failures.length > 0 ? [findingOf(run)] : [] };
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    return { ...empty, runs, stop: error.stop };
  }
}
