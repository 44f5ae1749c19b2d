/** Clients that lose, change, leave out or share a `request_id`. */
import axiosRetry from 'axios-retry';
import pRetry from 'p-retry';
import { type Job, type NodeClient, sleep } from '../client.ts';
import { but, deliver, impatient, inTurn, isConfirmed, post } from './deliver.ts';
import { axiosOn, bodyOf, confirmed, eachBy, gotOn, kyOn, undiciOn, withoutId } from './library.ts';

const hourMs = 3_600_000;
const lost = ['lost_response'] as const;
const throttled = ['throttle'] as const;
const changes = { rule: 'CLIENT-3', also: ['CLIENT-5'] } as const;
const leavesOut = { rule: 'CLIENT-4' } as const;
const twice = { rule: 'CLIENT-5', also: ['CLIENT-4'], meets: lost } as const;
const shares = { rule: 'CLIENT-6', also: ['CLIENT-10'] } as const;
const tooOld = { rule: 'CLIENT-7', also: ['CLIENT-5'], meets: lost } as const;

function drawnId({ random }: Job): string {
  return Math.floor(random() * 2 ** 48).toString(16);
}

export const identity: readonly NodeClient[] = [
  {
    ...changes,
    name: 'new-id-after-a-429',
    library: 'fetch',
    does: 'draws a request_id for each attempt, and meets 429s',
    meets: throttled,
    run: inTurn({ idOf: (_, __, job) => drawnId(job) }),
  },
  {
    ...changes,
    name: 'new-id-after-a-lost-reply',
    library: 'fetch',
    does: 'draws a request_id for each attempt, and loses replies',
    meets: lost,
    run: inTurn({ idOf: (_, __, job) => drawnId(job) }),
  },
  {
    ...changes,
    name: 'id-with-the-attempt',
    library: 'fetch',
    does: 'appends the number of the attempt to its request_id',
    meets: ['busy'],
    run: inTurn({ idOf: ({ intent }, attempt) => `${intent}-${attempt}` }),
  },
  {
    ...changes,
    name: 'id-with-the-time',
    library: 'fetch',
    does: 'makes its request_id from the order and the present time',
    meets: ['truncate'],
    run: inTurn({ idOf: ({ intent }) => `${intent}-${Date.now()}` }),
  },
  {
    ...changes,
    name: 'id-dropped-on-retry',
    library: 'fetch',
    does: 'retries without the request_id of the first attempt',
    meets: lost,
    also: ['CLIENT-4', 'CLIENT-5'],
    run: inTurn({ idOf: ({ intent }, attempt) => (attempt === 1 ? intent : undefined) }),
  },
  {
    ...changes,
    name: 'ids-in-memory-alone',
    library: 'fetch',
    does: 'is restarted after a lost reply, and draws new ids for what it has not confirmed',
    meets: lost,
    run: async (job) => {
      const outbox = [...job.messages];
      while (outbox[0] !== undefined) {
        const id = drawnId(job);
        const [message] = outbox;
        const reply = await post(job, { ...bodyOf(message), request_id: id });
        if (isConfirmed(reply)) {
          job.report(message, id, 'accepted');
          outbox.shift();
        } else await sleep(20_000);
      }
    },
  },
  {
    ...changes,
    name: 'p-retry-builds-the-body',
    library: 'p-retry',
    does: 'builds the whole body, its id included, inside the function that p-retry repeats',
    meets: ['malformed'],
    run: eachBy(
      (job) => (message) =>
        pRetry(() => confirmed(job, { ...bodyOf(message), request_id: drawnId(job) }), {
          minTimeout: 20_000,
        }),
    ),
  },
  {
    ...changes,
    name: 'axios-request-interceptor',
    library: 'axios-retry',
    does: 'sets the request_id in a request interceptor, which axios-retry runs again',
    meets: ['busy'],
    run: eachBy((job) =>
      axiosOn(job, (client) => {
        axiosRetry(client, { retryCondition: () => true, retryDelay: () => 20_000 });
        client.interceptors.request.use((config) => {
          const body = typeof config.data === 'string' ? JSON.parse(config.data) : config.data;
          return { ...config, data: JSON.stringify({ ...body, request_id: drawnId(job) }) };
        });
      }),
    ),
  },
  {
    ...changes,
    name: 'new-id-after-a-timeout',
    library: 'fetch',
    does: 'gives up waiting after two seconds, and tries again under a new request_id',
    meets: ['delay'],
    run: (job) => inTurn({ idOf: () => drawnId(job) })(impatient(job, 2_000)),
  },
  {
    ...leavesOut,
    name: 'no-id',
    library: 'fetch',
    does: 'sends no request_id',
    run: inTurn({ idOf: () => undefined }),
  },
  {
    ...leavesOut,
    name: 'empty-id',
    library: 'fetch',
    does: 'sends an empty request_id',
    run: inTurn({ idOf: () => '' }),
  },
  {
    ...leavesOut,
    name: 'id-in-camel-case',
    library: 'axios',
    does: 'names the field requestId, which the service ignores',
    run: eachBy((job) =>
      axiosOn(
        job,
        () => {},
        (message) => ({ ...withoutId(message), requestId: message.intent }),
      ),
    ),
  },
  {
    ...leavesOut,
    name: 'id-in-a-header',
    library: 'ky',
    does: 'sends the header Idempotency-Key, which the service does not know',
    run: eachBy((job) => kyOn({ ...job, fetch: withIdHeader(job.fetch) }, {}, withoutId)),
  },
  {
    ...twice,
    name: 'sends-again-without-id',
    library: 'fetch',
    does: 'sends again after a lost reply, without a request_id',
    run: inTurn({ idOf: () => undefined }),
  },
  {
    ...twice,
    name: 'got-resends-after-a-timeout',
    library: 'got',
    does: 'retries POST after its own timeout, without a request_id',
    meets: ['delay'],
    onSocket: true,
    run: eachBy((job) => gotOn(job, { limit: 2, methods: ['POST'] }, withoutId, 2_000)),
  },
  {
    ...twice,
    name: 'undici-resends-without-id',
    library: 'undici',
    does: 'retries POST by a RetryAgent after a reset connection, without a request_id',
    onSocket: true,
    run: eachBy((job) => undiciOn(job, { methods: ['POST'] }, withoutId)),
  },
  {
    ...twice,
    name: 'got-resends-without-id',
    library: 'got',
    does: 'retries POST after ECONNRESET, without a request_id',
    onSocket: true,
    run: eachBy((job) => gotOn(job, { limit: 2, methods: ['POST'] }, withoutId)),
  },
  {
    ...twice,
    name: 'axios-retry-resends-without-id',
    library: 'axios-retry',
    does: 'lets axios-retry repeat every error, without a request_id',
    run: eachBy((job) =>
      axiosOn(job, (client) => axiosRetry(client, { retryCondition: () => true }), withoutId),
    ),
  },
  {
    ...twice,
    name: 'p-retry-resends-what-it-cannot-read',
    library: 'p-retry',
    does: 'repeats a send whose reply is no JSON, without a request_id',
    meets: ['malformed'],
    run: eachBy((job) => (message) => pRetry(() => confirmed(job, withoutId(message)))),
  },
  {
    ...shares,
    name: 'id-of-the-customer',
    library: 'fetch',
    does: 'uses the customer number as request_id',
    run: inTurn({ idOf: ({ to }) => `customer-${to}` }),
  },
  {
    ...shares,
    name: 'counter-restarts',
    library: 'fetch',
    does: 'counts its request_ids from 1 again after each restart',
    run: async (job) => {
      for (const [at, message] of job.messages.entries()) {
        await deliver(job, message, but({ idOf: () => `message-${(at % 2) + 1}` }));
      }
    },
  },
  {
    ...shares,
    name: 'constant-id',
    library: 'ky',
    does: 'took the request_id of the example in the documentation',
    run: eachBy((job) => kyOn(job, {}, (message) => ({ ...bodyOf(message), request_id: 'abc' }))),
  },
  {
    ...shares,
    name: 'id-of-the-second',
    library: 'fetch',
    does: 'uses the present second as request_id',
    run: inTurn({ idOf: () => `s${Math.floor(Date.now() / 1_000)}` }),
  },
  {
    ...shares,
    name: 'id-cut-short',
    library: 'got',
    does: 'cuts its request_id to the eight characters of a database column',
    onSocket: true,
    run: eachBy((job) =>
      gotOn(job, {}, (message) => ({
        ...bodyOf(message),
        request_id: `invoice-${message.intent}`.slice(0, 8),
      })),
    ),
  },
  {
    ...tooOld,
    name: 'outbox-after-the-weekend',
    library: 'fetch',
    does: 'retries a lost send when the office opens, 62 hours later',
    run: inTurn({ waitOf: (reply) => (reply === undefined ? 62 * hourMs : undefined) }),
  },
  {
    ...tooOld,
    name: 'pause-in-the-wrong-unit',
    library: 'p-retry',
    does: 'gives p-retry a minTimeout of 90,000 seconds, meant as milliseconds',
    meets: ['malformed'],
    run: eachBy(
      (job) => (message) =>
        pRetry(() => confirmed(job, bodyOf(message)), { minTimeout: 90_000_000 }),
    ),
  },
  {
    ...tooOld,
    name: 'dead-letters-on-the-next-day',
    library: 'ky',
    does: 'sends its dead letters again each morning, with their old ids',
    run: async (job) => {
      const send = kyOn(job, 0);
      let left = [...job.messages];
      while (left.length > 0) {
        const failed: typeof left = [];
        for (const message of left) {
          await send(message).then(
            () => job.report(message, bodyOf(message).request_id, 'accepted'),
            () => failed.push(message),
          );
        }
        left = failed;
        await sleep(25 * hourMs);
      }
    },
  },
];

function withIdHeader(fetch: Job['fetch']): Job['fetch'] {
  return (input, init) => {
    const request = new Request(input, init);
    request.headers.set('idempotency-key', '1');
    return fetch(request);
  };
}
