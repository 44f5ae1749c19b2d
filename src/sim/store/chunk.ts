/**
 * A chunk: up to 4,096 messages in order of arrival, as columns (`columns.ts`) and a slab of texts.
 * A message is named by its row, which never changes: its arrival number minus the chunk's first.
 * A row's place is its index in the columns. The two are equal until most messages of a full chunk
 * are forgotten: then the chunk is packed, and a search finds the place of a row.
 */
import type { Fate } from '../devices/outcomes.ts';
import { Columns, RareValues } from './columns.ts';
import { TextSlab } from './text-slab.ts';

export const rowsPerChunk = 4_096;
const firstCapacity = 64;
/** Each growth multiplies a chunk's capacity by this. */
const growth = 8;
/** A full chunk is packed when at most this share of its places still has a message. */
const packedShare = 1 / 8;

/** `Tables`: the store that finds the accounts, devices and cohorts that the columns refer to. */
export class Chunk<Tables = unknown> {
  readonly tables: Tables;
  /** Its index in the table of chunks, as used in handles (`message-rows.ts`). */
  readonly number: number;
  /** The arrival number of row 0. */
  readonly firstArrival: number;
  columns: Columns;
  slab: TextSlab;
  /** When `send_at` holds end, by place, or 0; created for the first message with a hold. */
  sendAtMs: Float64Array | undefined;
  /** The fates of messages that have one, by place. */
  fates = new RareValues<Fate>();
  /** The numbers that callers named, by place, for messages that go out from another number. */
  senders = new RareValues<string>();
  /** Called once, before the next change. A checkpoint copies the chunk then. */
  onChange: ((chunk: Chunk<Tables>) => void) | undefined;
  /** Rows in use, including rows whose message was forgotten. */
  rows = 0;
  /** The number of messages. `MessageRows` counts them as it registers and forgets rows. */
  size = 0;
  /** The row at each place of a packed chunk, ascending. */
  #rowsByPlace: Uint16Array | undefined;

  constructor(
    tables: Tables,
    number: number,
    firstArrival: number,
    { columns, slab }: Buffers = { columns: new Columns(firstCapacity), slab: new TextSlab() },
  ) {
    this.tables = tables;
    this.number = number;
    this.firstArrival = firstArrival;
    this.columns = columns;
    this.slab = slab;
  }

  get isFull(): boolean {
    return this.rows === rowsPerChunk;
  }

  /**
   * The place of a row in the columns. The rows that a packed chunk dropped share an empty place.
   */
  placeOf(row: number): number {
    return this.#rowsByPlace === undefined ? row : searchPlace(this.#rowsByPlace, row);
  }

  hasMessage(row: number): boolean {
    return row < this.rows && this.columns.hasMessage(this.placeOf(row));
  }

  /** Call this before each change. */
  touch(): void {
    const { onChange } = this;
    if (onChange === undefined) return;
    this.onChange = undefined;
    onChange(this);
  }

  /** A copy of the messages in new buffers, for reading. */
  copy(): Chunk<Tables> {
    const { tables, number, firstArrival, columns, slab } = this;
    const buffers = { columns: columns.copy(), slab: slab.copy() };
    const copy = new Chunk(tables, number, firstArrival, buffers);
    copy.sendAtMs = this.sendAtMs?.slice();
    copy.fates = this.fates.copy();
    copy.senders = this.senders.copy();
    copy.rows = this.rows;
    copy.size = this.size;
    copy.#rowsByPlace = this.#rowsByPlace;
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

  /** The first row from `from` on that has a message, or -1. */
  firstRowFrom(from: number): number {
    const rows = this.#rowsByPlace;
    const places = rows === undefined ? this.rows : rows.length;
    let place = rows === undefined ? from : lowerBound(rows, from);
    while (place < places && !this.columns.hasMessage(place)) place++;
    if (place >= places) return -1;
    return rows === undefined ? place : (rows[place] as number);
  }

  /** The last row up to `to` that has a message, or -1. */
  lastRowUpTo(to: number): number {
    const rows = this.#rowsByPlace;
    let place = rows === undefined ? Math.min(to, this.rows - 1) : lowerBound(rows, to + 1) - 1;
    while (place >= 0 && !this.columns.hasMessage(place)) place--;
    return place < 0 || rows === undefined ? place : (rows[place] as number);
  }

  /** The rows from `from` on that have a message, ascending. */
  *rowsFrom(from: number): Generator<number> {
    for (let row = this.firstRowFrom(from); row >= 0; row = this.firstRowFrom(row + 1)) yield row;
  }

  /** The rows up to `to` that have a message, descending. */
  *rowsDownFrom(to: number): Generator<number> {
    for (let row = this.lastRowUpTo(to); row >= 0; row = this.lastRowUpTo(row - 1)) yield row;
  }

  packIfSparse(): void {
    const places = this.#rowsByPlace?.length ?? rowsPerChunk;
    if (this.isFull && this.size <= places * packedShare) this.#pack();
  }

  /** Drops all messages and returns the buffers, for reuse by another chunk. */
  empty(): Buffers {
    const { columns, slab } = this;
    this.size = 0;
    this.#pack();
    return { columns, slab };
  }

  /** Moves the remaining messages into buffers without gaps. */
  #pack(): void {
    const rows = this.size > 0 ? [...this.rowsFrom(0)] : [];
    const oldPlaces = rows.map((kept) => this.placeOf(kept));
    const { columns, slab, sendAtMs } = this;
    // The last place is the empty one that all dropped rows share.
    this.columns = new Columns(rows.length + 1);
    this.columns.markEmpty(rows.length);
    this.slab = new TextSlab();
    for (const [place, oldPlace] of oldPlaces.entries()) {
      this.columns.copyMessage(place, columns, oldPlace);
      const textAt = columns.textAt[oldPlace] as number;
      this.columns.textAt[place] = this.slab.write(slab.read(textAt));
      if (columns.hasRequestId(oldPlace)) this.slab.write(slab.read(slab.after(textAt)));
    }
    this.columns.textAt[rows.length] = this.slab.write('');
    this.slab.trim();
    this.sendAtMs = sendAtMs && Float64Array.from(oldPlaces, (place) => sendAtMs[place] as number);
    this.fates = this.fates.pick(oldPlaces);
    this.senders = this.senders.pick(oldPlaces);
    this.#rowsByPlace = Uint16Array.from(rows);
  }

  #grow(capacity: number): void {
    const { columns, sendAtMs } = this;
    this.columns = new Columns(capacity);
    for (let row = 0; row < columns.capacity; row++) this.columns.copyMessage(row, columns, row);
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

/** The place of a row; if the chunk dropped the row, the place after the last. */
function searchPlace(rows: Uint16Array, row: number): number {
  const place = lowerBound(rows, row);
  return rows[place] === row ? place : rows.length;
}

/** The first place whose row is not smaller than `row`. */
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
