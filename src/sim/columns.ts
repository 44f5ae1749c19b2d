/**
 * The columns of a chunk of messages: one typed array for each field, all in one buffer.
 */

/** Bytes of a row in all columns. */
const bytesPerRow = 2 * 8 + 9 * 4 + 1;

/**
 * Bits of `flags`: the endpoint, whether the message is forgotten, and whether it has a
 * `request_id`.
 */
const endpointBits = 0b0000_0011;
const forgottenBit = 0b0000_0100;
const requestIdBit = 0b0000_1000;

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
