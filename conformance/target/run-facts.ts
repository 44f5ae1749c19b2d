/**
 * What a run knows about accounts, keys and numbers, from the flags that describe the target or
 * because the run created them on a control port. It gives judges the account that sent a request,
 * and what the sender number is to that account.
 */
import { type Ahead, ClockOffset } from '#judging/evidence/clock-offset.ts';
import type { Caller, RequestKnowledge, Sender } from '#judging/evidence/exchange.ts';
import { headerOf, type Reply, type RequestOptions } from '#judging/evidence/reply.ts';
import type { TargetFlags } from './target-flags.ts';

interface KnownAccount {
  /** True if the run has created it, so that no earlier run has used it. */
  readonly isNew: boolean;
  readonly quota?: number;
}

interface KnownKey {
  readonly account: string;
  readonly keyId?: string;
  isRevoked?: boolean;
}

interface KnownNumber {
  /** Undefined if no account has it. */
  readonly account?: string;
  /** What it is to its account. To other accounts it is foreign. */
  is: Sender['is'];
  readonly deviceId?: string;
}

/** The name of the address from which the run calls by default. */
const peer = 'peer';

export class RunFacts implements RequestKnowledge<RequestOptions> {
  readonly clock = new ClockOffset({ needsDate: true });
  readonly #accounts = new Map<string, KnownAccount>();
  readonly #keys = new Map<string, KnownKey>();
  readonly #numbers = new Map<string, KnownNumber>();
  /** False if a proxy may hide from which address a request comes. */
  readonly #seesAddresses: boolean;

  constructor(flags: TargetFlags, seesAddresses: boolean) {
    this.#seesAddresses = seesAddresses;
    for (const account of ['own', 'second']) this.addAccount(account, { isNew: false });
    this.addAccount('exhausted', { isNew: false, quota: 0 });
    this.addKey(flags.apiKey, 'own');
    this.addKey(flags.otherApiKey, 'own');
    this.addKey(flags.secondApiKey, 'second');
    this.addKey(flags.exhaustedApiKey, 'exhausted');
    this.addKey(flags.revokedKey, 'own', { isRevoked: true });
    const deviceId = flags.deviceId === undefined ? {} : { deviceId: flags.deviceId };
    this.addNumber(flags.unknownFrom, { is: 'unknown' });
    this.addNumber(flags.foreignFrom, { is: 'foreign' });
    this.addNumber(flags.inactiveFrom, { account: 'own', is: 'inactive' });
    this.addNumber(flags.secondFrom, { account: 'second', is: 'own' });
    this.addNumber(flags.exhaustedFrom, { account: 'exhausted', is: 'own' });
    this.addNumber(flags.from, { account: 'own', is: 'own', ...deviceId });
  }

  /** The offset of the clock as known before this reply. */
  aheadOf(reply: Reply): Ahead {
    const { ahead } = this.clock;
    this.clock.note(reply);
    return ahead;
  }

  addAccount(account: string, facts: KnownAccount): void {
    this.#accounts.set(account, facts);
  }

  addKey(key: string | undefined, account: string, facts: Omit<KnownKey, 'account'> = {}): void {
    if (key !== undefined) this.#keys.set(key, { account, ...facts });
  }

  addNumber(number: string | undefined, facts: KnownNumber): void {
    if (number !== undefined) this.#numbers.set(number, facts);
  }

  /** Adds a number that the run has made up: it may be another number of the account. */
  addAltered(number: string): void {
    if (!this.#numbers.has(number)) this.addNumber(number, { is: 'altered' });
  }

  revoke(keyId: string): void {
    for (const entry of this.#keys.values()) if (entry.keyId === keyId) entry.isRevoked = true;
  }

  /** A SIM was switched off or on, withdrawn or given back, disconnected or connected. */
  changeSim(deviceId: string, change: Readonly<Record<string, unknown>>): void {
    const { active, allowed, connected } = change;
    for (const entry of this.#numbers.values()) {
      if (entry.deviceId !== deviceId) continue;
      if (active === false) entry.is = 'inactive';
      else if (allowed === false) entry.is = 'denied';
      else if (connected === false) entry.is = 'disconnected';
      else if (active ?? allowed ?? connected) entry.is = 'own';
    }
  }

  callerOf(request: RequestOptions): Caller {
    const address = this.#addressOf(request);
    const unknown = { isNew: false, ...(address !== undefined && { address }) };
    const key = /^Bearer (.+)$/.exec(headerOf(request, 'authorization') ?? '')?.[1];
    if (key === undefined) return { ...unknown, key: 'missing' };
    const entry = this.#keys.get(key);
    if (entry === undefined) return { ...unknown, key: 'wrong' };
    if (entry.isRevoked === true) return { ...unknown, key: 'revoked' };
    const { account } = entry;
    return { ...unknown, key: 'valid', account, ...this.#accounts.get(account) };
  }

  #addressOf(request: RequestOptions): string | undefined {
    const { localAddress } = request;
    if (headerOf(request, 'x-forwarded-for') !== undefined) return undefined;
    if (localAddress === undefined) return peer;
    return this.#seesAddresses ? localAddress : undefined;
  }

  senderOf(account: string | undefined, number: string): Sender | undefined {
    const entry = this.#numbers.get(number);
    if (entry === undefined || account === undefined) return undefined;
    const isForeign = entry.account !== undefined && entry.account !== account;
    return {
      is: isForeign ? 'foreign' : entry.is,
      ...(entry.deviceId !== undefined && { deviceId: entry.deviceId }),
    };
  }
}
