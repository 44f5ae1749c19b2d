/**
 * Up to 4,096 messages in order of arrival, as typed arrays and one slab of texts. A row keeps its
 * number while its message is held. A full chunk with few messages left is packed; its rows are
 * then found by a search.
 */
import type { Fate } from './outcomes.ts';
import { TextSlab } from './text-slab.ts';

export const rowsPerChunk = 4_096;
const firstRows = 64;
/** Each growth multiplies a chunk's rows by this. */
const growth = 8;
/** A full chunk is packed when at most this share of its rows still holds a message. */
const packedShare = 1 / 8;

/** `Home`: the objects that its rows refer to. */
export class Chunk<Home = unknown> {
  readonly home: Home;
  /** Its place in the table of chunks, as used in handles. */
  readonly number: number;
  /** The arrival number of row 0. */
  readonly firstArrival: number;
  columns: Columns;
  slab: TextSlab;
  /** When holds end, by place; created for the first message with a hold. */
  sendAtMs: Float64Array | undefined;
  fates = new RareValues<Fate>();
  /** The numbers that callers named when the message goes out from another number. */
  senders = new RareValues<string>();
  /** Called once, before the next change. */
  onChange: ((chunk: Chunk<Home>) => void) | undefined;
  /** Rows in use, forgotten ones included. */
  rows = 0;
  held = 0;
  /** The row at each place of a packed chunk, ascending. */
  #packed: Uint16Array | undefined;

  constructor(
    home: Home,
    number: number,
    firstArrival: number,
    { columns, slab }: Buffers = { columns: new Columns(firstRows), slab: new TextSlab() },
  ) {
    this.home = home;
    this.number = number;
    this.firstArrival = firstArrival;
    this.columns = columns;
    this.slab = slab;
  }

  get isFull(): boolean {
    return this.rows === rowsPerChunk;
  }

  /** The place of a row in the columns. Rows that a packed chunk dropped share an empty place. */
  placeOf(row: number): number {
    return this.#packed === undefined ? row : searchRow(this.#packed, row);
  }

  isHeldAt(row: number): boolean {
    return row < this.rows && this.columns.isHeld(this.placeOf(row));
  }

  /** Call this before each change. */
  touch(): void {
    const { onChange } = this;
    if (onChange === undefined) return;
    this.onChange = undefined;
    onChange(this);
  }

  /** The same rows in buffers of their own. */
  copy(): Chunk<Home> {
    const { home, number, firstArrival, columns, slab } = this;
    const buffers = { columns: columns.copy(), slab: slab.copy() };
    const copy = new Chunk(home, number, firstArrival, buffers);
    copy.sendAtMs = this.sendAtMs?.slice();
    copy.fates = this.fates.copy();
    copy.senders = this.senders.copy();
    copy.rows = this.rows;
    copy.held = this.held;
    copy.#packed = this.#packed;
    return copy;
  }

  addRow(): number {
    const row = this.rows++;
    if (row === this.columns.capacity) this.#grow(Math.min(rowsPerChunk, row * growth));
    return row;
  }

  sendAtOf(row: number): number {
    return this.sendAtMs?.[this.placeOf(row)] ?? 0;
  }

  setSendAt(row: number, atMs: number): void {
    this.sendAtMs ??= new Float64Array(this.columns.capacity);
    this.sendAtMs[this.placeOf(row)] = atMs;
  }

  /** The first row from `from` on that is held, or -1. */
  heldFrom(from: number): number {
    const packed = this.#packed;
    const count = packed === undefined ? this.rows : packed.length;
    for (let place = packed === undefined ? from : lowerBound(packed, from); place < count; place++)
      if (this.columns.isHeld(place))
        return packed === undefined ? place : (packed[place] as number);
    return -1;
  }

  /** The last row up to `from` that is held, or -1. */
  heldUpTo(from: number): number {
    const packed = this.#packed;
    let place =
      packed === undefined ? Math.min(from, this.rows - 1) : lowerBound(packed, from + 1) - 1;
    while (place >= 0 && !this.columns.isHeld(place)) place--;
    return place < 0 || packed === undefined ? place : (packed[place] as number);
  }

  packIfSparse(): void {
    const places = this.#packed?.length ?? rowsPerChunk;
    if (this.isFull && this.held <= places * packedShare) this.#pack();
  }

  /** Empties the chunk and returns its buffers. */
  empty(): Buffers {
    const { columns, slab } = this;
    this.held = 0;
    this.#pack();
    return { columns, slab };
  }

  #pack(): void {
    const rows: number[] = [];
    for (let row = this.held > 0 ? this.heldFrom(0) : -1; row >= 0; row = this.heldFrom(row + 1))
      rows.push(row);
    const places = rows.map((row) => this.placeOf(row));
    const { columns, slab, sendAtMs } = this;
    // The last place is empty: all dropped rows share it.
    this.columns = new Columns(rows.length + 1);
    this.columns.forget(rows.length);
    this.slab = new TextSlab();
    for (const [to, place] of places.entries()) {
      this.columns.copyRow(to, columns, place);
      const at = columns.textAt[place] as number;
      this.columns.textAt[to] = this.slab.write(slab.read(at));
      this.slab.write(slab.read(slab.after(at)));
    }
    this.columns.textAt[rows.length] = this.slab.write('');
    this.slab.write('');
    this.slab.trim();
    this.sendAtMs = sendAtMs && Float64Array.from(places, (place) => sendAtMs[place] as number);
    this.fates = this.fates.pick(places);
    this.senders = this.senders.pick(places);
    this.#packed = Uint16Array.from(rows);
  }

  #grow(capacity: number): void {
    const { columns, sendAtMs } = this;
    this.columns = new Columns(capacity);
    for (let row = 0; row < columns.capacity; row++) this.columns.copyRow(row, columns, row);
    if (sendAtMs !== undefined) {
      this.sendAtMs = new Float64Array(capacity);
      this.sendAtMs.set(sendAtMs);
    }
  }
}

/** The buffers of an emptied chunk, for reuse by the next one. */
export interface Buffers {
  readonly columns: Columns;
  readonly slab: TextSlab;
}

/** The place of a row; if it is missing, the place after the last. */
function searchRow(rows: Uint16Array, row: number): number {
  const place = lowerBound(rows, row);
  return rows[place] === row ? place : rows.length;
}

function lowerBound(rows: Uint16Array, row: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle] as number) < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Bytes of a row in all columns. */
const bytesPerRow = 2 * 8 + 9 * 4 + 1;

/**
 * Bits of `flags`: the endpoint, whether the message is forgotten, and whether it has a
 * `request_id`.
 */
const endpointBits = 0b0000_0011;
const forgottenBit = 0b0000_0100;
const requestIdBit = 0b0000_1000;

/** One typed array for each field, all in one buffer. */
export class Columns {
  readonly capacity: number;
  readonly buffer: ArrayBuffer;
  readonly createdAtMs: Float64Array;
  /** The recipient's digits, as a number. */
  readonly to: Float64Array;
  /** The message ids, four words each. */
  readonly ids: Uint32Array;
  readonly account: Uint32Array;
  readonly device: Uint32Array;
  /** The key's place among the account's keys, plus one; 0 if the key is not known. */
  readonly key: Uint32Array;
  readonly cohort: Uint32Array;
  /** The offset of the text in the slab. The `request_id` follows the text. */
  readonly textAt: Uint32Array;
  readonly flags: Uint8Array;

  constructor(capacity: number, buffer = new ArrayBuffer(capacity * bytesPerRow)) {
    let at = 0;
    const place = (bytes: number) => {
      const begin = at;
      at += bytes * capacity;
      return begin;
    };
    this.capacity = capacity;
    this.buffer = buffer;
    this.createdAtMs = new Float64Array(buffer, place(8), capacity);
    this.to = new Float64Array(buffer, place(8), capacity);
    this.ids = new Uint32Array(buffer, place(16), 4 * capacity);
    this.account = new Uint32Array(buffer, place(4), capacity);
    this.device = new Uint32Array(buffer, place(4), capacity);
    this.key = new Uint32Array(buffer, place(4), capacity);
    this.cohort = new Uint32Array(buffer, place(4), capacity);
    this.textAt = new Uint32Array(buffer, place(4), capacity);
    this.flags = new Uint8Array(buffer, place(1), capacity);
  }

  copy(): Columns {
    return new Columns(this.capacity, this.buffer.slice(0));
  }

  setFlags(place: number, endpoint: number, hasRequestId: boolean): void {
    this.flags[place] = endpoint | (hasRequestId ? requestIdBit : 0);
  }

  endpointAt(place: number): number {
    return (this.flags[place] as number) & endpointBits;
  }

  hasRequestId(place: number): boolean {
    return ((this.flags[place] as number) & requestIdBit) !== 0;
  }

  isHeld(place: number): boolean {
    return ((this.flags[place] as number) & forgottenBit) === 0;
  }

  forget(place: number): void {
    this.flags[place] = forgottenBit;
  }

  copyRow(to: number, from: Columns, place: number): void {
    this.createdAtMs[to] = from.createdAtMs[place] as number;
    this.to[to] = from.to[place] as number;
    for (let word = 0; word < 4; word++) {
      this.ids[4 * to + word] = from.ids[4 * place + word] as number;
    }
    this.account[to] = from.account[place] as number;
    this.device[to] = from.device[place] as number;
    this.key[to] = from.key[place] as number;
    this.cohort[to] = from.cohort[place] as number;
    this.textAt[to] = from.textAt[place] as number;
    this.flags[to] = from.flags[place] as number;
  }
}

/**
 * A column of values that few rows of a chunk have: two bytes a row once any row has a value, and
 * each distinct value stored once.
 */
export class RareValues<T> {
  #indices: Uint16Array = new Uint16Array(0);
  readonly #values: T[] = [];
  readonly #indexOf = new Map<T, number>();

  get(row: number): T | undefined {
    const index = this.#indices[row] ?? 0;
    return index === 0 ? undefined : this.#values[index - 1];
  }

  /** `capacity`: the largest number of rows. */
  set(row: number, value: T, capacity: number): void {
    if (row >= this.#indices.length) {
      const larger = new Uint16Array(capacity);
      larger.set(this.#indices);
      this.#indices = larger;
    }
    let index = this.#indexOf.get(value);
    if (index === undefined) {
      index = this.#values.push(value);
      this.#indexOf.set(value, index);
    }
    this.#indices[row] = index;
  }

  copy(): RareValues<T> {
    const copy = new RareValues<T>();
    copy.#indices = this.#indices.slice();
    copy.#values.push(...this.#values);
    return copy;
  }

  /** The values of only these rows, in this order. */
  pick(rows: readonly number[]): RareValues<T> {
    const picked = new RareValues<T>();
    for (const [to, from] of rows.entries()) {
      const value = this.get(from);
      if (value !== undefined) picked.set(to, value, rows.length);
    }
    return picked;
  }
}
