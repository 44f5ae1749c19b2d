/**
 * The file `fleet.json` in the folder of a fleet's journals: what must be equal at the next start.
 * The shards compare all else with their journals.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '#io/command-error.ts';

interface Layout {
  readonly shards: number;
  readonly wide: boolean;
}

/** Throws a UsageError if a fleet of another layout has written the folder of journals. */
export function refuseOtherLayout(journalDir: string, { shards, wide }: Layout): void {
  const file = fileIn(journalDir);
  if (!existsSync(file)) return;
  const earlier = JSON.parse(readFileSync(file, 'utf8')) as { shards?: unknown; wide?: unknown };
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
  writeFileSync(fileIn(journalDir), JSON.stringify(layout), { mode: 0o600 });
}

function fileIn(journalDir: string): string {
  return join(journalDir, 'fleet.json');
}
