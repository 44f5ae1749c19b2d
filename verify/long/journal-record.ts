/**
 * The service's answers according to the journals, read as text, independent of the code that
 * writes them. A record starts at the first reset; earlier lines are the warm-up.
 */
import { readFileSync } from 'node:fs';
import type { Admitted, AnsweredSend } from './audit.ts';
import { limitedEndpoint, sendPaths } from './world.ts';

interface Line {
  readonly at: string;
  readonly operation?: string;
  readonly request?: { readonly path: string; readonly key_id?: string; readonly body?: string };
  readonly reply?: { readonly status: number; readonly body: string };
}

export interface JournalRecord {
  readonly admitted: Admitted[];
  readonly answered: AnsweredSend[];
}

/** `accounts`: names by the ids of their keys. */
export function recordOf(
  journals: readonly string[],
  accounts: ReadonlyMap<string, string>,
): JournalRecord {
  const record: JournalRecord = { admitted: [], answered: [] };
  for (const journal of journals) {
    const lines = readFileSync(journal, 'utf8').trimEnd().split('\n').slice(1);
    let counts = false;
    for (const text of lines) {
      // A snapshot is a line of many megabytes without answers.
      if (text.includes('"operation":"snapshot.restore"')) continue;
      const line = JSON.parse(text) as Line;
      if (line.operation === 'reset') counts = true;
      else if (counts) note(line, accounts, record);
    }
  }
  return record;
}

function note(
  { at, request, reply }: Line,
  accounts: ReadonlyMap<string, string>,
  to: JournalRecord,
) {
  if (request === undefined || reply === undefined) return;
  if (reply.status !== 200 && reply.status !== 202) return;
  const account = accounts.get(request.key_id ?? '');
  const endpoint = limitedEndpoint(request.path);
  if (account === undefined || endpoint === undefined) return;
  const atMs = Date.parse(at);
  to.admitted.push({ endpoint, account, atMs });
  const requestId = endpoint in sendPaths ? requestIdOf(request.body) : '';
  if (requestId === '') return;
  const { status } = reply;
  to.answered.push({ account, requestId, atMs, status, body: wholeBody(reply.body) });
}

function requestIdOf(body = ''): string {
  return (JSON.parse(body) as { readonly request_id?: string }).request_id ?? '';
}

/** The fault `malformed` leaves only half of it. */
function wholeBody(body: string): string | undefined {
  return body.endsWith('}') ? body : undefined;
}
