/**
 * A copy of a world at one instant. It continues from the same state, clock included, with its own
 * keys and random streams: both follow from its seed and name.
 */

import type { Settings } from '../config/settings.ts';
import { sha256 } from '../recording/digest.ts';
import { restoreSnapshot } from '../recording/restore-state.ts';
import type { Snapshot } from '../recording/state-format.ts';
import { takeSnapshot } from '../recording/take-state.ts';
import { type Assumptions, defaultAssumptions } from '../sim/assumptions.ts';
import { shownPrefix } from '../sim/key-ring.ts';
import { drawKey } from '../sim/random.ts';
import type { World } from '../sim/world.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WallClock } from '../simulation/wall-clock.ts';

/** The parts of a simulator that forking uses. */
export interface Forkable {
  readonly settings: Settings;
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
  change<T>(name: string, args: readonly unknown[], act: () => T): T;
  replace(simulation: Simulation): void;
}

/** `copy`: a new simulator without any history. */
export function copyInto(copy: Forkable, source: Forkable): void {
  const taken = source.wallClock.atOneMoment(() => takeSnapshot(source));
  const { world } = copy.simulation;
  const known = new Map<string, string>();
  const snapshot = withOwnChance(taken, world, known);
  const { mode, rate } = snapshot.clock;
  // The copy's journal starts with this input, as if a user had restored the snapshot.
  copy.change('snapshot.restore', [snapshot], () => {
    copy.replace(restoreSnapshot(snapshot, { settings: copy.settings, known }));
    copy.wallClock.setMode(mode, rate);
  });
}

/** The text that a key has in a fork whose start state is `world`. */
export function forkedKey(
  world: World,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string },
  keyFormat: Assumptions['keyFormat'] = defaultAssumptions.keyFormat,
): string {
  return drawKey(world.chance(`fork:${accountId}:${keyId}`), keyFormat);
}

/** Adds the texts of the new keys to `known`, by their digests. */
function withOwnChance(snapshot: Snapshot, world: World, known: Map<string, string>): Snapshot {
  const { keyFormat } = snapshot.assumptions;
  const accounts = snapshot.accounts.map((account) => {
    const stream = (label: string) => world.chance(`fork:${account.account_id}:${label}`);
    const keys = account.keys.map((key) => {
      const place = { accountId: account.account_id, keyId: key.key_id };
      const text = forkedKey(world, place, keyFormat);
      known.set(sha256(text), text);
      return { ...key, sha256: sha256(text), prefix: shownPrefix(text) };
    });
    const chance = {
      ids: [...stream('ids').state],
      fates: [...stream('fates').state],
      paces: [...stream('paces').state],
    } as unknown as typeof account.chance;
    return { ...account, keys, chance };
  });
  const poolIds = [...world.chance('fork:pool').state] as typeof snapshot.counters.pool_ids;
  return { ...snapshot, accounts, counters: { ...snapshot.counters, pool_ids: poolIds } };
}
