/**
 * The state of the reference model: accounts, keys, SIMs and messages. Tests write it directly.
 * Rules: ERR-1, SVC-1. Assumes: monthlyQuota, quotaMonth, quotaRefund, quotaUnit, failsFrom.
 */
import { dayMs } from '#contract/time.ts';
import type { Assumptions } from './answers.ts';
import type { Fate, ReferenceMessage, ReferenceSim } from './reference-phone.ts';

export interface ReferenceAccount {
  readonly accountId: string;
  /** Undefined: the quota of the plan, `monthlyQuota`. */
  quota: number | 'unlimited' | undefined;
}

export interface ReferenceKey {
  readonly keyId: string;
  readonly key: string;
  readonly accountId: string;
  revoked: boolean;
}

export interface ReferenceReceived {
  readonly messageId: string;
  readonly deviceId: string;
  readonly accountId: string;
  readonly from: string;
  readonly to: string;
  readonly message: string;
  readonly receivedAtMs: number;
}

/**
 * A scripted fate of messages to a recipient; `*` in `to` stands for any digits. `refuse`: the code
 * with which sends to it are refused, or `throttled`.
 */
export type Outcome = Fate & { readonly to: string; readonly refuse?: string };

export class ReferenceWorld {
  nowMs: number;
  assumptions: Assumptions;
  accounts: ReferenceAccount[] = [];
  keys: ReferenceKey[] = [];
  sims: ReferenceSim[] = [];
  messages: ReferenceMessage[] = [];
  received: ReferenceReceived[] = [];
  outcomes: readonly Outcome[] = [];

  constructor(nowMs: number, assumptions: Assumptions) {
    this.nowMs = nowMs;
    this.assumptions = assumptions;
  }

  /** SVC-1: a deactivated SIM sends nothing, so it does not count as connected. */
  connectedSims(accountId: string | undefined): ReferenceSim[] {
    return this.sims.filter((sim) => sim.accountId === accountId && sim.connected && sim.active);
  }

  /** Messages or segments a month (`quotaUnit`); null for no limit. */
  quotaOf(accountId: string): number | null {
    const stated = this.accounts.find((each) => each.accountId === accountId)?.quota;
    const quota = stated ?? this.assumptions.monthlyQuota;
    return quota === 'unlimited' ? null : Number(quota);
  }

  quotaUsed(accountId: string): number {
    const { quotaMonth, quotaRefund, quotaUnit } = this.assumptions;
    const month = new Date(this.nowMs).toISOString().slice(0, 7);
    const isCounted = ({ createdAtMs, status }: ReferenceMessage) =>
      (quotaRefund !== 'yes' || status !== 'failed') &&
      (quotaMonth === 'calendar_utc'
        ? new Date(createdAtMs).toISOString().startsWith(month)
        : this.nowMs - createdAtMs < 30 * dayMs);
    return this.messages
      .filter((each) => each.accountId === accountId && isCounted(each))
      .reduce((sum, { segments }) => sum + (quotaUnit === 'segments' ? segments : 1), 0);
  }

  /** The first scripted outcome whose pattern matches the recipient. */
  outcomeFor(to: string): Outcome | undefined {
    // The backslash escapes the plus sign at the start of a pattern.
    return this.outcomes.find((outcome) =>
      new RegExp(`^\\${outcome.to.replaceAll('*', '[0-9]*')}$`).test(to),
    );
  }

  /** The scripted fate of a recipient; a failure outside `failsFrom` has no effect. */
  scriptFor(to: string): Fate | undefined {
    const scripted = this.outcomeFor(to);
    const states: readonly unknown[] = this.assumptions.failsFrom;
    const failsNowhere = scripted?.ends === 'failed' && !states.includes(scripted.in);
    return failsNowhere ? { ends: 'delivered', polls: scripted.polls } : scripted;
  }
}
