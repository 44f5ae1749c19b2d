import got from 'got';
import type { Send, Service } from './client.ts';

export function byDefault({ url, headers }: Service): Send {
  return (message) => got.post(url, { headers, json: message }).json();
}

export function recommended({ url, headers }: Service): Send {
  const client = got.extend({
    retry: { limit: 4, methods: ['POST'], maxRetryAfter: 120_000 },
    timeout: { request: 20_000 },
  });
  return (message) => client.post(url, { headers, json: message }).json();
}
