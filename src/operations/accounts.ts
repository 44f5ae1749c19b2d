/**
 * Accounts and their API keys. Rules: AUTH-2, ERR-1. Assumes: monthlyQuota, keyFormat.
 */
import { z } from 'zod';
import { monthlyQuotaSchema, nameSchema } from '../config/world-schema.ts';
import { type Account, type ApiKey, keyPrefix } from '../sim/account.ts';
import { LeverError } from '../sim/lever-error.ts';
import { isoTime, statuses } from '../sim/message.ts';
import { timeSchema } from './duration.ts';
import { readInput } from './input.ts';
import type { Live } from './live.ts';
import { simView } from './sim-view.ts';

const quotaInput = monthlyQuotaSchema
  .nullable()
  .describe('Messages per month; null leaves it to the assumption monthlyQuota.');

export const accountInputSchema = z.strictObject({
  name: nameSchema,
  monthly_quota: quotaInput.exactOptional(),
});
export const accountPatchSchema = accountInputSchema.partial();
export const keyInputSchema = z.strictObject({ name: nameSchema });

const countSchema = z.int().min(0);

export const accountViewSchema = z.strictObject({
  account_id: z.uuid(),
  name: z.string(),
  monthly_quota: quotaInput,
  quota_used: countSchema.describe('Units used in the running period.'),
  messages: z.strictObject({
    ...(Object.fromEntries(statuses.map((status) => [status, countSchema])) as Record<
      (typeof statuses)[number],
      typeof countSchema
    >),
  }),
});
export const keyViewSchema = z.strictObject({
  key_id: z.uuid(),
  name: z.string(),
  prefix: z.string().describe('How the key begins; the whole of it is shown once, at creation.'),
  created_at: timeSchema,
  revoked_at: timeSchema.nullable(),
});
export const createdKeySchema = z.strictObject({
  key_id: z.uuid(),
  name: z.string(),
  key: z.string().describe('The full key. It is never shown again.'),
  created_at: timeSchema,
});

export type AccountInput = Readonly<z.input<typeof accountInputSchema>>;
export type AccountPatch = Readonly<z.input<typeof accountPatchSchema>>;
export type KeyInput = Readonly<z.input<typeof keyInputSchema>>;
export type AccountView = Readonly<z.output<typeof accountViewSchema>>;
export type KeyView = Readonly<z.output<typeof keyViewSchema>>;
export type CreatedKey = Readonly<z.output<typeof createdKeySchema>>;

export class AccountLevers {
  readonly #live: Live;

  constructor(live: Live) {
    this.#live = live;
  }

  list(): AccountView[] {
    return [...this.#live.simulation.world.accounts.values()].map((account) => this.#view(account));
  }

  get(accountId: string): AccountView {
    return this.#view(findAccount(this.#live, accountId));
  }

  create(input: AccountInput): AccountView {
    return this.#live.change('accounts.create', [input], () => {
      const { name, monthly_quota: quota } = readInput(accountInputSchema, input);
      return this.#view(this.#live.simulation.world.createAccount(name, quota ?? undefined));
    });
  }

  patch(accountId: string, input: AccountPatch): AccountView {
    return this.#live.change('accounts.patch', [accountId, input], () => {
      const account = findAccount(this.#live, accountId);
      const { name, monthly_quota: quota } = readInput(accountPatchSchema, input);
      if (name !== undefined) this.#live.simulation.world.renameAccount(account, name);
      if (quota !== undefined) this.#live.simulation.world.setQuota(account, quota ?? undefined);
      return this.#view(account);
    });
  }

  /** With its keys, SIMs and messages. */
  delete(accountId: string): void {
    this.#live.change('accounts.delete', [accountId], () => {
      const account = findAccount(this.#live, accountId);
      this.#live.simulation.world.deleteAccount(account);
      for (const device of account.devices) {
        this.#live.activity.publish('sim', { ...simView(device), deleted: true });
      }
    });
  }

  keys(accountId: string): KeyView[] {
    return findAccount(this.#live, accountId).keys.map(keyView);
  }

  createKey(accountId: string, input: KeyInput): CreatedKey {
    return this.#live.change('accounts.createKey', [accountId, input], () => {
      const account = findAccount(this.#live, accountId);
      const { name } = readInput(keyInputSchema, input);
      const { keyId, key, createdAtMs } = this.#live.simulation.world.createKey(account, name);
      return { key_id: keyId, name, key, created_at: isoTime(createdAtMs) };
    });
  }

  /** Revoking twice changes nothing. */
  revokeKey(keyId: string): void {
    this.#live.change('accounts.revokeKey', [keyId], () => {
      const { world } = this.#live.simulation;
      const key = world.keys.get(keyId);
      if (key === undefined) throw new LeverError('not_found', `no key has the id ${keyId}`);
      world.revokeKey(key);
    });
  }

  #view(account: Account): AccountView {
    const { world } = this.#live.simulation;
    return {
      account_id: account.accountId,
      name: account.name,
      monthly_quota: account.monthlyQuota ?? null,
      quota_used: account.quota.used(world.now(), world.assumptions),
      messages: { ...account.counts },
    };
  }
}

export function findAccount(live: Live, accountId: string): Account {
  const account = live.simulation.world.accounts.get(accountId);
  if (account !== undefined) return account;
  throw new LeverError('not_found', `no account has the id ${accountId}`);
}

function keyView(key: ApiKey): KeyView {
  return {
    key_id: key.keyId,
    name: key.name,
    prefix: keyPrefix(key),
    created_at: isoTime(key.createdAtMs),
    revoked_at: key.revokedAtMs === undefined ? null : isoTime(key.revokedAtMs),
  };
}
