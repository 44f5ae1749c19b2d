/**
 * The whole state, taken and put back.
 */

import type { Settings } from '../config/settings.ts';
import { sha256 } from '../recording/digest.ts';
import { restoreSimulation } from '../recording/restore.ts';
import { type Snapshot, snapshotFormat, snapshotSchema } from '../recording/snapshot-format.ts';
import { takeSnapshot } from '../recording/take-snapshot.ts';
import { LeverError } from '../sim/lever-error.ts';
import type { World } from '../sim/world.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { clockState } from './clock-state.ts';
import { readInput } from './input.ts';
import type { Live } from './live.ts';

/** What a restore does to the simulator beyond what levers may. */
export interface Restorable extends Live {
  readonly settings: Settings;
  replace(simulation: Simulation): void;
}

/** As large as one may be to leave by the control port, or to come back. */
export const snapshotLimitBytes = 256 * 1_048_576;

/** A snapshot as it leaves the process; refused where it could not come back. */
export function snapshotText(snapshot: Snapshot, limitBytes = snapshotLimitBytes): string {
  const text = textOf(snapshot);
  if (text !== undefined && Buffer.byteLength(text) <= limitBytes) return text;
  const message = `the state is larger than the ${limitBytes} bytes of the largest snapshot`;
  throw new LeverError('conflict', message);
}

/** Undefined where no string is long enough. */
function textOf(snapshot: Snapshot): string | undefined {
  try {
    return JSON.stringify(snapshot);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export class SnapshotLevers {
  readonly #live: Restorable;

  constructor(live: Restorable) {
    this.#live = live;
  }

  take(): Snapshot {
    this.#live.wallClock.pump();
    return takeSnapshot(this.#live);
  }

  /** Goes on from a snapshot, clock included, as if the simulator it was taken of had never stopped. */
  restore(input: Snapshot): void {
    this.#live.change('snapshot.restore', [input], () => {
      const snapshot = readSnapshot(input);
      const { settings, simulation, wallClock, activity } = this.#live;
      const restored = restoreSimulation(snapshot, settings, knownKeys(simulation.world));
      this.#live.replace(restored);
      wallClock.setMode(snapshot.clock.mode, snapshot.clock.rate);
      if (activity.isWatched) activity.publish('clock', clockState(this.#live));
    });
  }
}

function readSnapshot(input: unknown): Snapshot {
  const isOther =
    typeof input === 'object' &&
    input !== null &&
    'snapshot' in input &&
    input.snapshot !== snapshotFormat;
  if (!isOther) return readInput(snapshotSchema, input);
  throw new LeverError('invalid', `expected snapshot format ${snapshotFormat}`, 'snapshot');
}

/** The texts of the keys that the present world knows; most snapshots come back to the world they were taken of. */
function knownKeys(world: World): Map<string, string> {
  const known = new Map<string, string>();
  for (const { key } of world.keys.values()) if (key !== '') known.set(sha256(key), key);
  return known;
}
