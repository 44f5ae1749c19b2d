/**
 * The service's answers according to the journals, read as text, independent of the code that
 * writes them. A record starts at the first reset; earlier lines are the warm-up.
 */
import { readFileSync } from 'node:fs';
import type { AuditEntry } from '../../bench/audit/recount.ts';
import { endpointOf } from '../../conformance/buckets.ts';

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
): AuditEntry[] {
  const admitted: AuditEntry[] = [];
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
  const user = accounts.get(request?.key_id ?? '');
  const endpoint = endpointOf(request?.path ?? '');
  if (user === undefined || endpoint === undefined) return [];
  return [{ endpoint, user, atMs: Date.parse(at), passed: true }];
}
