/**
 * Audits the rate limit of sends on a running simulator: several accounts with two keys each send
 * far more than their limit. It counts the simulator's record of requests, read over the control
 * port before the record overflows.
 */
import type { Client } from '#conformance/target/client.ts';
import { documentedLimitsPerMinute } from '#contract/limits.ts';
import { type AuditRun, auditRun } from '#judging/limiter/recount.ts';
import {
  boundedClient,
  ControlClient,
  type RemoteUser,
  unusedName,
} from '../servers/control-client.ts';
import { RecordReader } from './record-reader.ts';

export interface RemoteAuditOptions {
  readonly durationMs: number;
  readonly to: string;
  readonly onProgress: (line: string) => void;
}

const userCount = 3;
const keysPerUser = 2;
/** Enough sends to exceed the limit of every user. */
const fewestSends = 2 * userCount * (documentedLimitsPerMinute.send ?? 0);
/** Requests between two reads of the record, which keeps a thousand. */
const batchSize = 200;
const pauseMs = 5;

export async function remoteAudit(
  baseUrl: URL,
  controlUrl: URL,
  options: RemoteAuditOptions,
): Promise<AuditRun> {
  const control = new ControlClient(controlUrl);
  const client = boundedClient(baseUrl);
  const { name, number } = unusedName();
  const users: RemoteUser[] = [];
  for (let n = 0; n < userCount; n++) {
    const ownNumber = `${number.slice(0, -1)}${n}`;
    users.push(await control.createUser(`${name}-${n}`, ownNumber, { keyCount: keysPerUser }));
  }
  try {
    const accounts = new Set(users.map(({ accountId }) => accountId));
    const record = new RecordReader();
    const read = async () => record.take(await control.requests(), (id) => accounts.has(id));
    // Earlier requests; none is of these accounts.
    await read();
    const untilMs = performance.now() + options.durationMs;
    let sent = 0;
    while (performance.now() < untilMs || sent < fewestSends) {
      await sendBatch(client, users, sent, options.to);
      sent += batchSize;
      await read();
      options.onProgress(`limit-audit: ${sent} requests`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    return auditRun(record.entries, documentedLimitsPerMinute, sent);
  } finally {
    client.close();
    for (const user of users) await control.deleteUser(user);
  }
}

/** Sends for each user and with each of its keys in turn. `sent`: how many requests came before. */
async function sendBatch(
  client: Client,
  users: readonly RemoteUser[],
  sent: number,
  to: string,
): Promise<void> {
  const sends = Array.from({ length: batchSize }, (_, index) => {
    const user = users[(sent + index) % userCount];
    const apiKey = user?.apiKeys[Math.floor((sent + index) / userCount) % keysPerUser] ?? '';
    return send(client, apiKey, { to, from: user?.from, message: 'Audit.' });
  });
  await Promise.all(sends);
}

async function send(client: Client, apiKey: string, body: unknown): Promise<void> {
  await client.request({
    method: 'POST',
    path: '/api/v1/sms/send/',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
