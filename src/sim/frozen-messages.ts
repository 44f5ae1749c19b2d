/**
 * All messages as they are at one instant, to be read while the world goes on: a chunk that was not
 * read yet is copied before its first change. Records that messages share are copied at the instant.
 */
import { type Chunk, rowsPerChunk } from './chunk.ts';
import { type Cohort, likeOf } from './cohort.ts';
import { uuidText } from './uuid-words.ts';

/** What rows refer to. */
interface Referred {
  readonly accounts: { copy(): unknown };
  readonly devices: { copy(): unknown };
  readonly cohorts: { copy(copyOf: (cohort: Cohort) => Cohort): unknown };
}

/** What is asked of a chunk after it was read: who was in which cohort. */
interface Roll {
  readonly ids: Uint32Array;
  readonly cohorts: Uint32Array;
}

export class FrozenMessages<Home extends Referred, M> {
  readonly #home: Home;
  readonly #make: (chunk: Chunk<Home>, row: number) => M;
  /** Those that are still to be read, in the order of arrival. */
  readonly #chunks: Chunk<Home>[];
  readonly #copies = new Map<number, Chunk<Home>>();
  readonly #rolls = new Map<number, Roll>();

  constructor(
    home: Home,
    chunks: readonly Chunk<Home>[],
    make: (chunk: Chunk<Home>, row: number) => M,
  ) {
    const { accounts, devices, cohorts } = home;
    this.#home = Object.create(home, {
      accounts: { value: accounts.copy() },
      devices: { value: devices.copy() },
      cohorts: { value: cohorts.copy(stateOf) },
    }) as Home;
    this.#make = make;
    this.#chunks = [...chunks];
    for (const chunk of this.#chunks) {
      chunk.onChange = (changing) => {
        this.#copies.set(changing.firstArrival, changing.copyFor(this.#home));
      };
    }
  }

  /** Every message once, in the order of arrival. */
  *messages(): Generator<M> {
    for (const live of this.#chunks) {
      const { firstArrival } = live;
      // The views made of it must keep showing the instant, however slowly they are read.
      const chunk = this.#copies.get(firstArrival) ?? live.copyFor(this.#home);
      live.onChange = undefined;
      this.#copies.delete(firstArrival);
      const roll = {
        ids: new Uint32Array(4 * rowsPerChunk),
        cohorts: new Uint32Array(rowsPerChunk),
      };
      for (let row = chunk.heldFrom(0); row >= 0; row = chunk.heldFrom(row + 1)) {
        const place = chunk.placeOf(row);
        roll.cohorts[row] = chunk.columns.cohort[place] as number;
        roll.ids.set(chunk.columns.ids.subarray(4 * place, 4 * place + 4), 4 * row);
        yield this.#make(chunk, row);
      }
      this.#rolls.set(firstArrival, roll);
    }
    this.#chunks.length = 0;
  }

  /** Ends the copying before all was read. */
  release(): void {
    for (const chunk of this.#chunks) chunk.onChange = undefined;
    this.#chunks.length = 0;
    this.#copies.clear();
  }

  /** The number of its cohort; 0 if it was not held. Only after all messages were read. */
  cohortOf(arrival: number): number {
    const row = arrival % rowsPerChunk;
    return this.#rolls.get(arrival - row)?.cohorts[row] ?? 0;
  }

  idOf(arrival: number): string {
    const row = arrival % rowsPerChunk;
    const roll = this.#rolls.get(arrival - row);
    return roll === undefined ? '' : uuidText(roll.ids, 4 * row);
  }
}

function stateOf(cohort: Cohort): Cohort {
  const { account, fate } = cohort;
  return likeOf({ cohort, account, fate });
}
