/** Tests which other callers and paths share the limit of the first caller. */
import type { Decision } from '#judging/limiter/space/decision.ts';
import type { Evidence, Omitted } from './evidence.ts';
import { type KeyTest, suspectsIn } from './keyed-by.ts';
import { plannedLimit } from './remaining.ts';
import { type AuditedExchange, decisionOf, isSameSubject, type Run, type Subject } from './run.ts';

/** Who is asked. */
export interface Subjects {
  readonly first: Subject;
  /** Other callers, and other paths of the first caller. */
  readonly others: readonly Subject[];
  /** What differs between the first subject and another, such as `path` and `query`. */
  readonly differencesOf: (subject: Subject) => readonly string[];
}

/** Requests that test another caller, besides a share of the limit: more than return meanwhile. */
const mostOfOther = 4;
/** How often another caller is asked in a test, if what came back may have let a request pass. */
const mostRounds = 4;
/** A request counts for at most this many windows, in a sliding counter. */
const countedWindows = 2;
/** How often each other subject is tested if the limit is one request: a test then shows little. */
const clearTestsForOne = 3;
/** A test that shows little is made again, up to this often. */
const mostTests = 3;
/** After more time, the first subject is asked again whether it is still refused. */
const mostSinceRefusalMs = 20;

/** What a test shows. */
type Found = 'shared' | 'own' | 'unclear';

/** The requests of one test. */
class Asked {
  readonly first: AuditedExchange[] = [];
  /** A list for each time that the other subject was asked. */
  readonly other: Omitted[] = [];
  readonly #run: Run;
  readonly #subjects: readonly [first: Subject, other: Subject];

  constructor(run: Run, first: Subject, other: Subject) {
    this.#run = run;
    this.#subjects = [first, other];
  }

  get all(): readonly AuditedExchange[] {
    return [...this.first, ...this.other.flat()].toSorted((one, next) => one.number - next.number);
  }

  get decisions(): readonly Decision[] {
    return this.all.filter(({ outcome }) => outcome !== 'broken').map(decisionOf);
  }

  /** True if the first subject is refused. */
  async askFirst(): Promise<boolean> {
    const exchange = await this.#run.ask(this.#subjects[0]);
    this.first.push(exchange);
    return isRefused(exchange);
  }

  /** Asks so many times, or until a refusal. */
  async askOther(count: number): Promise<readonly AuditedExchange[]> {
    const sent: AuditedExchange[] = [];
    this.other.push(sent);
    while (sent.length < count && !isRefused(sent.at(-1)))
      sent.push(await this.#run.ask(this.#subjects[1]));
    return sent;
  }
}

/** What is known of the limit when tests begin. */
interface KnownLimit {
  readonly limit: number;
  readonly leastLimit: number;
  /** How long a request counts. */
  readonly memoryMs: number;
}

export class KeyTests {
  done: readonly KeyTest[] = [];
  /** How many requests passed at first: behind slow replies, more than the limit. */
  firstPasses = 0;
  readonly #run: Run;
  readonly #evidence: Evidence;
  readonly #subjects: Subjects;
  /** How many tests of each other subject have begun. */
  readonly #begun = new Map<Subject, number>();
  /** How many requests had been sent at the last check. */
  #checkedAfter = 0;

  constructor(run: Run, evidence: Evidence, subjects: Subjects) {
    this.#run = run;
    this.#evidence = evidence;
    this.#subjects = subjects;
  }

  /** True if tests are still to be made. */
  get areNeeded(): boolean {
    return this.#untested.length > 0;
  }

  /** The other subjects whose tests do not yet show enough. */
  get #untested(): readonly Subject[] {
    const wanted = this.#isOfOne ? clearTestsForOne : 1;
    return this.#subjects.others.filter((other) => {
      const clear = this.done.filter(({ subject, isClear }) => isClear && subject === other);
      return clear.length < wanted && this.#begunFor(other) < mostTests * wanted;
    });
  }

  get #isOfOne(): boolean {
    return this.firstPasses === 1;
  }

  #begunFor(other: Subject): number {
    return this.#begun.get(other) ?? 0;
  }

  /**
   * Sets `mayLackRequests` if a limiter explains the decisions also if requests of others that
   * passed, and those of unexplained races, counted in the first subject's limit. If none explains
   * them, unclear tests show nothing. `races`: what may have counted of those races.
   */
  noteUncountedRequests(races: readonly (readonly Omitted[])[]): void {
    const { requests } = this.#run;
    if (requests === this.#checkedAfter) return;
    this.#checkedAfter = requests;
    const suspects = suspectsIn(this.done, this.#subjects.others, this.#isOfOne);
    const ofTests = suspects.map((tests) => tests.flatMap(({ own }) => own));
    const ofBoth = races.flatMap((race) => ofTests.map((tests) => [...tests, ...race]));
    this.#evidence.mayLackRequests ||= [...ofTests, ...ofBoth].some((omitted) =>
      this.#evidence.isConsistentWith(omitted),
    );
    if (!this.#evidence.isKnown && !this.#evidence.mayLackRequests)
      this.done = this.done.filter(({ isShared, isClear }) => isShared || isClear);
  }

  /** True if a test would show that another caller has a limit of its own. */
  get canShow(): boolean {
    const { replyMs } = this.#run;
    const count = askedOfOther(plannedLimit(this.#evidence, this.firstPasses));
    const from = this.#run.now();
    const until = from + replyMs * (count + 1);
    return !this.#isOneLimit([
      { from, to: from + replyMs, passed: false, count: 1 },
      { from: from + replyMs, to: until, passed: true, count },
      { from: until, to: until + replyMs, passed: false, count: 1 },
    ]);
  }

  /**
   * True if one limit lets all of these follow. A span of versions would not do where the one in its
   * middle is possible: in a span, a window may end both before a request and after the next.
   */
  #isOneLimit(further: readonly Decision[]): boolean {
    const { candidates } = this.#evidence;
    return candidates.some((each) => this.#evidence.permits(each.middle ?? each, further));
  }

  /** Asks which other subjects are refused while the first is, unless that is known. */
  async make(): Promise<void> {
    const untested = this.#untested;
    if (untested.length === 0) return;
    this.#run.doing('who shares the limit');
    // Asked once: on a busy machine the answer takes longer than a short window.
    const { limit: limits, memoryMs } = this.#evidence;
    const limit = plannedLimit(this.#evidence, this.firstPasses);
    const known = { limit, leastLimit: Math.min(limit, limits[0]), memoryMs };
    for (const other of untested) {
      this.#begun.set(other, this.#begunFor(other) + 1);
      const wasComplete = !this.#evidence.isIncomplete;
      const test = await this.#test(other, known);
      if (test !== undefined) this.#keep(test);
      const isContradicted = wasComplete && this.#evidence.isIncomplete;
      if (!this.#evidence.isKnown || isContradicted) this.#addIfExplaining();
    }
  }

  /**
   * Adds what passed in unclear tests to the decisions if something explains them with it. Call this
   * if nothing does without it, or only requests from before the audit would: then a window ended, or
   * a token came back, in the test, and these requests counted.
   */
  #addIfExplaining(): void {
    const unclear = this.done.filter(({ isClear, isShared }) => !isClear && !isShared);
    const counted = suspectsIn(unclear, this.#subjects.others, false).find((tests) =>
      this.#evidence.isConsistentWith(tests.flatMap(({ own }) => own)),
    );
    if (counted === undefined) return;
    this.#evidence.addLate(counted.flatMap(({ own }) => own.flat()));
    this.done = this.done.filter((test) => !counted.includes(test));
  }

  #keep(test: KeyTest): void {
    const isLate = ({ isClear, subject }: KeyTest) =>
      test.isShared && !isClear && subject === test.subject;
    // What passed in an unclear test of one that shares the limit counted in it.
    for (const { own } of this.done.filter(isLate)) this.#evidence.addLate(own.flat());
    this.done = [...this.done.filter((each) => !isLate(each)), test];
  }

  /** Undefined if the other gave no answer, or was refused but not certainly by this limit. */
  async #test(other: Subject, known: KnownLimit): Promise<KeyTest | undefined> {
    const asked = new Asked(this.#run, this.#subjects.first, other);
    let found: Found = 'unclear';
    for (let round = 0; round < mostRounds && found === 'unclear'; round += 1) {
      const mayBeSpent = this.#spentBesides(other, known) >= known.leastLimit;
      if (mayBeSpent && round > 0) break;
      found = await this.#askWhileRefused(asked, known, mayBeSpent);
    }
    const isShared = found === 'shared';
    for (const each of isShared ? asked.all : asked.first)
      if (each.outcome !== 'broken') this.#evidence.add(each);
    const passed = asked.other.flat().filter(({ outcome }) => outcome === 'passed');
    if (!isShared && passed.length === 0) return undefined;
    return {
      subject: other,
      isShared,
      isClear: found !== 'unclear',
      exchanges: asked.all.map(({ number }) => number),
      own: isShared ? [] : asked.other,
    };
  }

  /** One round. `mayBeSpent`: a refusal of the other may come from a limit of its own. */
  async #askWhileRefused(
    requests: Asked,
    { limit }: KnownLimit,
    mayBeSpent: boolean,
  ): Promise<Found> {
    let isSpent = this.#isJustRefused;
    // A window may end meanwhile: then the limit is spent twice.
    for (let i = 0; i <= 2 * this.firstPasses && !isSpent; i += 1)
      isSpent = await requests.askFirst();
    if (!isSpent) return 'unclear';
    const sent = await requests.askOther(askedOfOther(limit));
    const isFirstRefused = await requests.askFirst();
    if (isRefused(sent[0])) return mayBeSpent ? 'unclear' : 'shared';
    if (!isFirstRefused || isRefused(sent.at(-1))) return 'unclear';
    // While the first is refused, another with a limit of its own still has a request left.
    if (limit > 1 && isRefused((await requests.askOther(1))[0])) return 'unclear';
    return this.#isOneLimit(requests.decisions) ? 'unclear' : 'own';
  }

  /** True if the first subject was refused, and no time has passed since. */
  get #isJustRefused(): boolean {
    const last = this.#run.exchanges.at(-1);
    const isFirst = last !== undefined && isSameSubject(last, this.#subjects.first);
    return isFirst && isRefused(last) && this.#run.now() < last.answeredAtMs + mostSinceRefusalMs;
  }

  /** How many requests may still count in a limit that this subject does not share with the first. */
  #spentBesides(other: Subject, { memoryMs }: KnownLimit): number {
    const { others, differencesOf } = this.#subjects;
    const alike = others.filter((each) =>
      differencesOf(each).some((difference) => differencesOf(other).includes(difference)),
    );
    const since = this.#run.now() - memoryMs * countedWindows;
    return this.#run.exchanges.filter(
      (each) =>
        each.outcome === 'passed' &&
        each.answeredAtMs > since &&
        alike.some((one) => isSameSubject(each, one)),
    ).length;
  }
}

/**
 * How many requests of another caller a test sends: less than the limit, so that the first caller
 * passes after them if all of a shared limit came back.
 */
function askedOfOther(limit: number): number {
  const most = mostOfOther + Math.min(limit >> 2, mostOfOther);
  return Math.min(Math.max(1, limit - 1), most);
}

function isRefused(exchange: AuditedExchange | undefined): boolean {
  return exchange?.outcome === 'refused';
}
