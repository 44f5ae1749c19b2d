/**
 * The requests that the service admitted, according to its journals. Reads them as text,
 * independent of the code that writes them. Skips the lines before the first reset, which are the
 * warm-up.
 */
import { readFileSync } from 'node:fs';
import { endpointOf } from '#judging/limiter/buckets.ts';
import type { AuditEntry } from '#judging/limiter/recount.ts';

interface Line {
  readonly at: string;
  readonly operation?: string;
  readonly request?: { readonly path: string; readonly key_id?: string };
  readonly reply?: { readonly status: number };
}

/** The requests answered 200 or 202. `accounts`: account names by key id. */
export function admittedIn(
  journals: readonly string[],
  accounts: ReadonlyMap<string, string>,
): AuditEntry[] {
  const admitted: AuditEntry[] = [];
  for (const journal of journals) {
    const lines = readFileSync(journal, 'utf8').trimEnd().split('\n').slice(1);
    let isWarm = false;
    for (const text of lines) {
      // A snapshot is a line of many megabytes without answers.
      if (text.includes('"operation":"snapshot.restore"')) continue;
      const line = JSON.parse(text) as Line;
      if (line.operation === 'reset') isWarm = true;
      else if (isWarm) admitted.push(...admittedBy(line, accounts));
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
