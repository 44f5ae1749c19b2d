/**
 * Restores the messages of a saved state, and the work of the devices in which they wait, once the
 * accounts, devices and cohorts are restored.
 */
import { sendEndpoints } from '#contract/limits.ts';
import type { Account, Device, Message } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import type { Fate } from '../../sim/devices/outcomes.ts';
import { Batch } from '../../sim/store/batch.ts';
import type { Cohort } from '../../sim/store/cohort.ts';
import type { SavedFate, SavedMessages, StateHead, StatePart } from './state-format.ts';

/** The objects of the head's lists, in their order: saved messages name them by index. */
interface RestoredObjects {
  readonly accounts: readonly Account[];
  readonly devices: readonly Device[];
  readonly cohorts: readonly Cohort[];
  readonly toFate: (saved: SavedFate | null) => Fate | undefined;
}

export class MessageRestoration {
  readonly #head: StateHead;
  readonly #world: Registry;
  readonly #objects: RestoredObjects;

  constructor(head: StateHead, world: Registry, objects: RestoredObjects) {
    this.#head = head;
    this.#world = world;
    this.#objects = objects;
  }

  /**
   * Adds the messages as the parts arrive, then the work of the devices. *Batches* are messages
   * that polls handle together; *held* ones wait for `send_at`; *paced* ones step alone.
   */
  run(parts: Iterable<StatePart>): void {
    const { members, held, paced } = this.#readParts(parts);
    const batches = this.#restoreBatches(members);
    const batchesByDevice = this.#byDevice(batches);
    const heldByDevice = this.#byDevice(held);
    const pacedByDevice = this.#byDevice(paced);
    for (const [index, { poll_count: pollCount }] of this.#head.devices.entries()) {
      const ofDevice = entryAt(batchesByDevice, index);
      const batchesInQueue = (wanted: string) =>
        ofDevice.filter(({ row }) => row === wanted).map(({ batch }) => batch);
      entryAt(this.#objects.devices, index).work.restore({
        pollCount,
        ready: batchesInQueue('ready'),
        inFlight: batchesInQueue('in_flight'),
        held: {
          alone: entryAt(heldByDevice, index).flatMap(({ arrivals }) => this.#messagesOf(arrivals)),
          together: ofDevice
            .filter(({ row }) => row === 'held')
            .map(({ ends_at_ms: endMs, batch }) => [endMs, batch]),
        },
        paced: entryAt(pacedByDevice, index).flatMap(({ arrival, from, due_at_ms: dueAtMs }) =>
          this.#messagesOf([arrival]).map((message) => ({ message, from, dueAtMs })),
        ),
      });
    }
  }

  /** Adds the messages, and collects the lists that the parts hold in pieces. */
  #readParts(parts: Iterable<StatePart>) {
    const members: number[][] = this.#head.batches.map(() => []);
    const held: Required<StatePart>['held'] = [];
    const paced: Required<StatePart>['paced'] = [];
    for (const part of parts) {
      if (part.messages !== undefined) this.#addMessages(part.messages);
      // One by one: the list may be longer than the arguments that a call of `push` can take.
      for (const { batch, arrivals } of part.members ?? []) {
        const ofBatch = entryAt(members, batch);
        for (const arrival of arrivals) ofBatch.push(arrival);
      }
      for (const group of part.held ?? []) held.push(group);
      for (const step of part.paced ?? []) paced.push(step);
    }
    return { members, held, paced };
  }

  /** A list for each device of the head, with its items in their order. */
  #byDevice<T extends { readonly device: number }>(items: readonly T[]): readonly T[][] {
    const lists = this.#head.devices.map((): T[] => []);
    for (const item of items) entryAt(lists, item.device).push(item);
    return lists;
  }

  /** `members`: the arrival numbers of the messages of each batch. */
  #restoreBatches(members: readonly (readonly number[])[]) {
    const batches = this.#head.batches.map((saved, index) => {
      const batch = new Batch<Message>(this.#messagesOf(entryAt(members, index)));
      batch.cohorts = saved.cohorts.map((cohort) => entryAt(this.#objects.cohorts, cohort));
      return { ...saved, batch };
    });
    for (const [index, { batch }] of this.#head.cohorts.entries()) {
      if (batch !== null)
        entryAt(this.#objects.cohorts, index).batch = entryAt(batches, batch).batch;
    }
    return batches;
  }

  /** Messages that were forgotten before the state was saved are left out. */
  #messagesOf(arrivals: readonly number[]): Message[] {
    const { messages } = this.#world;
    return arrivals.flatMap((arrival) => messages.ofArrival(arrival) ?? []);
  }

  #addMessages(messages: SavedMessages): void {
    const sendAtMs = new Map(messages.send_at_ms);
    const fates = new Map(messages.fate);
    const senders = new Map(messages.sender);
    for (const [index, messageId] of messages.message_id.entries()) {
      const account = entryAt(this.#objects.accounts, entryAt(messages.account, index));
      const key = entryAt(messages.key, index);
      const saved = {
        messageId,
        arrival: entryAt(messages.arrival, index),
        account,
        // Keys are numbered from 1; 0 means that the key is not known.
        key: key === 0 ? undefined : entryAt(account.keys, key - 1),
        device: entryAt(this.#objects.devices, entryAt(messages.device, index)),
        endpoint: entryAt(sendEndpoints, entryAt(messages.endpoint, index)),
        requestId: entryAt(messages.request_id, index),
        to: entryAt(messages.to, index),
        text: entryAt(messages.text, index),
        sendAtMs: sendAtMs.get(index) ?? 0,
        createdAtMs: entryAt(messages.created_at_ms, index),
        fate: this.#objects.toFate(fates.get(index) ?? null),
        sender: senders.get(index) ?? '',
      };
      this.#world.restoreMessage(
        saved,
        entryAt(this.#objects.cohorts, entryAt(messages.cohort, index)),
      );
    }
  }
}

/** The entry of a list. Throws if it is missing: the saved state contradicts itself. */
export function entryAt<T>(list: readonly T[], index: number): T {
  const entry = list[index];
  if (entry === undefined) throw new Error(`entry ${index} of a list is missing`);
  return entry;
}
