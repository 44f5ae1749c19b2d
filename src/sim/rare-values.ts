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
