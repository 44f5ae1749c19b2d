/**
 * Converts the state of one instant to the parts of a checkpoint, and back. The first part has
 * everything except messages; `store-image.ts` makes the others.
 */
import type { Settings } from '../config/settings.ts';
import { drawKey } from '../sim/ids.ts';
import { Rng, type RngState } from '../sim/rng.ts';
import type { World } from '../sim/world.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WallClock } from '../simulation/wall-clock.ts';
import { decodePart, encodePart } from './checkpoint-part.ts';
import { sha256 } from './digest.ts';
import { restoreSimulation } from './restore.ts';
import { restoreStore } from './restore-store.ts';
import type { Snapshot } from './snapshot-format.ts';
import { removedDevices, type StoreHead, StoreImage, type StorePart } from './store-image.ts';
import { accountHead, deviceHead, headOf, noRows, noWork } from './take-snapshot.ts';

/** The parts of a simulator that a checkpoint saves and restores. */
export interface Checkpointed {
  readonly settings: Settings;
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
  readonly requestLog: { readonly total: number; resumeAt(total: number): void };
  /** An empty simulation of the same classes. */
  makeSimulation(settings: Settings, startMs: number): Simulation;
  replace(simulation: Simulation): void;
}

export interface CheckpointState {
  /** The simulated time of the checkpoint. */
  readonly atMs: number;
  /** Each part is made when it is read. */
  readonly parts: Iterable<Uint8Array>;
  /** Call when no more parts are needed. */
  release(): void;
}

interface Head {
  readonly snapshot: Snapshot;
  readonly store: StoreHead;
  /** The number of requests since the start, from which numbering continues. */
  readonly requests: number;
  /**
   * For each drawn key, by its id, the random state that it was drawn from. The key's text is not
   * stored.
   */
  readonly drawn_keys: Readonly<Record<string, DrawnKey>>;
}

interface DrawnKey {
  readonly rng: RngState;
  readonly prefix: string;
}

/** A drawn key ends with this many random characters. */
const drawnCharacters = 40;

export function checkpointState(simulator: Checkpointed): CheckpointState {
  const { world } = simulator.simulation;
  const snapshot = snapshotOf(simulator);
  const { total: requests } = simulator.requestLog;
  const image = new StoreImage(world);
  const { head: store } = image;
  const head: Head = { snapshot, store, requests, drawn_keys: drawnKeysOf(world) };
  return {
    atMs: snapshot.clock.now_ms,
    parts: partsOf(encodePart(head), image),
    release: () => image.release(),
  };
}

/** Replaces the simulator's state by the state in `parts`. */
export function restoreState(simulator: Checkpointed, parts: Iterable<Uint8Array>): void {
  const values = decoded(parts);
  const first = values.next();
  if (first.done === true) throw new Error('the checkpoint is empty');
  const { snapshot, store, requests, drawn_keys: drawnKeys } = first.value as Head;
  const { settings, simulation, wallClock, requestLog } = simulator;
  const known = textsOf(simulation.world, drawnKeys);
  const restored = restoreSimulation(
    snapshot,
    settings,
    known,
    (own, startMs) => simulator.makeSimulation(own, startMs),
    (world, deviceOf) => restoreStore(world, store, values as Iterable<StorePart>, deviceOf),
  );
  for (const [keyId, { rng }] of Object.entries(drawnKeys)) {
    const key = restored.world.keys.get(keyId);
    if (key !== undefined) key.drawnFrom = rng;
  }
  simulator.replace(restored);
  wallClock.setMode(snapshot.clock.mode, snapshot.clock.rate);
  requestLog.resumeAt(requests);
}

/** A snapshot without messages and without anything derived from them. */
function snapshotOf(simulator: Checkpointed): Snapshot {
  const { world, clock } = simulator.simulation;
  return {
    ...headOf(simulator),
    accounts: Array.from(world.accounts.values(), (each) => accountHead(each, [], clock.now())),
    devices: [
      ...Array.from(world.devices.values(), (each) => ({ ...deviceHead(each), ...noRows })),
      ...removedDevices(world).map((each) => ({ ...deviceHead(each), ...noWork })),
    ],
    messages: [],
  };
}

function* partsOf(head: Uint8Array, image: StoreImage): Generator<Uint8Array> {
  yield head;
  yield* image.parts();
}

function* decoded(parts: Iterable<Uint8Array>): Generator<unknown> {
  for (const part of parts) yield decodePart(part);
}

function drawnKeysOf({ keys }: World): Record<string, DrawnKey> {
  const drawn: Record<string, DrawnKey> = {};
  for (const { keyId, key, drawnFrom: rng } of keys.values()) {
    if (rng !== undefined) drawn[keyId] = { rng, prefix: key.slice(0, -drawnCharacters) };
  }
  return drawn;
}

/** The texts of keys by digest: keys given by the settings, and keys that are drawn again. */
function textsOf({ keys }: World, drawn: Head['drawn_keys']): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { key } of keys.values()) if (key !== '') texts.set(sha256(key), key);
  for (const { rng, prefix } of Object.values(drawn)) {
    const key = drawKey(new Rng(rng), prefix);
    texts.set(sha256(key), key);
  }
  return texts;
}
