/**
 * The target of a run: the service under test, and what the run has to test it with, from flags or
 * through a control port. A case states its needs; `whyMissing` names the flag that a need is
 * missing.
 */
import type { Exchange } from '#judging/evidence/exchange.ts';
import type { RequestOptions } from '#judging/evidence/reply.ts';
import type { BucketLedger } from '../run/budget.ts';
import type { Client, Clock } from './client.ts';
import type { Control } from './control.ts';
import type { RunFacts } from './run-facts.ts';
import { flagOf, type TargetFlag, type TargetFlags } from './target-flags.ts';

/** What a case may need beyond a base URL, and the flags that give it. */
const neededFlags = {
  key: ['apiKey'],
  sender: ['apiKey', 'from', 'to'],
  'other-key': ['otherApiKey'],
  'second-account': ['secondApiKey'],
  'second-sender': ['secondApiKey', 'secondFrom'],
  'revoked-key': ['revokedKey'],
  'inactive-from': ['inactiveFrom'],
  'foreign-from': ['foreignFrom'],
  'unknown-from': ['unknownFrom'],
  'exhausted-key': ['exhaustedApiKey'],
  'exhausted-sender': ['exhaustedApiKey', 'exhaustedFrom'],
  device: ['deviceId'],
} as const satisfies Record<string, readonly TargetFlag[]>;

/** What a case may need that no flag gives. */
const neededControl = {
  pool: 'a pool number and an account without a SIM',
  fresh: 'an account of its own',
  clock: 'time that can be moved',
} as const;

/** `discover` is met by the flag `--discover`: some observations cost many requests. */
export type Need = keyof typeof neededFlags | keyof typeof neededControl | 'discover';

/** What is known of a target before the first request. */
export interface Capabilities {
  readonly flags: TargetFlags;
  readonly allowTo?: readonly string[] | undefined;
  readonly maxSends?: number | undefined;
  /** `--discover`: also observes assumptions that only matter for a simulator. */
  readonly isDiscovering: boolean;
  /** True if a control port creates accounts and moves time. */
  readonly hasControl: boolean;
  /** True if the harness started the target itself, so that there is no proxy in between. */
  readonly isOwn: boolean;
  /** Selects the rows of a table if a run does not send all of them. */
  readonly seed: number;
  /** The longest wait on a clock that cannot be moved. */
  readonly timeoutMs: number;
}

export interface Target extends Capabilities {
  readonly client: Client;
  readonly control?: Control;
  readonly clock: Clock;
  readonly ledger: BucketLedger;
  readonly facts: RunFacts;
  /** Requests that were answered 429, although the run had left room for them, and sent again. */
  readonly waitedOut: Set<Exchange>;
  /** All exchanges of the run. */
  readonly log: Exchange[];
  /** Requests that wait for their replies. */
  readonly underWay: Set<{ readonly options: RequestOptions; readonly sentAt: number }>;
  /** When the run began, by `clock`. */
  readonly startedAt: number;
  readonly signal: AbortSignal;
  /** For each kind of work that is done one after another: the latest, which later work awaits. */
  readonly turns: Map<string, Promise<unknown>>;
  /** Current waits, for display. */
  readonly waits: Set<{ readonly what: string; readonly until: number }>;
}

/** Why a case is skipped. */
export interface SkipReason {
  readonly reason: string;
  /** True if `--timeout` does not cover one of its waits. */
  readonly isOutOfTime?: true;
}

export function tooLong(wait: string): string {
  return `${wait}, longer than --timeout allows`;
}

/** Recipients whose fate the harness scripts on a simulator; all are reserved for fiction. */
export const recipients = {
  delivered: '+12125550150',
  failsQueued: '+12125550151',
  failsSending: '+12125550152',
  failsSent: '+12125550153',
  plain: '+12125550154',
} as const;

export const fates = [
  { to: recipients.delivered, ends: 'delivered' },
  { to: recipients.failsQueued, ends: 'failed', in: 'queued' },
  { to: recipients.failsSending, ends: 'failed', in: 'sending' },
  { to: recipients.failsSent, ends: 'failed', in: 'sent' },
] as const;

/** The default recipient of sends; undefined if none is allowed. */
export function recipientOf(target: Capabilities): string | undefined {
  if (target.flags.to !== undefined) return target.flags.to;
  if (target.allowTo?.[0] !== undefined) return target.allowTo[0];
  return target.hasControl ? recipients.delivered : undefined;
}

/** Another recipient than the default one; undefined if none is allowed. */
export function otherRecipientOf(target: Capabilities): string | undefined {
  const others = target.allowTo ?? (target.hasControl ? [recipients.plain] : []);
  return others.find((to) => to !== recipientOf(target));
}

/** The flag that a need is missing; undefined if it is met. A control port meets every need. */
export function whyMissing(target: Capabilities, need: Need): string | undefined {
  if (target.hasControl) return undefined;
  if (need === 'discover') return target.isDiscovering ? undefined : '--discover';
  if (isOfControl(need)) return `--control-url (${neededControl[need]})`;
  const givenFor = (name: TargetFlag) => (name === 'to' ? recipientOf(target) : target.flags[name]);
  const missing = neededFlags[need].find((name) => givenFor(name) === undefined);
  return missing && `${flagOf(missing)} or --control-url`;
}

function isOfControl(need: Need): need is keyof typeof neededControl {
  return need in neededControl;
}
