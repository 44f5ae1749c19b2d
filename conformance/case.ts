/**
 * A case is data: the rule or assumption it is about, what it needs, what it sends, what is demanded, one `run`.
 */
import type { AssumptionName, RuleId } from './rules.ts';
import type { Need } from './target.ts';
import type { Trial } from './trial.ts';

export interface Cost {
  /** Requests to send endpoints, at most. */
  readonly sends?: number;
  /** 429s that it provokes. */
  readonly throttled?: number;
  /** The longest single wait in seconds, where time cannot be moved. */
  readonly waits?: number;
}

/** What a case is, whether it judges or observes. */
export interface Plan {
  /** Stable, kebab-case; with the rule in front it is the case's id. */
  readonly name: string;
  readonly needs: readonly Need[];
  readonly cost: Cost;
  /** What it does, as a sentence without its subject. */
  readonly sends: string;
}

/** A case that judges a rule. */
export interface Case extends Plan {
  readonly rule: RuleId;
  readonly demands: string;
  /** Moves time, or empties a bucket that others share: it runs alone. */
  readonly alone?: boolean;
  readonly run: (t: Trial) => Promise<void>;
}

/** What the target was seen to do where the document is silent. */
export type Seen =
  | { readonly answer: unknown }
  /** It cannot be told from outside, and why. */
  | { readonly untold: string };

/** A case that observes an assumption. */
export interface Observation extends Plan {
  readonly assumption: AssumptionName;
  readonly alone?: boolean;
  readonly run: (t: Trial) => Promise<Seen>;
}

export type AnyCase = Case | Observation;

export function idOf(one: AnyCase): string {
  return `${subjectOf(one)}/${one.name}`;
}

/** The rule id or assumption name that a case is about. */
export function subjectOf(one: AnyCase): string {
  return 'rule' in one ? one.rule : one.assumption;
}
