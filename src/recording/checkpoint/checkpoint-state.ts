/**
 * Converts the state of a simulator at one instant to the parts of a checkpoint, and back. The
 * first part is the head; parts with messages and the work of devices follow
 * (`src/recording/state/state-format.ts`).
 */
import { hash } from 'node:crypto';
import { JournalError } from '#judging/evidence/journal-line.ts';
import type { Settings } from '../../config/settings.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import { drawKey, keyLength, Rng, type RngState } from '../../sim/random.ts';
import type { ReplayTarget } from '../play.ts';
import { restoreState } from '../state/restore-state.ts';
import { type StateHead, type StatePart, stateFormat } from '../state/state-format.ts';
import { StateImage } from '../state/take-state.ts';

export type CheckpointState = ReturnType<typeof checkpointState>;

interface Head {
  readonly state: StateHead;
  /** The number of requests since the start, from which numbering continues. */
  readonly requests: number;
  /** The keys that were drawn from the seed, by id, without their texts. */
  readonly drawn_keys: Readonly<Record<string, DrawnKey>>;
}

/** Drawing from this random state again gives the text of the key. */
interface DrawnKey {
  readonly rng: RngState;
  readonly prefix: string;
}

/** Takes the state now. Makes each part when it is read. Call `release` when no more are needed. */
export function checkpointState(simulator: ReplayTarget) {
  // An input that this state has must not follow in the journal.
  simulator.exchangeRecord.settle();
  const { world } = simulator.simulation;
  const { cohorts, devices } = world.messages;
  const removed = [...devices].filter(({ isRemoved }) => isRemoved);
  const image = new StateImage(simulator, cohorts, removed);
  image.hold();
  const { head: state } = image;
  const { total: requests } = simulator.exchangeRecord;
  const head: Head = { state, requests, drawn_keys: drawnKeysOf(world) };
  return { atMs: state.clock.now_ms, parts: partsOf(head, image), release: () => image.release() };
}

export function restoreCheckpoint(simulator: ReplayTarget, parts: Generator<unknown>): void {
  const { state, requests, drawn_keys: drawnKeys } = readHead(parts);
  const { settings, simulation, wallClock, exchangeRecord } = simulator;
  const texts = keyTexts(simulation.world, drawnKeys);
  const make = (empty: Settings, startMs: number) => simulator.makeSimulation(empty, startMs);
  const restored = restoreState(state, parts as Generator<StatePart>, {
    settings,
    keyTexts: texts,
    make,
  });
  for (const [keyId, { rng }] of Object.entries(drawnKeys)) {
    const key = restored.world.keys.get(keyId);
    if (key !== undefined) key.drawnFrom = rng;
  }
  simulator.replace(restored);
  wallClock.setMode(state.clock.mode, state.clock.rate);
  exchangeRecord.resumeAt(requests);
}

/** Throws if another version wrote the parts in another format. */
function readHead(parts: Iterator<unknown>): Head {
  try {
    const head = parts.next().value as Head | undefined;
    if (head?.state.snapshot === stateFormat) return head;
  } catch (error) {
    if (error instanceof JournalError) throw error;
    // Earlier versions wrote binary parts.
  }
  throw new Error('it has the format of another version; continue this run with that version');
}

function* partsOf(head: Head, image: StateImage): Generator<Head | StatePart> {
  yield head;
  yield* image.parts();
}

function drawnKeysOf({ keys }: Registry): Record<string, DrawnKey> {
  const drawn: Record<string, DrawnKey> = {};
  for (const { keyId, key, drawnFrom: rng } of keys.values())
    if (rng !== undefined) drawn[keyId] = { rng, prefix: key.slice(0, -keyLength) };
  return drawn;
}

/** The texts of keys by digest: the keys of the settings, and the drawn keys, drawn again. */
function keyTexts({ keys }: Registry, drawn: Head['drawn_keys']): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { key } of keys.values()) if (key !== '') texts.set(hash('sha256', key), key);
  for (const { rng, prefix } of Object.values(drawn)) {
    const key = drawKey(new Rng(rng), prefix);
    texts.set(hash('sha256', key), key);
  }
  return texts;
}
