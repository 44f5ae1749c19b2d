/**
 * Parts of inputs and outputs that several operations have: limits, which a query gives as text,
 * accounts, which users may name by id or name, and objects whose members have one schema.
 */
import { z } from 'zod';
import { numberSchema } from '../config/world-schema.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import type { Account } from '../sim/records.ts';
import type { World } from '../sim/world.ts';

/** The members of an object that has the same schema for each of these names. */
export function eachOf<Name extends string, Schema extends z.ZodType>(
  names: readonly Name[],
  schema: Schema,
): Record<Name, Schema> {
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>;
}

/** The largest number of results to return; a number in JavaScript, digits in a query. */
export function limitSchema(largest: number, fallback: number) {
  const error = `expected a whole number from 1 to ${largest}`;
  const schema = z
    .preprocess(
      (value) => (typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value),
      z.int({ error }).min(1, { error }).max(largest, { error }).default(fallback),
    )
    .default(fallback)
    .describe('How many at most.');
  return schema as unknown as z.ZodDefault<z.ZodNumber>;
}

/** A phone number in a filter. An unescaped plus sign in a query arrives as a space. */
export const numberFilterSchema = z.preprocess(
  (value) => (typeof value === 'string' ? value.replace(/^ /, '+') : value),
  numberSchema,
) as unknown as z.ZodType<string, string>;

/** Finds an account by its id, in upper or lower case, or by its name. */
export function accountCalled(world: World, idOrName: string): Account | undefined {
  const account = world.accounts.get(idOrName.toLowerCase());
  if (account !== undefined) return account;
  for (const each of world.accounts.values()) if (each.name === idOrName) return each;
  return undefined;
}

/** The id of an account in a filter. An unknown id stays: it matches nothing. */
export function accountIdOf(world: World, idOrName: string, path: string): string {
  const account = accountCalled(world, idOrName);
  if (account !== undefined) return account.accountId;
  if (z.uuid().safeParse(idOrName).success) return idOrName;
  const message = `${JSON.stringify(idOrName)} is neither a UUID nor the name of an account`;
  throw new OperationRefused('invalid', message, path);
}
