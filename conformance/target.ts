/**
 * The target of a run: what the flags give, or what the harness creates through a control port.
 * `lacks` names the missing flag for each need.
 */
import type { BucketLedger } from './buckets.ts';
import type { Client } from './client.ts';
import type { Clock } from './clock.ts';
import type { Control } from './control.ts';
import type { Exchange } from './judges/exchange.ts';
import type { Known, TargetFlags } from './known.ts';

/** Things that a case may need beyond a base URL. */
export type Need =
  | 'key' // an API key
  | 'sender' // an API key, a number to send from, a recipient
  | 'other-key' // another key of the account
  | 'second-account' // a key of another account
  | 'second-sender' // and a number to send from
  | 'revoked-key'
  | 'inactive-from'
  | 'foreign-from'
  | 'unknown-from'
  | 'exhausted-key'
  | 'exhausted-sender' // and a number to send from
  | 'device' // the id of a device of the account
  | 'pool' // a pool number and an account without a SIM
  | 'fresh' // an account of the case's own, made on the control port
  | 'discover' // `--discover`, which costs requests of its own
  | 'clock'; // time that can be moved

/** What is known of a target before the first request. */
export interface Means {
  readonly flags: TargetFlags;
  readonly allowTo?: readonly string[];
  readonly maxSends?: number;
  /** `--discover`: also observes assumptions that only matter for a simulator. */
  readonly discovers: boolean;
  /** True if a control port creates accounts and moves time. */
  readonly hasControl: boolean;
  /** True if the harness started the target itself, so that there is no proxy in between. */
  readonly isOwn: boolean;
  /** Decides which rows of a table are sent where not all are. */
  readonly seed: number;
  /** The longest wait on a clock that cannot be moved. */
  readonly timeoutMs: number;
}

export interface Target extends Means {
  readonly client: Client;
  readonly control?: Control;
  readonly clock: Clock;
  readonly ledger: BucketLedger;
  readonly known: Known;
  /** Replies of 429 to requests for which this run had left room. */
  readonly strange429s: Set<Exchange>;
  /** All exchanges of the run. */
  readonly log: Exchange[];
  /** When the run began, in that clock. */
  readonly startedAt: number;
  readonly signal: AbortSignal;
  /** Current waits, for display. */
  readonly waits: Set<{ readonly what: string; readonly until: number }>;
}

/** How a reason ends that `--timeout` gives: the run reached its budget of time. */
export const longerThanAllowed = 'longer than --timeout allows';

export const profiles = ['readonly', 'budget', 'full'] as const;
export type Profile = (typeof profiles)[number];

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
export function recipientOf(target: Means): string | undefined {
  if (target.flags.to !== undefined) return target.flags.to;
  if (target.allowTo?.[0] !== undefined) return target.allowTo[0];
  return target.hasControl ? recipients.delivered : undefined;
}

/** Why a need cannot be met; undefined if it can. */
export function lacks(target: Means, need: Need): string | undefined {
  if (target.hasControl) return undefined;
  const { flags } = target;
  const flag = (value: string | undefined, name: string) =>
    value === undefined ? `${name} or --control-url` : undefined;
  switch (need) {
    case 'key':
      return flag(flags.apiKey, '--api-key');
    case 'sender':
      return (
        flag(flags.apiKey, '--api-key') ??
        flag(flags.from, '--from') ??
        flag(recipientOf(target), '--to')
      );
    case 'other-key':
      return flag(flags.otherApiKey, '--other-api-key');
    case 'second-sender':
      return (
        flag(flags.secondApiKey, '--second-api-key') ?? flag(flags.secondFrom, '--second-from')
      );
    case 'second-account':
      return flag(flags.secondApiKey, '--second-api-key');
    case 'revoked-key':
      return flag(flags.revokedKey, '--revoked-key');
    case 'inactive-from':
      return flag(flags.inactiveFrom, '--inactive-from');
    case 'foreign-from':
      return flag(flags.foreignFrom, '--foreign-from');
    case 'unknown-from':
      return flag(flags.unknownFrom, '--unknown-from');
    case 'exhausted-key':
      return flag(flags.exhaustedApiKey, '--exhausted-api-key');
    case 'exhausted-sender':
      return (
        flag(flags.exhaustedApiKey, '--exhausted-api-key') ??
        flag(flags.exhaustedFrom, '--exhausted-from')
      );
    case 'device':
      return flag(flags.deviceId, '--device-id');
    case 'pool':
      return '--control-url (a pool number and an account without a SIM)';
    case 'fresh':
      return '--control-url (an account of its own)';
    case 'discover':
      return target.discovers ? undefined : '--discover';
    case 'clock':
      return '--control-url (time that can be moved)';
  }
}
