/**
 * Every defect by its name in the catalogue (`catalogue.ts`), and the wrong server that it makes.
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
import { limitDefects } from './limits.ts';
import { lifeDefects } from './lives.ts';
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

/** What `createSimulator` is given to be wrong in this way; undefined where no defect has the name. */
export function wrongSimulation(
  name: string,
): ((settings: Settings, startMs: number) => Simulation) | undefined {
  const planted = Object.hasOwn(plantedDefects, name) ? plantedDefects[name] : undefined;
  if (planted === undefined) return undefined;
  return (settings, startMs) => new WrongSimulation(settings, startMs, planted);
}
