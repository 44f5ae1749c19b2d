/**
 * All messages of a world: adds them, finds them by id, arrival or account, and forgets the oldest
 * final ones at the bound (`retention.ts`). It stores them as rows (`message-rows.ts`) and returns
 * each as a `Message`, a reference to its row. Five words: a chunk holds many messages; a row names
 * a message in its chunk for good; a place is the row's index in the columns until the chunk is
 * packed; a slot is the number of an account, device or cohort; a handle is a chunk and a row.
 * Rules: STATE-1, RES-2, SEND-4.
 */
import { replayWindowMs, type SendEndpoint, sendEndpoints } from '#contract/limits.ts';
import { isFinal } from '#contract/message-status.ts';
import {
  type Account,
  type AccountMessages,
  type ApiKey,
  type Device,
  Message,
} from '../accounts/account.ts';
import type { Fate } from '../devices/outcomes.ts';
import { assert } from '../errors.ts';
import { drawUuidWords, readUuid } from '../random.ts';
import type { AcceptedUses } from '../sends/replay-window.ts';
import { type Chunk, rowsPerChunk } from './chunk.ts';
import { type Cohort, moveTo } from './cohort.ts';
import { Slots } from './columns.ts';
import type { MessageTables } from './message.ts';
import { handleOf, MessageRows, rowOf } from './message-rows.ts';
import type { Retention } from './retention.ts';

/** A send forgets at most this many messages, so that no single send takes long. */
const mostForgottenBySend = 4;

type Tables = MessageTables<Account, Device, Message>;

/** The fields of an accepted send; numbers are E.164. `sendAtMs`: 0 if it was not held back. */
export interface AcceptedSend {
  readonly account: Account;
  readonly key: ApiKey | undefined;
  readonly device: Device;
  readonly endpoint: SendEndpoint;
  readonly to: string;
  readonly text: string;
  readonly requestId: string;
  readonly sendAtMs: number;
}

/** A message of a saved state, without its history. */
export interface SavedMessage extends AcceptedSend {
  readonly messageId: string;
  readonly arrival: number;
  readonly createdAtMs: number;
  readonly fate: Fate | undefined;
  /** The number that the caller named, if the message goes out from another one; else empty. */
  readonly sender: string;
}

export class MessageStore implements AccountMessages {
  /** The objects that rows refer to by slot. */
  readonly accounts = new Slots<Account>();
  readonly devices = new Slots<Device>();
  readonly cohorts = new Slots<Cohort>();
  readonly retention: Retention;
  readonly now: () => number;
  readonly rows: MessageRows<Tables>;
  /** The number of messages that are not final. Only this store writes it. */
  unfinished = 0;
  /** No message with a lower arrival number is final: a search for the oldest one starts here. */
  #finalsFrom = 0;

  constructor(now: () => number, retention: Retention) {
    this.now = now;
    this.retention = retention;
    this.rows = new MessageRows<Tables>(this);
  }

  get size(): number {
    return this.rows.size;
  }

  get(messageId: string): Message | undefined {
    const handle = this.rows.find(messageId);
    return handle < 0 ? undefined : this.#messageAt(handle);
  }

  /** The message with this arrival number, unless it was forgotten. */
  ofArrival(arrival: number): Message | undefined {
    const chunk = this.rows.chunkOfArrival(arrival);
    return chunk && new Message(chunk, arrival - chunk.firstArrival);
  }

  /** In the order of arrival. */
  *values(): IterableIterator<Message> {
    // Copied, because a reader may pause, and chunks are added and dropped meanwhile.
    for (const chunk of [...this.rows.chunks])
      for (const row of chunk.rowsFrom(0)) yield new Message(chunk, row);
  }

  *keys(): IterableIterator<string> {
    for (const { messageId } of this.values()) yield messageId;
  }

  /** The messages that arrived before `before`, newest first; of one account, if given. */
  *newestFirst(account?: Account, before = Number.POSITIVE_INFINITY): IterableIterator<Message> {
    for (const chunk of [...this.rows.chunks].reverse()) {
      for (const row of chunk.rowsDownFrom(before - chunk.firstArrival - 1)) {
        const slot = chunk.columns.account[chunk.placeOf(row)];
        if (account === undefined || slot === account.slot) yield new Message(chunk, row);
      }
    }
  }

  /** The messages of these cohorts, newest first; undefined after each chunk, for a pause. */
  *newestOf(cohorts: Iterable<Cohort>): IterableIterator<Message | undefined> {
    const isWanted: boolean[] = [];
    for (const { slot } of cohorts) isWanted[slot] = true;
    if (isWanted.length === 0) return;
    for (const chunk of [...this.rows.chunks].reverse()) {
      for (const row of chunk.rowsDownFrom(rowsPerChunk - 1)) {
        if (isWanted[cohortSlotOf(chunk, row)] === true) yield new Message(chunk, row);
      }
      yield undefined;
    }
  }

  /** Adds a queued message, and draws its id. */
  add(send: AcceptedSend, arrival: number, createdAtMs: number, fate: Fate | undefined): Message {
    const chunk = this.rows.addRow(arrival);
    drawUuidWords(send.account.ids, chunk.columns.ids, idAt(chunk));
    return this.#fillRow(chunk, send, createdAtMs, fate);
  }

  /** Adds a message of a saved state, in the order of arrival. */
  restore(saved: SavedMessage, cohort: Cohort): void {
    const { account, key, requestId, arrival, createdAtMs, fate, messageId } = saved;
    const chunk = this.rows.addRow(arrival);
    if (!readUuid(messageId, chunk.columns.ids, idAt(chunk)))
      throw new Error(`RES-2 the message id ${messageId} is not a UUID in lower case`);
    const message = this.#fillRow(chunk, saved, createdAtMs, fate);
    moveTo(cohort, message);
    if (cohort.endedAtMs > 0) this.unfinished--;
    const hasUse = key !== undefined && requestId !== '';
    if (hasUse && this.now() - createdAtMs <= replayWindowMs)
      this.rows.addUse(account.slot, requestId, handleOf(message.chunk, message.row));
    if (saved.sender !== '') message.sender = saved.sender;
  }

  /** Makes room for one more message. Returns false if that would forget unfinished messages. */
  makeRoom(): boolean {
    const hasRoom = this.#forgetExcess();
    if (!hasRoom) this.retention.onOverloaded();
    return hasRoom;
  }

  /** The messages of a device that are not final, in order of arrival. */
  unfinishedOf(device: Device): Message[] {
    const unfinished: Message[] = [];
    if (device.messagesHeld === 0) return unfinished;
    for (const chunk of this.rows.chunks) {
      for (const row of chunk.rowsFrom(0)) {
        if (chunk.columns.device[chunk.placeOf(row)] !== device.slot) continue;
        const { endedAtMs } = this.cohorts.at(cohortSlotOf(chunk, row));
        if (endedAtMs === 0) unfinished.push(new Message(chunk, row));
      }
    }
    return unfinished;
  }

  /** Call this when a cohort has become final. */
  noteEnded({ size, firstArrival }: Cohort): void {
    this.unfinished -= size;
    if (firstArrival < this.#finalsFrom) this.#finalsFrom = firstArrival;
  }

  forgetAccount(account: Account): void {
    // An account without a slot never had a message.
    const ownMessages = account.slot > 0 ? [...this.newestFirst(account)] : [];
    for (const message of ownMessages) {
      if (message.endedAtMs === 0) this.unfinished--;
      this.#forget(message);
    }
    this.cohorts.release(account.unbatched);
    this.accounts.release(account);
  }

  /** Forgets a removed device once its last message is forgotten. */
  forgetIfUnused(device: Device): void {
    if (device.messagesHeld === 0) this.devices.release(device);
  }

  usesOf(account: Account): AcceptedUses<Message> {
    return {
      of: (requestId) =>
        this.rows.usesOf(account.slot, requestId).map((handle) => this.#messageAt(handle)),
      add: (requestId, { chunk, row }) =>
        this.rows.addUse(account.slot, requestId, handleOf(chunk, row)),
      replace: (requestId, { chunk, row }, by) => {
        const handle = handleOf(chunk, row);
        this.rows.replaceUse(account.slot, requestId, handle, handleOf(by.chunk, by.row));
      },
    };
  }

  #messageAt(handle: number): Message {
    return new Message(this.rows.chunkOf(handle), rowOf(handle));
  }

  /** Fills the last row of a chunk, which has an id already. */
  #fillRow(
    chunk: Chunk<Tables>,
    send: AcceptedSend,
    createdAtMs: number,
    fate: Fate | undefined,
  ): Message {
    const row = lastRowOf(chunk);
    chunk.columns.createdAtMs[row] = createdAtMs;
    this.#writeSend(chunk, row, send);
    if (fate !== undefined) chunk.fates.set(row, fate, chunk.columns.capacity);
    this.rows.registerRow(chunk);
    send.account.unbatched.size++;
    send.device.messagesHeld++;
    this.unfinished++;
    return new Message(chunk, row);
  }

  #writeSend(chunk: Chunk<Tables>, row: number, send: AcceptedSend): void {
    const { columns, slab } = chunk;
    const { account, key, requestId, sendAtMs } = send;
    columns.to[row] = Number(send.to);
    columns.account[row] = this.accounts.slotOf(account);
    columns.device[row] = this.devices.slotOf(send.device);
    // 0 stands for "not known".
    columns.key[row] = key === undefined ? 0 : key.ordinal + 1;
    columns.cohort[row] = this.cohorts.slotOf(account.unbatched);
    columns.textAt[row] = slab.write(send.text);
    if (requestId !== '') slab.write(requestId);
    columns.setFlags(row, sendEndpoints.indexOf(send.endpoint), requestId !== '');
    if (sendAtMs > 0) chunk.setSendAt(row, sendAtMs);
  }

  #forgetExcess(): boolean {
    const excess = this.retention.excess(this.size, this.unfinished);
    if (excess <= 0) return true;
    if (excess === Number.POSITIVE_INFINITY) return false;
    for (let count = Math.min(excess, mostForgottenBySend); count > 0; count--) {
      const oldest = this.#advanceToOldestFinal();
      if (oldest === undefined) return false;
      this.#forgetForRoom(oldest);
    }
    return true;
  }

  /** Moves `#finalsFrom` to the oldest final message and returns it; undefined if there is none. */
  #advanceToOldestFinal(): Message | undefined {
    const { chunks } = this.rows;
    for (let index = this.rows.chunkIndexOf(this.#finalsFrom); index < chunks.length; index++) {
      const chunk = chunks[index] as Chunk<Tables>;
      let row = chunk.firstRowFrom(Math.max(0, this.#finalsFrom - chunk.firstArrival));
      for (; row >= 0; row = chunk.firstRowFrom(row + 1)) {
        if (this.cohorts.at(cohortSlotOf(chunk, row)).endedAtMs === 0) continue;
        this.#finalsFrom = chunk.firstArrival + row;
        return new Message(chunk, row);
      }
      this.#finalsFrom = chunk.firstArrival + rowsPerChunk;
    }
    const last = chunks.at(-1);
    if (last !== undefined) this.#finalsFrom = last.firstArrival + last.rows;
    return undefined;
  }

  #forgetForRoom(message: Message): void {
    const { account, status } = message;
    assert(isFinal(status), 'only a final message is forgotten');
    account.forgotten[status]++;
    this.retention.forgottenMessages++;
    const isRecent = this.now() - message.createdAtMs <= replayWindowMs;
    if (isRecent && message.requestId !== '') this.retention.forgottenRequestIds++;
    this.#forget(message);
  }

  #forget(message: Message): void {
    const { chunk, row, cohort, device } = message;
    this.rows.forget(chunk, row);
    cohort.size--;
    if (cohort.size === 0) this.cohorts.release(cohort);
    device.messagesHeld--;
    if (device.isRemoved) this.forgetIfUnused(device);
  }
}

/** Where the four words of the id of a chunk's last row begin. */
function idAt(chunk: Chunk<Tables>): number {
  return 4 * lastRowOf(chunk);
}

function cohortSlotOf(chunk: Chunk<Tables>, row: number): number {
  return chunk.columns.cohort[chunk.placeOf(row)] as number;
}

function lastRowOf(chunk: Chunk<Tables>): number {
  return chunk.rows - 1;
}
