import { setTimeout as sleep } from 'node:timers/promises';
import pRetry, { AbortError } from 'p-retry';
import type { Send, Service } from './client.ts';

export function byDefault({ url, headers }: Service): Send {
  const post = async (message: object) => {
    const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
    if (!reply.ok) throw new Error(reply.statusText);
    return reply.json();
  };
  return (message) => pRetry(() => post(message));
}

export function recommended({ url, headers }: Service): Send {
  const post = async (message: object) => {
    const body = JSON.stringify(message);
    const signal = AbortSignal.timeout(20_000);
    const reply = await fetch(url, { method: 'POST', headers, body, signal });
    if (reply.ok) return reply.json();
    if (reply.status < 500 && reply.status !== 429) throw new AbortError(reply.statusText);
    throw new Error(reply.statusText, { cause: reply.headers.get('retry-after') });
  };
  return (message) =>
    pRetry(() => post(message), {
      retries: 4,
      randomize: true,
      onFailedAttempt: ({ error }) => sleep(Number(error.cause ?? 0) * 1_000),
    });
}
