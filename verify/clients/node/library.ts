/**
 * Clients on HTTP libraries. The library sends and retries by its own options; the loop around it
 * decides what to do about the sends that the library gives up.
 */
import axios, { type AxiosInstance } from 'axios';
import got, { type RetryOptions as GotRetry } from 'got';
import ky, { type Options as KyOptions } from 'ky';
import pRetry, { type Options as PRetryOptions } from 'p-retry';
import { Agent, RetryAgent, type RetryHandler, request } from 'undici';
import { headersOf, type Job, type Message, type Program, sendPath, sleep } from '../client.ts';
import { bodyOf, isConfirmed, post, reportAccepted } from './deliver.ts';

/** Sends by a library. Resolves with the parsed reply; rejects if the library gives up. */
export type LibrarySend = (message: Message) => Promise<unknown>;
/** Makes a program that sends each message of its job by a library. */
export type Loop = (sendOf: (job: Job) => LibrarySend) => Program['run'];

/** What differs between programs on one library. */
interface Settings {
  readonly loop?: Loop;
  readonly body?: (message: Message, job: Job) => object;
  readonly timeoutMs?: number;
}

/** Sends one message after the other, and reports each that the library gives up as failed. */
const sendingOnce: Loop = (sendOf) => async (job) => {
  const send = sendOf(job);
  for (const message of job.messages) {
    const isSent = await succeeds(send(message));
    job.report(message, undefined, isSent ? 'accepted' : 'failed');
  }
};

/** Repeats a send that the library gives up a minute later, until it is confirmed. */
export const untilConfirmed: Loop = (sendOf) => async (job) => {
  const send = sendOf(job);
  for (const message of job.messages) {
    while (!(await succeeds(send(message)))) await sleep(61_000 + job.random() * 10_000);
    reportAccepted(job, message);
  }
};

function succeeds(send: Promise<unknown>): Promise<boolean> {
  return send.then(
    () => true,
    () => false,
  );
}

export function byKy(
  retry: KyOptions['retry'],
  { loop = sendingOnce, body = bodyOf }: Settings = {},
): Program {
  const run = loop((job) => {
    const client = ky.create({
      fetch: job.fetch,
      prefixUrl: job.baseUrl,
      headers: headersOf(job.key),
      timeout: false,
      retry: retry as object,
    });
    return (message) => client.post(sendPath.slice(1), { json: body(message, job) }).json();
  });
  return { library: 'ky', run };
}

export function byGot(
  retry: Partial<GotRetry>,
  { loop = sendingOnce, body = bodyOf, timeoutMs = 200_000 }: Settings = {},
): Program {
  const run = loop((job) => {
    const client = got.extend({
      prefixUrl: job.baseUrl,
      headers: headersOf(job.key),
      retry,
      timeout: { request: timeoutMs },
    });
    return (message) => client.post(sendPath.slice(1), { json: body(message, job) }).json();
  });
  return { library: 'got', onSocket: true, run };
}

export function byUndici(
  options: RetryHandler.RetryOptions,
  { loop = sendingOnce, body = bodyOf }: Settings = {},
): Program {
  const run = loop((job) => {
    const dispatcher = new RetryAgent(new Agent(), options);
    return async (message) => {
      const reply = await request(`${job.baseUrl}${sendPath}`, {
        dispatcher,
        method: 'POST',
        headers: headersOf(job.key),
        body: JSON.stringify(body(message, job)),
      });
      return reply.body.json();
    };
  });
  return { library: 'undici', onSocket: true, run };
}

/** `prepare` adds axios-retry or an interceptor to the client. */
export function byAxios(
  prepare: (client: AxiosInstance, job: Job) => void,
  { loop = sendingOnce, body = bodyOf, onSocket = false }: Settings & { onSocket?: boolean } = {},
): Program {
  const run = loop((job) => {
    const client = axios.create({
      baseURL: job.baseUrl,
      headers: headersOf(job.key),
      // Cast, because the types of axios lack ArrayBufferView.
      ...(!onSocket && {
        adapter: 'fetch',
        env: { fetch: job.fetch, Request, Response: Response as never },
      }),
    });
    prepare(client, job);
    return async (message) => (await client.post(sendPath, body(message, job))).data;
  });
  return { library: 'axios', onSocket, run };
}

export function byPRetry(
  options: PRetryOptions,
  { loop = sendingOnce, body = bodyOf }: Settings = {},
): Program {
  const run = loop(
    (job) => (message) => pRetry(() => postOrThrow(job, body(message, job)), options),
  );
  return { library: 'p-retry', run };
}

/** Throws if the message is not confirmed; the cause of the error is the text of `Retry-After`. */
async function postOrThrow(job: Job, body: object): Promise<unknown> {
  const reply = await post(job, body);
  if (isConfirmed(reply)) return reply?.json;
  throw new Error('not confirmed', { cause: reply?.retryAfter ?? 15 });
}
