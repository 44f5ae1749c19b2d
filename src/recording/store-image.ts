/**
 * The messages of one instant as parts of a checkpoint. Taking it takes a few milliseconds, because
 * there are few cohorts. A full chunk of messages is copied when its part is read, or just before
 * it changes.
 */
import type { Batch } from '../sim/batch.ts';
import type { ChunkImage } from '../sim/chunk.ts';
import type { Cohort, CohortImage } from '../sim/cohort.ts';
import type { PacedStep } from '../sim/paced-steps.ts';
import type { QuotaImage } from '../sim/quota.ts';
import type { RareImage } from '../sim/rare-values.ts';
import type { Account, Device, Message } from '../sim/records.ts';
import { type Status, statuses } from '../sim/status.ts';
import type { World } from '../sim/world.ts';
import { encodePart } from './checkpoint-part.ts';
import { type FateImage, fateImage } from './take-snapshot.ts';

/**
 * The part that is taken at once. It refers to objects by their slots and to batches by their
 * index.
 */
export interface StoreHead {
  readonly accounts: readonly AccountRow[];
  readonly devices: readonly DeviceRow[];
  readonly cohorts: readonly CohortRow[];
  /** The cohorts of each batch. */
  readonly batches: readonly (readonly number[])[];
  readonly unfinished: number;
  readonly first_final: number;
  readonly forgotten_messages: number;
  readonly forgotten_request_ids: number;
}

interface AccountRow {
  readonly account_id: string;
  readonly slot: number;
  readonly counts: Readonly<Record<Status, number>>;
  readonly forgotten: Account['forgotten'];
  readonly quota: QuotaImage;
}

interface DeviceRow {
  readonly device_id: string;
  readonly slot: number;
  readonly messages_held: number;
  readonly poll_count: number;
  readonly ready: readonly number[];
  readonly in_flight: readonly number[];
  /** Batches by the end of their hold. */
  readonly held: readonly (readonly [endMs: number, batch: number])[];
}

export interface CohortRow extends CohortImage {
  readonly slot: number;
  readonly account: number;
  readonly is_unbatched: boolean;
  readonly fate: FateImage | null;
  /** -1: the cohort waits in no batch. */
  readonly batch: number;
}

/** One part after the head. */
export type StorePart =
  | { readonly chunk: StoredChunk }
  | { readonly members: Float64Array; readonly batch: number }
  | { readonly held: Float64Array; readonly device_id: string }
  | {
      readonly paced: Float64Array;
      /** Indexes into the list of statuses. */
      readonly from: Uint8Array;
      readonly due_at_ms: Float64Array;
      readonly device_id: string;
    };

export interface StoredChunk extends Omit<ChunkImage, 'fates'> {
  readonly fates: RareImage<FateImage>;
}

type Chunk = World['messages']['chunks'][number];

/** The number of heap rows in one part. */
const heapRows = 16_384;

export class StoreImage {
  readonly head: StoreHead;
  /** Chunks whose parts have not been read. */
  readonly #chunks: Set<Chunk>;
  /** Copies of those chunks that have changed since then. */
  readonly #saved = new Map<Chunk, Uint8Array>();
  readonly #work: Iterable<StorePart>[] = [];

  constructor(world: World) {
    const { messages: store } = world;
    const devices = [...world.devices.values(), ...removedDevices(world)];
    const batches = devices.flatMap(({ work }) => batchesOf(work));
    const places = new Map(batches.map((batch, place) => [batch as object, place]));
    this.head = {
      accounts: [...world.accounts.values()].map(accountRow),
      devices: devices.map((device) => deviceRow(device, places)),
      cohorts: [...store.cohorts].map((cohort) => cohortRow(cohort, places)),
      batches: batches.map(({ cohorts }) => cohorts.map(({ slot }) => slot).filter(Boolean)),
      unfinished: store.unfinished,
      first_final: store.firstFinal,
      forgotten_messages: store.retention.forgottenMessages,
      forgotten_request_ids: store.retention.forgottenRequestIds,
    };
    for (const [place, batch] of batches.entries()) {
      this.#work.push(memberParts(batch.arrivals, place));
    }
    for (const { work, deviceId } of devices) {
      this.#work.push(heldParts(work.held.image.alone, deviceId));
      this.#work.push(pacedParts(work.paced.unsorted, deviceId));
    }
    this.#chunks = new Set(store.chunks);
    for (const chunk of this.#chunks) {
      chunk.onChange = () => this.#saved.set(chunk, chunkPart(chunk));
    }
  }

  /** Makes each part when it is read. */
  *parts(): Generator<Uint8Array> {
    for (const chunk of this.#chunks) {
      const part = this.#saved.get(chunk) ?? chunkPart(chunk);
      this.#letGo(chunk);
      yield part;
    }
    for (const parts of this.#work) for (const part of parts) yield encodePart(part);
  }

  /** Stops the copying of chunks. */
  release(): void {
    for (const chunk of this.#chunks) this.#letGo(chunk);
  }

  #letGo(chunk: Chunk): void {
    chunk.onChange = undefined;
    this.#saved.delete(chunk);
    this.#chunks.delete(chunk);
  }
}

/** Removed SIMs that a message still refers to. */
export function removedDevices({ messages, accounts }: World): Device[] {
  const removed = new Set<Device>();
  for (const device of messages.devices) if (device.isRemoved) removed.add(device);
  for (const { received } of accounts.values()) {
    for (const { device } of received) if (device.isRemoved) removed.add(device);
  }
  return [...removed];
}

function batchesOf({ ready, inFlight, held }: Device['work']): Batch<Message>[] {
  return [...ready, ...inFlight, ...held.image.together.map(([, batch]) => batch)];
}

function accountRow({ accountId, slot, counts, forgotten, quota }: Account): AccountRow {
  return {
    account_id: accountId,
    slot,
    counts: { ...counts },
    forgotten: { ...forgotten },
    quota: quota.image,
  };
}

function deviceRow(device: Device, places: ReadonlyMap<object, number>): DeviceRow {
  const { deviceId, slot, messagesHeld, work } = device;
  const placeOf = (batch: object) => places.get(batch) ?? -1;
  return {
    device_id: deviceId,
    slot,
    messages_held: messagesHeld,
    poll_count: work.pollCount,
    ready: work.ready.map(placeOf),
    in_flight: work.inFlight.map(placeOf),
    held: work.held.image.together.map(([end, batch]) => [end, placeOf(batch)]),
  };
}

function cohortRow(cohort: Cohort, places: ReadonlyMap<object, number>): CohortRow {
  const { slot, fate, batch, image } = cohort;
  const account = cohort.account as Account;
  return {
    ...image,
    slot,
    account: account.slot,
    is_unbatched: account.unbatched === cohort,
    fate: fate === undefined ? null : fateImage(fate),
    batch: (batch && places.get(batch)) ?? -1,
  };
}

/** Copies the arrays that it refers to. */
function chunkPart({ image }: Chunk): Uint8Array {
  const { indices, values } = image.fates;
  const fates = { indices, values: values.map(fateImage) };
  return encodePart({ chunk: { ...image, fates } } satisfies StorePart);
}

function* memberParts(blocks: Iterable<Float64Array>, batch: number): Generator<StorePart> {
  for (const members of blocks) yield { members, batch };
}

function* heldParts(messages: readonly Message[], deviceId: string): Generator<StorePart> {
  for (let at = 0; at < messages.length; at += heapRows) {
    const rows = messages.slice(at, at + heapRows);
    yield { held: Float64Array.from(rows, ({ arrival }) => arrival), device_id: deviceId };
  }
}

function* pacedParts(steps: readonly PacedStep<Message>[], deviceId: string): Generator<StorePart> {
  for (let at = 0; at < steps.length; at += heapRows) {
    const rows = steps.slice(at, at + heapRows);
    yield {
      paced: Float64Array.from(rows, ({ message }) => message.arrival),
      from: Uint8Array.from(rows, ({ from }) => statuses.indexOf(from)),
      due_at_ms: Float64Array.from(rows, ({ dueAtMs }) => dueAtMs),
      device_id: deviceId,
    };
  }
}
