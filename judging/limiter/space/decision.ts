/**
 * What a limiter decided, as far as an observer knows it, and the same decisions in groups of
 * several widths. Each instant is an interval: a request was decided at some time between its start
 * and its reply.
 */

/** Requests of one caller that followed each other, each decided between these times. */
export interface Decision {
  readonly from: number;
  readonly to: number;
  readonly passed: boolean;
  /** How many requests. */
  readonly count: number;
}

/** A span of a number that is not known exactly; both ends are possible. */
export type Span = readonly [least: number, most: number];

/** One way in which a limiter may work, with a span for each number that is not known. */
export interface Version {
  /** The most requests in a window, or at once. */
  readonly limit: Span;
  readonly windowMs: Span;
  /** Where the windows begin, as a share of a window after time 0. */
  readonly phase: Span;
  /** True if refused requests also count. */
  readonly refusalsSpend: boolean;
  /** Before this time, requests that the observer does not know may have spent. */
  readonly knownSince: number;
}

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

/** The span, or undefined if it is empty. */
export function spanOf(least: number, most: number): Span | undefined {
  return least <= most ? [least, most] : undefined;
}

/** The span from the least to the most of all; undefined without any. */
export function hullOf(spans: readonly (Span | undefined)[]): Span | undefined {
  const known = spans.filter((each) => each !== undefined);
  return spanOf(
    Math.min(...known.map(([least]) => least)),
    Math.max(...known.map(([, most]) => most)),
  );
}

/** All decisions in order, with sums, so that what was spent between two of them is one subtraction. */
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

  /**
   * The number of requests from decision `first` on and before `until`: those that passed, and with
   * `withRefusals` also the refused ones.
   */
  between(first: number, until: number, withRefusals: boolean): number {
    const sums = withRefusals ? this.#asked : this.#passed;
    return first < until ? (sums[until] as number) - (sums[first] as number) : 0;
  }

  /** The first of these decisions, up to one more, that was surely not made before this time. */
  firstFrom(at: number, begin: number, until: number): number {
    return firstTime(this.#from, at, begin, until);
  }

  /** The first of these decisions, up to one more, that may have been made at this time or later. */
  firstTo(at: number, begin: number, until: number): number {
    return firstTime(this.#to, at, begin, until);
  }
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

/**
 * The first number from `begin` on for which `holds` is true, or `until`. Searches by halves, so
 * `holds` must stay true after its first true number.
 */
export function firstThat(
  begin: number,
  until: number,
  holds: (number: number) => boolean,
): number {
  let [low, high] = [begin, until];
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    if (holds(middle)) high = middle;
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
  /** The group that contradicted a version last: it also contradicts its neighbours. */
  suspect = -1;
  /** How many groups were there before the last update; set by `Histories`. */
  known = 0;
  readonly #withinMs: number;

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

  /** Takes in the latest decision. `isApart`: it begins a group of its own. */
  add(isApart = false): void {
    const end = this.decisions.all.length;
    const decision = this.decisions.all[end - 1] as Decision;
    const { from, to, passed, count } = decision;
    const last = this.groups.at(-1);
    const isClose = last !== undefined && to - last.from <= Math.max(this.#withinMs, to - from);
    if (isClose && last.passed === passed && !isApart) {
      Object.assign(last, { to, end, count: last.count + count });
      return;
    }
    if (last === undefined || (passed && !last.passed)) this.blocks.push(this.groups.length);
    this.groups.push({ from, to, passed, count, first: end - 1, end });
  }

  /** Judges the groups with these decisions after them. */
  followedBy<Judged>(further: readonly Decision[], judge: (part: Part) => Judged): Judged {
    const since = this.groups.length;
    for (const each of further) {
      this.decisions.add(each);
      this.add(true);
    }
    const judged = judge({ begin: 0, since, until: this.groups.length });
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
    // The last group may still grow.
    for (const each of this.#levels) each.known = Math.max(0, each.groups.length - 1);
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
