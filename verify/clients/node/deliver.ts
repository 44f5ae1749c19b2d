/**
 * A careful client on `fetch`, made of habits: which id and body it sends, how long it waits, and
 * what it reports. The clients that are written by hand are this one with some habits changed.
 */
import { parseJson } from '../../testkit/parse-json.ts';
import { headersOf, type Job, type Message, type Program, sendPath, sleep } from '../client.ts';

export interface Reply {
  readonly status: number;
  readonly retryAfter: string | null;
  /** Undefined for an error page that is not JSON. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

interface EveryHabit {
  readonly path: string;
  /** The `request_id` of an attempt, from 1; undefined sends none. */
  readonly idOf: (message: Message, attempt: number, job: Job) => string | undefined;
  /** Fields that the body has besides those of the message, or in their place. */
  readonly fieldsOf: (message: Message, attempt: number, job: Job) => object;
  /** Milliseconds until the next attempt; undefined gives the message up. */
  readonly waitOf: (reply: Reply | undefined, attempt: number, job: Job) => number | undefined;
  /** What it reports about the message when it stops; undefined if it reports nothing. */
  readonly reportOf: (reply: Reply | undefined) => 'accepted' | 'failed' | undefined;
}

/** The habits of a client that differ from the careful ones. */
export type Habits = Partial<EveryHabit>;

export const careful: EveryHabit = {
  path: sendPath,
  idOf: ({ intent }) => `id-${intent}`,
  fieldsOf: () => ({}),
  waitOf: (reply, attempt, { random }) => {
    if (reply?.status === 429) return retryAfterMs(reply) + random() * 2_000;
    if (reply === undefined || reply.status >= 500) return (15 + attempt * 5) * 1_000;
    return undefined;
  },
  reportOf: (reply) => (isConfirmed(reply) ? 'accepted' : 'failed'),
};

/** Reports nothing: the caller reports the outcome. */
export const silent: Habits = { reportOf: () => undefined };

/** The wait that `Retry-After` asks for: it holds seconds, or an HTTP date. */
export function retryAfterMs({ retryAfter }: Reply): number {
  const seconds = Number(retryAfter ?? 60);
  return Number.isNaN(seconds) ? Date.parse(String(retryAfter)) - Date.now() : seconds * 1_000;
}

/** Sends one message until it is confirmed, or given up. */
export async function deliver(
  job: Job,
  message: Message,
  habits: Habits = {},
): Promise<Reply | undefined> {
  const { idOf, fieldsOf, path, waitOf, reportOf } = { ...careful, ...habits };
  for (let attempt = 1; ; attempt++) {
    const request_id = idOf(message, attempt, job);
    const body = { ...bodyOf(message), request_id, ...fieldsOf(message, attempt, job) };
    const reply = await post(job, body, path);
    const waitMs = isConfirmed(reply) ? undefined : waitOf(reply, attempt, job);
    if (waitMs === undefined) {
      const reported = reportOf(reply);
      if (reported !== undefined) job.report(message, request_id, reported);
      return reply;
    }
    await sleep(waitMs);
  }
}

/** Reports that the message was accepted under its careful id. */
export function reportAccepted(job: Job, message: Message): void {
  job.report(message, bodyOf(message).request_id, 'accepted');
}

export function onFetch(run: Program['run']): Program {
  return { library: 'fetch', run };
}

/** A program that delivers one message after the other, with these habits. */
export function delivering(habits: Habits = {}): Program {
  return onFetch((job) => deliverAll(job, habits));
}

/** A program that does something for one message after the other. */
export function oneByOne(
  act: (job: Job, message: Message, index: number) => Promise<unknown>,
): Program {
  return onFetch(async (job) => {
    for (const [index, message] of job.messages.entries()) await act(job, message, index);
  });
}

/** Delivers one message after the other. */
export async function deliverAll(job: Job, habits: Habits = {}): Promise<void> {
  for (const message of job.messages) await deliver(job, message, habits);
}

export function bodyOf({ intent, to, from, message }: Message) {
  return { to, from, message, request_id: `id-${intent}` };
}

export function isConfirmed(reply: Reply | undefined): boolean {
  return reply?.status === 202 || reply?.status === 200;
}

/** Sends a body. Resolves to undefined if no whole reply came. */
export async function post(job: Job, body: object, path = sendPath): Promise<Reply | undefined> {
  return requestTo(job, path, { method: 'POST', body: JSON.stringify(body) });
}

export async function get(job: Job, path: string): Promise<Reply | undefined> {
  return requestTo(job, path, {});
}

async function requestTo(job: Job, path: string, init: RequestInit): Promise<Reply | undefined> {
  try {
    const reply = await job.fetch(`${job.baseUrl}${path}`, {
      headers: headersOf(job.key),
      ...init,
    });
    const json = parseJson(await reply.text()) as Reply['json'];
    // The body of a success must be whole; an error page need not be JSON.
    if (reply.ok && json === undefined) return undefined;
    return { status: reply.status, retryAfter: reply.headers.get('retry-after'), json };
  } catch {
    return undefined;
  }
}

/** The job with a `fetch` that closes the connection if no reply comes within two seconds. */
export function withTimeout(job: Job): Job {
  const fetch: Job['fetch'] = (input, init) => {
    const aborter = new AbortController();
    const timer = setTimeout(() => aborter.abort(), 2_000);
    return job.fetch(input, { ...init, signal: aborter.signal }).finally(() => clearTimeout(timer));
  };
  return { ...job, fetch };
}

export async function deliverForPath(job: Job, message: Message): Promise<string> {
  const reply = await deliver(job, message);
  return `/api/v1/sms/${String(reply?.json?.['message_id'])}/`;
}
