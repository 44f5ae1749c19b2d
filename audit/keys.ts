/** Tests which other callers and paths share the limit of the first caller. */
import type { Evidence, Omitted } from './evidence.ts';
import type { AuditedExchange, Run, Subject } from './run.ts';

/** Who is asked. */
export interface Subjects {
  readonly first: Subject;
  /** Other callers, and other paths of the first caller. */
  readonly others: readonly Subject[];
}

/** Whether another subject shares the limit of the first one, and what showed it. */
export interface KeyTest {
  readonly subject: Subject;
  readonly isShared: boolean;
  /** False if the first caller's limit may have come back meanwhile: then this shows little. */
  readonly isClear: boolean;
  readonly exchanges: readonly number[];
  /** Its requests, if it has a limit of its own: a list for each round. */
  readonly own: readonly Omitted[];
}

/** Requests that test another caller, beside a share of the limit: more than return meanwhile. */
const mostOfOther = 4;
/** How often another caller is asked, if a returned token may have let its request pass. */
const mostRounds = 4;
/** Tokens of a shared limit let pass at most this part of another caller's requests. */
const tokenShare = 4;
/** How often each other subject is tested if the limit is one request: a test then shows little. */
const roundsForOne = 3;
/** A test that shows little is made again, up to this often. */
const mostTests = 3;

export class KeyTests {
  readonly done: KeyTest[] = [];
  readonly #run: Run;
  readonly #evidence: Evidence;
  readonly #subjects: Subjects;
  /** True if the limit is one request. */
  #isOfOne = false;

  constructor(run: Run, evidence: Evidence, subjects: Subjects) {
    this.#run = run;
    this.#evidence = evidence;
    this.#subjects = subjects;
  }

  /** True if tests are still to be made. `limit`: how many requests passed at first. */
  areNeeded(limit: number): boolean {
    const asked = (limit === 1 ? roundsForOne : 1) * this.#subjects.others.length;
    const clear = this.done.filter(({ isClear }) => isClear);
    return clear.length < asked && this.done.length < mostTests * asked;
  }

  /** Requests of others that passed may still have counted in the first subject's limit. */
  doubt(): void {
    const passed = this.done.filter(({ own }) => own.length > 0);
    // Those that were refused in another test share the limit, while the others may not.
    const sharers = passed.filter(({ subject }) => isEverShared(this.done, subject));
    const suspects = [sharers, passed];
    // Of one request, a token that came back looks like a limit of its own: any others may share it.
    if (this.#isOfOne) {
      for (const other of this.#subjects.others) {
        suspects.push(
          passed.filter(({ subject }) => subject !== other),
          passed.filter(({ subject }) => subject === other),
        );
      }
    }
    this.#evidence.isDoubted ||= suspects.some(
      (tests) => tests.length > 0 && this.#evidence.mayExplainWith(tests.flatMap(({ own }) => own)),
    );
  }

  /** Asks which other subjects are refused while the first is, unless that is known. */
  async make(limit: number): Promise<void> {
    if (!this.areNeeded(limit)) return;
    this.#isOfOne = limit === 1;
    this.#run.doing('who shares the limit');
    const most = Math.min(limit, mostOfOther + Math.min(limit >> 2, 3 * mostOfOther));
    const tests: KeyTest[] = [];
    for (const other of this.#subjects.others) {
      const test = await this.#test(other, most);
      if (test !== undefined) tests.push(test);
    }
    this.done.push(...tests);
  }

  /** Undefined if the other subject gave no answer. */
  async #test(other: Subject, most: number): Promise<KeyTest | undefined> {
    const own: Omitted[] = [];
    const asked: AuditedExchange[] = [];
    const sent: AuditedExchange[] = [];
    let isShared = false;
    // A token that came back may let one pass of a limit that is shared: then they are asked again.
    for (let round = 0; round < mostRounds && !isShared; round += 1) {
      const begin = sent.length;
      while (sent.length < begin + most && (sent.length === begin || !isRefused(sent.at(-1))))
        sent.push(await this.#run.ask(other));
      isShared = isRefused(sent[begin]);
      const first = await this.#run.ask(this.#subjects.first);
      // In each round, the first subject is asked once.
      own.push({ sent: sent.slice(begin), at: this.#evidence.decisions.length + round });
      asked.push(...sent.slice(begin), first);
      const isToken = (sent.length - begin - 1) * tokenShare <= most;
      if (!isToken || !isRefused(sent.at(-1)) || !isRefused(asked.at(-1))) break;
    }
    for (const each of asked)
      if ((isShared || !sent.includes(each)) && each.outcome !== 'broken') this.#evidence.add(each);
    if (sent.every(({ outcome }) => outcome === 'broken')) return undefined;
    const isClear = isShared || isRefused(asked.at(-1));
    const exchanges = asked.map(({ number }) => number);
    return { subject: other, isShared, isClear, exchanges, own: isShared ? [] : own };
  }
}

/** True if a test found that this subject shares the limit. */
export function isEverShared(tests: readonly KeyTest[], subject: Subject): boolean {
  return tests.some((test) => test.isShared && test.subject === subject);
}

function isRefused(exchange: AuditedExchange | undefined): boolean {
  return exchange?.outcome === 'refused';
}
