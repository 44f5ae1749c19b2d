/**
 * A careful client on `fetch`, in parts: what waits, what is retried, what is reported. The clients
 * that are written by hand are this one with one habit changed.
 */
import { headersOf, type Job, type Message, type Program, sendPath, sleep } from '../client.ts';

export interface Reply {
  readonly status: number;
  /** The text of `Retry-After`. */
  readonly retryAfter: string | null;
  readonly json: Readonly<Record<string, unknown>>;
  /** False for an error page that is not JSON. */
  readonly isWhole: boolean;
  /** A 503 `device_inactive`. */
  readonly isInactive: boolean;
}

export interface Habits {
  readonly path: string;
  /** The `request_id` of an attempt, from 1; undefined sends none. */
  readonly idOf: (message: Message, attempt: number, job: Job) => string | undefined;
  readonly bodyOf: (message: Message, requestId: string | undefined) => object;
  /** Milliseconds until the next attempt; undefined gives the message up. */
  readonly waitOf: (reply: Reply | undefined, attempt: number, job: Job) => number | undefined;
  /** What it tells its user; undefined tells nothing. */
  readonly reportOf: (reply: Reply | undefined) => 'accepted' | 'failed' | undefined;
}

export const careful: Habits = {
  path: sendPath,
  idOf: ({ intent }) => `id-${intent}`,
  bodyOf: ({ to, from, message }, requestId) => ({ to, from, message, request_id: requestId }),
  waitOf: (reply, attempt, { random }) => {
    if (reply?.status === 429) return askedMs(reply) + random() * 2_000;
    if (reply === undefined || reply.status >= 500) return (15 + attempt * 5) * 1_000;
    return undefined;
  },
  reportOf: (reply) => (isConfirmed(reply) ? 'accepted' : 'failed'),
};

/** The wait of `Retry-After`: seconds, or an HTTP date. */
export function askedMs({ retryAfter }: Reply): number {
  const seconds = Number(retryAfter ?? 60);
  return Number.isNaN(seconds) ? Date.parse(String(retryAfter)) - Date.now() : seconds * 1_000;
}

/** Careful, but for these habits. */
export function but(habits: Partial<Habits>): Habits {
  return { ...careful, ...habits };
}

/** Sends one message until it is confirmed, or given up. */
export async function deliver(
  job: Job,
  message: Message,
  habits = careful,
): Promise<Reply | undefined> {
  for (let attempt = 1; ; attempt++) {
    const id = habits.idOf(message, attempt, job);
    const reply = await post(job, habits.bodyOf(message, id), habits.path);
    const waitMs = isConfirmed(reply) ? undefined : habits.waitOf(reply, attempt, job);
    if (waitMs === undefined) {
      const reported = habits.reportOf(reply);
      if (reported !== undefined) job.report(message, id, reported);
      return reply;
    }
    await sleep(waitMs);
  }
}

/** A program on `fetch`. */
export function onFetch(run: Program['run']): Program {
  return { library: 'fetch', run };
}

/** Sends one message after the other, with these habits. */
export function sending(habits: Partial<Habits> = {}): Program {
  return onFetch((job) => inTurn(job, habits));
}

/** Does this for one message after the other. */
export function oneByOne(
  act: (job: Job, message: Message, at: number) => Promise<unknown>,
): Program {
  return onFetch(async (job) => {
    for (const [at, message] of job.messages.entries()) await act(job, message, at);
  });
}

export async function inTurn(job: Job, habits: Partial<Habits> = {}): Promise<void> {
  for (const message of job.messages) await deliver(job, message, but(habits));
}

export function bodyOf({ intent, to, from, message }: Message) {
  return { to, from, message, request_id: `id-${intent}` };
}

export function isConfirmed(reply: Reply | undefined): boolean {
  return reply?.status === 202 || reply?.status === 200;
}

/** Undefined where no whole reply came. */
export async function post(job: Job, body: object, path = sendPath): Promise<Reply | undefined> {
  return ask(job, path, { method: 'POST', body: JSON.stringify(body) });
}

export async function get(job: Job, path: string): Promise<Reply | undefined> {
  return ask(job, path, {});
}

async function ask(job: Job, path: string, init: RequestInit): Promise<Reply | undefined> {
  try {
    const reply = await job.fetch(`${job.baseUrl}${path}`, {
      headers: headersOf(job.key),
      ...init,
    });
    const retryAfter = reply.headers.get('retry-after');
    const text = await reply.text();
    // A reply that says that all went well must be whole; an error page need not be JSON.
    const json = reply.ok ? JSON.parse(text) : {};
    const isInactive = text.includes('device_inactive');
    return { status: reply.status, retryAfter, json, isWhole: isJson(text), isInactive };
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A client that closes the connection when no reply has come in time. */
export function impatient(job: Job, timeoutMs: number): Job {
  const fetch: Job['fetch'] = (input, init) => {
    const aborter = new AbortController();
    const timer = setTimeout(() => aborter.abort(), timeoutMs);
    return job.fetch(input, { ...init, signal: aborter.signal }).finally(() => clearTimeout(timer));
  };
  return { ...job, fetch };
}

/** Sends, and returns the path under which the message is read. */
export async function sent(job: Job, message: Message): Promise<string> {
  const reply = await deliver(job, message);
  return `/api/v1/sms/${String(reply?.json['message_id'])}/`;
}

/** The same text for all messages. */
export function equal(message: Message): Message {
  return { ...message, message: 'Your order is on its way' };
}
