/**
 * Wrong clients that the referee must find, by the rule that each breaks: they retry under another
 * id, misreport, send invalid bodies, or show their key. Rules: CLIENT-3 to CLIENT-7, CLIENT-10,
 * CLIENT-15 and CLIENT-16.
 */
import axiosRetry from 'axios-retry';
import { hourMs } from '#contract/time.ts';
import { breaking, type Job, type Message, type NodeClient, sendPath } from '../client.ts';
import {
  bodyOf,
  deliver,
  deliverAll,
  delivering,
  get,
  type Habits,
  oneByOne,
  onFetch,
  post,
  reportAccepted,
  silent,
  withTimeout,
} from './deliver.ts';
import { byAxios, byGot, byKy, byPRetry } from './library.ts';

function randomId({ random }: Job): string {
  return Math.floor(random() * 2 ** 48).toString(16);
}

const withoutId: Habits = { idOf: () => undefined };

function bodyWithoutId({ to, from, message }: Message) {
  return { to, from, message };
}

export const wrongContents: readonly NodeClient[] = [
  ...breaking('CLIENT-3', { also: ['CLIENT-5'] })({
    'draws a request_id for each attempt, and loses replies': [
      delivering({ idOf: (_, __, job) => randomId(job) }),
      { meets: ['lost_response'] },
    ],
    'draws a request_id for each attempt, and times out': [
      onFetch((job) => deliverAll(withTimeout(job), { idOf: () => randomId(job) })),
      { meets: ['delay'] },
    ],
    'builds its body, with a new id, in what p-retry repeats': [
      byPRetry(
        { minTimeout: 20_000 },
        { body: (message, job) => ({ ...bodyOf(message), request_id: randomId(job) }) },
      ),
      { meets: ['malformed'] },
    ],
    'sets the request_id in an interceptor, which axios-retry runs again': [
      byAxios((client, job) => {
        axiosRetry(client, { retryCondition: () => true, retryDelay: () => 20_000 });
        client.interceptors.request.use((config) => {
          const body = typeof config.data === 'string' ? JSON.parse(config.data) : config.data;
          return { ...config, data: JSON.stringify({ ...body, request_id: randomId(job) }) };
        });
      }),
      { meets: ['busy'] },
    ],
    'retries without the request_id of the first attempt': [
      delivering({ idOf: ({ intent }, attempt) => (attempt === 1 ? intent : undefined) }),
      { meets: ['lost_response'], also: ['CLIENT-4', 'CLIENT-5'] },
    ],
  }),
  ...breaking('CLIENT-4')({
    'sends no request_id': delivering(withoutId),
    'sends an empty request_id': delivering({ idOf: () => '' }),
  }),
  ...breaking('CLIENT-5', { also: ['CLIENT-4'] })({
    'sends again after a lost reply, without an id': [
      delivering(withoutId),
      { meets: ['lost_response'] },
    ],
    'retries POST after its own timeout, without an id': [
      byGot({ limit: 2, methods: ['POST'] }, { body: bodyWithoutId, timeoutMs: 2_000 }),
      { meets: ['delay'] },
    ],
    'repeats a send whose reply is not JSON, without an id': [
      byPRetry({}, { body: bodyWithoutId }),
      { meets: ['malformed'] },
    ],
  }),
  ...breaking('CLIENT-6', { also: ['CLIENT-10'] })({
    'counts its ids from 1 again after each restart': oneByOne((job, message, index) =>
      deliver(job, message, { idOf: () => `message-${(index % 2) + 1}` }),
    ),
    'took the request_id of the example in the documentation': byKy(
      {},
      { body: (message) => ({ ...bodyOf(message), request_id: 'abc' }) },
    ),
  }),
  ...breaking('CLIENT-7', { also: ['CLIENT-5'] })({
    'retries a lost send when the office opens, 62 hours later': [
      delivering({ waitOf: (reply) => (reply === undefined ? 62 * hourMs : undefined) }),
      { meets: ['lost_response'] },
    ],
    'gives p-retry a minTimeout of 90,000 seconds, meant as milliseconds': [
      byPRetry({ minTimeout: 90_000_000 }),
      { meets: ['malformed'] },
    ],
  }),
  ...breaking('CLIENT-10')({
    'reports a message as failed when its reply is lost': [
      delivering({ waitOf: () => undefined }),
      { meets: ['lost_response'] },
    ],
    'reports a message as failed when its reply is not JSON': [byKy(0), { meets: ['malformed'] }],
    'reports accepted whatever the status is': [
      delivering({ reportOf: () => 'accepted' }),
      { meets: ['quota'] },
    ],
    'reports delivered what was accepted': oneByOne(async (job, message) => {
      await deliver(job, message, silent);
      job.report(message, bodyOf(message).request_id, 'delivered');
    }),
    'reports accepted what it queues, and ends before it sends the last': onFetch(async (job) => {
      for (const message of job.messages) reportAccepted(job, message);
      for (const message of job.messages.slice(0, -1)) await post(job, bodyOf(message));
    }),
  }),
  ...breaking('CLIENT-15')({
    'sends texts of any length': delivering({ fieldsOf: () => ({ message: '.'.repeat(1_700) }) }),
    'writes a phone number as a JSON number': byGot(
      {},
      { body: (message) => ({ ...bodyOf(message), to: 12_025_550_123 }) },
    ),
  }),
  ...breaking('CLIENT-16')({
    'appends its key to every URL': onFetch((job) =>
      deliverAll(job, { path: `${sendPath}?api_key=${job.key}` }),
    ),
    'sends its key as a field of the body too': byAxios(() => {}, {
      body: (message, job) => ({ ...bodyOf(message), api_key: job.key }),
    }),
    'logs in by a form with its key before it sends': onFetch(async (job) => {
      const body = new URLSearchParams({ key: job.key });
      await job.fetch(`${job.baseUrl}/api/v1/account/stats/`, { method: 'POST', body });
      await deliverAll(job);
    }),
    'calls an address of another service, with its key in the path': onFetch(async (job) => {
      await get(job, `/bot${job.key}/status/`);
    }),
  }),
];
