/**
 * What every lever works on. The simulation is replaced by a reset or a restore, so it is asked for anew at
 * each call and never kept.
 */
import type { Simulation } from '../simulation.ts';
import type { WallClock } from '../wall-clock.ts';

export interface Live {
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
}
