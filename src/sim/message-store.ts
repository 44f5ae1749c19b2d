/**
 * All messages that a world holds: found by id, in order of arrival, by account and by position. At
 * its bound it forgets the oldest final messages.
 * Rules: STATE-1, RES-2, SEND-4.
 */

import { type Chunk, rowsPerChunk } from './chunk.ts';
import { type Cohort, moveTo } from './cohort.ts';
import { assert } from './errors.ts';
import type { AcceptedUses } from './idempotency.ts';
import { replayWindowMs } from './limits.ts';
import { CohortSlots, type Home as HomeOf, Slots, sendEndpoints } from './message.ts';
import { handleOf, MessageRows, rowOf } from './message-rows.ts';
import type { Fate } from './outcomes.ts';
import { drawUuidWords, readUuid } from './random.ts';
import {
  type AcceptedSend,
  type Account,
  type AccountHome,
  type Device,
  Message,
} from './records.ts';

/** A send forgets at most this many messages, if more than one must go. */
const mostForgottenBySend = 4;

type Home = HomeOf<Account, Device, Message>;

/** A message of a saved state, without its history. */
export interface SavedMessage extends AcceptedSend {
  readonly messageId: string;
  readonly arrival: number;
  readonly createdAtMs: number;
  readonly fate: Fate | undefined;
  /** The number that the caller named, if the message goes out from another one; else empty. */
  readonly sender: string;
}

export class MessageStore implements AccountHome {
  readonly accounts = new Slots<Account>();
  readonly devices = new Slots<Device>();
  readonly cohorts = new CohortSlots();
  readonly retention: Retention;
  readonly #rows: MessageRows<Home>;
  readonly now: () => number;
  /** Messages that are not final. */
  unfinished = 0;
  /** Every message that arrived earlier is not final. */
  firstFinal = 0;

  constructor(now: () => number, retention: Retention) {
    this.now = now;
    this.retention = retention;
    this.#rows = new MessageRows<Home>(this);
  }

  get size(): number {
    return this.#rows.size;
  }

  /** In the order of arrival. */
  get chunks(): readonly Chunk<Home>[] {
    return this.#rows.chunks;
  }

  chunkOf(handle: number): Chunk<Home> {
    return this.#rows.chunkOf(handle);
  }

  /** The handles of the messages that a `request_id` finds. */
  get useHandles(): Iterable<number> {
    return this.#rows.uses;
  }

  get(messageId: string): Message | undefined {
    const handle = this.#rows.find(messageId);
    return handle < 0 ? undefined : this.#at(handle);
  }

  has(messageId: string): boolean {
    return this.#rows.find(messageId) >= 0;
  }

  /** The message with this arrival number, if it is held. */
  ofArrival(arrival: number): Message | undefined {
    const chunk = this.#rows.chunkOfArrival(arrival);
    return chunk && new Message(chunk, arrival - chunk.firstArrival);
  }

  /** In the order of arrival. */
  *values(): IterableIterator<Message> {
    for (const chunk of [...this.#rows.chunks]) {
      for (let row = chunk.heldFrom(0); row >= 0; row = chunk.heldFrom(row + 1)) {
        yield new Message(chunk, row);
      }
    }
  }

  *keys(): IterableIterator<string> {
    for (const { messageId } of this.values()) yield messageId;
  }

  *[Symbol.iterator](): IterableIterator<[string, Message]> {
    for (const message of this.values()) yield [message.messageId, message];
  }

  /** The messages that arrived before `before`, newest first; of one account, if given. */
  *newestFirst(account?: Account, before = Number.POSITIVE_INFINITY): IterableIterator<Message> {
    const chunks = [...this.#rows.chunks];
    for (const chunk of chunks.reverse()) {
      const from = Math.min(before - chunk.firstArrival, rowsPerChunk) - 1;
      for (let row = chunk.heldUpTo(from); row >= 0; row = chunk.heldUpTo(row - 1)) {
        const slot = chunk.columns.account[chunk.placeOf(row)];
        if (account === undefined || slot === account.slot) yield new Message(chunk, row);
      }
    }
  }

  /** Adds a queued message. `messageId`: given for a restored message, otherwise drawn. */
  add(
    send: AcceptedSend,
    arrival: number,
    createdAtMs: number,
    fate: Fate | undefined,
    messageId?: string,
  ): Message {
    const { account, key, device, requestId } = send;
    const chunk = this.#rows.newRow(arrival);
    const { columns, slab } = chunk;
    const row = chunk.rows - 1;
    if (messageId === undefined) drawUuidWords(account.ids, columns.ids, 4 * row);
    else if (!readUuid(messageId, columns.ids, 4 * row)) {
      throw new Error(`RES-2 the message id ${messageId} is not a UUID in lower case`);
    }
    columns.createdAtMs[row] = createdAtMs;
    columns.to[row] = Number(send.to);
    columns.account[row] = this.accounts.slotOf(account);
    columns.device[row] = this.devices.slotOf(device);
    columns.key[row] = key === undefined ? 0 : key.ordinal + 1;
    columns.cohort[row] = this.cohorts.slotOf(account.unbatched);
    account.unbatched.size++;
    columns.textAt[row] = slab.write(send.text);
    if (requestId !== '') slab.write(requestId);
    columns.setFlags(row, sendEndpoints.indexOf(send.endpoint), requestId !== '');
    if (send.sendAtMs > 0) chunk.setSendAt(row, send.sendAtMs);
    if (fate !== undefined) chunk.fates.set(row, fate, columns.capacity);
    this.#rows.registerRow(chunk);
    device.messagesHeld++;
    this.unfinished++;
    return new Message(chunk, row);
  }

  /** Adds a message of a saved state, in the order of arrival. */
  restore(saved: SavedMessage, cohort: Cohort): void {
    const { account, key, requestId, arrival, createdAtMs, fate, messageId } = saved;
    const message = this.add(saved, arrival, createdAtMs, fate, messageId);
    moveTo(cohort, message);
    if (cohort.endedAtMs > 0) this.unfinished--;
    const isUse = key !== undefined && requestId !== '';
    if (isUse && this.now() - createdAtMs <= replayWindowMs) {
      this.#rows.addUse(account.slot, requestId, handleOf(message.chunk, message.row));
    }
    if (saved.sender !== '') message.sender = saved.sender;
  }

  /** Makes room for one more message. Returns false if only unfinished messages could go. */
  makeRoom(): boolean {
    const hasRoom = this.#forgetExcess();
    if (!hasRoom) this.retention.onOverloaded();
    return hasRoom;
  }

  #forgetExcess(): boolean {
    const excess = this.retention.excess(this.size, this.unfinished);
    if (excess <= 0) return true;
    if (excess === Number.POSITIVE_INFINITY) return false;
    for (let left = Math.min(excess, mostForgottenBySend); left > 0; left--) {
      const oldest = this.#oldestFinal();
      if (oldest === undefined) return false;
      this.#forgetForRoom(oldest);
    }
    return true;
  }

  /** The messages of a device that are not final, in order of arrival. */
  unfinishedOf(device: Device): Message[] {
    const unfinished: Message[] = [];
    if (device.messagesHeld === 0) return unfinished;
    for (const chunk of this.#rows.chunks) {
      const { columns } = chunk;
      for (let row = chunk.heldFrom(0); row >= 0; row = chunk.heldFrom(row + 1)) {
        const place = chunk.placeOf(row);
        if (columns.device[place] !== device.slot) continue;
        const { endedAtMs } = this.cohorts.at(columns.cohort[place] as number);
        if (endedAtMs === 0) unfinished.push(new Message(chunk, row));
      }
    }
    return unfinished;
  }

  /** A cohort has become final. */
  ended({ size, firstArrival }: Cohort): void {
    this.unfinished -= size;
    if (firstArrival < this.firstFinal) this.firstFinal = firstArrival;
  }

  /** Drops the messages of an account that is deleted. */
  drop(account: Account): void {
    if (account.slot > 0) {
      for (const message of [...this.newestFirst(account)]) {
        if (message.endedAtMs === 0) this.unfinished--;
        this.#forget(message);
      }
    }
    this.cohorts.release(account.unbatched);
    this.accounts.release(account);
  }

  /** Releases a removed device once its last message is gone. */
  removed(device: Device): void {
    if (device.messagesHeld === 0) this.devices.release(device);
  }

  /** The uses of `request_id` by an account. */
  usesOf(account: Account): AcceptedUses<Message> {
    return {
      of: (requestId) =>
        this.#rows.usesOf(account.slot, requestId).map((handle) => this.#at(handle)),
      add: (requestId, { chunk, row }) =>
        this.#rows.addUse(account.slot, requestId, handleOf(chunk, row)),
      replace: (requestId, { chunk, row }, by) => {
        const handle = handleOf(chunk, row);
        this.#rows.replaceUse(account.slot, requestId, handle, handleOf(by.chunk, by.row));
      },
    };
  }

  #at(handle: number): Message {
    return new Message(this.#rows.chunkOf(handle), rowOf(handle));
  }

  /** Looks at each row once; looks again only if an earlier message has become final. */
  #oldestFinal(): Message | undefined {
    const { chunks } = this.#rows;
    for (let at = this.#rows.chunkIndexOf(this.firstFinal); at < chunks.length; at++) {
      const chunk = chunks[at] as Chunk<Home>;
      const { columns } = chunk;
      let row = chunk.heldFrom(Math.max(0, this.firstFinal - chunk.firstArrival));
      for (; row >= 0; row = chunk.heldFrom(row + 1)) {
        const slot = columns.cohort[chunk.placeOf(row)] as number;
        if (this.cohorts.at(slot).endedAtMs === 0) continue;
        this.firstFinal = chunk.firstArrival + row;
        return new Message(chunk, row);
      }
      this.firstFinal = chunk.firstArrival + rowsPerChunk;
    }
    const last = chunks.at(-1);
    if (last !== undefined) this.firstFinal = last.firstArrival + last.rows;
    return undefined;
  }

  #forgetForRoom(message: Message): void {
    const { account, status } = message;
    assert(status === 'delivered' || status === 'failed', 'only a final message is forgotten');
    account.forgotten[status]++;
    this.retention.forgottenMessages++;
    const isRecent = this.now() - message.createdAtMs <= replayWindowMs;
    if (isRecent && message.requestId !== '') this.retention.forgottenRequestIds++;
    this.#forget(message);
  }

  #forget(message: Message): void {
    const { chunk, row, cohort, device } = message;
    this.#rows.forget(chunk, row);
    cohort.size--;
    if (cohort.size === 0) this.cohorts.release(cohort);
    device.messagesHeld--;
    if (device.isRemoved) this.removed(device);
  }
}

/** The default of `--max-messages`. */
export const defaultMaxMessages = 1_000_000;
/**
 * Without an explicit number, unfinished messages beyond this many do not count. So a load test
 * that saturates the service has room for messages that devices have not finished.
 */
export const countedUnfinished = 500_000;
/** Without an explicit number, a world holds at most this many unfinished messages. */
export const mostUnfinished = 4_000_000;

export const overloadedNotice =
  'sends are answered 503 overloaded: all messages that --max-messages allows are unfinished; ' +
  'allow more, or let their devices poll';

/** A number is exact; undefined is the default, with extra room for unfinished messages. */
export type MaxMessages = number | 'unlimited' | undefined;

/** How many messages a world holds, and counts of what it has forgotten. */
export class Retention {
  readonly maxMessages: MaxMessages;
  forgottenMessages = 0;
  /** Forgotten messages that were younger than the replay window. */
  forgottenRequestIds = 0;
  /** Called when a message is refused for lack of room. */
  onOverloaded: () => void = () => {};

  constructor(maxMessages: MaxMessages) {
    this.maxMessages = maxMessages;
  }

  /** How many messages must go before the next one is accepted; infinite if none is accepted. */
  excess(held: number, unfinished: number): number {
    const { maxMessages } = this;
    if (maxMessages === 'unlimited') return 0;
    if (maxMessages !== undefined) {
      return unfinished >= maxMessages ? Number.POSITIVE_INFINITY : held + 1 - maxMessages;
    }
    if (unfinished >= mostUnfinished) return Number.POSITIVE_INFINITY;
    const counted = held - unfinished + Math.min(unfinished, countedUnfinished);
    return counted + 1 - defaultMaxMessages;
  }
}
