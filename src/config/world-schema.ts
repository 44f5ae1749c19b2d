/**
 * The schema of a world: accounts with keys and SIMs, the shared pool, scripted fates, and
 * overrides of assumptions and limits. Field names are those of the file, so one schema serves
 * settings, world files, the control port and the shipped JSON Schema.
 * Rules: AUTH-2, SVC-1, STATE-3, STATE-4. Assumes: monthlyQuota, failsFrom.
 */
import { z } from 'zod';
import { type EndpointName, endpointNames } from '#contract/limits.ts';
import { unfinishedStatuses } from '#contract/message-status.ts';
import { type ScriptedRefusal, scriptedRefusals } from '#contract/refusals.ts';
import { isObject } from '#contract/request-and-reply.ts';
import { eachOf } from '#io/grouped.ts';
import { pathText } from '#io/mistakes.ts';
import { mostAccounts, mostDevices, mostKeys, mostSims } from '../sim/accounts/account.ts';
import { mostOutcomes } from '../sim/devices/outcomes.ts';
import { assumptionsSchema } from './given-assumptions.ts';

/** The tokens that RFC 6750 allows in `Authorization: Bearer`: control tokens and API keys. */
export const bearerToken = /^[A-Za-z0-9_.~+/=-]{1,200}$/;

/** The message for an unusable token. */
export const expectedToken = 'expected 1 to 200 characters of A-Z a-z 0-9 _ . ~ + / = -';

/** Plain data with all its members readonly. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends (...args: never) => unknown
    ? T
    : T extends object
      ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
      : T;

/** Overrides of limits: requests per minute, or null for no limit. */
export type LimitOverrides = { readonly [E in EndpointName]?: number | null };

/** A whole number. The message for any mistake states the range, and what else is allowed. */
function wholeNumber(least: number, most: number, orElse = '') {
  const error = expectedWholeNumber(least, most, orElse);
  return z.int({ error }).min(least, { error }).max(most, { error });
}

function expectedWholeNumber(least: number, most: number, orElse: string): string {
  return `expected a whole number from ${least} to ${most}${orElse}`;
}

export const nameSchema = z.string().min(1).max(100);

export const numberSchema = z
  .string()
  .regex(/^\+[1-9][0-9]{1,14}$/, { error: 'expected an E.164 number such as "+12025550101"' });

export const recipientSchema = z.string().regex(/^\+[1-9*][0-9*]{0,14}$/, {
  error: 'expected an E.164 number, in which "*" matches any digits, such as "+1202555016*"',
});

const keySchema = z.strictObject({
  name: nameSchema,
  key: z
    .string()
    .regex(bearerToken, { error: expectedToken })
    .exactOptional()
    .describe('Default: drawn from the seed.'),
});

/** Who polls for a SIM: the simulator, or an external device over HTTP. */
export const pollingSchema = z.enum(['simulated', 'external']);

const quota = [0, 1e9, ', or "unlimited"'] as const;
const quotaError = { error: expectedWholeNumber(...quota) };

export const monthlyQuotaSchema = z.union(
  [wholeNumber(...quota), z.enum(['unlimited'], quotaError)],
  quotaError,
);

const simSchema = z.strictObject({
  number: numberSchema,
  connected: z
    .boolean()
    .default(true)
    .describe('A SIM that is not connected picks up no messages.'),
  active: z.boolean().default(true).describe('Sending from an inactive SIM is answered 503.'),
  polling: pollingSchema
    .default('simulated')
    .describe('Who polls: the simulated SIM, or your own device over HTTP.'),
});

const accountSchema = z.strictObject({
  name: nameSchema,
  monthly_quota: monthlyQuotaSchema
    .nullable()
    .exactOptional()
    .describe('Messages per month. Absent or null: the assumption monthlyQuota.'),
  keys: z
    .array(keySchema)
    .max(mostKeys)
    .default(() => [{ name: 'default' }]),
  sims: z
    .array(simSchema)
    .max(mostSims)
    .default(() => []),
});

const pollsSchema = wholeNumber(1, 1_000_000)
  .default(1)
  .describe('How many polls each step takes.');

/**
 * A scripted fate: how messages to matching recipients end, and how many polls each step takes, or
 * how sends to them are refused.
 */
export const outcomeSchema = z.discriminatedUnion('ends', [
  z
    .strictObject({ to: recipientSchema, ends: z.literal('delivered'), polls: pollsSchema })
    .meta({ title: 'is delivered' }),
  z
    .strictObject({
      to: recipientSchema,
      ends: z.enum(['failed', 'stuck']),
      in: z.enum(unfinishedStatuses).describe('The status in which it fails or stays.'),
      polls: pollsSchema,
    })
    .meta({ title: 'fails or stays' }),
  z
    .strictObject({
      to: recipientSchema,
      // May be left out, because `refuse` implies it.
      ends: z.literal('refused').optional().default('refused'),
      refuse: z
        .enum(Object.keys(scriptedRefusals) as ScriptedRefusal[])
        .describe('The code of the refusal; throttled: a 429 at the first attempt alone.'),
    })
    .meta({ title: 'is refused' }),
]);

const mostPoolNumbers = 10_000;

/** The largest limit of an endpoint that users can set. */
export const mostPerMinute = 1_000_000;
const limitSchema = wholeNumber(1, mostPerMinute, ', or null for no limit')
  .nullable()
  .exactOptional();

export const limitOverridesSchema: z.ZodType<LimitOverrides, LimitOverrides> = z.strictObject(
  eachOf(endpointNames, limitSchema),
);

/**
 * For checks that run even if the shape is wrong elsewhere, so that all mistakes of a file are
 * reported at once; they therefore assume nothing about the value's shape.
 */
const inAnyShape = { when: () => true };

export const worldSchema = z
  .strictObject({
    $schema: z.string().exactOptional(),
    accounts: z
      .array(accountSchema)
      .max(mostAccounts)
      .default(() => []),
    pool: z
      .array(z.strictObject({ number: numberSchema }))
      .max(mostPoolNumbers)
      .default(() => [])
      .describe('Numbers of the platform, for accounts without a connected SIM.'),
    outcomes: z
      .array(outcomeSchema)
      .max(mostOutcomes)
      .default(() => [])
      .describe('Fates by recipient; the first match applies.'),
    assumptions: assumptionsSchema.default(() => ({})),
    limits: limitOverridesSchema.default(() => ({})),
  })
  .superRefine(refuseDuplicates, inAnyShape)
  .superRefine(refuseTooManySims, inAnyShape);

/** The input of a world file: lists and most fields are optional. */
export type WorldFixtureInput = DeepReadonly<z.input<typeof worldSchema>>;
export type WorldFixture = DeepReadonly<z.output<typeof worldSchema>>;
export type WorldSim = WorldFixture['accounts'][number]['sims'][number];

function refuseDuplicates(value: unknown, context: z.core.$RefinementCtx): void {
  const newUses = () => new Map<string, string>();
  const firstUses = { 'account name': newUses(), number: newUses(), key: newUses() };
  const check = (kind: keyof typeof firstUses, entry: unknown, path: readonly PropertyKey[]) => {
    const field = kind === 'account name' ? 'name' : kind;
    const text = fieldOf(entry, field);
    if (typeof text !== 'string') return;
    const firstUse = firstUses[kind].get(text);
    const ownPath = [...path, field];
    if (firstUse === undefined) {
      firstUses[kind].set(text, pathText(ownPath));
      return;
    }
    const message = `duplicate ${kind}, first used at ${firstUse}`;
    context.addIssue({ code: 'custom', path: ownPath, message });
  };
  for (const [accountIndex, account] of listOf(value, 'accounts').entries()) {
    const path = ['accounts', accountIndex];
    check('account name', account, path);
    for (const [index, key] of listOf(account, 'keys').entries())
      check('key', key, [...path, 'keys', index]);
    for (const [index, sim] of listOf(account, 'sims').entries())
      check('number', sim, [...path, 'sims', index]);
  }
  for (const [index, entry] of listOf(value, 'pool').entries())
    check('number', entry, ['pool', index]);
}

/** Refuses more SIMs and pool numbers than a world can hold in all. */
function refuseTooManySims(value: unknown, context: z.core.$RefinementCtx): void {
  const sims = listOf(value, 'accounts').flatMap((account) => listOf(account, 'sims'));
  const count = sims.length + listOf(value, 'pool').length;
  if (count <= mostDevices) return;
  const message = `expected at most ${mostDevices} SIMs in all; got ${count}`;
  context.addIssue({ code: 'custom', message });
}

function fieldOf(value: unknown, field: string): unknown {
  return isObject(value) ? value[field] : undefined;
}

function listOf(value: unknown, field: string): readonly unknown[] {
  const list = fieldOf(value, field);
  return Array.isArray(list) ? list : [];
}
