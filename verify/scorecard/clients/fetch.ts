import type { Send, Service } from './client.ts';

export function byDefault({ url, headers }: Service): Send {
  return async (message) => {
    const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
    if (!reply.ok) throw new Error(reply.statusText);
    return reply.json();
  };
}
