/** Code that clients on a library share: the connection to the service, and one send per message. */
import axios, { type AxiosInstance } from 'axios';
import got, { type RetryOptions as GotRetry } from 'got';
import ky, { type Options as KyOptions } from 'ky';
import { Agent, RetryAgent, type RetryHandler, request } from 'undici';
import { headersOf, type Job, type Message, sendPath, sleep } from '../client.ts';
import { isConfirmed, post } from './deliver.ts';

export type Send = (message: Message) => Promise<unknown>;
export type BodyOf = (message: Message) => object;

export function bodyOf({ intent, to, from, message }: Message) {
  return { to, from, message, request_id: `id-${intent}` };
}

export function withoutId({ to, from, message }: Message) {
  return { to, from, message };
}

/** Sends one message after the other, and reports each that the library throws at as failed. */
export function eachBy(sendOf: (job: Job) => Send): (job: Job) => Promise<void> {
  return async (job) => {
    const send = sendOf(job);
    for (const message of job.messages) {
      await send(message).then(
        () => job.report(message, undefined, 'accepted'),
        () => job.report(message, undefined, 'failed'),
      );
    }
  };
}

export function kyOn(job: Job, retry: KyOptions['retry'], body: BodyOf = bodyOf): Send {
  const client = ky.create({
    fetch: job.fetch,
    prefixUrl: job.baseUrl,
    headers: headersOf(job.key),
    timeout: false,
    retry: retry as object,
  });
  return (message) => client.post(sendPath.slice(1), { json: body(message) }).json();
}

export function gotOn(
  job: Job,
  retry: Partial<GotRetry>,
  body: BodyOf = bodyOf,
  timeoutMs = 200_000,
): Send {
  const client = got.extend({
    prefixUrl: job.baseUrl,
    headers: headersOf(job.key),
    retry,
    timeout: { request: timeoutMs },
  });
  return (message) => client.post(sendPath.slice(1), { json: body(message) }).json();
}

export function undiciOn(
  job: Job,
  options: RetryHandler.RetryOptions,
  body: BodyOf = bodyOf,
): Send {
  const dispatcher = new RetryAgent(new Agent(), options);
  return async (message) => {
    const reply = await request(`${job.baseUrl}${sendPath}`, {
      dispatcher,
      method: 'POST',
      headers: headersOf(job.key),
      body: JSON.stringify(body(message)),
    });
    return reply.body.json();
  };
}

export function axiosOn(
  job: Job,
  prepare: (client: AxiosInstance) => void,
  body: BodyOf = bodyOf,
): Send {
  const client = axios.create({
    baseURL: job.baseUrl,
    headers: headersOf(job.key),
    adapter: 'fetch',
    // The types of axios know no ArrayBufferView.
    env: { fetch: job.fetch, Request, Response: Response as never },
  });
  prepare(client);
  return (message) => client.post(sendPath, body(message));
}

/** The same, but comes back after what the library throws until it is confirmed. */
export function persistently(sendOf: (job: Job) => Send): (job: Job) => Promise<void> {
  return async (job) => {
    const send = sendOf(job);
    for (const message of job.messages) {
      while (!(await succeeds(send(message)))) await sleep(61_000 + job.random() * 10_000);
      job.report(message, bodyOf(message).request_id, 'accepted');
    }
  };
}

function succeeds(sending: Promise<unknown>): Promise<boolean> {
  return sending.then(
    () => true,
    () => false,
  );
}

/** A send for p-retry: throws where the message is not confirmed. */
export async function confirmed(job: Job, body: object): Promise<void> {
  const reply = await post(job, body);
  if (!isConfirmed(reply)) throw new Error('not confirmed');
}
