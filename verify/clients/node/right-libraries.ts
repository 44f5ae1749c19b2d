/** Right clients on the libraries that Node programs use, and on bare connections. */
import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import axiosRetry from 'axios-retry';
import pRetry from 'p-retry';
import { Client, Pool, request } from 'undici';
import { headersOf, type Job, type Message, type NodeClient, sendPath, sleep } from '../client.ts';
import { isConfirmed, post } from './deliver.ts';
import { axiosOn, bodyOf, gotOn, kyOn, persistently, undiciOn } from './library.ts';

const methods = ['POST'] as const;
const onSocket = true;

export const rightLibraries: readonly NodeClient[] = [
  {
    name: 'ky-retries-post',
    library: 'ky',
    does: 'lets ky retry POST too',
    run: persistently((job) => kyOn(job, { limit: 3, methods: ['post'] })),
  },
  {
    name: 'ky-gives-up-early',
    library: 'ky',
    does: 'leaves ky as it comes, and starts again a minute later',
    run: persistently((job) => kyOn(job, {})),
  },
  {
    name: 'got-retries-post',
    library: 'got',
    does: 'lets got retry POST too, and wait up to two minutes',
    onSocket,
    run: persistently((job) =>
      gotOn(job, { limit: 3, methods: [...methods], maxRetryAfter: 120_000 }),
    ),
  },
  {
    name: 'got-times-out',
    library: 'got',
    does: 'lets got close the connection after three seconds, and start again a minute later',
    onSocket,
    run: persistently((job) => gotOn(job, {}, bodyOf, 3_000)),
  },
  {
    name: 'axios-retry-by-header',
    library: 'axios-retry',
    does: 'lets axios-retry repeat 429 and 5xx by its exponentialDelay, which reads Retry-After',
    run: persistently((job) =>
      axiosOn(job, (client) =>
        axiosRetry(client, {
          retryCondition: ({ response }) =>
            response === undefined || response.status === 429 || response.status >= 500,
          retryDelay: axiosRetry.exponentialDelay,
        }),
      ),
    ),
  },
  {
    name: 'axios-interceptor-seconds',
    library: 'axios',
    does: 'retries in an interceptor that counts Retry-After in seconds',
    run: persistently((job) =>
      axiosOn(job, (client) => {
        client.interceptors.response.use(undefined, async (error) => {
          if (error.response?.status !== 429) throw error;
          await sleep(Number(error.response.headers['retry-after']) * 1_000);
          return client.request(error.config);
        });
      }),
    ),
  },
  {
    name: 'p-retry-waits-by-header',
    library: 'p-retry',
    does: 'waits in onFailedAttempt for what Retry-After says',
    run: persistently(
      (job) => (message) =>
        pRetry(
          async () => {
            const reply = await post(job, bodyOf(message));
            if (isConfirmed(reply)) return;
            throw new Error('not confirmed', { cause: reply?.retryAfter ?? 15 });
          },
          {
            retries: 3,
            minTimeout: 5_000,
            onFailedAttempt: ({ error }) => sleep(Number(error.cause) * 1_000),
          },
        ),
    ),
  },
  {
    name: 'undici-with-longer-timeout',
    library: 'undici',
    does: 'gives its RetryAgent a maxTimeout of two minutes, so that Retry-After counts',
    onSocket,
    run: persistently((job) =>
      undiciOn(job, {
        maxRetries: 3,
        methods: [...methods],
        minTimeout: 5_000,
        maxTimeout: 120_000,
      }),
    ),
  },
  {
    name: 'pool-of-four',
    library: 'undici',
    does: 'sends by four connections at once, and stops all of them at a 429',
    onSocket,
    run: async (job) => {
      const pool = new Pool(job.baseUrl, { connections: 4 });
      await inWaves(job, 4, (message) => onDispatcher(pool, job, message));
      await pool.close();
    },
  },
  {
    name: 'pipelines',
    library: 'undici',
    does: 'writes four requests on one connection before it reads a reply',
    onSocket,
    onNodeServer: true,
    run: async (job) => {
      const client = new Client(job.baseUrl, { pipelining: 4 });
      await inWaves(job, 4, (message) => onDispatcher(client, job, message));
      await client.close();
    },
  },
  {
    name: 'closes-each-connection',
    library: 'node:http',
    does: 'opens a connection for each request, and closes it',
    onSocket,
    run: (job) => inWaves(job, 1, (message) => byHttp(job, message, new HttpAgent())),
  },
  {
    name: 'keeps-one-connection',
    library: 'node:http',
    does: 'keeps one connection for all its requests',
    onSocket,
    run: async (job) => {
      const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
      await inWaves(job, 1, (message) => byHttp(job, message, agent));
      agent.destroy();
    },
  },
  {
    name: 'reads-late',
    library: 'node:http',
    does: 'leaves each reply unread for ten seconds',
    onSocket,
    run: (job) => inWaves(job, 1, (message) => byHttp(job, message, new HttpAgent(), 10_000)),
  },
  {
    name: 'http-1.0',
    library: 'node:net',
    does: 'speaks HTTP/1.0',
    onSocket,
    onNodeServer: true,
    run: (job) => inWaves(job, 1, (message) => byHttp10(job, message)),
  },
];

interface Outcome {
  readonly status: number;
  readonly retryAfter: unknown;
}

/**
 * Sends a few at a time until each is confirmed; waits after each wave for the longest of its
 * waits, and for a quarter of a minute where a reply was lost.
 */
async function inWaves(
  job: Job,
  size: number,
  send: (message: Message) => Promise<Outcome>,
): Promise<void> {
  let left = [...job.messages];
  while (left.length > 0) {
    const wave = left.slice(0, size);
    const outcomes = await Promise.all(
      wave.map((message) => send(message).catch(() => ({ status: 0, retryAfter: 15 }))),
    );
    const isSent = (at: number) => [200, 202].includes(outcomes[at]?.status ?? 0);
    for (const [at, message] of wave.entries()) {
      if (isSent(at)) job.report(message, bodyOf(message).request_id, 'accepted');
    }
    left = [...wave.filter((_, at) => !isSent(at)), ...left.slice(size)];
    if (outcomes.every((_, at) => isSent(at))) continue;
    await sleep(Math.max(15, ...outcomes.map(({ retryAfter }) => Number(retryAfter ?? 0))) * 1_000);
  }
}

async function onDispatcher(dispatcher: Client | Pool, job: Job, message: Message) {
  const { statusCode, headers, body } = await request(`${job.baseUrl}${sendPath}`, {
    dispatcher,
    method: 'POST',
    headers: headersOf(job.key),
    body: JSON.stringify(bodyOf(message)),
  });
  const reply = await body.text();
  if (statusCode < 300) JSON.parse(reply);
  return { status: statusCode, retryAfter: headers['retry-after'] };
}

async function byHttp(job: Job, message: Message, agent: HttpAgent, waitMs = 0): Promise<Outcome> {
  const sending = httpRequest(`${job.baseUrl}${sendPath}`, {
    agent,
    method: 'POST',
    headers: headersOf(job.key),
  });
  sending.end(JSON.stringify(bodyOf(message)));
  const [reply] = await once(sending, 'response');
  if (waitMs > 0) await sleep(waitMs);
  const body = await text(reply);
  if (reply.statusCode < 300) JSON.parse(body);
  return { status: reply.statusCode, retryAfter: reply.headers['retry-after'] };
}

async function byHttp10(job: Job, message: Message): Promise<Outcome> {
  const socket = connect(Number(new URL(job.baseUrl).port), '127.0.0.1');
  const body = JSON.stringify(bodyOf(message));
  const headers = { ...headersOf(job.key), 'content-length': String(body.length) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${sendPath} HTTP/1.0\r\n${lines.join('')}\r\n${body}`);
  const reply = await text(socket);
  const [head = '', json = ''] = reply.split('\r\n\r\n');
  const status = Number(head.split(' ')[1]);
  if (status < 300) JSON.parse(json);
  return { status, retryAfter: /retry-after: (\d+)/i.exec(head)?.[1] };
}
