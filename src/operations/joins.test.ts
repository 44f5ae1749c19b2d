/**
 * Every operation that reaches all shards of a fleet declares how each field of its reply is
 * joined.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineOperation, type Operation } from './define.ts';
import type { Join } from './joins.ts';
import { operations } from './table.ts';

const output = z.strictObject({ total: z.int(), rate: z.int() });
const run = () => ({ total: 1, rate: 1 });

test('an operation without a join, or without that of one field, does not compile', () => {
  const http = 'GET /control/x';
  const summary = 'A reply of all shards.';
  // @ts-expect-error It declares no join.
  defineOperation({ http, summary, output, run });
  // @ts-expect-error The field `rate` has no join.
  defineOperation({ http, summary, output, run, fleet: { joined: { total: 'sum' } } });
  const latest = { total: 'sum', rate: 'latest' } as const;
  // @ts-expect-error A number has no latest.
  defineOperation({ http, summary, output, run, fleet: { joined: latest } });
  const joined = { total: 'sum', rate: 'equal' } as const;
  expect(defineOperation({ http, summary, output, run, fleet: { joined } }).fleet).toEqual({
    scope: 'merged',
    joined,
  });
});

test('a list needs what identifies its entries, and how each field of them is joined', () => {
  type Rows = Join<{ rows: { id: string; n: number }[] }>;
  // @ts-expect-error The field `n` of an entry has no join.
  const short: Rows = { rows: { by: 'id', fields: { id: 'equal' } } };
  // @ts-expect-error An entry that belongs to no account is joined by its fields.
  const bare: Rows = { rows: { by: 'id' } };
  const whole: Rows = { rows: { by: 'id', fields: { id: 'equal', n: 'sum' } } };
  const ofOwner: Join<{ account_id: string; n: number }[]> = { by: 'account_id' };
  expect([short, bare, whole, ofOwner]).toHaveLength(4);
});

/** Whether the reply comes from all shards, by what the operation says. */
function reachesAll({ fleet, output: reply, contentType }: Operation): boolean {
  const { scope, ofServer } = fleet;
  const isOfAll = scope === 'all' || scope === 'merged';
  return isOfAll && reply !== undefined && ofServer !== true && contentType === undefined;
}

const reaching = operations.filter(({ path }) => path !== '').filter(reachesAll);

test.each(reaching.map((each) => [each.name, each] as const))(
  '%s says how each field of its reply is joined',
  (_, { output: reply, fleet: { joined } }) => {
    expect(missing(reply as z.ZodType, joined, '')).toEqual([]);
  },
);

test.each(
  operations
    .filter(({ fleet }) => fleet.joined !== undefined)
    .map((each) => [each.name, each] as const),
)(
  '%s names no field in its join that its reply has not',
  (_, { output: reply, fleet: { joined } }) => {
    expect(missing(reply as z.ZodType, joined, '')).toEqual([]);
    expect(unknown(reply as z.ZodType, joined, '')).toEqual([]);
  },
);

type Wrapped = z.ZodType & { readonly def: { readonly innerType?: z.ZodType } };

function unwrapped(schema: z.ZodType): z.ZodType {
  const { innerType } = (schema as Wrapped).def;
  return innerType === undefined ? schema : unwrapped(innerType);
}

/** True if the schema has the field at this path, such as `_smstwin.repeats`. */
function hasPath(schema: z.ZodType, path: string): boolean {
  const [name = '', ...rest] = path.split('.');
  const bare = unwrapped(schema);
  const field = bare instanceof z.ZodObject ? (bare.shape[name] as z.ZodType) : undefined;
  if (field === undefined) return false;
  return rest.length === 0 || hasPath(field, rest.join('.'));
}

function joinOf(joined: unknown, name: string): unknown {
  return (joined as Readonly<Record<string, unknown>>)[name];
}

/** The paths of fields without a join. */
function missing(schema: z.ZodType, joined: unknown, path: string): readonly string[] {
  if (joined === undefined) return [path];
  if (typeof joined === 'string') return [];
  const bare = unwrapped(schema);
  if (bare instanceof z.ZodArray) {
    const fields = joinOf(joined, 'fields');
    if (fields === undefined) {
      const isWhole = joinOf(joined, 'all') !== undefined || joinOf(joined, 'by') === 'account_id';
      return isWhole ? [] : [path];
    }
    return missing(bare.element as z.ZodType, fields, `${path}[]`);
  }
  const { shape } = bare as z.ZodObject;
  return Object.entries(shape).flatMap(([name, field]) =>
    missing(field as z.ZodType, joinOf(joined, name), `${path}.${name}`),
  );
}

/** The paths of joins without a field. */
function unknown(schema: z.ZodType, joined: unknown, path: string): readonly string[] {
  if (typeof joined !== 'object' || joined === null) return [];
  const bare = unwrapped(schema);
  if (bare instanceof z.ZodArray) {
    const { by, newest, oldest, fields } = joined as Readonly<Record<string, string>>;
    const all = joinOf(joined, 'all') as 'unchanged' | readonly string[] | undefined;
    const element = unwrapped(bare.element as z.ZodType);
    const names = [by, newest, oldest, ...(all === 'unchanged' ? [] : (all ?? []))];
    const wrong = names.filter((name) => name !== undefined && !hasPath(element, name));
    return [...wrong.map((name) => `${path}[].${name}`), ...unknown(element, fields, `${path}[]`)];
  }
  const { shape } = bare as z.ZodObject;
  return Object.entries(joined).flatMap(([name, join]) => {
    const field = shape[name] as z.ZodType | undefined;
    return field === undefined ? [`${path}.${name}`] : unknown(field, join, `${path}.${name}`);
  });
}
