/**
 * Clients that break no rule, on the libraries that Node programs use and on bare connections: the
 * referee must find nothing.
 */
import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import axiosRetry from 'axios-retry';
import { Client, type Dispatcher, Pool } from 'undici';
import {
  headersOf,
  type Job,
  type Message,
  type NodeClient,
  type Program,
  right,
  sendPath,
  sleep,
} from '../client.ts';
import { bodyOf, reportAccepted } from './deliver.ts';
import { byAxios, byGot, byKy, byPRetry, byUndici, requestBy, untilConfirmed } from './library.ts';

const loop = untilConfirmed;

export const rightLibraries: readonly NodeClient[] = right({
  'lets ky retry POST too': byKy({ limit: 3, methods: ['post'] }, { loop }),
  'lets got retry POST too, and wait up to two minutes': byGot(
    { limit: 3, methods: ['POST'], maxRetryAfter: 120_000 },
    { loop },
  ),
  'lets got close the connection after three seconds': byGot({}, { loop, timeoutMs: 3_000 }),
  'lets axios-retry read Retry-After in its exponentialDelay': byAxios(
    (client) =>
      axiosRetry(client, {
        retryCondition: ({ response }) =>
          response === undefined || response.status === 429 || response.status >= 500,
        retryDelay: axiosRetry.exponentialDelay,
      }),
    { loop },
  ),
  'waits in onFailedAttempt of p-retry for what Retry-After says': byPRetry(
    {
      retries: 3,
      minTimeout: 5_000,
      onFailedAttempt: ({ error }) => sleep(Number(error.cause) * 1_000),
    },
    { loop },
  ),
  'gives the RetryAgent of undici a maxTimeout of two minutes': byUndici(
    { maxRetries: 3, methods: ['POST'], minTimeout: 5_000, maxTimeout: 120_000 },
    { loop },
  ),
  'sends by four connections at once, and stops all of them at a 429': sendingInWaves(
    'undici',
    4,
    (url) => undiciSend(new Pool(url, { connections: 4 })),
  ),
  'writes four requests on one connection before it reads a reply': {
    ...sendingInWaves('undici', 4, (url) => undiciSend(new Client(url, { pipelining: 4 }))),
    onNodeServer: true,
  },
  'keeps one connection, and leaves each reply unread for ten seconds': sendingInWaves(
    'node:http',
    1,
    () => lateSend(new HttpAgent({ keepAlive: true, maxSockets: 1 })),
  ),
});

interface Outcome {
  readonly status: number;
  readonly retryAfter: unknown;
  readonly text: string;
}

/** Sends messages on open connections, which `close` ends. */
interface Sender {
  readonly send: (job: Job, message: Message) => Promise<Outcome>;
  readonly close: () => unknown;
}

/**
 * Sends `size` messages at a time until each is confirmed. After a wave that is not wholly
 * confirmed, waits for the longest `Retry-After` of its replies, and at least 15 s.
 */
function sendingInWaves(library: string, size: number, open: (url: string) => Sender): Program {
  const run = async (job: Job) => {
    const { send, close } = open(job.baseUrl);
    let waiting = [...job.messages];
    while (waiting.length > 0) {
      const wave = waiting.slice(0, size);
      const waits = await Promise.all(wave.map((message) => waitAfter(send(job, message))));
      const confirmed = wave.filter((_, index) => waits[index] === 0);
      for (const message of confirmed) reportAccepted(job, message);
      waiting = waiting.filter((message) => !confirmed.includes(message));
      await sleep(Math.max(...waits) * 1_000);
    }
    await close();
  };
  return { library, onSocket: true, run };
}

/** Seconds to wait after the send; 0 if it was confirmed. */
async function waitAfter(sending: Promise<Outcome>): Promise<number> {
  try {
    const { status, retryAfter, text: json } = await sending;
    if (status >= 300) return Math.max(15, Number(retryAfter ?? 0));
    JSON.parse(json);
    return 0;
  } catch {
    return 15;
  }
}

function undiciSend(dispatcher: Dispatcher): Sender {
  const send = async (job: Job, message: Message) => {
    const { statusCode, headers, body } = await requestBy(dispatcher, job, bodyOf(message));
    return { status: statusCode, retryAfter: headers['retry-after'], text: await body.text() };
  };
  return { send, close: () => dispatcher.close() };
}

/** Sends by Node's own client, and reads a reply ten seconds after its head. */
function lateSend(agent: HttpAgent): Sender {
  const send = async (job: Job, message: Message) => {
    const headers = headersOf(job.key);
    const outgoing = httpRequest(`${job.baseUrl}${sendPath}`, { agent, method: 'POST', headers });
    outgoing.end(JSON.stringify(bodyOf(message)));
    const [reply] = await once(outgoing, 'response');
    await sleep(10_000);
    const retryAfter = reply.headers['retry-after'];
    return { status: reply.statusCode, retryAfter, text: await text(reply) };
  };
  return { send, close: () => agent.destroy() };
}
