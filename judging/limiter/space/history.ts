/**
 * The decisions of a limiter in groups of several widths, so that versions with long windows judge
 * few groups. What was spent between two decisions stays exact.
 */
import type { Decision, Span, Version } from './decision.ts';

/** Which groups of a history are judged. */
export interface Part {
  /** The first group whose requests count. */
  readonly begin: number;
  /** The first group to judge: the version is known to permit those before it. */
  readonly since: number;
  /** The group after the last one to judge. */
  readonly until: number;
}

/**
 * The limits, of those of the version, with which a limiter can have made the decisions; undefined
 * if there are none. What passed and was refused is known, so each decision bounds the limit by
 * itself.
 */
export type PossibleLimits = (history: History, version: Version, part: Part) => Span | undefined;

/** The same of a counter, by what is added before it rounds down. */
export type LimitsByRounding = (
  rounding: Span,
  ...of: Parameters<PossibleLimits>
) => ReturnType<PossibleLimits>;

/** All decisions in order, with sums: what was spent between two of them is one subtraction. */
export class Decisions {
  readonly all: Decision[] = [];
  readonly #passed = [0];
  readonly #asked = [0];
  readonly #from: number[] = [];
  readonly #to: number[] = [];

  add(decision: Decision): void {
    const { from, to, passed, count } = decision;
    this.all.push(decision);
    this.#from.push(from);
    this.#to.push(to);
    this.#passed.push((this.#passed.at(-1) ?? 0) + (passed ? count : 0));
    this.#asked.push((this.#asked.at(-1) ?? 0) + count);
  }

  removeLast(): void {
    for (const list of [this.all, this.#passed, this.#asked, this.#from, this.#to]) list.pop();
  }

  /** The number of requests that passed from decision `first` on and before `until`. */
  passedBetween(first: number, until: number): number {
    return difference(this.#passed, first, until);
  }

  /** The same of all requests, also the refused ones. */
  askedBetween(first: number, until: number): number {
    return difference(this.#asked, first, until);
  }

  /** The number of requests that counted between them. */
  spentBetween(first: number, until: number, refusalsSpend: boolean): number {
    return difference(refusalsSpend ? this.#asked : this.#passed, first, until);
  }

  /** The first decision from `begin` on that was surely not made before this time, or `until`. */
  firstFrom(at: number, begin: number, until: number): number {
    return firstTime(this.#from, at, begin, until);
  }

  /** The first decision from `begin` on that may have been made at this time or later, or `until`. */
  firstTo(at: number, begin: number, until: number): number {
    return firstTime(this.#to, at, begin, until);
  }
}

function difference(sums: readonly number[], first: number, until: number): number {
  return first < until ? (sums[until] as number) - (sums[first] as number) : 0;
}

/** `firstThat` for times, without a closure, because it takes most of an audit's time. */
function firstTime(times: readonly number[], at: number, begin: number, until: number): number {
  let [low, high] = [begin, until];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) >= at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Decisions of one outcome that follow each other closely. */
export interface Group extends Decision {
  /** The number of its first decision, and of the first one after it. */
  readonly first: number;
  readonly end: number;
}

/** The decision that stands for a group: the last one that passed met all others. */
export function judgedIn({ passed, first, end }: Group): number {
  return passed ? end - 1 : first;
}

/** Decisions in groups: the fewer groups, the faster they are judged. What was spent is exact. */
export class History {
  readonly decisions: Decisions;
  readonly groups: Group[] = [];
  /** The numbers of the groups that follow a refusal with a pass, and of the first. */
  readonly blocks: number[] = [];
  /** The group that contradicted a version last. Judges try it first: it contradicts many others. */
  suspect = -1;
  readonly #withinMs: number;
  /** The first group that the last update changed or added. */
  #firstChanged = 0;

  /** Decisions of one outcome within this time make one group. */
  constructor(decisions: Decisions, withinMs: number) {
    this.decisions = decisions;
    this.#withinMs = withinMs;
  }

  static of(list: readonly Decision[]): History {
    const decisions = new Decisions();
    const history = new History(decisions, 0);
    for (const each of list) {
      decisions.add(each);
      history.add();
    }
    return history;
  }

  get whole(): Part {
    return { begin: 0, since: 0, until: this.groups.length };
  }

  /** The groups that the last update changed or added. */
  get changed(): Part {
    return { ...this.whole, since: this.#firstChanged };
  }

  /** Call this before the decisions of an update are added. */
  beginUpdate(): void {
    // The last group may still grow.
    this.#firstChanged = Math.max(0, this.groups.length - 1);
  }

  /** Takes in the latest decision: into the last group if they are close, otherwise into its own. */
  add(): void {
    const { all } = this.decisions;
    const decision = all.at(-1) as Decision;
    const { from, to, passed, count } = decision;
    const last = this.groups.at(-1);
    const isClose = last !== undefined && to - last.from <= Math.max(this.#withinMs, to - from);
    if (isClose && last.passed === passed)
      Object.assign(last, { to, end: all.length, count: last.count + count });
    else this.#addGroup(decision);
  }

  /** Makes the latest decision a group of its own. */
  #addGroup({ from, to, passed, count }: Decision): void {
    const end = this.decisions.all.length;
    const last = this.groups.at(-1);
    if (last === undefined || (passed && !last.passed)) this.blocks.push(this.groups.length);
    this.groups.push({ from, to, passed, count, first: end - 1, end });
  }

  /** Judges the groups with these decisions after them. */
  followedBy<Judged>(further: readonly Decision[], judge: (part: Part) => Judged): Judged {
    const since = this.groups.length;
    for (const each of further) {
      this.decisions.add(each);
      this.#addGroup(each);
    }
    const judged = judge({ ...this.whole, since });
    for (const _ of further) this.decisions.removeLast();
    this.groups.length = since;
    while ((this.blocks.at(-1) ?? -1) >= since) this.blocks.pop();
    return judged;
  }
}

/** Decisions within this share of the shortest window of a level make one group. */
const joinedShare = 1 / 200;
/** The shortest window that is considered: a request takes about as long. */
export const shortestWindowMs = 10;
/** Windows of each level are this many times as long as those of the previous one. */
const levelStep = 4;
const levelCount = 12;

/** The decisions in groups of several widths: long windows need not tell close ones apart. */
export class Histories {
  readonly #decisions = new Decisions();
  readonly #levels = Array.from({ length: levelCount }, (_, level) => {
    const withinMs = shortestWindowMs * levelStep ** level * joinedShare;
    return new History(this.#decisions, withinMs);
  });

  update(decisions: readonly Decision[]): void {
    for (const history of this.#levels) history.beginUpdate();
    for (const decision of decisions.slice(this.#decisions.all.length)) {
      this.#decisions.add(decision);
      for (const history of this.#levels) history.add();
    }
  }

  get lengthMs(): number {
    const { all } = this.#decisions;
    return (all.at(-1)?.to ?? 0) - (all[0]?.from ?? 0);
  }

  forWindow([shortest]: Span): History {
    const level = Math.floor(Math.log(shortest / shortestWindowMs) / Math.log(levelStep));
    return this.#levels[Math.max(0, Math.min(levelCount - 1, level))] as History;
  }
}
