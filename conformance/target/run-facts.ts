/**
 * What a run knows about accounts, keys and numbers: from its flags, or because it created them on
 * a control port. It tells judges which account sent a request, and what the sender number is to
 * it.
 */

import { type Ahead, ClockOffset } from '#judging/evidence/clock-offset.ts';
import { parse } from '#judging/evidence/kept-bodies.ts';
import { endpointOf } from '#judging/limiter/buckets.ts';
import type { Caller, Exchange, Sender } from '#judging/service/exchange.ts';
import { isObject } from '#judging/service/expectations.ts';
import type { Reply } from './client.ts';
import type { RequestOptions } from './connections.ts';
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

/** What is known of the caller and the sender number of a request. */
export interface Knowledge {
  callerOf(request: RequestOptions, reply: Reply): Caller;
  senderOf(account: string | undefined, number: string, reply: Reply): Sender | undefined;
  /** The target's time minus ours, as far as this reply may show it. */
  aheadOf(reply: Reply): Ahead;
}

export class Known implements Knowledge {
  readonly clock = new ClockOffset();
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
    for (const known of this.#keys.values()) if (known.keyId === keyId) known.isRevoked = true;
  }

  /** A SIM was switched off or on, withdrawn or given back, disconnected or connected. */
  changeSim(deviceId: string, change: Readonly<Record<string, unknown>>): void {
    const { active, allowed, connected } = change;
    for (const known of this.#numbers.values()) {
      if (known.deviceId !== deviceId) continue;
      if (active === false) known.is = 'inactive';
      else if (allowed === false) known.is = 'denied';
      else if (connected === false) known.is = 'disconnected';
      else if (active ?? allowed ?? connected) known.is = 'own';
    }
  }

  callerOf({ headers = {}, localAddress }: RequestOptions): Caller {
    const address = this.#addressOf(headers, localAddress);
    const unknown = { isNew: false, ...(address !== undefined && { address }) };
    const key = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1];
    if (key === undefined) return { ...unknown, key: 'missing' };
    const known = this.#keys.get(key);
    if (known === undefined) return { ...unknown, key: 'wrong' };
    if (known.isRevoked === true) return { ...unknown, key: 'revoked' };
    const { account } = known;
    return { ...unknown, key: 'valid', account, ...this.#accounts.get(account) };
  }

  #addressOf(
    headers: Readonly<Record<string, string>>,
    localAddress: string | undefined,
  ): string | undefined {
    if (headers['x-forwarded-for'] !== undefined) return undefined;
    if (localAddress === undefined) return peer;
    return this.#seesAddresses ? localAddress : undefined;
  }

  senderOf(account: string | undefined, number: string): Sender | undefined {
    const known = this.#numbers.get(number);
    if (known === undefined || account === undefined) return undefined;
    const isForeign = known.account !== undefined && known.account !== account;
    return {
      is: isForeign ? 'foreign' : known.is,
      ...(known.deviceId !== undefined && { deviceId: known.deviceId }),
    };
  }
}

const readPath = /^\/api\/v1\/sms\/(?!send\/|received\/)([^/]+)\/$/;
const tasksPath = /^\/api\/devices\/([^/]+)\/tasks\/$/;

/** The documented endpoint of a path; undefined for another path. */
export function documentedEndpointOf(path: string): Exchange['endpoint'] {
  if (readPath.test(path)) return 'read';
  return path === '/api/v1/account/stats/' ? 'stats' : endpointOf(path);
}

/** A request and its reply, with what is known of its caller and its sender number. */
export function exchangeOf(request: RequestOptions, reply: Reply, known: Knowledge): Exchange {
  const { method, headers = {}, body } = request;
  const [path = '', query = ''] = request.path.split('?', 2);
  const id = readPath.exec(path)?.[1] ?? tasksPath.exec(path)?.[1];
  const endpoint = documentedEndpointOf(path);
  const sent = method === 'POST' && body !== undefined ? parse(body) : undefined;
  const fields = isObject(sent) ? sent : undefined;
  const caller = known.callerOf(request, reply);
  const number = fields?.['from'] ?? fields?.['from_number'];
  const sender =
    typeof number === 'string' ? known.senderOf(caller.account, number, reply) : undefined;
  const ahead = known.aheadOf(reply);
  return {
    method,
    path,
    query,
    ahead,
    headers,
    ...(body !== undefined && { body }),
    ...(fields !== undefined && { fields }),
    ...(endpoint !== undefined && { endpoint }),
    ...(id !== undefined && { id }),
    caller,
    ...(sender !== undefined && { sender }),
    reply,
    sentAt: reply.sentAt,
    answeredAt: reply.answeredAt,
    isRetried: reply.interruptions > 0,
  };
}
