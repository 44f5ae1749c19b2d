/**
 * The flags that describe a target, declared in one table: the command line, the flags that contradict
 * each other, and the keys that a report must not show follow from it. And what a run knows about
 * accounts, keys and numbers, from these flags or because it created them on a control port: it tells
 * judges which account sent a request, and what the sender number is to it.
 */

import type { Command } from 'commander';
import { UsageError } from '#io/command-error.ts';
import { headerValue, phoneNumber } from '#io/flag-values.ts';
import type { Flag } from '#io/flags.ts';
import { isOnCommandLine, refuseAlone } from '#io/given-flags.ts';
import { type Ahead, ClockOffset } from '#judging/evidence/clock-offset.ts';
import type { Caller, Sender } from '#judging/evidence/exchange.ts';
import type { Knowledge } from '#judging/evidence/knowledge.ts';
import type { Reply, RequestOptions } from '#judging/evidence/reply.ts';

type Row = readonly [kind: 'key' | 'id' | 'number', about: string];

const table = {
  apiKey: ['key', 'a key of the account to send with'],
  otherApiKey: ['key', 'another key of the same account'],
  secondApiKey: ['key', "another account's key"],
  revokedKey: ['key', 'a key that was revoked'],
  exhaustedApiKey: ['key', 'a key of an account whose quota is spent'],
  deviceId: ['id', 'the id of the device behind --from'],
  from: ['number', 'a number that the account may send from'],
  to: ['number', 'the recipient of messages'],
  secondFrom: ['number', 'a number that the account of --second-api-key may send from'],
  exhaustedFrom: ['number', 'a number that the account of --exhausted-api-key may send from'],
  inactiveFrom: ['number', 'a number of the account whose SIM is deactivated'],
  foreignFrom: ['number', 'a number that exists but that the account may not use'],
  unknownFrom: ['number', 'a number that no SIM has'],
} as const satisfies Record<string, Row>;

export type TargetFlag = keyof typeof table;
export type TargetFlags = Readonly<Partial<Record<TargetFlag, string>>>;

const names = Object.keys(table) as TargetFlag[];

/** The flag of this name, such as `--api-key`. */
export function flagOf(name: TargetFlag): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export const flagsOfTarget: readonly Flag[] = names.map((name) => {
  const [kind, about] = table[name];
  return kind === 'number'
    ? { flag: `${flagOf(name)} <number>`, about, parse: phoneNumber }
    : { flag: `${flagOf(name)} <value>`, about, parse: headerValue };
});

export function targetFlagsIn(given: Readonly<Record<string, unknown>>): TargetFlags {
  const present = names.filter((name) => given[name] !== undefined);
  return Object.fromEntries(present.map((name) => [name, given[name]]));
}

/** The keys among the flags. */
export function keysIn(flags: TargetFlags): string[] {
  return names.flatMap((name) => (table[name][0] === 'key' ? (flags[name] ?? []) : []));
}

/**
 * Refuses flags that describe a target, except `--to`, if no target is given: such a run starts a
 * simulator and creates the accounts itself.
 */
export function refuseWithoutTarget(command: Command, baseUrl: string | undefined): void {
  const ofATarget = [...names.filter((name) => name !== 'to'), 'controlUrl'];
  const needs = 'a base_url: without one, conform checks a simulator of its own';
  const isThere = baseUrl !== undefined;
  refuseAlone(
    command,
    ofATarget.map((name) => [name, needs, isThere]),
  );
  // `serve` reads the same variable, so the variable alone does not imply a target.
  if (!isOnCommandLine(command, 'controlToken')) return;
  refuseAlone(command, [
    ['controlToken', needs, isThere],
    ['controlToken', '--control-url', command.getOptionValue('controlUrl') !== undefined],
  ]);
}

/** Refuses a `--to` that is not among the allowed recipients. */
export function refuseOtherRecipient({ to }: TargetFlags, allowTo: readonly string[]): void {
  if (to !== undefined && allowTo.length > 0 && !allowTo.includes(to))
    throw new UsageError(`option '--to' is ${to}, which --allow-to does not include: add it there`);
}

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

export class RunFacts implements Knowledge<RequestOptions> {
  readonly clock = new ClockOffset(true);
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

  callerOf({ headers = {}, localAddress }: RequestOptions): Caller {
    const address = this.#addressOf(headers, localAddress);
    const unknown = { isNew: false, ...(address !== undefined && { address }) };
    const key = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1];
    if (key === undefined) return { ...unknown, key: 'missing' };
    const entry = this.#keys.get(key);
    if (entry === undefined) return { ...unknown, key: 'wrong' };
    if (entry.isRevoked === true) return { ...unknown, key: 'revoked' };
    const { account } = entry;
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
    const entry = this.#numbers.get(number);
    if (entry === undefined || account === undefined) return undefined;
    const isForeign = entry.account !== undefined && entry.account !== account;
    return {
      is: isForeign ? 'foreign' : entry.is,
      ...(entry.deviceId !== undefined && { deviceId: entry.deviceId }),
    };
  }
}
