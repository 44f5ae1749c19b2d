/**
 * The state of one instant as the parts of a checkpoint, and back. The first part is JSON with
 * everything but messages; each other part is JSON with the next messages in the order of their
 * acceptance, or with the next rows of a SIM. They are made while the simulator goes on.
 */
import type { Settings } from '../config/settings.ts';
import { drawKey } from '../sim/ids.ts';
import { Rng, type RngState } from '../sim/rng.ts';
import type { World } from '../sim/world.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WallClock } from '../simulation/wall-clock.ts';
import { sha256 } from './digest.ts';
import { restoreSimulation } from './restore.ts';
import {
  type StateHead,
  type StatePiece,
  snapshotOf,
  type TakenState,
  takeState,
} from './take-state.ts';

/** A simulator, as far as a checkpoint holds and restores it. */
export interface Checkpointed {
  readonly settings: Settings;
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
  readonly requestLog: { readonly total: number; resumeAt(total: number): void };
  /** An empty simulation of the same parts. */
  makeSimulation(settings: Settings, startMs: number): Simulation;
  replace(simulation: Simulation): void;
}

export interface CheckpointState {
  /** The simulated time of the instant. */
  readonly atMs: number;
  /** Made one by one, as they are asked for. */
  readonly parts: Iterable<Uint8Array>;
}

interface Head {
  readonly snapshot: StateHead;
  /** Requests since the start: their numbers go on. */
  readonly requests: number;
  /** By the id of each key that was drawn: the chance it was drawn from, which is not its text. */
  readonly drawn_keys: Readonly<Record<string, DrawnKey>>;
}

interface DrawnKey {
  readonly rng: RngState;
  readonly prefix: string;
}

/** A journal must not outgrow its bound while a checkpoint is written. */
const requestsPerPiece = 5_000;
/** A drawn key ends with so many characters that were drawn. */
const drawnCharacters = 40;

export function checkpointState(simulator: Checkpointed): CheckpointState {
  const state = takeState(simulator);
  const { head: snapshot } = state;
  const { world } = simulator.simulation;
  const { total: requests } = simulator.requestLog;
  const came = () => simulator.requestLog.total - requests;
  const parts = partsOf({ snapshot, requests, drawn_keys: drawnKeysOf(world) }, state, came);
  return { atMs: snapshot.clock.now_ms, parts };
}

/** Puts the state that `parts` hold in the place of the simulator's own. */
export function restoreState(simulator: Checkpointed, parts: Iterable<Uint8Array>): void {
  let head: Head | undefined;
  const pieces: StatePiece[] = [];
  for (const part of parts) {
    const text = Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString();
    const value: unknown = JSON.parse(text);
    if (head === undefined) head = value as Head;
    else for (const piece of value as StatePiece[]) pieces.push(piece);
  }
  if (head === undefined) throw new Error('the checkpoint is empty');
  const { snapshot, requests, drawn_keys: drawnKeys } = head;
  const { settings, simulation, wallClock, requestLog } = simulator;
  const known = textsOf(simulation.world, drawnKeys);
  const restored = restoreSimulation(
    snapshotOf(snapshot, pieces),
    settings,
    known,
    (own, startMs) => simulator.makeSimulation(own, startMs),
  );
  for (const [keyId, { rng }] of Object.entries(drawnKeys)) {
    const key = restored.world.keys.get(keyId);
    if (key !== undefined) key.drawnFrom = rng;
  }
  simulator.replace(restored);
  wallClock.setMode(snapshot.clock.mode, snapshot.clock.rate);
  requestLog.resumeAt(requests);
}

/** Between two parts the simulator goes on: the more came, the larger is the next part. */
function* partsOf(
  head: Head,
  { pieces, release }: TakenState,
  came: () => number,
): Generator<Uint8Array> {
  try {
    yield Buffer.from(JSON.stringify(head));
    let part: string[] = [];
    for (const piece of pieces) {
      part.push(JSON.stringify(piece));
      if (part.length <= came() / requestsPerPiece) continue;
      yield Buffer.from(`[${part.join()}]`);
      part = [];
    }
    if (part.length > 0) yield Buffer.from(`[${part.join()}]`);
  } finally {
    release();
  }
}

function drawnKeysOf({ keys }: World): Record<string, DrawnKey> {
  const drawn: Record<string, DrawnKey> = {};
  for (const { keyId, key, drawnFrom: rng } of keys.values()) {
    if (rng !== undefined) drawn[keyId] = { rng, prefix: key.slice(0, -drawnCharacters) };
  }
  return drawn;
}

/** The texts of keys by digest: those that the settings give, and those that are drawn again. */
function textsOf({ keys }: World, drawn: Head['drawn_keys']): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { key } of keys.values()) if (key !== '') texts.set(sha256(key), key);
  for (const { rng, prefix } of Object.values(drawn)) {
    const key = drawKey(new Rng(rng), prefix);
    texts.set(sha256(key), key);
  }
  return texts;
}
