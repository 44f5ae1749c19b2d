/**
 * Takes the state of a simulator at one instant, for a snapshot or a checkpoint
 * (`state-format.ts`). The head is taken at once. The messages follow in small parts while the
 * simulator runs on: a chunk is read when its parts are made, or copied just before it changes.
 */
import { type Account, type Device, Message } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import type { WorkImage } from '../../sim/devices/device-work.ts';
import type { Batch } from '../../sim/store/batch.ts';
import { rowsPerChunk } from '../../sim/store/chunk.ts';
import type { Cohort } from '../../sim/store/cohort.ts';
import {
  accountOf,
  deviceOf,
  fateOf,
  type Indexes,
  indexesBySlot,
  indexOf,
  mergeCohorts,
  type SavedParts,
  scalarsOf,
} from './saved-objects.ts';
import {
  messageColumns,
  type SavedMessages,
  type Snapshot,
  type StateHead,
  type StatePart,
} from './state-format.ts';

/** With the tables of this store, which a Message needs. */
type Chunk = Registry['messages']['rows']['chunks'][number];

/** Messages in one part: reading them takes about a millisecond. */
const rowsPerPart = 512;

/** Takes a snapshot. Equal states give equal ones: lists follow the order of the messages. */
export function takeSnapshot(saved: SavedParts): Snapshot {
  const { world } = saved.simulation;
  const cohorts = new Set<Cohort>();
  const removed = new Set<Device>();
  for (const { cohort, device } of world.messages.values()) {
    cohorts.add(cohort);
    if (device.isRemoved) removed.add(device);
  }
  const image = new StateImage(saved, cohorts, removed);
  return { ...image.head, messages: image.messages, members: image.members, ...image.unbatched };
}

/** Batches that wait for the same polls of a device. The saved state has one batch for them. */
type BatchGroup = Omit<StateHead['batches'][number], 'cohorts'> & {
  readonly batches: readonly Batch<Message>[];
};

/** The indexes by which saved messages name the objects of the head. */
type ObjectIndexes = Readonly<Record<'accounts' | 'devices' | 'cohorts', Indexes>>;

/**
 * The state at the instant when this object is created. It is read in one of two ways. A snapshot
 * reads `head`, `messages`, `members` and `unbatched` in the same tick. A checkpoint calls `hold`,
 * writes `head` and all `parts` while the simulator runs on, and then calls `release`.
 */
export class StateImage {
  readonly head: StateHead;
  /** Waiting messages that are in no batch. */
  readonly unbatched: Required<Pick<StatePart, 'held' | 'paced'>>;
  readonly #indexes: ObjectIndexes;
  /** Chunks with messages that no part holds yet. */
  readonly #chunks: Set<Chunk>;
  /** Copies of the chunks that have changed since `hold`. */
  readonly #copies = new Map<Chunk, Chunk>();
  readonly #groups: readonly BatchGroup[];
  /** For each group, the blocks of arrival numbers of each of its batches. */
  readonly #arrivalBlocks: readonly (readonly Iterable<Float64Array>[])[];

  /** `cohorts` and `removed`: the cohorts and the removed SIMs that messages refer to. */
  constructor(saved: SavedParts, cohorts: Iterable<Cohort>, removed: Iterable<Device>) {
    const { world } = saved.simulation;
    const accounts = [...world.accounts.values()];
    const devices = [
      ...new Set([...world.devices.values(), ...removed, ...removedReceivers(accounts)]),
    ];
    const images = devices.map(({ work }) => work.image);
    this.unbatched = unbatchedIn(images);
    this.#groups = images.flatMap(groupsOf);
    this.#arrivalBlocks = this.#groups.map(({ batches }) =>
      batches.map(({ arrivals }) => arrivals),
    );
    const batchIndexes = new Map(
      this.#groups.flatMap(({ batches }, index) => batches.map((batch) => [batch, index])),
    );
    const accountIndexes = indexesBySlot(accounts);
    const merged = mergeCohorts(cohorts, accountIndexes, batchIndexes);
    this.#indexes = {
      accounts: accountIndexes,
      devices: indexesBySlot(devices),
      cohorts: merged.indexesBySlot,
    };
    this.head = {
      ...scalarsOf(saved),
      accounts: accounts.map((account) => accountOf(account, world.now())),
      devices: devices.map(deviceOf),
      cohorts: merged.cohorts,
      batches: this.#groups.map((group) => batchOf(group, merged.indexesBySlot)),
    };
    this.#chunks = new Set(world.messages.rows.chunks);
  }

  /** Keeps this state while the simulator runs on: copies a chunk before it changes. */
  hold(): void {
    for (const chunk of this.#chunks) chunk.onChange = () => this.#copies.set(chunk, chunk.copy());
  }

  /** Ends `hold`. Call it when no more parts are read. */
  release(): void {
    for (const chunk of this.#chunks) this.#releaseChunk(chunk);
  }

  /** The parts that follow the head. Each is made when the reader asks for it. */
  *parts(): Generator<StatePart> {
    yield* this.#messageParts();
    for (const [batch, lists] of this.#arrivalBlocks.entries()) {
      for (const blocks of lists)
        for (const block of blocks) yield { members: [{ batch, arrivals: [...block] }] };
    }
    yield this.unbatched;
  }

  /** The messages in batches now. `parts` may list more: a batch drops moved ones at a poll. */
  get members(): Snapshot['members'] {
    return this.#groups.map(({ batches }, index) => ({
      batch: index,
      arrivals: batches.flatMap((batch) =>
        batch.membersOf(batch.cohorts).map(({ arrival }) => arrival),
      ),
    }));
  }

  /** All messages as they are now. */
  get messages(): SavedMessages {
    const messages = noMessages();
    for (const chunk of this.#chunks) addRows(messages, chunk, this.#indexes);
    return messages;
  }

  *#messageParts(): Generator<StatePart> {
    for (const chunk of this.#chunks) {
      let row = 0;
      do {
        const messages = noMessages();
        // Looked up for each part: the chunk may have changed, and so been copied, since the last.
        const current = this.#copies.get(chunk) ?? chunk;
        row = addRows(messages, current, this.#indexes, row, rowsPerPart);
        yield { messages };
      } while (row >= 0);
      this.#releaseChunk(chunk);
    }
  }

  #releaseChunk(chunk: Chunk): void {
    chunk.onChange = undefined;
    this.#copies.delete(chunk);
    this.#chunks.delete(chunk);
  }
}

function noMessages(): SavedMessages {
  return Object.fromEntries(messageColumns.map((name) => [name, []])) as unknown as SavedMessages;
}

/**
 * Adds the messages of a chunk from row `first` on, at most `limit`. Returns the row of the next
 * message, or -1 if there is none.
 */
function addRows(
  messages: SavedMessages,
  chunk: Chunk,
  indexes: ObjectIndexes,
  first = 0,
  limit = rowsPerChunk,
): number {
  const { columns } = chunk;
  let row = chunk.firstRowFrom(first);
  for (let added = 0; row >= 0 && added < limit; added++) {
    const message = new Message(chunk, row);
    const { fate, sender, sendAtMs } = message;
    const place = chunk.placeOf(row);
    const index = messages.message_id.push(message.messageId) - 1;
    messages.account.push(indexOf(indexes.accounts, columns.account[place]));
    messages.device.push(indexOf(indexes.devices, columns.device[place]));
    messages.key.push(columns.key[place] as number);
    messages.cohort.push(indexOf(indexes.cohorts, columns.cohort[place]));
    messages.endpoint.push(columns.endpointAt(place));
    messages.request_id.push(message.requestId);
    messages.to.push(message.to);
    messages.text.push(message.text);
    messages.created_at_ms.push(message.createdAtMs);
    messages.arrival.push(message.arrival);
    if (sendAtMs > 0) messages.send_at_ms.push([index, sendAtMs]);
    if (fate !== undefined) messages.fate.push([index, fateOf(fate)]);
    if (sender !== '') messages.sender.push([index, sender]);
    row = chunk.firstRowFrom(row + 1);
  }
  return row;
}

/** `images`: the work of each device, in the order of the head. */
function unbatchedIn(images: readonly WorkImage<Message>[]): StateImage['unbatched'] {
  return {
    held: images.flatMap(({ held }, device) => {
      const arrivals = held.alone.map(({ arrival }) => arrival);
      return arrivals.length === 0 ? [] : [{ device, arrivals }];
    }),
    paced: images.flatMap(({ paced }, device) =>
      paced.map(({ message: { arrival }, from, dueAtMs }) => ({
        device,
        arrival,
        from,
        due_at_ms: dueAtMs,
      })),
    ),
  };
}

/** `device`: the index of the device. */
function groupsOf({ ready, inFlight, held }: WorkImage<Message>, device: number): BatchGroup[] {
  const groups: BatchGroup[] = [
    { device, row: 'ready', ends_at_ms: 0, batches: ready },
    { device, row: 'in_flight', ends_at_ms: 0, batches: inFlight },
    ...held.together.map(
      ([endMs, batch]): BatchGroup => ({
        device,
        row: 'held',
        ends_at_ms: endMs,
        batches: [batch],
      }),
    ),
  ];
  // A batch without messages still counts: its device wakes for the next poll.
  return groups.filter(({ batches }) => batches.length > 0);
}

/** A group as the head has it. */
function batchOf(
  { batches, ...group }: BatchGroup,
  cohortIndexes: Indexes,
): StateHead['batches'][number] {
  const indexes = batches
    .flatMap(({ cohorts }) => cohorts)
    .flatMap(({ slot }) => cohortIndexes.get(slot) ?? []);
  // Sorted, since the cohorts of a batch are in the order of their creation. No reply depends on
  // that order, and a restored batch does not know it.
  return { ...group, cohorts: [...new Set(indexes)].sort((a, b) => a - b) };
}

/** The removed SIMs that received messages still refer to. */
function removedReceivers(accounts: readonly Account[]): Device[] {
  return accounts.flatMap(({ received }) =>
    received.map(({ device }) => device).filter(({ isRemoved }) => isRemoved),
  );
}
