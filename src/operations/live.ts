/**
 * What every lever works on. The simulation is replaced by a reset or a restore, so it is asked for anew at
 * each call and never kept.
 */
import type { Simulation } from '../simulation/simulation.ts';
import type { WallClock } from '../simulation/wall-clock.ts';
import type { Activity } from './activity.ts';

export interface Live {
  readonly activity: Activity;
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
  /**
   * Runs one input that changes state: simulated time is pulled up to the present, and the journal learns the
   * lever's name and arguments (JSON values, from which `journal/inputs.ts` runs it again).
   */
  change<T>(lever: string, args: readonly unknown[], act: () => T): T;
}
