/**
 * Maps each defect of the catalogue to the code that plants it.
 */
import type { Settings } from '../config/settings.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { backwardDefects } from './backwards.ts';
import { bodyDefects } from './bodies.ts';
import { bucketDefects } from './buckets.ts';
import { fieldDefects } from './fields.ts';
import { holdDefects } from './holds.ts';
import { inexactIdDefects } from './inexact-ids.ts';
import { keyDefects } from './keys.ts';
import { lifeDefects } from './lifecycles.ts';
import { limitDefects } from './limits.ts';
import { pathDefects } from './paths.ts';
import { type Defects, WrongSimulation } from './planted.ts';
import { quotaDefects } from './quotas.ts';
import { readDefects } from './reads.ts';
import { refusalDefects } from './refusals.ts';
import { replayWindowDefects } from './replay-windows.ts';
import { replayDefects } from './replays.ts';
import { retryAfterDefects } from './retry-after.ts';
import { rewrittenDefects } from './rewritten.ts';
import { senderDefects } from './senders.ts';
import { windowDefects } from './windows.ts';

export const plantedDefects: Defects = {
  ...limitDefects,
  ...bucketDefects,
  ...windowDefects,
  ...retryAfterDefects,
  ...replayWindowDefects,
  ...replayDefects,
  ...readDefects,
  ...inexactIdDefects,
  ...keyDefects,
  ...refusalDefects,
  ...senderDefects,
  ...fieldDefects,
  ...rewrittenDefects,
  ...holdDefects,
  ...lifeDefects,
  ...backwardDefects,
  ...bodyDefects,
  ...pathDefects,
  ...quotaDefects,
};

/** The options that plant the defect in a simulator; undefined for an unknown name. */
export function wrongSimulation(
  name: string,
): ((settings: Settings, startMs: number) => Simulation) | undefined {
  const planted = Object.hasOwn(plantedDefects, name) ? plantedDefects[name] : undefined;
  if (planted === undefined) return undefined;
  return (settings, startMs) => new WrongSimulation(settings, startMs, planted);
}
