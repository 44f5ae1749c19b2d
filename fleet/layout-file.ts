/**
 * The file `fleet.json` in the folder of a fleet's journals: what must be equal at the next start.
 * The shards compare all else with their journals.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UsageError } from '#io/command-error.ts';
import { readState, writeState } from './state-file.ts';

const layoutSchema = z.strictObject({ shards: z.int(), wide: z.boolean() });
type Layout = Readonly<z.output<typeof layoutSchema>>;

/** Throws a UsageError if a fleet of another layout has written the folder of journals. */
export function refuseOtherLayout(journalDir: string, { shards, wide }: Layout): void {
  const file = fileIn(journalDir);
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
  writeState(fileIn(journalDir), layout);
}

function fileIn(journalDir: string): string {
  return join(journalDir, 'fleet.json');
}
