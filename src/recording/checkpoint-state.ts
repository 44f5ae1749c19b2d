/**
 * The state of one instant as the parts of a checkpoint, and back. The first part is JSON with
 * everything but messages; each other part is JSON with the next messages, in the order of their
 * acceptance.
 */
import type { Settings } from '../config/settings.ts';
import { drawKey } from '../sim/ids.ts';
import { Rng, type RngState } from '../sim/rng.ts';
import type { World } from '../sim/world.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WallClock } from '../simulation/wall-clock.ts';
import { sha256 } from './digest.ts';
import { restoreSimulation } from './restore.ts';
import type { Snapshot, SnapshotMessage } from './snapshot-format.ts';
import { takeSnapshot } from './take-snapshot.ts';

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
  readonly snapshot: Omit<Snapshot, 'messages'>;
  /** Requests since the start: their numbers go on. */
  readonly requests: number;
  /** By the id of each key that was drawn: the chance it was drawn from, which is not its text. */
  readonly drawn_keys: Readonly<Record<string, DrawnKey>>;
}

interface DrawnKey {
  readonly rng: RngState;
  readonly prefix: string;
}

const messagesOfPart = 4_096;
/** A drawn key ends with so many characters that were drawn. */
const drawnCharacters = 40;

export function checkpointState(simulator: Checkpointed): CheckpointState {
  const { messages, ...snapshot } = takeSnapshot(simulator);
  const { world } = simulator.simulation;
  const { total: requests } = simulator.requestLog;
  const head: Head = { snapshot, requests, drawn_keys: drawnKeysOf(world) };
  return { atMs: snapshot.clock.now_ms, parts: partsOf(head, messages) };
}

/** Puts the state that `parts` hold in the place of the simulator's own. */
export function restoreState(simulator: Checkpointed, parts: Iterable<Buffer>): void {
  let head: Head | undefined;
  const messages: SnapshotMessage[] = [];
  for (const part of parts) {
    const value: unknown = JSON.parse(part.toString());
    if (head === undefined) head = value as Head;
    else for (const message of value as SnapshotMessage[]) messages.push(message);
  }
  if (head === undefined) throw new Error('the checkpoint is empty');
  const { snapshot, requests, drawn_keys: drawnKeys } = head;
  const { settings, simulation, wallClock, requestLog } = simulator;
  const known = textsOf(simulation.world, drawnKeys);
  const restored = restoreSimulation({ ...snapshot, messages }, settings, known, (own, startMs) =>
    simulator.makeSimulation(own, startMs),
  );
  for (const [keyId, { rng }] of Object.entries(drawnKeys)) {
    const key = restored.world.keys.get(keyId);
    if (key !== undefined) key.drawnFrom = rng;
  }
  simulator.replace(restored);
  wallClock.setMode(snapshot.clock.mode, snapshot.clock.rate);
  requestLog.resumeAt(requests);
}

function* partsOf(head: Head, messages: readonly SnapshotMessage[]): Generator<Uint8Array> {
  yield Buffer.from(JSON.stringify(head));
  for (let at = 0; at < messages.length; at += messagesOfPart) {
    yield Buffer.from(JSON.stringify(messages.slice(at, at + messagesOfPart)));
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
