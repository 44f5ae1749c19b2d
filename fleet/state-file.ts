/**
 * The files in which a fleet keeps what it must know at its next start, for its user alone. One of
 * them, `fleet.json`, says what must be equal then; the shards compare all else with their journals.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UsageError } from '#io/command-error.ts';
import { type OwnKind, ownerOnly, writeOwn } from '#io/own-file.ts';
import { parseJson, readText } from '#io/read-text.ts';

const stateKind: OwnKind = { name: 'file of a fleet', isOwn: (start) => /^[[{]/.test(start) };

/** Undefined if there is no such file. Throws a UsageError if it is torn or foreign. */
export function readState<T>(file: string, schema: z.ZodType<T>): T | undefined {
  if (!existsSync(file)) return undefined;
  const { data } = schema.safeParse(parseJson(file, readText(file, '--journal-dir')));
  if (data !== undefined) return data;
  throw new UsageError(`${file}: not a file of this fleet; restore it, or name a new folder`);
}

export function writeState(file: string, state: unknown): void {
  writeOwn(file, file, JSON.stringify(state), stateKind, ownerOnly);
}

const layoutSchema = z.strictObject({ shards: z.int(), wide: z.boolean() });
type Layout = Readonly<z.output<typeof layoutSchema>>;

/** Throws a UsageError if a fleet of another layout has written the folder of journals. */
export function refuseOtherLayout(journalDir: string, { shards, wide }: Layout): void {
  const file = join(journalDir, 'fleet.json');
  const earlier = readState(file, layoutSchema);
  if (earlier === undefined) return;
  const differences = [
    ...(earlier.shards === shards ? [] : [`with --shards ${earlier.shards}`]),
    ...(earlier.wide === wide ? [] : [`${earlier.wide ? 'with' : 'without'} --wide`]),
  ];
  if (differences.length === 0) return;
  const found = `recorded ${differences.join(' and ')}`;
  throw new UsageError(`${file}: ${found}; start with the same settings, or name a new folder`);
}

export function saveLayout(journalDir: string, layout: Layout): void {
  mkdirSync(journalDir, { recursive: true, mode: 0o700 });
  writeState(join(journalDir, 'fleet.json'), layout);
}
