/**
 * A recording is made once and judged by several cases. Without a control port the schedule starts
 * it when its buckets and the clock allow, otherwise the first case that judges it.
 */
import type { Need, Target } from '../target/target.ts';
import type { Spends } from './budget.ts';
import { type AccountPlan, type AccountUnderTest, Trial } from './trial.ts';

/** What a case or a recording needs, and what it costs. */
export interface Requirements {
  readonly needs: readonly Need[];
  /** Requests to limited endpoints. The run waits out a 429 that only these cause. */
  readonly spends: Spends;
  /** The number of 429s that it provokes. */
  readonly throttled?: number;
  /** The longest single wait if time cannot be moved; skipped if `--timeout` is shorter. */
  readonly waitSeconds?: number;
  /** The account that its steps begin with. */
  readonly account?: AccountPlan;
}

/** Exchanges that are made once, for all cases that judge them. */
export interface Recording<T = unknown> extends Requirements {
  readonly name: string;
  /** Its duration in real seconds; default: 1. */
  readonly seconds?: number;
  /** It sends all that it spends within this time of its start; default: all its duration. */
  readonly spendsForSeconds?: number;
  /** Buckets that must be full, and that no other case may use meanwhile. */
  readonly fullBuckets?: readonly (keyof Spends)[];
  /** The recording after which it is made, with the tokens that are left or have returned. */
  readonly follows?: Recording;
  /** True if it is made when nothing else can start: it leaves a bucket empty or unused. */
  readonly isForIdleTime?: boolean;
  readonly record: (t: Trial, account: AccountUnderTest) => Promise<T>;
}

interface StartedRecording {
  readonly trial: Trial;
  readonly result: Promise<unknown>;
}

/** The recordings of each target, by name. */
const startedOn = new WeakMap<Target, Map<string, StartedRecording>>();

/** The result of a recording, made now if necessary. Adds its exchanges to the evidence of `t`. */
export async function recorded<T>(t: Trial, recording: Recording<T>): Promise<T> {
  const { trial, result } = startRecording(t.target, recording);
  try {
    return (await result) as T;
  } finally {
    t.join(trial);
  }
}

/** True if the recording is about limits: then it must see its 429s, and not wait them out. */
function isAboutLimits({ fullBuckets, throttled, follows, isForIdleTime }: Recording): boolean {
  return [fullBuckets, throttled, follows, isForIdleTime].some((field) => field !== undefined);
}

/** Starts a recording once per run. */
export function startRecording(target: Target, recording: Recording): StartedRecording {
  const recordings = startedOn.get(target) ?? new Map<string, StartedRecording>();
  startedOn.set(target, recordings);
  const earlier = recordings.get(recording.name);
  if (earlier !== undefined) return earlier;
  const trial = new Trial(target, isAboutLimits(recording) ? {} : recording.spends);
  const result = trial
    .account(recording.account)
    .then((account) => recording.record(trial, account))
    .finally(() => trial.end());
  // Every case that judges the recording sees the error; here it must not end the process.
  result.catch(() => {});
  const started = { trial, result };
  recordings.set(recording.name, started);
  return started;
}
