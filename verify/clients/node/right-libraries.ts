/**
 * Clients that break no rule, on the libraries that Node programs use and on bare connections: the
 * referee must find nothing.
 */
import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import axiosRetry from 'axios-retry';
import { Client, Pool, request } from 'undici';
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
import { byAxios, byGot, byKy, byPRetry, byUndici, untilConfirmed } from './library.ts';

const loop = untilConfirmed;

export const rightLibraries: readonly NodeClient[] = right<Program>({
  'ky-retries-post': ['lets ky retry POST too', byKy({ limit: 3, methods: ['post'] }, { loop })],
  'got-retries-post': [
    'lets got retry POST too, and wait up to two minutes',
    byGot({ limit: 3, methods: ['POST'], maxRetryAfter: 120_000 }, { loop }),
  ],
  'got-times-out': [
    'lets got close the connection after three seconds, and start again a minute later',
    byGot({}, { loop, timeoutMs: 3_000 }),
  ],
  'axios-retry-by-header': [
    'lets axios-retry repeat 429 and 5xx by its exponentialDelay, which reads Retry-After',
    byAxios(
      (client) =>
        axiosRetry(client, {
          retryCondition: ({ response }) =>
            response === undefined || response.status === 429 || response.status >= 500,
          retryDelay: axiosRetry.exponentialDelay,
        }),
      { loop },
    ),
  ],
  'axios-interceptor-seconds': [
    'retries in an interceptor that counts Retry-After in seconds',
    byAxios(
      (client) => {
        client.interceptors.response.use(undefined, async (error) => {
          if (error.response?.status !== 429) throw error;
          await sleep(Number(error.response.headers['retry-after']) * 1_000);
          return client.request(error.config);
        });
      },
      { loop, library: 'axios' },
    ),
  ],
  'p-retry-waits-by-header': [
    'waits in onFailedAttempt for what Retry-After says',
    byPRetry(
      {
        retries: 3,
        minTimeout: 5_000,
        onFailedAttempt: ({ error }) => sleep(Number(error.cause) * 1_000),
      },
      { loop },
    ),
  ],
  'undici-with-longer-timeout': [
    'gives its RetryAgent a maxTimeout of two minutes, so that Retry-After counts',
    byUndici(
      { maxRetries: 3, methods: ['POST'], minTimeout: 5_000, maxTimeout: 120_000 },
      { loop },
    ),
  ],
  'pool-of-four': [
    'sends by four connections at once, and stops all of them at a 429',
    onDispatcher((url) => new Pool(url, { connections: 4 })),
  ],
  pipelines: [
    'writes four requests on one connection before it reads a reply',
    { ...onDispatcher((url) => new Client(url, { pipelining: 4 })), onNodeServer: true },
  ],
  'reads-late': [
    'keeps one connection, and leaves each reply unread for ten seconds',
    {
      library: 'node:http',
      onSocket: true,
      run: async (job) => {
        const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
        await inWaves(job, 1, (message) => byHttp(job, message, agent));
        agent.destroy();
      },
    },
  ],
  'http-1.0': [
    'speaks HTTP/1.0',
    {
      library: 'node:net',
      onSocket: true,
      onNodeServer: true,
      run: (job) => inWaves(job, 1, (message) => byHttp10(job, message)),
    },
  ],
});

interface Outcome {
  readonly status: number;
  readonly retryAfter: unknown;
}

/**
 * Sends `size` messages at a time until each is confirmed. After a wave that is not wholly
 * confirmed, waits for the longest `Retry-After` of its replies, and at least 15 s.
 */
async function inWaves(
  job: Job,
  size: number,
  send: (message: Message) => Promise<Outcome>,
): Promise<void> {
  let waiting = [...job.messages];
  while (waiting.length > 0) {
    const wave = waiting.slice(0, size);
    const outcomes = await Promise.all(
      wave.map((message) => send(message).catch(() => ({ status: 0, retryAfter: 15 }))),
    );
    const isSent = (index: number) => [200, 202].includes(outcomes[index]?.status ?? 0);
    for (const [index, message] of wave.entries()) {
      if (isSent(index)) reportAccepted(job, message);
    }
    waiting = [...wave.filter((_, index) => !isSent(index)), ...waiting.slice(size)];
    if (outcomes.every((_, index) => isSent(index))) continue;
    await sleep(Math.max(15, ...outcomes.map(({ retryAfter }) => Number(retryAfter ?? 0))) * 1_000);
  }
}

function onDispatcher(open: (url: string) => Client | Pool): Program {
  const send = async (dispatcher: Client | Pool, job: Job, message: Message) => {
    const { statusCode, headers, body } = await request(`${job.baseUrl}${sendPath}`, {
      dispatcher,
      method: 'POST',
      headers: headersOf(job.key),
      body: JSON.stringify(bodyOf(message)),
    });
    const reply = await body.text();
    if (statusCode < 300) JSON.parse(reply);
    return { status: statusCode, retryAfter: headers['retry-after'] };
  };
  const run: Program['run'] = async (job) => {
    const dispatcher = open(job.baseUrl);
    await inWaves(job, 4, (message) => send(dispatcher, job, message));
    await dispatcher.close();
  };
  return { library: 'undici', onSocket: true, run };
}

async function byHttp(job: Job, message: Message, agent: HttpAgent): Promise<Outcome> {
  const headers = headersOf(job.key);
  const outgoing = httpRequest(`${job.baseUrl}${sendPath}`, { agent, method: 'POST', headers });
  outgoing.end(JSON.stringify(bodyOf(message)));
  const [reply] = await once(outgoing, 'response');
  await sleep(10_000);
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
