/**
 * Unmodified HTTP clients that obey `Retry-After`, each by its own means: on `sim.fetch`, or over a
 * socket where the client takes no `fetch`.
 */
import axios, { type AxiosInstance, isAxiosError } from 'axios';
import got from 'got';
import ky from 'ky';
import { Agent, RetryAgent, request, fetch as undiciFetch } from 'undici';

export interface Service {
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  readonly key: string;
}
export interface Answer {
  readonly status: number;
  readonly body: string;
}
export type Send = (service: Service) => (body: object) => Promise<Answer>;

const path = '/api/v1/sms/send/';
const mostRetries = 20;
const statusCodes = [429];

function headersOf({ key }: Service): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

async function answerOf(reply: { status: number; text: () => Promise<string> }): Promise<Answer> {
  return { status: reply.status, body: await reply.text() };
}

/** Retries by hand what a client leaves to its user. */
async function patiently(ask: () => Promise<Answer & { wait: string | null }>): Promise<Answer> {
  for (;;) {
    const { wait, ...answer } = await ask();
    if (answer.status !== 429) return answer;
    await new Promise((resolve) => setTimeout(resolve, Number(wait) * 1_000));
  }
}

const kyOnFetch: Send = (service) => {
  const client = ky.create({
    fetch: service.fetch,
    prefixUrl: service.baseUrl,
    headers: headersOf(service),
    retry: { limit: mostRetries, methods: ['post'], statusCodes, afterStatusCodes: statusCodes },
  });
  return async (json) => answerOf(await client.post(path.slice(1), { json }));
};

const gotOverSocket: Send = (service) => {
  const client = got.extend({
    prefixUrl: service.baseUrl,
    headers: headersOf(service),
    retry: { limit: mostRetries, methods: ['POST'], statusCodes, maxRetryAfter: 120_000 },
    timeout: { request: 10_000 },
  });
  return async (json) => {
    const { statusCode: status, body } = await client.post(path.slice(1), { json });
    return { status, body };
  };
};

function patientAxios(client: AxiosInstance): (body: object) => Promise<Answer> {
  client.interceptors.response.use(undefined, async (error: unknown) => {
    if (!isAxiosError(error) || error.response?.status !== 429 || error.config === undefined) {
      throw error;
    }
    const seconds = Number(error.response.headers['retry-after']);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    return client.request(error.config);
  });
  return async (body) => {
    const { status, data } = await client.post(path, body);
    return { status, body: JSON.stringify(data) };
  };
}

const axiosOnFetch: Send = (service) =>
  patientAxios(
    axios.create({
      baseURL: service.baseUrl,
      headers: headersOf(service),
      timeout: 10_000,
      adapter: 'fetch',
      // The types of axios know no ArrayBufferView.
      env: { fetch: service.fetch, Request, Response: Response as never },
    }),
  );

const axiosOverSocket: Send = (service) =>
  patientAxios(
    axios.create({ baseURL: service.baseUrl, headers: headersOf(service), timeout: 10_000 }),
  );

const undiciOverSocket: Send = (service) => {
  const dispatcher = new RetryAgent(new Agent(), {
    maxRetries: mostRetries,
    methods: ['POST'],
    statusCodes,
    maxTimeout: 120_000,
  });
  return async (body) => {
    const reply = await request(`${service.baseUrl}${path}`, {
      dispatcher,
      method: 'POST',
      headers: headersOf(service),
      body: JSON.stringify(body),
    });
    return { status: reply.statusCode, body: await reply.body.text() };
  };
};

function fetching(choose: (service: Service) => typeof globalThis.fetch): Send {
  return (service) => (body) =>
    patiently(async () => {
      const reply = await choose(service)(`${service.baseUrl}${path}`, {
        method: 'POST',
        headers: headersOf(service),
        body: JSON.stringify(body),
      });
      return { ...(await answerOf(reply)), wait: reply.headers.get('retry-after') };
    });
}

export const inProcess: Readonly<Record<string, Send>> = {
  ky: kyOnFetch,
  axios: axiosOnFetch,
  fetch: fetching(({ fetch }) => fetch),
};

export const overSockets: Readonly<Record<string, Send>> = {
  got: gotOverSocket,
  axios: axiosOverSocket,
  undici: undiciOverSocket,
  'the fetch of undici': fetching(() => undiciFetch as unknown as typeof globalThis.fetch),
  "Node's fetch": fetching(() => fetch),
};
