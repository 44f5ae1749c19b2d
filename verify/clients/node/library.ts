/**
 * Clients on HTTP libraries. The library sends and retries by its own options; the loop around it
 * decides what to do about the sends that the library gives up.
 */
import axios, { type AxiosInstance } from 'axios';
import got, { type RetryOptions as GotRetry } from 'got';
import ky, { type Options as KyOptions } from 'ky';
import pRetry, { type Options as PRetryOptions } from 'p-retry';
import { Agent, type Dispatcher, RetryAgent, type RetryHandler, request } from 'undici';
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

/** `open` makes what the library needs for a job, and returns how it sends a body. */
function byLibrary(
  library: string,
  { loop = sendingOnce, body = bodyOf }: Settings,
  open: (job: Job) => (body: object) => Promise<unknown>,
): Program {
  const run = loop((job) => {
    const send = open(job);
    return (message) => send(body(message, job));
  });
  return { library, run };
}

export function byKy(retry: KyOptions['retry'], settings: Settings = {}): Program {
  return byLibrary('ky', settings, ({ fetch, baseUrl: prefixUrl, key }) => {
    const headers = headersOf(key);
    const options = { fetch, prefixUrl, headers, timeout: false, retry: retry as object } as const;
    const client = ky.create(options);
    return (json) => client.post(sendPath.slice(1), { json }).json();
  });
}

export function byGot(retry: Partial<GotRetry>, settings: Settings = {}): Program {
  const timeout = { request: settings.timeoutMs ?? 200_000 };
  const program = byLibrary('got', settings, ({ baseUrl: prefixUrl, key }) => {
    const client = got.extend({ prefixUrl, headers: headersOf(key), retry, timeout });
    return (json) => client.post(sendPath.slice(1), { json }).json();
  });
  return { ...program, onSocket: true };
}

export function byUndici(options: RetryHandler.RetryOptions, settings: Settings = {}): Program {
  const program = byLibrary('undici', settings, (job) => {
    const dispatcher = new RetryAgent(new Agent(), options);
    return async (body) => (await requestBy(dispatcher, job, body)).body.json();
  });
  return { ...program, onSocket: true };
}

export function requestBy(dispatcher: Dispatcher, { baseUrl, key }: Job, body: object) {
  const init = { method: 'POST', headers: headersOf(key), body: JSON.stringify(body) } as const;
  return request(`${baseUrl}${sendPath}`, { dispatcher, ...init });
}

/** `prepare` adds axios-retry or an interceptor to the client. */
export function byAxios(
  prepare: (client: AxiosInstance, job: Job) => void,
  { onSocket = false, ...settings }: Settings & { onSocket?: boolean } = {},
): Program {
  const program = byLibrary('axios', settings, (job) => {
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
    return async (body) => (await client.post(sendPath, body)).data;
  });
  return { ...program, onSocket };
}

/** Builds the body of each attempt anew. */
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
