/**
 * What several cases judge together, and what is therefore done once: a flood of one endpoint, the
 * life of a message. Without levers the schedule starts it when its buckets and the clock allow; a
 * case only reads what was recorded.
 */
import type { Spends } from './buckets.ts';
import type { Need, Target } from './target.ts';
import { Trial } from './trial.ts';

export interface Recording<T = unknown> {
  readonly name: string;
  readonly needs: readonly Need[];
  readonly spends: Spends;
  /** 429s that it provokes. */
  readonly throttled?: number;
  /** Seconds that it takes in real time. */
  readonly seconds: number;
  /** The longest single wait in seconds; longer than `--timeout`, and it is not made. */
  readonly waits: number;
  /** Buckets that have to be full, and that no other case may touch meanwhile. */
  readonly full?: readonly (keyof Spends)[];
  /** Made after that one, with what is left of its bucket or has come back since. */
  readonly follows?: Recording;
  /** Made when nothing else can start: for a minute it leaves a bucket empty, or to itself. */
  readonly inIdleTime?: boolean;
  readonly record: (t: Trial) => Promise<T>;
}

interface Made {
  readonly trial: Trial;
  readonly result: Promise<unknown>;
}

const made = new WeakMap<object, Map<string, Made>>();

/**
 * What a recording holds, made now if it was not made before; its exchanges become evidence of the
 * case.
 */
export async function recorded<T>(t: Trial, recording: Recording<T>): Promise<T> {
  const one = startRecording(t.target, recording);
  try {
    return (await one.result) as T;
  } finally {
    t.exchanges.push(...one.trial.exchanges);
  }
}

/** Starts a recording once per run. */
export function startRecording(target: Target, recording: Recording): Made {
  const all = made.get(target) ?? new Map<string, Made>();
  made.set(target, all);
  const before = all.get(recording.name);
  if (before !== undefined) return before;
  const trial = new Trial(target);
  const one = { trial, result: recording.record(trial) };
  // Each case that judges it sees the error; without a case there is none to see it.
  one.result.catch(() => {});
  all.set(recording.name, one);
  return one;
}
