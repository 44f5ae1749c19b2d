/**
 * The rows of all messages that a world holds: chunks in order of arrival, and the tables that find
 * a row by id or by account and `request_id`. A handle is a chunk number and a row in that chunk.
 * Chunk numbers and buffers are reused.
 */
import { type Buffers, Chunk, Columns, rowsPerChunk } from './chunk.ts';
import { assert } from './errors.ts';
import { HandleTable } from './handle-table.ts';
import { readUuid } from './random.ts';
import { hashText, TextSlab } from './text-slab.ts';

const rowBits = 12;
const rowMask = rowsPerChunk - 1;
/** Handles stay below 2^31. */
const mostChunks = 2 ** (31 - rowBits);
/** A new slab starts larger than the final size of the last one by this factor. */
const slabReserve = 1.1;

export class MessageRows<Home> {
  readonly #home: Home;
  readonly #numbered: (Chunk<Home> | undefined)[] = [];
  readonly #freeNumbers: number[] = [];
  readonly #byArrival = new Map<number, Chunk<Home>>();
  /** In the order of arrival. */
  readonly #chunks: Chunk<Home>[] = [];
  readonly #ids = new HandleTable();
  readonly #uses = new HandleTable();
  readonly #words = new Uint32Array(4);
  #spare: Buffers | undefined;
  /** Messages held. */
  size = 0;

  constructor(home: Home) {
    this.#home = home;
  }

  /** In the order of arrival. */
  get chunks(): readonly Chunk<Home>[] {
    return this.#chunks;
  }

  chunkOf(handle: number): Chunk<Home> {
    const chunk = this.#numbered[handle >> rowBits];
    assert(chunk !== undefined, 'a handle leads to a chunk');
    return chunk;
  }

  /** The chunk that holds the message of this arrival number; undefined where it is not held. */
  chunkOfArrival(arrival: number): Chunk<Home> | undefined {
    const chunk = this.#byArrival.get(Math.floor(arrival / rowsPerChunk));
    return chunk?.isHeldAt(arrival - chunk.firstArrival) ? chunk : undefined;
  }

  /** The handle of the message with this id, or -1. */
  find(messageId: string): number {
    const words = this.#words;
    if (!readUuid(messageId, words, 0)) return -1;
    const [a = 0, b, c, d] = words;
    return this.#ids.find(a, (handle) => {
      const chunk = this.chunkOf(handle);
      const { ids } = chunk.columns;
      const at = 4 * chunk.placeOf(rowOf(handle));
      return ids[at] === a && ids[at + 1] === b && ids[at + 2] === c && ids[at + 3] === d;
    });
  }

  /** A new last row; the caller fills it, then calls `registerRow`. */
  newRow(arrival: number): Chunk<Home> {
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

  /** Registers the filled last row. Returns its handle. */
  registerRow(chunk: Chunk<Home>): number {
    const row = chunk.rows - 1;
    const handle = handleOf(chunk, row);
    // A chunk is packed only after its last row, so here a row is its own place.
    this.#ids.add(chunk.columns.ids[4 * row] as number, handle);
    chunk.held++;
    this.size++;
    if (chunk.isFull) this.#seal(chunk);
    return handle;
  }

  /** The account's messages that used this `request_id`, in no particular order. */
  usesOf(account: number, requestId: string): readonly number[] {
    const found: number[] = [];
    this.#uses.find(hashText(requestId, account), (handle) => {
      const chunk = this.chunkOf(handle);
      const { columns, slab } = chunk;
      const place = chunk.placeOf(rowOf(handle));
      const isOwn = columns.account[place] === account;
      if (isOwn && slab.isAt(slab.after(columns.textAt[place] as number), requestId)) {
        found.push(handle);
      }
      return false;
    });
    return found;
  }

  addUse(account: number, requestId: string, handle: number): void {
    this.#uses.add(hashText(requestId, account), handle);
  }

  replaceUse(account: number, requestId: string, handle: number, by: number): void {
    const isKnown = this.#uses.replace(hashText(requestId, account), handle, by);
    assert(isKnown, 'a use is found before it is replaced');
  }

  /** Handles of messages that a `request_id` finds. */
  get uses(): IterableIterator<number> {
    return this.#uses.handles();
  }

  forget(chunk: Chunk<Home>, row: number): void {
    chunk.touch();
    const { columns, slab } = chunk;
    const place = chunk.placeOf(row);
    const handle = handleOf(chunk, row);
    const isKnown = this.#ids.delete(columns.ids[4 * place] as number, handle);
    assert(isKnown, 'a held message is found by its id');
    if (columns.hasRequestId(place)) {
      const at = slab.after(columns.textAt[place] as number);
      this.#uses.delete(slab.hash(at, columns.account[place] as number), handle);
    }
    columns.forget(place);
    chunk.held--;
    this.size--;
    if (!chunk.isFull) return;
    if (chunk.held === 0) this.#releaseChunk(chunk);
    else chunk.packIfSparse();
  }

  /** Adds empty rows for arrival numbers without a message, as in a restored world. */
  #addEmptyRows(chunk: Chunk<Home>, rows: number): void {
    if (chunk.rows >= rows) return;
    chunk.touch();
    while (chunk.rows < rows) {
      const row = chunk.addRow();
      // The chunk is not packed yet: see `registerRow`.
      chunk.columns.forget(row);
    }
    if (chunk.isFull) this.#seal(chunk);
  }

  #newChunk(firstArrival: number, last: Chunk<Home> | undefined): Chunk<Home> {
    const number = this.#freeNumbers.pop() ?? this.#numbered.length;
    assert(number < mostChunks, 'every row has a handle');
    const buffers = this.#spare;
    this.#spare = undefined;
    // The first chunk of a world starts small, because many worlds hold few messages.
    const chunk =
      last === undefined
        ? new Chunk(this.#home, number, firstArrival)
        : new Chunk(this.#home, number, firstArrival, {
            columns: buffers?.columns ?? new Columns(rowsPerChunk),
            slab: buffers?.slab.reset() ?? new TextSlab(Math.ceil(last.slab.used * slabReserve)),
          });
    this.#numbered[number] = chunk;
    this.#byArrival.set(firstArrival / rowsPerChunk, chunk);
    this.#chunks.push(chunk);
    return chunk;
  }

  /** Releases the unused memory of a full chunk. */
  #seal(chunk: Chunk<Home>): void {
    if (chunk.slab.bytes.length > chunk.slab.used * slabReserve) chunk.slab.trim();
    if (chunk.held === 0) this.#releaseChunk(chunk);
    else chunk.packIfSparse();
  }

  #releaseChunk(chunk: Chunk<Home>): void {
    const buffers = chunk.empty();
    if (buffers.columns.capacity === rowsPerChunk) this.#spare = buffers;
    this.#numbered[chunk.number] = undefined;
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
      const { firstArrival } = this.#chunks[middle] as Chunk<Home>;
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
