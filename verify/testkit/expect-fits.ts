/** Compares values with a JSON Schema of the package. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';
import { getOrAdd } from '#io/grouped.ts';
import type { SchemaFile } from '../build/file-schemas.ts';
import { root } from './doc-commands.ts';

/** A schema takes much longer to compile than values to compare with it. */
const compiled = new Map<SchemaFile, ValidateFunction>();

function validatorOf(file: SchemaFile): ValidateFunction {
  return getOrAdd(compiled, file, () => {
    const ajv = formats.default(new Ajv2020({ strict: true, allowUnionTypes: true }));
    return ajv.compile(JSON.parse(readFileSync(join(root, file), 'utf8')));
  });
}

/** Expects that each value fits, and that none does with a member that the schema does not name. */
export function expectFits(file: SchemaFile, values: readonly unknown[]): void {
  const fits = validatorOf(file);
  expect(values.length).toBeGreaterThan(0);
  for (const value of values) {
    fits(value);
    expect(fits.errors ?? [], JSON.stringify(value)).toEqual([]);
    expect(fits({ ...(value as object), unknown_member: 1 })).toBe(false);
  }
}
