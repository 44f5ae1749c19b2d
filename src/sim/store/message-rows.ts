/**
 * The rows of all messages that a world holds: chunks in order of arrival (`chunk.ts`), and the
 * tables that find a row by message id, or by account and `request_id`. The tables hold handles: a
 * handle is a chunk number and a row of that chunk in one integer. Chunk numbers are reused.
 */
import { assert } from '../errors.ts';
import { readUuid } from '../random.ts';
import { type Buffers, Chunk, rowsPerChunk } from './chunk.ts';
import { Columns } from './columns.ts';
import { HandleTable } from './handle-table.ts';
import { hashText, TextSlab } from './text-slab.ts';

const rowBits = 12;
const rowMask = rowsPerChunk - 1;
/** Keeps handles below 2^31. */
const mostChunks = 2 ** (31 - rowBits);
/** A new slab starts larger than the final size of the last one by this factor. */
const slabReserve = 1.1;

export class MessageRows<Tables> {
  readonly #tables: Tables;
  // The next three hold the same chunks.
  /** In the order of arrival. */
  readonly #chunks: Chunk<Tables>[] = [];
  /** The chunks by number; undefined for a number in `#freeNumbers`. */
  readonly #byNumber: (Chunk<Tables> | undefined)[] = [];
  /** The chunks by their first arrival number, divided by `rowsPerChunk`. */
  readonly #byArrival = new Map<number, Chunk<Tables>>();
  readonly #freeNumbers: number[] = [];
  /** Handles by the first word of the message id. */
  readonly #ids = new HandleTable();
  /** Handles by the hash of `request_id` and account. */
  readonly #uses = new HandleTable();
  /** The words of the id that `find` looks for; kept here to avoid an allocation. */
  readonly #soughtId = new Uint32Array(4);
  /** The buffers of the chunk that was released last. */
  #spareBuffers: Buffers | undefined;
  #size = 0;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  get size(): number {
    return this.#size;
  }

  /** In the order of arrival. */
  get chunks(): readonly Chunk<Tables>[] {
    return this.#chunks;
  }

  chunkOf(handle: number): Chunk<Tables> {
    const chunk = this.#byNumber[handle >> rowBits];
    assert(chunk !== undefined, 'a handle leads to a chunk');
    return chunk;
  }

  /** The chunk with the message of this arrival number; undefined if there is no such message. */
  chunkOfArrival(arrival: number): Chunk<Tables> | undefined {
    const chunk = this.#byArrival.get(Math.floor(arrival / rowsPerChunk));
    return chunk?.hasMessage(arrival - chunk.firstArrival) ? chunk : undefined;
  }

  /** The handle of the message with this id, or -1. */
  find(messageId: string): number {
    if (!readUuid(messageId, this.#soughtId, 0)) return -1;
    const [a = 0, b, c, d] = this.#soughtId;
    return this.#ids.find(a, (handle) => {
      const chunk = this.chunkOf(handle);
      const { ids } = chunk.columns;
      const first = 4 * chunk.placeOf(rowOf(handle));
      return (
        ids[first] === a && ids[first + 1] === b && ids[first + 2] === c && ids[first + 3] === d
      );
    });
  }

  /**
   * Adds a row at the end and returns its chunk. The caller fills the row, then calls
   * `registerRow`.
   */
  addRow(arrival: number): Chunk<Tables> {
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || arrival >= chunk.firstArrival + rowsPerChunk) {
      if (chunk !== undefined) this.#addEmptyRows(chunk, rowsPerChunk);
      chunk = this.#newChunk(arrival - (arrival % rowsPerChunk), chunk);
    }
    chunk.touch();
    assert(arrival >= chunk.firstArrival + chunk.rows, 'messages come in order of arrival');
    this.#addEmptyRows(chunk, arrival - chunk.firstArrival);
    chunk.addRow();
    return chunk;
  }

  registerRow(chunk: Chunk<Tables>): void {
    const row = chunk.rows - 1;
    // A chunk is packed only when it is full, so here the place of a row is the row itself.
    this.#ids.add(chunk.columns.ids[4 * row] as number, handleOf(chunk, row));
    chunk.size++;
    this.#size++;
    if (chunk.isFull) this.#seal(chunk);
  }

  /** The handles of an account's messages with this `request_id`, in no particular order. */
  usesOf(accountSlot: number, requestId: string): readonly number[] {
    const found: number[] = [];
    this.#uses.find(hashText(requestId, accountSlot), (handle) => {
      const chunk = this.chunkOf(handle);
      const { columns, slab } = chunk;
      const place = chunk.placeOf(rowOf(handle));
      const isOfAccount = columns.account[place] === accountSlot;
      if (isOfAccount && slab.hasTextAt(slab.after(columns.textAt[place] as number), requestId))
        found.push(handle);
      // False continues the search.
      return false;
    });
    return found;
  }

  addUse(accountSlot: number, requestId: string, handle: number): void {
    this.#uses.add(hashText(requestId, accountSlot), handle);
  }

  replaceUse(accountSlot: number, requestId: string, handle: number, newHandle: number): void {
    const isKnown = this.#uses.replace(hashText(requestId, accountSlot), handle, newHandle);
    assert(isKnown, 'a use is found before it is replaced');
  }

  /** Handles of messages that a `request_id` finds. */
  get useHandles(): IterableIterator<number> {
    return this.#uses.handles();
  }

  forget(chunk: Chunk<Tables>, row: number): void {
    chunk.touch();
    const { columns, slab } = chunk;
    const place = chunk.placeOf(row);
    const handle = handleOf(chunk, row);
    const isKnown = this.#ids.delete(columns.ids[4 * place] as number, handle);
    assert(isKnown, 'a held message is found by its id');
    if (columns.hasRequestId(place)) {
      const requestIdAt = slab.after(columns.textAt[place] as number);
      this.#uses.delete(slab.hash(requestIdAt, columns.account[place] as number), handle);
    }
    columns.markEmpty(place);
    chunk.size--;
    this.#size--;
    if (!chunk.isFull) return;
    if (chunk.size === 0) this.#releaseChunk(chunk);
    else chunk.packIfSparse();
  }

  /** Adds rows up to this many, for arrival numbers without a message, as in a restored world. */
  #addEmptyRows(chunk: Chunk<Tables>, rows: number): void {
    if (chunk.rows >= rows) return;
    chunk.touch();
    // The chunk is not full, so the place of a row is the row itself.
    while (chunk.rows < rows) {
      // Before the columns are read, because this may replace them.
      const row = chunk.addRow();
      chunk.columns.markEmpty(row);
    }
    if (chunk.isFull) this.#seal(chunk);
  }

  #newChunk(firstArrival: number, previous: Chunk<Tables> | undefined): Chunk<Tables> {
    const number = this.#freeNumbers.pop() ?? this.#byNumber.length;
    assert(number < mostChunks, 'every row has a handle');
    // The first chunk of a world starts small, because many worlds hold few messages.
    const buffers = previous && this.#takeBuffers(previous);
    const chunk = new Chunk(this.#tables, number, firstArrival, buffers);
    this.#byNumber[number] = chunk;
    this.#byArrival.set(firstArrival / rowsPerChunk, chunk);
    this.#chunks.push(chunk);
    return chunk;
  }

  /** Empty buffers for a whole chunk: the spare ones, or new ones. */
  #takeBuffers(previous: Chunk<Tables>): Buffers {
    const spare = this.#spareBuffers;
    this.#spareBuffers = undefined;
    if (spare !== undefined) return { columns: spare.columns, slab: spare.slab.reset() };
    const slab = new TextSlab(Math.ceil(previous.slab.used * slabReserve));
    return { columns: new Columns(rowsPerChunk), slab };
  }

  /** Releases the unused memory of a full chunk. */
  #seal(chunk: Chunk<Tables>): void {
    if (chunk.slab.bytes.length > chunk.slab.used * slabReserve) chunk.slab.trim();
    if (chunk.size === 0) this.#releaseChunk(chunk);
    else chunk.packIfSparse();
  }

  #releaseChunk(chunk: Chunk<Tables>): void {
    const buffers = chunk.empty();
    if (buffers.columns.capacity === rowsPerChunk) this.#spareBuffers = buffers;
    this.#byNumber[chunk.number] = undefined;
    this.#freeNumbers.push(chunk.number);
    this.#byArrival.delete(chunk.firstArrival / rowsPerChunk);
    this.#chunks.splice(this.chunkIndexOf(chunk.firstArrival), 1);
  }

  /** The index in `chunks` of the first chunk that ends after this arrival. */
  chunkIndexOf(arrival: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { firstArrival } = this.#chunks[middle] as Chunk<Tables>;
      if (firstArrival + rowsPerChunk <= arrival) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function handleOf({ number }: { readonly number: number }, row: number): number {
  return (number << rowBits) | row;
}

export function rowOf(handle: number): number {
  return handle & rowMask;
}
