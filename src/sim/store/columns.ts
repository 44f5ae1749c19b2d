/**
 * The fields of a chunk's messages, as columns of numbers that the garbage collector does not walk.
 * A message is found by its place, an index in every column; `chunk.ts` assigns places. An object
 * that messages refer to, such as an account, has a small number, its slot.
 */
import { assert } from '../errors.ts';

/** Two 8-byte numbers, a message id of four words, five other words, and the flags. */
const bytesPerPlace = 2 * 8 + (4 + 5) * 4 + 1;

/** The bits of `flags`. The endpoint is an index in `sendEndpoints` of `contract/limits.ts`. */
const endpointBits = 0b0000_0011;
const emptyBit = 0b0000_0100;
const requestIdBit = 0b0000_1000;

/** The fields that every message has: one typed array for each field, all in one buffer. */
export class Columns {
  readonly capacity: number;
  readonly buffer: ArrayBuffer;
  readonly createdAtMs: Float64Array;
  /** The recipient's number without its plus sign. */
  readonly to: Float64Array;
  /** The message ids, four words each. */
  readonly ids: Uint32Array;
  /** The slots of the account, device and cohort of a message: see `Slots`. */
  readonly account: Uint32Array;
  readonly device: Uint32Array;
  readonly cohort: Uint32Array;
  /** The key's place among the account's keys, plus one; 0 if the key is not known. */
  readonly key: Uint32Array;
  /** The offset of the text in the chunk's slab. A `request_id` follows the text. */
  readonly textAt: Uint32Array;
  readonly flags: Uint8Array;

  constructor(capacity: number, buffer = new ArrayBuffer(capacity * bytesPerPlace)) {
    let used = 0;
    const reserve = (bytes: number) => {
      const offset = used;
      used += bytes * capacity;
      return offset;
    };
    this.capacity = capacity;
    this.buffer = buffer;
    this.createdAtMs = new Float64Array(buffer, reserve(8), capacity);
    this.to = new Float64Array(buffer, reserve(8), capacity);
    this.ids = new Uint32Array(buffer, reserve(16), 4 * capacity);
    this.account = new Uint32Array(buffer, reserve(4), capacity);
    this.device = new Uint32Array(buffer, reserve(4), capacity);
    this.key = new Uint32Array(buffer, reserve(4), capacity);
    this.cohort = new Uint32Array(buffer, reserve(4), capacity);
    this.textAt = new Uint32Array(buffer, reserve(4), capacity);
    this.flags = new Uint8Array(buffer, reserve(1), capacity);
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

  hasMessage(place: number): boolean {
    return ((this.flags[place] as number) & emptyBit) === 0;
  }

  markEmpty(place: number): void {
    this.flags[place] = emptyBit;
  }

  /** Copies the message at `place` of the columns `from` to the place `to`. */
  copyMessage(to: number, from: Columns, place: number): void {
    this.createdAtMs[to] = from.createdAtMs[place] as number;
    this.to[to] = from.to[place] as number;
    for (let word = 0; word < 4; word++)
      this.ids[4 * to + word] = from.ids[4 * place + word] as number;
    this.account[to] = from.account[place] as number;
    this.device[to] = from.device[place] as number;
    this.key[to] = from.key[place] as number;
    this.cohort[to] = from.cohort[place] as number;
    this.textAt[to] = from.textAt[place] as number;
    this.flags[to] = from.flags[place] as number;
  }
}

/**
 * A column of values that few messages of a chunk have: two bytes for each place once any place has
 * a value, and each distinct value stored once.
 */
export class RareValues<T> {
  /** The index in `#values` plus one, or 0 for no value, by place. */
  #indices: Uint16Array = new Uint16Array(0);
  readonly #values: T[] = [];
  /** The entry of `#indices` for each value. */
  readonly #indexOf = new Map<T, number>();

  get(place: number): T | undefined {
    const index = this.#indices[place] ?? 0;
    return index === 0 ? undefined : this.#values[index - 1];
  }

  /** `capacity`: the number of places in the chunk's columns. */
  set(place: number, value: T, capacity: number): void {
    if (place >= this.#indices.length) {
      const larger = new Uint16Array(capacity);
      larger.set(this.#indices);
      this.#indices = larger;
    }
    let index = this.#indexOf.get(value);
    if (index === undefined) {
      index = this.#values.push(value);
      this.#indexOf.set(value, index);
    }
    this.#indices[place] = index;
  }

  /** A copy for reading only: it lacks the entries that `set` looks up. */
  copy(): RareValues<T> {
    const copy = new RareValues<T>();
    copy.#indices = this.#indices.slice();
    copy.#values.push(...this.#values);
    return copy;
  }

  /** The values at these places; the first of them becomes place 0, and so on. */
  pick(places: readonly number[]): RareValues<T> {
    const picked = new RareValues<T>();
    for (const [to, from] of places.entries()) {
      const value = this.get(from);
      if (value !== undefined) picked.set(to, value, places.length);
    }
    return picked;
  }
}

/** An object that rows refer to. Only `Slots` writes `slot`; 0 means that it has none. */
export interface Slotted {
  slot: number;
}

/** Assigns a slot to each object. A slot is reused after its object was released. */
export class Slots<T extends Slotted> {
  /** The objects by slot; slot 0 stays empty. */
  readonly #items: (T | undefined)[] = [undefined];
  readonly #free: number[] = [];

  /** The slot of this object; assigns one if needed. */
  slotOf(item: T): number {
    if (item.slot > 0) return item.slot;
    item.slot = this.#free.pop() ?? this.#items.length;
    this.#items[item.slot] = item;
    return item.slot;
  }

  at(slot: number): T {
    const item = this.#items[slot];
    assert(item !== undefined, 'a slot in a column has an object');
    return item;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }

  release(item: T): void {
    if (item.slot === 0) return;
    this.#items[item.slot] = undefined;
    this.#free.push(item.slot);
    item.slot = 0;
  }
}
