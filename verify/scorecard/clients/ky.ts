import ky from 'ky';
import type { Send, Service } from './client.ts';

export function byDefault({ url, headers }: Service): Send {
  return (message) => ky.post(url, { headers, json: message }).json();
}

export function recommended({ url, headers }: Service): Send {
  const client = ky.create({
    timeout: 20_000,
    retry: {
      limit: 4,
      methods: ['post'],
      maxRetryAfter: 120_000,
      retryOnTimeout: true,
      jitter: true,
    },
  });
  return (message) => client.post(url, { headers, json: message }).json();
}
