/** Names what a limiter does that is none of the known ones, if a simple fault explains it. */
import type { Evidence } from './evidence.ts';

export interface Anomaly {
  readonly sentence: string;
  readonly exchanges: readonly number[];
}

export function anomalyOf(_evidence: Evidence, _longestMs: number): Anomaly | undefined {
  return undefined;
}
