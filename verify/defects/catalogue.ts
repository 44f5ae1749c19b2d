/**
 * All defects: wrong servers that the harness must detect. Each breaks one rule as a real
 * implementation might, and some conformance case tells it from every other. Names are stable.
 * Every rule needs a defect: a rule without one is not known to be tested.
 */
import type { Settings } from '#src/config/settings.ts';
import type { Simulation } from '#src/simulation/simulation.ts';
import { callerDefects } from './callers.ts';
import { holdDefects } from './holds.ts';
import { lifecycleDefects } from './lifecycles.ts';
import { type Defect, type DefectRow, WrongSimulation } from './planted.ts';
import { quotaDefects } from './quotas.ts';
import { readDefects } from './reads.ts';
import { replayDefects } from './replays.ts';
import { replyDefects } from './replies.ts';
import { sendDefects } from './sends.ts';
import { throttlingDefects } from './throttling.ts';

const rows: readonly DefectRow[] = [
  ...throttlingDefects,
  ...replayDefects,
  ...sendDefects,
  ...holdDefects,
  ...callerDefects,
  ...quotaDefects,
  ...readDefects,
  ...replyDefects,
  ...lifecycleDefects,
];

export const defects: readonly Defect[] = rows.map(({ defect }) => defect);

/** The options that plant the defect in a simulator; undefined for an unknown name. */
export function wrongSimulation(
  name: string,
): ((settings: Settings, startMs: number) => Simulation) | undefined {
  const planted = rows.find(({ defect }) => defect.name === name)?.planted;
  if (planted === undefined) return undefined;
  return (settings, startMs) => new WrongSimulation(settings, startMs, planted);
}
