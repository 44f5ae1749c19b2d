/** The operations on accounts and API keys. Rules: AUTH-2, ERR-1. Assumes: monthlyQuota. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { statuses } from '#contract/message-status.ts';
import { isoTime } from '#contract/time.ts';
import { eachOf } from '#io/grouped.ts';
import { monthlyQuotaSchema, nameSchema } from '../../config/world-schema.ts';
import { type Account, type ApiKey, keyPrefix } from '../../sim/accounts/account.ts';
import { defineOperation } from '../define.ts';
import { timeSchema } from '../input-fields.ts';
import type { RunningWorld } from '../running-world.ts';
import { simView } from '../views.ts';

const quotaSchema = monthlyQuotaSchema
  .nullable()
  .describe('Messages per month; null leaves it to the assumption monthlyQuota.');
const accountInputSchema = z.strictObject({
  name: nameSchema,
  monthly_quota: quotaSchema.exactOptional(),
});
const keyInputSchema = z.strictObject({ name: nameSchema });

const countSchema = z.int().min(0);
const countsSchema = z.strictObject(eachOf(statuses, countSchema)).meta({ id: 'MessageCounts' });

const accountViewSchema = z
  .strictObject({
    account_id: z.uuid(),
    name: z.string(),
    monthly_quota: quotaSchema,
    quota_used: countSchema.describe('Units used in the current period.'),
    messages: countsSchema,
    effective_monthly_quota: monthlyQuotaSchema.describe(
      'The quota in force: its own, or the assumption monthlyQuota; unlimited with --no-limits.',
    ),
  })
  .meta({ id: 'Account' });
const keyViewSchema = z
  .strictObject({
    key_id: z.uuid(),
    name: z.string(),
    prefix: z.string().describe('How the key begins; the whole key is shown once, at creation.'),
    created_at: timeSchema,
    revoked_at: timeSchema.nullable(),
  })
  .meta({ id: 'Key' });
const ownedKeySchema = keyViewSchema
  .extend({
    account_id: z.uuid(),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe('The SHA-256 of the whole key, as in a snapshot.'),
  })
  .meta({ id: 'OwnedKey' });
type AccountView = Readonly<z.output<typeof accountViewSchema>>;

export const accounts = {
  list: defineOperation({
    http: 'GET /control/accounts',
    summary: 'All accounts.',
    output: z.strictObject({ accounts: z.array(accountViewSchema) }),
    fleet: { joined: { accounts: { by: 'account_id' } } },
    run: (live) => [...live.simulation.world.accounts.values()].map((each) => viewOf(live, each)),
    reply: (accounts) => ({ accounts }),
  }),

  create: defineOperation({
    http: 'POST /control/accounts',
    fleet: { scope: 'owner', changesRoutes: true },
    summary: 'A new account, without keys and SIMs.',
    status: 201,
    input: accountInputSchema,
    output: accountViewSchema,
    refusals: [409],
    recordedResult: asFirstRecorded,
    examples: [{ name: 'hooli', monthly_quota: 'unlimited' }, { name: 'umbrella' }],
    run: (live, { name, monthly_quota: quota }) =>
      viewOf(live, live.simulation.world.createAccount(name, quota ?? undefined)),
  }),

  get: defineOperation({
    http: 'GET /control/accounts/{account_id}',
    summary: 'One account.',
    output: accountViewSchema,
    run: viewOf,
  }),

  patch: defineOperation({
    http: 'PATCH /control/accounts/{account_id}',
    fleet: { changesRoutes: true },
    summary: 'Renames an account or changes its plan.',
    input: accountInputSchema.partial(),
    output: accountViewSchema,
    refusals: [409],
    recordedResult: asFirstRecorded,
    examples: [{ monthly_quota: null }, { monthly_quota: 3 }, { name: 'initech' }],
    run: (live, account, { name, monthly_quota: quota }) => {
      if (name !== undefined) live.simulation.world.renameAccount(account, name);
      if (quota !== undefined) live.simulation.world.setQuota(account, quota ?? undefined);
      return viewOf(live, account);
    },
  }),

  delete: defineOperation({
    http: 'DELETE /control/accounts/{account_id}',
    fleet: { changesRoutes: true },
    summary: 'Deletes an account with its keys, SIMs and messages.',
    run: ({ simulation, activity }, account) => {
      const devices = [...account.devices];
      simulation.world.deleteAccount(account);
      for (const device of devices) activity.publish('sim', { ...simView(device), deleted: true });
    },
  }),

  keys: defineOperation({
    http: 'GET /control/accounts/{account_id}/keys',
    summary: 'The keys of an account, without their full text.',
    output: z.strictObject({ keys: z.array(keyViewSchema) }),
    run: (_, { keys }) => keys.map(keyView),
    reply: (keys) => ({ keys }),
  }),

  allKeys: defineOperation({
    http: 'GET /control/keys',
    summary: 'The keys of all accounts, without their full text.',
    output: z.strictObject({ keys: z.array(ownedKeySchema) }),
    fleet: { joined: { keys: { by: 'account_id' } } },
    run: ({ simulation }) =>
      [...simulation.world.accounts.values()].flatMap(({ accountId, keys }) =>
        keys.map((key) => ({
          ...keyView(key),
          account_id: accountId,
          sha256: key.digest?.sha256 ?? hash('sha256', key.key),
        })),
      ),
    reply: (keys) => ({ keys }),
  }),

  createKey: defineOperation({
    http: 'POST /control/accounts/{account_id}/keys',
    showsKeys: true,
    fleet: { changesRoutes: true },
    summary: 'A new key: the only time its full text is shown.',
    status: 201,
    input: keyInputSchema,
    output: z
      .strictObject({
        key_id: z.uuid(),
        name: z.string(),
        key: z.string().describe('The full key. It is never shown again.'),
        created_at: timeSchema,
      })
      .meta({ id: 'CreatedKey' }),
    refusals: [409],
    examples: [{ name: 'second' }],
    run: (live, account, { name }) => {
      const { keyId, key, createdAtMs } = live.simulation.world.createKey(account, name);
      return { key_id: keyId, name, key, created_at: isoTime(createdAtMs) };
    },
  }),

  revokeKey: defineOperation({
    http: 'DELETE /control/keys/{key_id}',
    fleet: { changesRoutes: true },
    summary: 'Revokes a key. Revoking it again changes nothing.',
    run: ({ simulation }, key) => simulation.world.revokeKey(key),
  }),
};

function viewOf({ simulation: { world } }: RunningWorld, account: Account): AccountView {
  return {
    account_id: account.accountId,
    name: account.name,
    monthly_quota: account.monthlyQuota ?? null,
    quota_used: account.quota.used(world.now(), world.assumptions),
    messages: { ...account.counts },
    effective_monthly_quota: world.quotaOf(account),
  };
}

/** The fields that the first journals recorded. Only these are compared, so old journals replay. */
function asFirstRecorded({ effective_monthly_quota: _, ...view }: AccountView): unknown {
  return view;
}

function keyView(key: ApiKey): Readonly<z.output<typeof keyViewSchema>> {
  return {
    key_id: key.keyId,
    name: key.name,
    prefix: keyPrefix(key),
    created_at: isoTime(key.createdAtMs),
    revoked_at: key.revokedAtMs === undefined ? null : isoTime(key.revokedAtMs),
  };
}
