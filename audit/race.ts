/**
 * Races: more requests at once than may pass. They come last, because the order in which
 * simultaneous requests were decided is not known.
 */
import { hullOf, type Span } from '#judging/limiter/space/decision.ts';
import type { Evidence, Omitted } from './evidence.ts';
import type { Recovery } from './recovery.ts';
import { mostPasses, usualLimit } from './remaining.ts';
import { type AuditedExchange, decisionOf, type Run, type Subject } from './run.ts';

export interface Race {
  readonly sent: readonly AuditedExchange[];
  /** The requests that would have passed one by one. */
  readonly most: number;
  readonly passed: number;
}

/** A race sends up to this many requests that may pass, and up to this many more: a socket each. */
const halfRace = 25;
export const mostInRace = 2 * halfRace;
/** A race sends at least this many more than may pass. */
const leastMore = 6;

export class Races {
  readonly #run: Run;
  readonly #subject: Subject;
  readonly #evidence: Evidence;
  readonly #races: Race[] = [];
  /** Races in which more requests passed than any version that remained permits. */
  readonly #excess: Omitted[] = [];

  constructor(run: Run, subject: Subject, evidence: Evidence) {
    this.#run = run;
    this.#subject = subject;
    this.#evidence = evidence;
  }

  /** `pause` waits until the whole limit has come back. */
  async race(recovery: Recovery, pause: () => Promise<void>): Promise<void> {
    await pause();
    const now = this.#run.now();
    const ready = mostPasses(this.#evidence, [now, now]);
    const alone = Math.max(0, ready - halfRace);
    for (let i = 0; i < alone; i += 1) if ((await recovery.ask()).outcome === 'refused') return;
    this.#run.doing('more at once than may pass');
    const more = Math.min((usualLimit(this.#evidence) >> 1) + leastMore, halfRace);
    const at = this.#evidence.decisions.length;
    const sent = await this.#run.race(this.#subject, Math.min(ready, halfRace) + more);
    const passes = sent.filter(({ outcome }) => outcome === 'passed');
    const passed = passes.length;
    const most = mostPasses(this.#evidence, timesOf(sent));
    if (passed <= most) {
      this.#races.push({ sent, most, passed });
      this.#evidence.addTogether(passes);
      return;
    }
    // Too many passed at once, or the limit is higher than it seemed: sent one by one, they tell.
    this.#excess.push({ sent, at });
    await pause();
    const whole = usualLimit(this.#evidence);
    const inTurn = await recovery.exhaust(alone + passed + 2, 1);
    // A window may have ended meanwhile.
    const isExplained = this.#evidence.couldPass(at, passed, timesOf(sent));
    if (inTurn.isRefused && inTurn.passed >= whole && !isExplained)
      this.#races.push({ sent, most: inTurn.passed - alone, passed });
  }

  /** The races to report. Races with an excess are left out if a version explains it. */
  finish(): readonly Race[] {
    if (this.#excess.length === 0 || !this.#evidence.mayExplainWith(this.#excess))
      return this.#races;
    this.#evidence.isDoubted = true;
    return this.#races.filter(({ most, passed }) => passed <= most);
  }
}

/** The span from the first request to the last reply. */
function timesOf(exchanges: readonly AuditedExchange[]): Span {
  const decisions = exchanges.map(decisionOf);
  return hullOf(decisions.map(({ from, to }) => [from, to])) ?? [0, 0];
}
