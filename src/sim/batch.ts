/**
 * The messages that a device's next polls handle together, in order, and the cohorts in which they
 * move. The batch is walked only when a reader needs the single messages.
 */
import { type Cohort, likeOf, type Member, moveTo } from './cohort.ts';

const blockSize = 4_096;
const firstBlock = 4;
const blockGrowth = 8;
/** Lists shorter than this are not worth the cost of a copy. */
const shortestThinned = 4_096;

/** A message that can find other messages by their arrival numbers. */
export interface Joinable<M> extends Member {
  readonly home: { ofArrival(arrival: number): M | undefined };
}

interface Block {
  readonly arrivals: Float64Array;
  /** The cohort of each member, by its place in the list of cohorts. */
  readonly cohorts: Uint32Array;
}

/**
 * An append-only list in blocks, so that growing never copies it. Members are arrival numbers,
 * which stay valid names even after a message is forgotten. Each member is stored next to its
 * cohort, so that a walk can skip the members of other cohorts.
 */
class Members<M extends Joinable<M>> {
  readonly #blocks: Block[] = [];
  readonly #cohorts: Cohort[] = [];
  #placeOf: Map<Cohort, number> | undefined;
  #home: M['home'] | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(member: M): void {
    this.#home ??= member.home;
    const at = this.#length % blockSize;
    const block = at === 0 ? this.#addBlock() : this.#roomFor(at);
    block.arrivals[at] = member.arrival;
    block.cohorts[at] = this.#cohortPlace(member.cohort);
    this.#length++;
  }

  /**
   * The members from `first` on, as they are now. Existing entries never change, so they may be
   * read later.
   */
  blocksFrom(first: number): Iterable<Float64Array> {
    const blocks = this.#blocks.map(({ arrivals }) => arrivals);
    return blocksFrom(blocks, first, this.#length);
  }

  /** Undefined if the message was forgotten. */
  at(index: number): M | undefined {
    const arrival = this.#blocks[Math.floor(index / blockSize)]?.arrivals[index % blockSize];
    return arrival === undefined ? undefined : this.#home?.ofArrival(arrival);
  }

  /** The first `most` members of these cohorts, in order, from the place `first` on. */
  of(wanted: readonly Cohort[], first: number, most: number): M[] {
    const found: M[] = [];
    const cohorts = new Set(wanted);
    const listed = new Set(wanted.flatMap((one) => [one, one.origin ?? one]));
    const isListed = this.#cohorts.map((cohort) => listed.has(cohort));
    if (!isListed.includes(true)) return found;
    for (let n = first; n < this.#length; n++) {
      const block = this.#blocks[Math.floor(n / blockSize)] as Block;
      const at = n % blockSize;
      if (isListed[block.cohorts[at] as number] !== true) continue;
      const member = this.#home?.ofArrival(block.arrivals[at] as number);
      if (member === undefined || !cohorts.has(member.cohort)) continue;
      if (found.length === most) return found;
      found.push(member);
    }
    return found;
  }

  #cohortPlace(cohort: Cohort): number {
    const cohorts = this.#cohorts;
    const last = cohorts.length - 1;
    if (cohorts[last] === cohort) return last;
    this.#placeOf ??= new Map(cohorts.map((one, place) => [one, place]));
    let place = this.#placeOf.get(cohort);
    if (place === undefined) {
      place = cohorts.push(cohort) - 1;
      this.#placeOf.set(cohort, place);
    }
    return place;
  }

  #addBlock(): Block {
    const size = this.#length === 0 ? firstBlock : blockSize;
    const block = { arrivals: new Float64Array(size), cohorts: new Uint32Array(size) };
    this.#blocks.push(block);
    return block;
  }

  /** The last block; enlarged if it has no place `at`. */
  #roomFor(at: number): Block {
    const last = this.#blocks.length - 1;
    const block = this.#blocks[last] as Block;
    if (at < block.arrivals.length) return block;
    const size = Math.min(blockSize, at * blockGrowth);
    const larger = { arrivals: new Float64Array(size), cohorts: new Uint32Array(size) };
    larger.arrivals.set(block.arrivals);
    larger.cohorts.set(block.cohorts);
    this.#blocks[last] = larger;
    return larger;
  }
}

function* blocksFrom(
  blocks: readonly Float64Array[],
  first: number,
  length: number,
): Generator<Float64Array> {
  for (let at = first; at < length; ) {
    const from = at % blockSize;
    const block = blocks[Math.floor(at / blockSize)] as Float64Array;
    const part = block.subarray(from, Math.min(blockSize, from + length - at));
    yield part;
    at += part.length;
  }
}

/** A batch may share its members with another batch if only some of the cohorts have moved on. */
export class Batch<M extends Joinable<M>> {
  #members: Members<M>;
  /** Cohorts that wait here, and cohorts that left in another way since the last poll. */
  cohorts: Cohort[] = [];
  /** Members before this index were released. */
  #first = 0;
  /** The cohort of the message that joined last. */
  #joined: Cohort | undefined;
  #byAccount: Map<unknown, Cohort[]> | undefined;

  constructor(members: Batch<M> | readonly M[] = [], cohorts: Iterable<Cohort> = []) {
    this.#members = members instanceof Batch ? members.#members : new Members();
    if (!(members instanceof Batch)) for (const member of members) this.#members.push(member);
    for (const cohort of cohorts) this.take(cohort);
  }

  /** The arrival numbers of its members as they are now, in order and in blocks. */
  get arrivals(): Iterable<Float64Array> {
    return this.#members.blocksFrom(this.#first);
  }

  /** Makes a cohort wait here. */
  take(cohort: Cohort): void {
    this.cohorts.push(cohort);
    cohort.batch = this;
  }

  /** Adds a message at the end, in the cohort of the messages that will move with it. */
  join(member: M, duePoll: number): void {
    const last = this.#joined;
    const cohort = last?.movesLike(member, duePoll) ? last : this.#cohortOf(member, duePoll);
    this.#joined = cohort;
    moveTo(cohort, member);
    this.#members.push(member);
  }

  /** Stops accepting messages. */
  close(): void {
    this.#joined = undefined;
    this.#byAccount = undefined;
  }

  /** Keeps only the cohorts that still wait here. Returns false if there are none. */
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
    return this.#members.of(cohorts, this.#first, most);
  }

  /** Moves the first `most` messages of these cohorts into a batch of their own. */
  partFirst(most: number, cohorts: readonly Cohort[]): Batch<M> {
    const parted = new Batch<M>();
    for (const member of this.membersOf(cohorts, most)) parted.join(member, member.cohort.duePoll);
    parted.close();
    const { length } = this.#members;
    while (this.#first < length && this.#members.at(this.#first)?.cohort.batch !== this) {
      this.#first++;
    }
    return parted;
  }

  #cohortOf(member: M, duePoll: number): Cohort {
    this.#byAccount ??= new Map();
    let own = this.#byAccount.get(member.account);
    if (own === undefined) {
      own = [];
      this.#byAccount.set(member.account, own);
    }
    let cohort = own.find((one) => one.movesLike(member, duePoll));
    if (cohort === undefined) {
      cohort = likeOf(member);
      cohort.duePoll = duePoll;
      own.push(cohort);
      this.take(cohort);
    }
    return cohort;
  }

  /** Releases forgotten messages, so that a few slow ones do not keep a long list in memory. */
  #thin(): void {
    const members = new Members<M>();
    for (const member of this.membersOf(this.cohorts)) members.push(member);
    this.#members = members;
    this.#first = 0;
  }
}
