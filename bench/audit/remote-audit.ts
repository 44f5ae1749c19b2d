/**
 * Audits a running simulator: several accounts with two keys each send far more than their limit.
 * It counts the simulator's record of requests, read over the control port before it overflows.
 */
import type { Client } from '../../conformance/client.ts';
import { documentedLimitsPerMinute } from '../../src/sim/limits.ts';
import {
  boundedClient,
  ControlClient,
  type RemoteUser,
  unusedName,
} from '../servers/control-client.ts';
import { entryOf } from './own-audit.ts';
import type { AuditEntry } from './recount.ts';
import { type AuditRun, auditRun } from './recount.ts';

export interface RemoteAuditOptions {
  readonly durationMs: number;
  readonly to: string;
  readonly onProgress: (line: string) => void;
}

const users = 3;
/** The fewest sends that reach the limit. */
const fewest = 2 * users * (documentedLimitsPerMinute.send ?? 0);
/** Requests between two reads of a record that keeps a thousand. */
const batch = 200;
const pauseMs = 5;

export async function remoteAudit(
  baseUrl: URL,
  controlUrl: URL,
  options: RemoteAuditOptions,
): Promise<AuditRun> {
  const control = new ControlClient(controlUrl);
  const client = boundedClient(baseUrl);
  const { name, number } = unusedName();
  const made: RemoteUser[] = [];
  for (let n = 0; n < users; n++) {
    made.push(await control.createUser(`${name}-${n}`, `${number.slice(0, -1)}${n}`, 2));
  }
  try {
    const accounts = new Set(made.map(({ accountId }) => accountId));
    const entries: AuditEntry[] = [];
    const invalid: string[] = [];
    let lastRead = (await control.requests()).at(-1)?.number ?? 0;
    const untilMs = performance.now() + options.durationMs;
    let sent = 0;
    while (performance.now() < untilMs || sent < fewest) {
      await Promise.all(
        Array.from({ length: batch }, () => {
          const user = made[sent % users];
          const apiKey = user?.apiKeys[Math.floor(sent / users) % 2] ?? '';
          sent++;
          return send(client, apiKey, { to: options.to, from: user?.from, message: 'Audit.' });
        }),
      );
      for (const view of await control.requests()) {
        if (view.number <= lastRead) continue;
        if (view.number !== lastRead + 1) invalid.push(`the record lacks request ${lastRead + 1}`);
        lastRead = view.number;
        const entry = entryOf(view);
        if (entry !== undefined && accounts.has(entry.user)) entries.push(entry);
      }
      options.onProgress(`limit-audit: ${sent} requests`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    if (entries.length !== sent) {
      invalid.push(`${sent} requests were sent, but the record has ${entries.length}`);
    }
    if (entries.every(({ passed }) => passed))
      invalid.push('nothing was refused: no limit was reached');
    return auditRun(entries, documentedLimitsPerMinute, invalid);
  } finally {
    client.close();
    for (const user of made) await control.deleteUser(user);
  }
}

async function send(client: Client, apiKey: string, body: unknown): Promise<void> {
  await client.request({
    method: 'POST',
    path: '/api/v1/sms/send/',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
