/**
 * Takes the state of a simulator at one instant, for a snapshot or a checkpoint
 * (`state-format.ts`). The head is taken at once. The messages follow in small parts while the
 * simulator runs on: a chunk of the message store is read when its parts are made, or copied just
 * before it changes.
 */

import { type Account, type Device, Message } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import type { WorkImage } from '../../sim/devices/device-work.ts';
import { assert } from '../../sim/errors.ts';
import type { Batch } from '../../sim/store/batch.ts';
import { rowsPerChunk } from '../../sim/store/chunk.ts';
import type { Cohort } from '../../sim/store/cohort.ts';
import { accountOf, deviceOf, fateOf, type SavedParts, scalarsOf } from './saved-objects.ts';
import {
  messageColumns,
  type SavedCohort,
  type SavedMessages,
  type Snapshot,
  type StateHead,
  type StatePart,
} from './state-format.ts';

type Chunk = Registry['messages']['rows']['chunks'][number];

/** Messages in one part: reading them takes about a millisecond. */
const rowsPerPart = 512;

/** Equal states give equal snapshots: lists follow the order of the messages. */
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

/** Batches that wait for the same polls of a device: the saved state has one batch for them. */
type BatchGroup = Omit<StateHead['batches'][number], 'cohorts'> & {
  readonly batches: readonly Batch<Message>[];
};

/**
 * The state at the instant when this object is created. It is read in one of two ways. A snapshot
 * reads `head`, `messages`, `members` and `unbatched` in the same tick. A checkpoint calls `hold`,
 * writes `head` and all `parts` while the simulator runs on, and then calls `release`.
 */
export class StateImage {
  readonly head: StateHead;
  /** Waiting messages that are in no batch. */
  readonly unbatched: Required<Pick<StatePart, 'held' | 'paced'>>;
  /** Indexes into the lists of the head, by slot: the number by which messages name an object. */
  readonly #accountIndexes: ReadonlyMap<number, number>;
  readonly #deviceIndexes: ReadonlyMap<number, number>;
  readonly #cohortIndexes: ReadonlyMap<number, number>;
  /** Chunks with messages that no part holds yet. */
  readonly #chunks: Set<Chunk>;
  /** Copies of the chunks that have changed since `hold`. */
  readonly #copies = new Map<Chunk, Chunk>();
  readonly #groups: readonly BatchGroup[];
  /** For each group, the blocks of arrival numbers of each of its batches. */
  readonly #members: readonly (readonly Iterable<Float64Array>[])[];

  /** `cohorts` and `removed`: the cohorts and the removed SIMs that messages refer to. */
  constructor(saved: SavedParts, cohorts: Iterable<Cohort>, removed: Iterable<Device>) {
    const { world } = saved.simulation;
    const { messages: store } = world;
    const accounts = [...world.accounts.values()];
    const devices = [
      ...new Set([...world.devices.values(), ...removed, ...removedReceivers(accounts)]),
    ];
    this.#accountIndexes = indexesBySlot(accounts);
    this.#deviceIndexes = indexesBySlot(devices);
    const images = devices.map(({ work }) => work.image);
    this.#groups = images.flatMap(groupsOf);
    this.#members = this.#groups.map(({ batches }) => batches.map(({ arrivals }) => arrivals));
    this.unbatched = {
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
    const merged = this.#mergeCohorts(cohorts);
    this.#cohortIndexes = merged.indexesBySlot;
    this.head = {
      ...scalarsOf(saved),
      accounts: accounts.map((account) => accountOf(account, world.now())),
      devices: devices.map(deviceOf),
      cohorts: merged.cohorts,
      batches: this.#groups.map(({ batches, ...group }) => {
        const indexes = batches
          .flatMap(({ cohorts: ofBatch }) => ofBatch)
          .flatMap(({ slot }) => this.#cohortIndexes.get(slot) ?? []);
        // Sorted, since the cohorts of a batch are in the order of their creation. No reply depends
        // on that order, and a restored batch does not know it.
        return { ...group, cohorts: [...new Set(indexes)].sort((a, b) => a - b) };
      }),
    };
    this.#chunks = new Set(store.rows.chunks);
  }

  /** Keeps this state while the simulator runs on: copies a chunk before it changes. */
  hold(): void {
    for (const chunk of this.#chunks) {
      chunk.onChange = () => this.#copies.set(chunk, chunk.copy());
    }
  }

  /** Ends `hold`. Call it when no more parts are read. */
  release(): void {
    for (const chunk of this.#chunks) this.#releaseChunk(chunk);
  }

  /** All that follows the head. Each part is made when the reader asks for it. */
  *parts(): Generator<StatePart> {
    yield* this.#messageParts();
    for (const [batch, lists] of this.#members.entries()) {
      for (const blocks of lists) {
        for (const block of blocks) yield { members: [{ batch, arrivals: [...block] }] };
      }
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
    for (const chunk of this.#chunks) this.#addRows(messages, chunk, 0, rowsPerChunk);
    return messages;
  }

  *#messageParts(): Generator<StatePart> {
    for (const chunk of this.#chunks) {
      for (let row = 0; row >= 0; ) {
        const messages = noMessages();
        // Looked up for each part: the chunk may have changed, and so been copied, since the last.
        row = this.#addRows(messages, this.#copies.get(chunk) ?? chunk, row, rowsPerPart);
        yield { messages };
      }
      this.#releaseChunk(chunk);
    }
  }

  /** Cohorts with equal fields become one. `indexesBySlot`: the index in the result, by slot. */
  #mergeCohorts(cohorts: Iterable<Cohort>) {
    const groupIndexes = new Map<unknown, number>();
    for (const [index, { batches }] of this.#groups.entries()) {
      for (const batch of batches) groupIndexes.set(batch, index);
    }
    const merged: SavedCohort[] = [];
    const indexesByText = new Map<string, number>();
    const indexesBySlot = new Map<number, number>();
    for (const cohort of cohorts) {
      const account = cohort.account as Account;
      const saved: SavedCohort = {
        account: indexOf(this.#accountIndexes, account.slot),
        unbatched: account.unbatched === cohort,
        fate: cohort.fate === undefined ? null : fateOf(cohort.fate),
        status: cohort.status,
        sending_at_ms: cohort.sendingAtMs,
        sent_at_ms: cohort.sentAtMs,
        ended_at_ms: cohort.endedAtMs,
        failure_reason: cohort.failureReason ?? null,
        due_poll: cohort.duePoll,
        batch: groupIndexes.get(cohort.batch) ?? null,
      };
      const text = JSON.stringify(saved);
      const index = indexesByText.get(text) ?? merged.push(saved) - 1;
      indexesByText.set(text, index);
      indexesBySlot.set(cohort.slot, index);
    }
    return { cohorts: merged, indexesBySlot };
  }

  /** Adds up to `limit` messages, from row `first` on. Returns the next message's row, or -1. */
  #addRows(messages: SavedMessages, chunk: Chunk, first: number, limit: number): number {
    const { columns } = chunk;
    let row = chunk.firstRowFrom(first);
    for (let added = 0; row >= 0 && added < limit; added++) {
      const message = new Message(chunk, row);
      const { fate, sender, sendAtMs } = message;
      const place = chunk.placeOf(row);
      const index = messages.message_id.push(message.messageId) - 1;
      messages.account.push(indexOf(this.#accountIndexes, columns.account[place]));
      messages.device.push(indexOf(this.#deviceIndexes, columns.device[place]));
      messages.key.push(columns.key[place] as number);
      messages.cohort.push(indexOf(this.#cohortIndexes, columns.cohort[place]));
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

  #releaseChunk(chunk: Chunk): void {
    chunk.onChange = undefined;
    this.#copies.delete(chunk);
    this.#chunks.delete(chunk);
  }
}

function noMessages(): SavedMessages {
  return Object.fromEntries(messageColumns.map((name) => [name, []])) as unknown as SavedMessages;
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

function indexesBySlot(items: readonly { readonly slot: number }[]): Map<number, number> {
  return new Map(items.map(({ slot }, index) => [slot, index]));
}

function indexOf(indexes: ReadonlyMap<number, number>, slot = 0): number {
  const index = indexes.get(slot);
  assert(index !== undefined, 'the head lists every object that a message names');
  return index;
}

/** The removed SIMs that received messages still refer to. */
function removedReceivers(accounts: readonly Account[]): Device[] {
  return accounts.flatMap(({ received }) =>
    received.map(({ device }) => device).filter(({ isRemoved }) => isRemoved),
  );
}
