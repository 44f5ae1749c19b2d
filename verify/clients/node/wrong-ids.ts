/**
 * Wrong clients that the referee must find, by the rule that each breaks: they retry under a new
 * id, without an id or under the id of another message. Rules: CLIENT-3 to CLIENT-7.
 */
import axiosRetry from 'axios-retry';
import { hourMs } from '#contract/time.ts';
import { breaking, type Job, type NodeClient } from '../client.ts';
import {
  bodyOf,
  carefulBut,
  deliver,
  deliverAll,
  delivering,
  oneByOne,
  onFetch,
  withTimeout,
} from './deliver.ts';
import { byAxios, byGot, byKy, byPRetry, byUndici, withoutId } from './library.ts';

const lostReply = ['lost_response'] as const;

function randomId({ random }: Job): string {
  return Math.floor(random() * 2 ** 48).toString(16);
}

export const wrongIds: readonly NodeClient[] = [
  ...breaking('CLIENT-3', { also: ['CLIENT-5'], meets: lostReply })({
    'new-id-after-a-lost-reply': [
      'draws a request_id for each attempt, and loses replies',
      delivering({ idOf: (_, __, job) => randomId(job) }),
    ],
    'id-with-the-attempt': [
      'appends the number of the attempt to its request_id',
      delivering({ idOf: ({ intent }, attempt) => `${intent}-${attempt}` }),
      { meets: ['busy'] },
    ],
    'id-dropped-on-retry': [
      'retries without the request_id of the first attempt',
      delivering({ idOf: ({ intent }, attempt) => (attempt === 1 ? intent : undefined) }),
      { also: ['CLIENT-4', 'CLIENT-5'] },
    ],
    'new-id-after-a-timeout': [
      'gives up waiting after two seconds, and tries again under a new request_id',
      onFetch((job) => deliverAll(withTimeout(job, 2_000), { idOf: () => randomId(job) })),
      { meets: ['delay'] },
    ],
    'p-retry-builds-the-body': [
      'builds the whole body, its id included, inside the function that p-retry repeats',
      byPRetry(
        { minTimeout: 20_000 },
        { body: (message, job) => ({ ...bodyOf(message), request_id: randomId(job) }) },
      ),
      { meets: ['malformed'] },
    ],
    'axios-request-interceptor': [
      'sets the request_id in a request interceptor, which axios-retry runs again',
      byAxios((client, job) => {
        axiosRetry(client, { retryCondition: () => true, retryDelay: () => 20_000 });
        client.interceptors.request.use((config) => {
          const body = typeof config.data === 'string' ? JSON.parse(config.data) : config.data;
          return { ...config, data: JSON.stringify({ ...body, request_id: randomId(job) }) };
        });
      }),
      { meets: ['busy'] },
    ],
  }),
  ...breaking('CLIENT-4')({
    'no-id': ['sends no request_id', delivering({ idOf: () => undefined })],
    'empty-id': ['sends an empty request_id', delivering({ idOf: () => '' })],
    'id-in-camel-case': [
      'names the field requestId, which the service ignores',
      byAxios(() => {}, {
        library: 'axios',
        body: (message) => ({ ...withoutId(message), requestId: message.intent }),
      }),
    ],
  }),
  ...breaking('CLIENT-5', { also: ['CLIENT-4'], meets: lostReply })({
    'sends-again-without-id': [
      'sends again after a lost reply, without a request_id',
      delivering({ idOf: () => undefined }),
    ],
    'got-resends-after-a-timeout': [
      'retries POST after its own timeout, without a request_id',
      byGot({ limit: 2, methods: ['POST'] }, { body: withoutId, timeoutMs: 2_000 }),
      { meets: ['delay'] },
    ],
    'undici-resends-without-id': [
      'retries POST by a RetryAgent after a reset connection, without a request_id',
      byUndici({ methods: ['POST'] }, { body: withoutId }),
    ],
    'p-retry-resends-what-it-cannot-read': [
      'repeats a send whose reply is not JSON, without a request_id',
      byPRetry({}, { body: withoutId }),
      { meets: ['malformed'] },
    ],
  }),
  ...breaking('CLIENT-6', { also: ['CLIENT-10'] })({
    'counter-restarts': [
      'counts its request_ids from 1 again after each restart',
      oneByOne((job, message, index) =>
        deliver(job, message, carefulBut({ idOf: () => `message-${(index % 2) + 1}` })),
      ),
    ],
    'constant-id': [
      'took the request_id of the example in the documentation',
      byKy({}, { body: (message) => ({ ...bodyOf(message), request_id: 'abc' }) }),
    ],
    'id-of-the-second': [
      'uses the present second as request_id',
      delivering({ idOf: () => `s${Math.floor(Date.now() / 1_000)}` }),
    ],
  }),
  ...breaking('CLIENT-7', { also: ['CLIENT-5'], meets: lostReply })({
    'outbox-after-the-weekend': [
      'retries a lost send when the office opens, 62 hours later',
      delivering({ waitOf: (reply) => (reply === undefined ? 62 * hourMs : undefined) }),
    ],
    'pause-in-the-wrong-unit': [
      'gives p-retry a minTimeout of 90,000 seconds, meant as milliseconds',
      byPRetry({ minTimeout: 90_000_000 }),
      { meets: ['malformed'] },
    ],
  }),
];
