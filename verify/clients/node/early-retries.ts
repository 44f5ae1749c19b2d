/** Clients that come back too early after a 429, or go on with other work meanwhile. */
import axiosRetry from 'axios-retry';
import pRetry from 'p-retry';
import { type Job, type NodeClient, sleep } from '../client.ts';
import { careful, deliver, get, inTurn, post, type Reply } from './deliver.ts';
import { axiosOn, bodyOf, confirmed, eachBy, gotOn, kyOn, undiciOn } from './library.ts';

/** Careful after all but a 429, of which it gives up the fifth. */
function after429(waitOf: (retryAfter: string, attempt: number, job: Job) => number) {
  return inTurn({
    waitOf: (reply, attempt, job) => {
      if (reply?.status !== 429) return careful.waitOf(reply, attempt, job);
      return attempt < 5 ? waitOf(reply.retryAfter ?? '', attempt, job) : undefined;
    },
  });
}

const meets = ['throttle'] as const;
const early = { rule: 'CLIENT-1', also: ['CLIENT-2', 'CLIENT-14'], meets } as const;
const meanwhile = { rule: 'CLIENT-2', meets } as const;
const statusCodes = [429];
const post429 = { limit: 4, methods: ['POST' as const], statusCodes };
const undici429 = { maxRetries: 4, methods: ['POST' as const], statusCodes };

export const earlyRetries: readonly NodeClient[] = [
  {
    ...early,
    name: 'retries-at-once',
    library: 'fetch',
    does: 'retries a 429 at once',
    run: after429(() => 0),
  },
  {
    ...early,
    name: 'retry-after-as-milliseconds',
    library: 'fetch',
    does: 'hands Retry-After to setTimeout as it is',
    run: after429((text) => Number(text)),
  },
  {
    ...early,
    name: 'retry-after-as-date',
    library: 'fetch',
    does: 'reads Retry-After as an HTTP date alone',
    run: after429((text) => Math.max(0, Date.parse(text) - Date.now())),
  },
  {
    ...early,
    name: 'back-off-of-its-own',
    library: 'fetch',
    does: 'backs off by 1, 2, 4, ... seconds and never reads Retry-After',
    run: after429((_, attempt) => 1_000 * 2 ** (attempt - 1)),
  },
  {
    ...early,
    name: 'longest-wait-of-30-seconds',
    library: 'fetch',
    does: 'waits as long as Retry-After says, but never more than 30 s',
    run: after429((text) => Math.min(30, Number(text)) * 1_000),
  },
  {
    ...early,
    name: 'jitter-below',
    library: 'fetch',
    does: 'takes up to a fifth off Retry-After, to spread its retries',
    run: after429((text, _, { random }) => Number(text) * 1_000 * (0.8 + random() * 0.19)),
  },
  {
    ...early,
    name: 'first-digit',
    library: 'fetch',
    does: 'reads the first digit of Retry-After',
    run: after429((text) => Number(/\d/.exec(text)?.[0]) * 1_000),
  },
  {
    ...early,
    name: 'redelivered-to-another-worker',
    library: 'fetch',
    does: 'puts the job back in the queue, from which another worker takes it 10 s later',
    run: after429(() => 10_000),
  },
  {
    ...early,
    name: 'received-retried-early',
    library: 'fetch',
    does: 'asks again for received messages 5 s after a 429',
    run: async (job) => {
      job.simulator.limits.patch({ received: 1 });
      await get(job, '/api/v1/sms/received/');
      await sleep(20_000);
      for (let attempt = 1; attempt <= 3; attempt++) {
        await get(job, '/api/v1/sms/received/');
        await sleep(5_000);
      }
    },
    also: ['CLIENT-13'],
  },
  {
    ...early,
    name: 'p-retry-defaults',
    library: 'p-retry',
    does: 'retries by the pauses that p-retry comes with',
    run: eachBy(
      (job) => (message) => pRetry(() => confirmed(job, bodyOf(message)), { retries: 4 }),
    ),
  },
  {
    ...early,
    name: 'ky-without-after-status-codes',
    library: 'ky',
    does: 'retries POST, with afterStatusCodes emptied',
    run: eachBy((job) => kyOn(job, { ...post429, afterStatusCodes: [] })),
  },
  {
    ...early,
    name: 'ky-max-retry-after',
    library: 'ky',
    does: 'sets maxRetryAfter to 10 s, at which ky retries all the same',
    run: eachBy((job) => kyOn(job, { ...post429, maxRetryAfter: 10_000 })),
  },
  {
    ...early,
    name: 'got-calculate-delay',
    library: 'got',
    does: 'replaces the pauses of got by calculateDelay',
    onSocket: true,
    run: eachBy((job) =>
      gotOn(job, {
        limit: 4,
        methods: ['POST'],
        statusCodes,
        calculateDelay: ({ attemptCount }) => (attemptCount > 4 ? 0 : attemptCount * 2_000),
      }),
    ),
  },
  {
    ...early,
    name: 'undici-longest-timeout',
    library: 'undici',
    does: 'retries POST by a RetryAgent, whose maxTimeout of 30 s cuts Retry-After short',
    onSocket: true,
    run: eachBy((job) => undiciOn(job, undici429)),
  },
  {
    ...early,
    name: 'undici-without-retry-after',
    library: 'undici',
    does: 'retries POST by a RetryAgent with retryAfter: false',
    onSocket: true,
    run: eachBy((job) => undiciOn(job, { ...undici429, retryAfter: false })),
  },
  {
    ...early,
    name: 'axios-retry-linear',
    library: 'axios-retry',
    does: 'gives axios-retry a retryDelay of its own',
    run: eachBy((job) =>
      axiosOn(job, (client) =>
        axiosRetry(client, {
          retries: 4,
          retryCondition: ({ response }) => response?.status === 429,
          retryDelay: (count) => count * 1_000,
        }),
      ),
    ),
  },
  {
    ...early,
    name: 'axios-interceptor-milliseconds',
    library: 'axios',
    does: 'retries in an interceptor that takes Retry-After for milliseconds',
    run: eachBy((job) =>
      axiosOn(job, (client) => {
        let left = 3;
        client.interceptors.response.use(undefined, async (error) => {
          if (error.response?.status !== 429 || left-- <= 0) throw error;
          await sleep(Number(error.response.headers['retry-after']));
          return client.request(error.config);
        });
      }),
    ),
  },
  {
    ...meanwhile,
    name: 'bulk-goes-on',
    library: 'fetch',
    does: 'goes on with its list during a 429, and comes back to what was refused',
    run: async (job) => {
      const refused: { message: (typeof job.messages)[number]; untilMs: number }[] = [];
      for (const message of job.messages) {
        const reply = await post(job, bodyOf(message));
        if (reply?.status === 429) refused.push({ message, untilMs: allowedAt(reply) });
        else job.report(message, bodyOf(message).request_id, 'accepted');
        await sleep(2_000);
      }
      for (const { message, untilMs } of refused) {
        await sleep(Math.max(0, untilMs - Date.now()));
        await deliver(job, message);
      }
    },
  },
  {
    ...meanwhile,
    name: 'workers-wait-each-for-themselves',
    library: 'ky',
    does: 'sends by three workers, of which only the one that met the 429 waits',
    run: async (job) => {
      const send = kyOn(job, { ...post429, limit: 10 });
      const queue = [...job.messages, ...job.messages.map(again)];
      const work = async (pauseMs: number) => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
          await send(next);
          job.report(next, bodyOf(next).request_id, 'accepted');
          await sleep(pauseMs);
        }
      };
      await Promise.all([work(1_700), work(2_900), work(4_300)]);
    },
  },
  {
    ...meanwhile,
    name: 'two-processes-on-one-key',
    library: 'got',
    does: 'runs twice with one key, and neither knows of the other’s 429',
    onSocket: true,
    run: async (job) => {
      const send = gotOn(job, { ...post429, limit: 10, maxRetryAfter: 120_000 });
      const process = async (messages: Job['messages'], pauseMs: number) => {
        for (const message of messages) {
          await send(message);
          job.report(message, bodyOf(message).request_id, 'accepted');
          await sleep(pauseMs * (1 + job.random()));
        }
      };
      const twice = [...job.messages, ...job.messages.map(again)];
      await Promise.all([process(twice, 1_300), process(twice.map(third), 2_900)]);
    },
  },
  {
    ...meanwhile,
    name: 'walks-pages-through-a-429',
    library: 'fetch',
    does: 'asks for the next page of received messages while a 429 holds',
    run: async (job) => {
      job.simulator.limits.patch({ received: 2 });
      for (let page = 1; page <= 4; page++) {
        await get(job, `/api/v1/sms/received/?page=${page}`);
        await sleep(3_000);
      }
    },
  },
  {
    ...meanwhile,
    name: 'other-key-of-the-account',
    library: 'fetch',
    does: 'answers a 429 with the next key of the account, which shares its limit',
    run: async (job) => {
      const second = job.simulator.accounts.createKey('acme', { name: 'spare' });
      const spare = { ...job, key: second.key };
      let refusedUntilMs = 0;
      for (const message of job.messages) {
        const { status, retryAfter } = (await post(job, bodyOf(message))) ?? {};
        if (status === 429) {
          refusedUntilMs = Date.now() + Number(retryAfter) * 1_000;
          await sleep(2_000);
          await post(spare, bodyOf(again(message)));
          await sleep(Math.max(0, refusedUntilMs - Date.now()) + 60_000);
          await deliver(job, message);
          await deliver(job, again(message));
        } else job.report(message, bodyOf(message).request_id, 'accepted');
      }
    },
  },
];

/** Another message to the same recipient. */
function again<T extends { intent: string; message: string }>(message: T): T {
  return { ...message, intent: `${message.intent}-b`, message: `${message.message} again` };
}

function third<T extends { intent: string; message: string }>(message: T): T {
  return { ...message, intent: `${message.intent}-c`, message: `${message.message}, too` };
}

function allowedAt({ retryAfter }: Reply): number {
  return Date.now() + Number(retryAfter) * 1_000;
}
