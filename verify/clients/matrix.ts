/** Under how many seeds clients run, and the kill matrix: how often each verdict was right. */
import type { ClientRow } from './client.ts';

export interface Seeds {
  readonly wrong: number;
  readonly right: number;
}

/**
 * A wrong client must be found each time; a right one could be failed by an odd turn of events.
 * `npm run clients` runs all of them under 20 seeds.
 */
export const allSeeds: Seeds = { wrong: 2, right: 8 };

/** `SMSTWIN_SEEDS` overrides what a test asks for. */
export function seedsOf({ rule }: ClientRow, { wrong, right }: Seeds): number[] {
  const count = Number(process.env['SMSTWIN_SEEDS'] ?? (rule === undefined ? right : wrong));
  return Array.from({ length: count }, (_, at) => at + 1);
}

/** A client with what is wrong with its verdicts, for each seed; empty if nothing is. */
export interface Tried {
  readonly client: ClientRow;
  readonly complaints: readonly (readonly string[])[];
}

/** Prints the matrix if `npm run clients` asks for it. */
export function printMatrix(tried: readonly Tried[]): void {
  if (process.env['SMSTWIN_MATRIX'] === undefined) return;
  process.stdout.write(`${tried.map(rowOf).join('\n')}\n`);
}

function rowOf({ client, complaints }: Tried): string {
  const { name, rule = '', library } = client;
  const right = complaints.filter(({ length }) => length === 0).length;
  const expected = rule === '' ? 'passes' : 'found';
  const verdict = right === complaints.length ? expected : 'WRONG';
  const count = `${right}/${complaints.length}`;
  return `${name.padEnd(42)} ${rule.padEnd(10)} ${library.padEnd(12)} ${verdict.padEnd(7)} ${count}`;
}
