/**
 * The load of every scenario: in open loop if it has a rate, otherwise at saturation. A long load is
 * a series of these that share their ordinals.
 */
import type { Load, Target } from './load.ts';
import type { LoadResult } from './load-result.ts';
import { openLoop } from './open-loop.ts';
import { saturate } from './saturate.ts';
import type { Ordinals, Workload } from './workload.ts';

export function runLoad(
  target: Target,
  workload: Workload,
  load: Load,
  ordinals: Ordinals,
): Promise<LoadResult> {
  const { perSecond } = load;
  return perSecond === undefined
    ? saturate(target, workload, load, ordinals)
    : openLoop(target, workload, { ...load, perSecond }, ordinals);
}
