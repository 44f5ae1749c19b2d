/**
 * Results that several cases judge together and that are recorded once, such as a flood of an
 * endpoint or the statuses of a message. Without a control port the schedule starts a recording
 * when its buckets and the clock allow; cases only read it.
 */
import type { Spends } from './buckets.ts';
import type { Need, Target } from './target.ts';
import { Trial } from './trial.ts';

export interface Recording<T = unknown> {
  readonly name: string;
  readonly needs: readonly Need[];
  readonly spends: Spends;
  /** The number of 429s that it provokes. */
  readonly throttled?: number;
  /** Its duration in real seconds. */
  readonly seconds: number;
  /** The longest single wait in seconds; the recording is skipped if this exceeds `--timeout`. */
  readonly waits: number;
  /** Buckets that must be full, and that no other case may use meanwhile. */
  readonly full?: readonly (keyof Spends)[];
  /**
   * Recorded after this one, with the rest of its bucket or with the tokens that have returned
   * since.
   */
  readonly follows?: Recording;
  /** Recorded when nothing else can start: it leaves a bucket empty or unused for a minute. */
  readonly inIdleTime?: boolean;
  readonly record: (t: Trial) => Promise<T>;
}

interface Made {
  readonly trial: Trial;
  readonly result: Promise<unknown>;
}

const made = new WeakMap<object, Map<string, Made>>();

/** The result of a recording, made now if necessary; its exchanges become evidence of the case. */
export async function recorded<T>(t: Trial, recording: Recording<T>): Promise<T> {
  const one = startRecording(t.target, recording);
  try {
    return (await one.result) as T;
  } finally {
    t.join(one.trial);
  }
}

/** Its 429s are what it is for, so it does not wait them out. */
function isOfLimits({ full, throttled, follows, inIdleTime }: Recording): boolean {
  return (full ?? throttled ?? follows ?? inIdleTime) !== undefined;
}

/** Starts a recording once per run. */
export function startRecording(target: Target, recording: Recording): Made {
  const all = made.get(target) ?? new Map<string, Made>();
  made.set(target, all);
  const before = all.get(recording.name);
  if (before !== undefined) return before;
  const trial = new Trial(target, isOfLimits(recording) ? {} : recording.spends);
  const one = { trial, result: recording.record(trial).finally(() => trial.end()) };
  // Each case that judges it sees the error; without a case, it is ignored.
  one.result.catch(() => {});
  all.set(recording.name, one);
  return one;
}
