/** The kill matrix of the clients: a row for each, with how often its verdict was right. */
import type { ClientEntry } from './client.ts';

export interface Tried {
  readonly client: ClientEntry;
  /** For each seed, what is wrong with the verdicts; empty where nothing is. */
  readonly complaints: readonly (readonly string[])[];
}

export function rowOf({ client, complaints }: Tried): string {
  const { name, rule = '', library } = client;
  const right = complaints.filter((one) => one.length === 0).length;
  const verdict = right === complaints.length ? (rule === '' ? 'passes' : 'found') : 'WRONG';
  const count = `${right}/${complaints.length}`;
  return `${name.padEnd(42)} ${rule.padEnd(10)} ${library.padEnd(12)} ${verdict.padEnd(7)} ${count}`;
}

/** Prints the matrix where `npm run clients` asks for it. */
export function printMatrix(tried: readonly Tried[]): void {
  if (process.env['SMSTWIN_MATRIX'] === undefined) return;
  process.stdout.write(`${tried.map(rowOf).join('\n')}\n`);
}
