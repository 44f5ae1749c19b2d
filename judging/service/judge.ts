/**
 * What a judge reads and writes. A judge is a function that decides whether one rule holds in a
 * trace, the exchanges of any client with the target, and records the results as findings. It never
 * sends, so the same judge serves a case of the harness and traffic that somebody else recorded.
 */
import type { Ahead } from '../evidence/clock-offset.ts';
import type { Exchange } from '../evidence/exchange.ts';
import type { Reply } from '../evidence/reply.ts';
import { type Actual, Lacking, PreconditionMissing, RuleBroken, that } from './expectations.ts';

export interface Trace {
  /** The exchanges to judge, in the order in which they were sent. */
  readonly exchanges: readonly Exchange[];
  /** All exchanges of the run: those of other cases spend from the same limits. */
  readonly log: readonly Exchange[];
  /** Message counts that a control port showed. */
  readonly listings: readonly Listing[];
  /** Keys that were created on a control port. */
  readonly createdKeys: readonly CreatedKey[];
  /** The log includes every request that an account of the run made since this time. */
  readonly knownSince: number;
  /**
   * True if a control port moves the target's clock, which stands still during a request: then
   * `sentAt` and `answeredAt` are equal, and are the target's own time.
   */
  readonly hasExactTimes: boolean;
  /** Set for recorded traffic: exchanges, and the state before the first one, may be missing. */
  readonly recorded?: Recorded;
  /** The target's answer to an assumption; undefined if the target does not state it. */
  readonly assumption: (name: string) => unknown;
}

/** How complete a recording of traffic is. */
export interface Recorded {
  /** The target's time minus the recorder's. */
  readonly ahead: Ahead;
  /** True if no exchange is missing since `knownSince`. */
  readonly isComplete: boolean;
  /** True if all exchanges belong to one account. */
  readonly isOneAccount: boolean;
  /** By how much the recorder's date and its steady clock moved against each other. */
  readonly spanErrorMs: number;
}

/**
 * How far a span of time between two exchanges of the trace may be wrong. The times of an exchange
 * are bounds themselves, so this is only how far a recorder's clocks disagreed meanwhile.
 */
export function spanErrorOf({ recorded }: Pick<Trace, 'recorded'>): number {
  return recorded?.spanErrorMs ?? 0;
}

export interface Listing {
  readonly account: string;
  /** The number of the account's messages. */
  readonly messages: number;
  /** The number of exchanges in the log when the messages were counted. */
  readonly after: number;
}

export interface CreatedKey {
  readonly key: string;
  readonly name: string;
  /** The output of the operation that created the key. */
  readonly creation: unknown;
  /** Later replies of the control port about the account's keys, the list of keys first. */
  readonly shown: readonly Reply[];
}

export type Judge = (trace: Trace, findings: Findings) => void;

/** What a judge found. Each check names its proof: the exchanges that show the result. */
export class Findings {
  /** How often the rule applied and held. */
  exercised = 0;
  /** The first failure. */
  broken: RuleBroken | undefined;
  /** The proof of `broken`. */
  proof: readonly Exchange[] = [];
  #missing: Lacking | PreconditionMissing | undefined;
  /** What would be needed to judge a place. */
  #lacking: string | undefined;
  /** The first observation that breaks no rule, but that a reader must hear. */
  firstNotice: { readonly text: string; readonly exchange: Exchange } | undefined;

  /** Forgets everything. To judge another rule, this costs less than a new object. */
  clear(): void {
    this.exercised = 0;
    this.broken = undefined;
    this.proof = [];
    this.firstNotice = undefined;
    this.#missing = undefined;
    this.#lacking = undefined;
  }

  /**
   * Runs a check at a place where the rule applies. The check throws if the rule is broken. Many
   * places may share one check, which gets the `place`: no function is made for each.
   */
  judge<T = undefined>(
    proof: readonly Exchange[],
    check: (place: T) => void,
    place = undefined as T,
  ): void {
    if (this.#holds(proof, check, place)) this.exercised += 1;
  }

  /** Judges one condition; `actual` says what was found instead of `expected`. */
  judgeThat(
    proof: readonly Exchange[],
    holds: boolean,
    expected: string,
    actual: Actual = proof.at(-1)?.reply ?? 'nothing',
  ): void {
    if (holds) this.exercised += 1;
    else this.judge(proof, () => that(holds, expected, actual));
  }

  /** Like `judge`, for a consequence that does not count as an exercise of the rule. */
  alsoRequire(proof: readonly Exchange[], check: () => void): void {
    this.#holds(proof, check, undefined);
  }

  /** Like `judge`, but the place counts as an exercise only if `isExercise`. */
  require(isExercise: boolean, proof: readonly Exchange[], check: () => void): void {
    if (isExercise) this.judge(proof, check);
    else this.alsoRequire(proof, check);
  }

  alsoRequireThat(
    proof: readonly Exchange[],
    holds: boolean,
    expected: string,
    actual: Actual = proof.at(-1)?.reply ?? 'nothing',
  ): void {
    if (!holds) this.alsoRequire(proof, () => that(holds, expected, actual));
  }

  notice(text: string, exchange: Exchange): void {
    this.firstNotice ??= { text, exchange };
  }

  /** Why a place could not be judged: reported only if the rule is neither exercised nor broken. */
  get missing(): Lacking | PreconditionMissing | undefined {
    // Made on demand, as an error costs more than most checks.
    if (this.#lacking !== undefined) this.#missing ??= new Lacking(this.#lacking);
    return this.#missing;
  }

  /** Records what would be needed to judge, or that a precondition never came true. */
  lack(what: string | PreconditionMissing): void {
    if (this.#missing !== undefined || this.#lacking !== undefined) return;
    if (typeof what === 'string') this.#lacking = what;
    else this.#missing = what;
  }

  #holds<T>(proof: readonly Exchange[], check: (place: T) => void, place: T): boolean {
    try {
      check(place);
      return true;
    } catch (error) {
      if (error instanceof RuleBroken) {
        if (this.broken === undefined) this.proof = proof;
        this.broken ??= withProof(error, proof);
      } else if (error instanceof Lacking || error instanceof PreconditionMissing) {
        if (this.#lacking === undefined) this.#missing ??= error;
      } else throw error;
      return false;
    }
  }
}

/** The error with the last exchange of the proof, unless it already names an exchange. */
function withProof(error: RuleBroken, proof: readonly Exchange[]): RuleBroken {
  if (error.exchange !== undefined || proof.length === 0) return error;
  const { expected, actual, isOnlySpelling } = error;
  return new RuleBroken(expected, actual, proof.at(-1)?.reply.exchange, isOnlySpelling);
}
