/**
 * The service's answers according to the journals, read as text, independent of the code that
 * writes them. A record starts at the first reset; earlier lines are the warm-up.
 */
import { readFileSync } from 'node:fs';
import type { Admitted } from './audit.ts';
import { limitedEndpoint } from './world.ts';

interface Line {
  readonly at: string;
  readonly operation?: string;
  readonly request?: { readonly path: string; readonly key_id?: string };
  readonly reply?: { readonly status: number };
}

/** The admitted requests. `accounts`: names by the ids of their keys. */
export function admittedIn(
  journals: readonly string[],
  accounts: ReadonlyMap<string, string>,
): Admitted[] {
  const admitted: Admitted[] = [];
  for (const journal of journals) {
    const lines = readFileSync(journal, 'utf8').trimEnd().split('\n').slice(1);
    let counts = false;
    for (const text of lines) {
      // A snapshot is a line of many megabytes without answers.
      if (text.includes('"operation":"snapshot.restore"')) continue;
      const line = JSON.parse(text) as Line;
      if (line.operation === 'reset') counts = true;
      else if (counts) admitted.push(...admittedBy(line, accounts));
    }
  }
  return admitted;
}

function admittedBy({ at, request, reply }: Line, accounts: ReadonlyMap<string, string>) {
  if (reply?.status !== 200 && reply?.status !== 202) return [];
  const account = accounts.get(request?.key_id ?? '');
  const endpoint = limitedEndpoint(request?.path ?? '');
  if (account === undefined || endpoint === undefined) return [];
  return [{ endpoint, account, atMs: Date.parse(at) }];
}
