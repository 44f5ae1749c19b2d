/**
 * Puts the messages of a checkpoint into a world that already has its accounts and SIMs.
 */
import { Batch } from '../sim/batch.ts';
import { Cohort } from '../sim/cohort.ts';
import type { PacedStep } from '../sim/paced-steps.ts';
import type { Account, Device, Message } from '../sim/records.ts';
import { type Status, statuses } from '../sim/status.ts';
import type { World } from '../sim/world.ts';
import { fateOf } from './restore.ts';
import type { CohortRow, StoredChunk, StoreHead, StorePart } from './store-image.ts';

/** `deviceOf` also finds removed SIMs. */
export function restoreStore(
  world: World,
  head: StoreHead,
  parts: Iterable<StorePart>,
  deviceOf: (deviceId: string) => Device,
): void {
  const { messages: store } = world;
  restoreAccounts(world, head);
  const devices = head.devices.map((row) => [row, deviceOf(row.device_id)] as const);
  store.devices.restore(
    devices.filter(([{ slot }]) => slot > 0).map(([{ slot }, device]) => [slot, device]),
  );
  store.cohorts.restore(head.cohorts.map((row) => [row.slot, cohortOf(row, world)]));
  const work = new RestoredWork(world, head.batches.length);
  for (const part of parts) {
    if ('chunk' in part) store.restoreChunk(chunkOf(part.chunk));
    else work.add(part);
  }
  const batches = work.batches(head);
  const batchesAt = (places: readonly number[]) => places.flatMap((place) => batches[place] ?? []);
  for (const [row, device] of devices) {
    device.messagesHeld = row.messages_held;
    device.work.restoreImage({
      pollCount: row.poll_count,
      ready: batchesAt(row.ready),
      inFlight: batchesAt(row.in_flight),
      held: {
        alone: work.heldBy(device),
        together: row.held.flatMap(([end, place]) => batchesAt([place]).map((one) => [end, one])),
      },
      paced: work.pacedBy(device),
    });
  }
  store.unfinished = head.unfinished;
  store.firstFinal = head.first_final;
  store.retention.forgottenMessages = head.forgotten_messages;
  store.retention.forgottenRequestIds = head.forgotten_request_ids;
}

function restoreAccounts({ accounts, messages }: World, head: StoreHead): void {
  const slots: [number, Account][] = [];
  for (const { account_id: id, slot, counts, forgotten, quota } of head.accounts) {
    const account = accounts.get(id);
    if (account === undefined) throw new Error(`${id} is missing`);
    if (slot > 0) slots.push([slot, account]);
    Object.assign(account.counts, counts);
    Object.assign(account.forgotten, forgotten);
    account.quota.restoreImage(quota);
  }
  messages.accounts.restore(slots);
}

function cohortOf(row: CohortRow, { messages }: World): Cohort {
  const account = messages.accounts.at(row.account);
  const cohort = row.is_unbatched ? account.unbatched : new Cohort(account, fateOf(row.fate));
  cohort.restore(row);
  return cohort;
}

function chunkOf(chunk: StoredChunk) {
  const { indices, values } = chunk.fates;
  return { ...chunk, fates: { indices, values: values.flatMap((fate) => fateOf(fate) ?? []) } };
}

type WorkPart = Exclude<StorePart, { readonly chunk: unknown }>;

/**
 * The work of devices, read part by part. Refers to messages only after all of them are restored.
 */
class RestoredWork {
  readonly #world: World;
  readonly #members: Float64Array[][];
  readonly #parts = new Map<string, WorkPart[]>();

  constructor(world: World, batchCount: number) {
    this.#world = world;
    this.#members = Array.from({ length: batchCount }, () => []);
  }

  add(part: WorkPart): void {
    if ('members' in part) this.#members[part.batch]?.push(part.members);
    else {
      const parts = this.#parts.get(part.device_id);
      if (parts === undefined) this.#parts.set(part.device_id, [part]);
      else parts.push(part);
    }
  }

  batches({ batches, cohorts }: StoreHead): Batch<Message>[] {
    const { messages } = this.#world;
    const made = this.#members.map((blocks, place) => {
      const batch = new Batch<Message>(blocks.flatMap((arrivals) => this.#messages(arrivals)));
      batch.cohorts = (batches[place] ?? []).map((slot) => messages.cohorts.at(slot));
      return batch;
    });
    for (const { slot, batch } of cohorts) messages.cohorts.at(slot).batch = made[batch];
    return made;
  }

  heldBy({ deviceId }: Device): Message[] {
    const parts = this.#parts.get(deviceId) ?? [];
    return parts.flatMap((part) => ('held' in part ? this.#messages(part.held) : []));
  }

  pacedBy({ deviceId }: Device): PacedStep<Message>[] {
    const parts = this.#parts.get(deviceId) ?? [];
    return parts.flatMap((part) => ('paced' in part ? this.#steps(part) : []));
  }

  #steps(part: Extract<WorkPart, { readonly paced: unknown }>): PacedStep<Message>[] {
    return [...part.paced].flatMap((arrival, at) => {
      const message = this.#world.messages.ofArrival(arrival);
      if (message === undefined) return [];
      const from = statuses[part.from[at] as number] as Status;
      return [{ message, from, dueAtMs: part.due_at_ms[at] as number }];
    });
  }

  #messages(arrivals: Float64Array): Message[] {
    return [...arrivals].flatMap((arrival) => this.#world.messages.ofArrival(arrival) ?? []);
  }
}
