/**
 * A race sends many requests at once. There are three: to find a limit that requests one by one are
 * too slow for (`findLimit`); to exclude versions, where replies are slow (`raceForEvidence`); and at
 * the end, to show whether the limiter counts requests right that come together (`race`). The order
 * in which a limiter decides them is not known.
 */
import { hullOf, type Span } from '#judging/limiter/space/decision.ts';
import type { Evidence, Omitted } from './evidence.ts';
import type { Recovery } from './recovery.ts';
import { passesIn, usualLimit } from './remaining.ts';
import {
  type AuditedExchange,
  decisionOf,
  inOrderOfReplies,
  type Run,
  type Subject,
} from './run.ts';

export interface Race {
  readonly sent: readonly AuditedExchange[];
  /** One by one, at least this many of them would have passed; 0 if that is unknown. */
  readonly least: number;
  /** One by one, at most this many of them would have passed. */
  readonly most: number;
  readonly passed: number;
}

/** At most this many of a race may pass, and at most as many more are sent: a socket each. */
export const halfRace = 25;
export const mostInRace = 2 * halfRace;
/** A race has at least this many requests in excess. */
const leastExcess = 6;

export class Races {
  readonly #run: Run;
  readonly #subject: Subject;
  readonly #evidence: Evidence;
  readonly #done: Race[] = [];
  /** What was sent at once to find a limit, after no request one by one was refused. */
  atOnceForLimit: readonly AuditedExchange[] = [];
  readonly #unexplained: Omitted[] = [];

  constructor(run: Run, subject: Subject, evidence: Evidence) {
    this.#run = run;
    this.#subject = subject;
    this.#evidence = evidence;
  }

  /**
   * Races in which more requests passed than any version that remained permits, once with all their
   * requests and once with those that passed: a refusal may overtake a pass, and in the order of their
   * replies they would exclude any limiter.
   */
  get unexplained(): readonly (readonly Omitted[])[] {
    const races = this.#unexplained;
    return races.length === 0 ? [] : [races, races.map(passesOf)];
  }

  /** Sends many at once if slow replies keep requests one by one below the pace of the audit. */
  async findLimit(): Promise<readonly AuditedExchange[]> {
    const { paceMs, budget } = this.#run.settings;
    const count = Math.min(mostInRace, budget - this.#run.requests);
    if (this.#run.replyMs <= paceMs || count < 1) return [];
    this.#run.doing('many at once, as one by one they may be too slow for a limit');
    const sent = await this.#run.race(this.#subject, count);
    this.atOnceForLimit = [...this.atOnceForLimit, ...sent];
    return sent;
  }

  /**
   * Sends many at once. All of them are evidence, or those that passed, if a limiter that remains
   * explains them. Replies may overtake each other. So if a refusal was answered before a pass, only
   * the passes are evidence. False if refusals that are left out may count.
   */
  async raceForEvidence(most: number, evident: 'all' | 'passes' = 'all'): Promise<boolean> {
    const sent = await this.#run.race(this.#subject, Math.min(most, halfRace));
    const passes = passesOf(sent);
    const { decisions, candidates } = this.#evidence;
    const isOrderKnown = inOrderOfReplies(sent).slice(0, passes.length).every(hasPassed);
    if (!this.#evidence.couldPass(decisions.length, passes.length, timesOf(sent))) {
      this.#unexplained.push(sent);
      return true;
    }
    const areAllEvident = evident === 'all' && isOrderKnown;
    this.#evidence.addTogether(areAllEvident ? sent : passes);
    return areAllEvident || candidates.every(({ family }) => family.refusals === 'free');
  }

  /** `pause` waits until the whole limit has come back. */
  async race(recovery: Recovery, pause: () => Promise<void>): Promise<void> {
    await pause();
    const now = this.#run.now();
    const [, ready] = passesIn(this.#evidence, [now, now]);
    // What is sent one by one before, so that only `halfRace` may still pass.
    const before = Math.max(0, ready - halfRace);
    for (let i = 0; i < before; i += 1) if ((await recovery.ask()).outcome === 'refused') return;
    this.#run.doing('more at once than may pass');
    const excess = Math.min((usualLimit(this.#evidence) >> 1) + leastExcess, halfRace);
    const at = this.#evidence.decisions.length;
    const sent = await this.#run.race(this.#subject, Math.min(ready, halfRace) + excess);
    const passes = passesOf(sent);
    const passed = passes.length;
    // If nothing of the limit had come back, the race shows nothing.
    if (passed === 0) return;
    const [least, most] = passesIn(this.#evidence, timesOf(sent));
    if (passed <= most) {
      this.#done.push({ sent, least, most, passed });
      this.#evidence.addTogether(passes);
      return;
    }
    // The limiter miscounts a race, or its limit is higher than it seemed: one by one shows which.
    this.#unexplained.push(sent);
    await pause();
    const limit = usualLimit(this.#evidence);
    // Two more than passed before, or up to the first refusal.
    const oneByOne = await recovery.sendUntilRefused({ most: before + passed + 2, refusals: 1 });
    // A window may have ended during the race, so that more could pass.
    const isExplained = this.#evidence.couldPass(at, passed, timesOf(sent));
    if (oneByOne.isRefused && oneByOne.passed >= limit && !isExplained)
      this.#done.push({ sent, least: 0, most: oneByOne.passed - before, passed });
  }

  /** The races to report. If a version explains all unexplained races, those are left out. */
  finish(): readonly Race[] {
    if (!this.unexplained.some((races) => this.#evidence.isConsistentWith(races)))
      return this.#done;
    this.#evidence.mayLackRequests = true;
    return this.#done.filter(({ most, passed }) => passed <= most);
  }
}

const hasPassed = ({ outcome }: AuditedExchange) => outcome === 'passed';

function passesOf(exchanges: readonly AuditedExchange[]): readonly AuditedExchange[] {
  return exchanges.filter(hasPassed);
}

/** The span from the first request to the last reply. */
function timesOf(exchanges: readonly AuditedExchange[]): Span {
  const decisions = exchanges.map(decisionOf);
  return hullOf(decisions.map(({ from, to }) => [from, to])) ?? [0, 0];
}
