/**
 * A case is data: its rule or assumption, its needs and costs, what it sends, and steps that make
 * exchanges. The judges of its rules decide; an observation maps what it saw to an answer itself.
 */

import type { AssumptionName } from '../src/ledger/assumptions.ts';
import type { RuleId } from '../src/ledger/rules.ts';
import type { Spends } from './buckets.ts';
import type { Recording } from './recording.ts';
import type { Need } from './target.ts';
import type { Trial } from './trial.ts';

export interface Cost {
  /** The largest number of requests to send endpoints. */
  readonly sends?: number;
  /** The number of 429s that it provokes. */
  readonly throttled?: number;
  /** The longest single wait in seconds, if time cannot be moved. */
  readonly waits?: number;
}

/** The fields of every case, whether it judges or observes. */
export interface Plan {
  /** Stable, kebab-case; the rule id and this name form the case's id. */
  readonly name: string;
  readonly needs: readonly Need[];
  readonly cost: Cost;
  /**
   * Requests to limited endpoints; default: `cost.sends` to `send`. The run waits out a 429 that
   * only these cause.
   */
  readonly spends?: Spends;
  /** Recordings that this case judges. */
  readonly recordings?: readonly Recording[];
  /** Judges what other cases have recorded, so it runs after all of them. */
  readonly isLast?: boolean;
  /** What it sends, as a phrase without a subject. */
  readonly sends: string;
}

/** A case that judges a rule. */
export interface Case extends Plan {
  readonly rule: RuleId;
  readonly demands: string;
  /** Moves time, or empties a bucket that other cases share: it runs alone. */
  readonly alone?: boolean;
  /** Rules whose judges look at its exchanges too. */
  readonly also?: readonly RuleId[];
  /** Makes exchanges, which the judges of its rules look at. */
  readonly steps?: (t: Trial) => Promise<unknown>;
}

/** An observation: the target's behaviour where the document is silent. */
export type Seen =
  | {
      readonly answer: unknown;
      /** For an answer in parts: the parts that could not be determined, and why. */
      readonly parts?: Readonly<Record<string, string>>;
    }
  /** Cannot be determined from outside; the text says why. */
  | { readonly undetermined: string };

/** A case that observes an assumption. */
export interface Observation extends Plan {
  readonly assumption: AssumptionName;
  readonly alone?: boolean;
  readonly run: (t: Trial) => Promise<Seen>;
}

/** The common start of a case: its id, needs and costs. */
export function about(
  id: `${RuleId}/${string}`,
  needs: readonly Need[],
  cost: Cost = {},
): Pick<Case, 'rule' | 'name' | 'needs' | 'cost'> {
  const [rule = '', name = ''] = id.split('/');
  return { rule: rule as RuleId, name, needs, cost };
}

/** The same of an observation. */
export function observing(
  id: `${AssumptionName}/${string}`,
  needs: readonly Need[],
  cost: Cost = {},
): Pick<Observation, 'assumption' | 'name' | 'needs' | 'cost'> {
  const [assumption = '', name = ''] = id.split('/');
  return { assumption: assumption as AssumptionName, name, needs, cost };
}

export type AnyCase = Case | Observation;

export function idOf(one: AnyCase): string {
  return `${subjectOf(one)}/${one.name}`;
}

/** The rule id or assumption name of a case. */
export function subjectOf(one: AnyCase): string {
  return 'rule' in one ? one.rule : one.assumption;
}

/** The requests of a case to limited endpoints. */
export function spendsOf({ spends, cost }: Plan): Spends {
  return spends ?? (cost.sends === undefined ? {} : { send: cost.sends });
}
