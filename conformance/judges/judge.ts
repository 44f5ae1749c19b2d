/**
 * A judge decides whether one rule holds in a trace of exchanges, made by any client. It reports
 * each place where the rule applies, with the exchanges that prove a failure.
 */
import type { Reply } from '../client.ts';
import type { Ahead } from '../clock-offset.ts';
import { Lacking, PreconditionMissing, RuleBroken, that } from '../verify.ts';
import type { Exchange } from './exchange.ts';

export interface Trace {
  /** The exchanges to judge, in the order in which they were sent. */
  readonly exchanges: readonly Exchange[];
  /** All exchanges of the run: whatever else spent from the same limits. */
  readonly log: readonly Exchange[];
  /** Lists of an account's messages on a control port. */
  readonly listings: readonly Listing[];
  /** Keys that were created on a control port. */
  readonly createdKeys: readonly CreatedKey[];
  /** What happened to accounts that made no new request before this time is unknown. */
  readonly knownSince: number;
  /** True if time stands still during a request, so that intervals are instants. */
  readonly hasExactTimes: boolean;
  /** Set for recorded traffic, of which the state before, and any exchange, may be missing. */
  readonly recorded?: Recorded;
  /** An assumption that the target states; undefined if unknown. */
  readonly assumption: (name: string) => unknown;
}

/** What is known of recorded traffic. */
export interface Recorded {
  /** The target's time minus the recorder's. */
  readonly ahead: Ahead;
  /** True if no exchange is missing since `knownSince`. */
  readonly isComplete: boolean;
  /** True if all of it belongs to one account. */
  readonly isOneAccount: boolean;
}

/** How far apart two recorded times may be wrong: clocks differ, and are set meanwhile. */
export function slackOf({ recorded }: Pick<Trace, 'recorded'>): number {
  return recorded === undefined ? 0 : recordedSlackMs;
}

const recordedSlackMs = 4_000;

/** The number of messages of an account, after so many exchanges of the run. */
export interface Listing {
  readonly account: string;
  readonly messages: number;
  readonly after: number;
}

/** A key, what its creation answered, and the replies that show keys later. */
export interface CreatedKey {
  readonly key: string;
  readonly name: string;
  readonly creation: unknown;
  readonly shown: readonly Reply[];
}

export type Judge = (trace: Trace, findings: Findings) => void;

/** What a judge found: how often the rule was exercised, and the first place where it is broken. */
export class Findings {
  /** How often the rule applied and held. */
  exercised = 0;
  broken: RuleBroken | undefined;
  /** The exchanges that prove it. */
  proof: readonly Exchange[] = [];
  /** Why a place could not be judged: reported only if the rule is neither exercised nor broken. */
  missing: Lacking | PreconditionMissing | undefined;

  /** Runs one check; `proof` are the exchanges that show its result. */
  judge(proof: readonly Exchange[], check: () => void): void {
    if (this.#holds(proof, check)) this.exercised += 1;
  }

  /** One condition; by default, the last reply of the proof is what was found. */
  judgeThat(
    proof: readonly Exchange[],
    holds: boolean,
    expected: string,
    actual: string | Reply = proof.at(-1)?.reply ?? 'nothing',
  ): void {
    this.judge(proof, () => that(holds, expected, actual));
  }

  #holds(proof: readonly Exchange[], check: () => void): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (error instanceof RuleBroken) {
        if (this.broken === undefined) this.proof = proof;
        this.broken ??= withProof(error, proof);
      } else if (error instanceof Lacking || error instanceof PreconditionMissing)
        this.missing ??= error;
      else throw error;
      return false;
    }
  }

  /** What breaks no rule but must be heard: the first such thing, and the exchange that shows it. */
  firstNotice: { readonly text: string; readonly exchange: Exchange } | undefined;

  notice(text: string, exchange: Exchange): void {
    this.firstNotice ??= { text, exchange };
  }

  /** A check that holds wherever the rule does not apply: it does not count as an exercise. */
  require(proof: readonly Exchange[], check: () => void): void {
    this.#holds(proof, check);
  }

  requireThat(
    proof: readonly Exchange[],
    holds: boolean,
    expected: string,
    actual: string | Reply = proof.at(-1)?.reply ?? 'nothing',
  ): void {
    this.require(proof, () => that(holds, expected, actual));
  }

  /** Records what would be needed to judge. */
  lack(what: string): void {
    this.missing ??= new Lacking(what);
  }
}

function withProof(error: RuleBroken, proof: readonly Exchange[]): RuleBroken {
  if (error.exchange !== undefined || proof.length === 0) return error;
  const { expected, actual, spelling } = error;
  return new RuleBroken(expected, actual, proof.at(-1)?.reply.exchange, spelling);
}
