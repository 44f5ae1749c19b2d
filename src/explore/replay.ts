/**
 * Runs one schedule, after runs without faults that show what the client achieves by itself.
 */
import { isProblem, learn, type Subject } from './learn.ts';
import type { KnownIntents } from './points.ts';
import { Ended, type RunClient, runOf } from './run.ts';
import type { Schedule } from './schedule.ts';
import { findingOf, type SearchResult } from './search-result.ts';

export interface ReplayOptions {
  readonly runClient: RunClient;
  readonly mayFail: boolean;
  /** Default `client`. */
  readonly subject?: Subject;
}

export async function replay(
  { runClient, mayFail, subject }: ReplayOptions,
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
    const learned = await learn(counted, { subject, intents });
    if (isProblem(learned)) return { ...empty, runs, problem: learned };
    const raw = await counted(schedule, learned.known);
    const run = runOf(raw, schedule, learned.expected, mayFail);
    const unmet = schedule.length - raw.seen.filter(({ fault }) => fault !== undefined).length;
    return { ...empty, runs, unmet, findings: run.failures.length > 0 ? [findingOf(run)] : [] };
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    return { ...empty, runs, stop: error.stop };
  }
}
