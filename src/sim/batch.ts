/**
 * The messages that a device's next polls find together, in their order, and the cohorts in which
 * they move. A batch is walked only where the messages themselves are asked for.
 */
import { type Cohort, likeOf, type Member, moveTo } from './cohort.ts';

const blockSize = 4_096;
/** A shorter list is not worth the copy that shortens it. */
const shortestThinned = 4_096;

/**
 * A list that only grows, in blocks, so that growing never copies it. Each member has next to it the
 * cohort in which it came, so that a walk looks at no member of another.
 */
class Members<M extends Member> {
  readonly #blocks: { readonly members: M[]; readonly cohorts: Cohort[] }[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(member: M): void {
    const { cohort } = member;
    const last = this.#blocks.at(-1);
    if (last === undefined || last.members.length === blockSize) {
      this.#blocks.push({ members: [member], cohorts: [cohort] });
    } else {
      last.members.push(member);
      last.cohorts.push(cohort);
    }
    this.#length++;
  }

  at(index: number): M {
    return this.#blocks[Math.floor(index / blockSize)]?.members[index % blockSize] as M;
  }

  /** The first `most` members of these cohorts, in order, from the place `first` on. */
  of(wanted: readonly Cohort[], first: number, most: number): M[] {
    const found: M[] = [];
    const cohorts = new Set(wanted);
    const listed = new Set(wanted.flatMap((one) => [one, one.origin ?? one]));
    const [only] = listed.size === 1 ? listed : [];
    for (let n = first; n < this.#length; ) {
      const block = this.#blocks[Math.floor(n / blockSize)];
      if (block === undefined) break;
      const { length } = block.members;
      for (let at = n % blockSize; at < length; at++, n++) {
        const cohort = block.cohorts[at] as Cohort;
        if (only === undefined ? !listed.has(cohort) : cohort !== only) continue;
        const member = block.members[at] as M;
        if (!cohorts.has(member.cohort)) continue;
        if (found.length === most) return found;
        found.push(member);
      }
    }
    return found;
  }
}

/** A batch may share its members with another, where only some of the cohorts have moved on. */
export class Batch<M extends Member> {
  #members: Members<M>;
  /** Those that wait here, and those that left since the last poll by another way. */
  cohorts: Cohort[] = [];
  /** Members before this one are gone. */
  #first = 0;
  /** The cohort of the message that joined last. */
  #joined: Cohort | undefined;
  #byAccount: Map<unknown, Cohort[]> | undefined;

  constructor(members: Batch<M> | readonly M[] = [], cohorts: Iterable<Cohort> = []) {
    this.#members = members instanceof Batch ? members.#members : new Members();
    if (!(members instanceof Batch)) for (const member of members) this.#members.push(member);
    for (const cohort of cohorts) this.take(cohort);
  }

  /** A cohort waits here from now on. */
  take(cohort: Cohort): void {
    this.cohorts.push(cohort);
    cohort.batch = this;
  }

  /** Adds a message at the end, in the cohort of those that will move with it. */
  join(member: M, duePoll: number): void {
    const last = this.#joined;
    const cohort = last?.movesLike(member, duePoll) ? last : this.#cohortOf(member, duePoll);
    this.#joined = cohort;
    moveTo(cohort, member);
    this.#members.push(member);
  }

  /** Adds a message that moves with no other. */
  joinAlone(member: M): void {
    this.#members.push(member);
    this.take(member.cohort);
  }

  /** Adds a message that has left by another way, as the rows of a restored device hold it. */
  joinStale(member: M): void {
    this.#members.push(member);
    this.cohorts.push(member.cohort);
  }

  /** No message joins from now on. */
  close(): void {
    this.#joined = undefined;
    this.#byAccount = undefined;
  }

  /** Keeps the cohorts that go on waiting here. Returns false if there is none. */
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
    while (this.#first < length && this.#members.at(this.#first).cohort.batch !== this) {
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

  /** Lets go of messages that are gone, before a few slow ones keep a long list alive. */
  #thin(): void {
    const members = new Members<M>();
    for (const member of this.membersOf(this.cohorts)) members.push(member);
    this.#members = members;
    this.#first = 0;
  }
}
