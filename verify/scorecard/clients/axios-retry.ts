import axios, { type AxiosError } from 'axios';
import axiosRetry, { exponentialDelay, isRetryableError } from 'axios-retry';
import type { Send, Service } from './client.ts';

export function byDefault({ url, headers }: Service): Send {
  const client = axios.create();
  axiosRetry(client);
  return async (message) => (await client.post(url, message, { headers })).data;
}

export function recommended({ url, headers }: Service): Send {
  const client = axios.create({ timeout: 20_000 });
  const isTimeout = ({ code }: AxiosError) => code === 'ECONNABORTED';
  axiosRetry(client, {
    retries: 4,
    retryCondition: (error) => isRetryableError(error) || isTimeout(error),
    retryDelay: (count, error) => exponentialDelay(count, error, 500),
    shouldResetTimeout: true,
  });
  return async (message) => (await client.post(url, message, { headers })).data;
}
