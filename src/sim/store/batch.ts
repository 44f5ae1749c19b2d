/**
 * A batch: the messages that a device's next polls handle together, in order, and their cohorts. A
 * poll moves whole cohorts (`cohort.ts`); it walks the messages only for a reader that needs them
 * one by one.
 */
import { type Cohort, emptyCohortLike, type Member, moveTo } from './cohort.ts';

const blockSize = 4_096;
/** The first block starts small and grows, because most batches have few messages. */
const firstBlockSize = 4;
const blockGrowth = 8;
/** The shortest list that is copied without the messages that have left it. */
const shortestThinned = 4_096;

/** A message that a batch can list; `tables` finds other messages by their arrival numbers. */
export interface Joinable<M> extends Member {
  readonly tables: { ofArrival(arrival: number): M | undefined };
}

interface Block {
  readonly arrivals: Float64Array;
  /** The cohort in which each member joined, as an index in `MemberList.#cohorts`. */
  readonly cohorts: Uint32Array;
}

/**
 * An append-only list of messages, in blocks, so that its growth never copies a long list. Stores
 * arrival numbers, which are never reused, even after a message is forgotten. Stores the cohort of
 * each as well, so that a walk can skip the messages of other cohorts.
 */
class MemberList<M extends Joinable<M>> {
  readonly #blocks: Block[] = [];
  /** Every cohort in which a member joined. */
  readonly #cohorts: Cohort[] = [];
  /** The index of each cohort in `#cohorts`; created for the first member of another cohort. */
  #cohortIndexes: Map<Cohort, number> | undefined;
  #tables: M['tables'] | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(member: M): void {
    this.#tables ??= member.tables;
    const offset = this.#length % blockSize;
    const block = offset === 0 ? this.#addBlock() : this.#lastBlockWith(offset);
    block.arrivals[offset] = member.arrival;
    block.cohorts[offset] = this.#indexOf(member.cohort);
    this.#length++;
  }

  /**
   * The arrival numbers from index `first` on that are listed at this call. The iterable may be read
   * later, because entries never change.
   */
  arrivalsFrom(first: number): Iterable<Float64Array> {
    const blocks = this.#blocks.map(({ arrivals }) => arrivals);
    return partsOf(blocks, first, this.#length);
  }

  /** The message at this index; undefined if it was forgotten. */
  at(index: number): M | undefined {
    const arrival = this.#blocks[Math.floor(index / blockSize)]?.arrivals[index % blockSize];
    return arrival === undefined ? undefined : this.#tables?.ofArrival(arrival);
  }

  /** The first `most` members that are now in these cohorts, in order, from index `first` on. */
  inCohorts(wanted: readonly Cohort[], first: number, most: number): M[] {
    const found: M[] = [];
    const cohorts = new Set(wanted);
    // A message that left its cohort is still listed with the cohort in which it joined.
    const joined = new Set(wanted.flatMap((cohort) => [cohort, cohort.origin ?? cohort]));
    const isPossible = this.#cohorts.map((cohort) => joined.has(cohort));
    if (!isPossible.includes(true)) return found;
    for (let index = first; index < this.#length; index++) {
      const block = this.#blocks[Math.floor(index / blockSize)] as Block;
      const offset = index % blockSize;
      if (isPossible[block.cohorts[offset] as number] !== true) continue;
      const member = this.#tables?.ofArrival(block.arrivals[offset] as number);
      if (member === undefined || !cohorts.has(member.cohort)) continue;
      if (found.length === most) return found;
      found.push(member);
    }
    return found;
  }

  /** The index of the cohort in `#cohorts`; adds the cohort if needed. */
  #indexOf(cohort: Cohort): number {
    const cohorts = this.#cohorts;
    const last = cohorts.length - 1;
    if (cohorts[last] === cohort) return last;
    this.#cohortIndexes ??= new Map(cohorts.map((each, index) => [each, index]));
    let index = this.#cohortIndexes.get(cohort);
    if (index === undefined) {
      index = cohorts.push(cohort) - 1;
      this.#cohortIndexes.set(cohort, index);
    }
    return index;
  }

  #addBlock(): Block {
    const size = this.#length === 0 ? firstBlockSize : blockSize;
    const block = { arrivals: new Float64Array(size), cohorts: new Uint32Array(size) };
    this.#blocks.push(block);
    return block;
  }

  /** The last block, enlarged if it has no room at `offset`. */
  #lastBlockWith(offset: number): Block {
    const last = this.#blocks.length - 1;
    const block = this.#blocks[last] as Block;
    if (offset < block.arrivals.length) return block;
    const size = Math.min(blockSize, offset * blockGrowth);
    const larger = { arrivals: new Float64Array(size), cohorts: new Uint32Array(size) };
    larger.arrivals.set(block.arrivals);
    larger.cohorts.set(block.cohorts);
    this.#blocks[last] = larger;
    return larger;
  }
}

/** The entries from index `first` up to `length`, as parts of the blocks. */
function* partsOf(
  blocks: readonly Float64Array[],
  first: number,
  length: number,
): Generator<Float64Array> {
  for (let index = first; index < length; ) {
    const offset = index % blockSize;
    const block = blocks[Math.floor(index / blockSize)] as Float64Array;
    const part = block.subarray(offset, Math.min(blockSize, offset + length - index));
    yield part;
    index += part.length;
  }
}

export class Batch<M extends Joinable<M>> {
  /** Shared with the batch that this one was made from, when only some of its cohorts moved on. */
  #members: MemberList<M>;
  /** Cohorts that wait here, and cohorts that left in another way since the last poll. */
  cohorts: Cohort[] = [];
  /** The messages of this batch start at this index of `#members`. */
  #first = 0;
  /** The cohort of the message that joined last; undefined once the batch is closed. */
  #lastJoined: Cohort | undefined;
  /** The cohorts that messages may still join, by account. */
  #openCohorts: Map<unknown, Cohort[]> | undefined;

  /** `members`: messages to copy, or a batch whose list to share. */
  constructor(members: Batch<M> | readonly M[] = [], cohorts: Iterable<Cohort> = []) {
    const isBatch = members instanceof Batch;
    this.#members = isBatch ? members.#members : new MemberList();
    if (!isBatch) for (const member of members) this.#members.push(member);
    for (const cohort of cohorts) this.take(cohort);
  }

  /**
   * The arrival numbers listed at this call, in order and in blocks. Messages that have left may be
   * among them.
   */
  get arrivals(): Iterable<Float64Array> {
    return this.#members.arrivalsFrom(this.#first);
  }

  /** Makes a cohort wait here. */
  take(cohort: Cohort): void {
    this.cohorts.push(cohort);
    cohort.batch = this;
  }

  /** Adds a message at the end, in the cohort of the messages that will move with it. */
  join(member: M, duePoll: number): void {
    const last = this.#lastJoined;
    const cohort = last?.movesLike(member, duePoll) ? last : this.#openCohortFor(member, duePoll);
    this.#lastJoined = cohort;
    moveTo(cohort, member);
    this.#members.push(member);
  }

  /** Stops accepting messages. */
  close(): void {
    this.#lastJoined = undefined;
    this.#openCohorts = undefined;
  }

  /** Keeps only cohorts that still wait here and `isKept`. Returns false if there are none. */
  keep(isKept: (cohort: Cohort) => boolean): boolean {
    const kept: Cohort[] = [];
    let size = 0;
    for (const cohort of this.cohorts) {
      if (cohort.batch !== this) continue;
      if (cohort.size > 0 && isKept(cohort)) {
        kept.push(cohort);
        size += cohort.size;
      } else cohort.batch = undefined;
    }
    this.cohorts = kept;
    const length = this.#members.length - this.#first;
    if (size > 0 && length >= shortestThinned && size < length / 2) this.#thin();
    return size > 0;
  }

  /** The messages of these cohorts, in order. */
  membersOf(cohorts: readonly Cohort[], most = Number.POSITIVE_INFINITY): M[] {
    return this.#members.inCohorts(cohorts, this.#first, most);
  }

  /** Moves the first `most` messages of these cohorts into a new batch. */
  splitOff(most: number, cohorts: readonly Cohort[]): Batch<M> {
    const split = new Batch<M>();
    for (const member of this.membersOf(cohorts, most)) split.join(member, member.cohort.duePoll);
    split.close();
    // The next walk need not look at messages that have left.
    const { length } = this.#members;
    while (this.#first < length && this.#members.at(this.#first)?.cohort.batch !== this)
      this.#first++;
    return split;
  }

  /** The cohort for this message to join; creates one if no open cohort moves like it. */
  #openCohortFor(member: M, duePoll: number): Cohort {
    this.#openCohorts ??= new Map();
    let cohorts = this.#openCohorts.get(member.account);
    if (cohorts === undefined) {
      cohorts = [];
      this.#openCohorts.set(member.account, cohorts);
    }
    let cohort = cohorts.find((each) => each.movesLike(member, duePoll));
    if (cohort === undefined) {
      cohort = emptyCohortLike(member);
      cohort.duePoll = duePoll;
      cohorts.push(cohort);
      this.take(cohort);
    }
    return cohort;
  }

  /** Drops messages that have left, so that a few slow ones do not keep a long list in memory. */
  #thin(): void {
    const members = new MemberList<M>();
    for (const member of this.membersOf(this.cohorts)) members.push(member);
    this.#members = members;
    this.#first = 0;
  }
}
