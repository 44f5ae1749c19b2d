/**
 * Wrong clients that the referee must find, by the rule that each breaks: they retry too early,
 * under a new id, without an id, or not at all. Rules: CLIENT-1 to CLIENT-9, CLIENT-17.
 */
import axiosRetry from 'axios-retry';
import { hourMs, secondMs } from '../../../src/ledger/time-units.ts';
import {
  breaking,
  type Job,
  type Message,
  type NodeClient,
  type Program,
  sleep,
} from '../client.ts';
import {
  bodyOf,
  careful,
  carefulBut,
  deliver,
  deliverAll,
  delivering,
  get,
  type Habits,
  oneByOne,
  onFetch,
  post,
  type Reply,
  reportAccepted,
  retryAfterMs,
  withTimeout,
} from './deliver.ts';
import {
  byAxios,
  byGot,
  byKy,
  byPRetry,
  byUndici,
  kyOn,
  swallowing,
  withoutId,
} from './library.ts';

/** The statuses after which a library retries; most retry after others, too. */
const statusCodes = [429];
/** The options by which libraries retry a POST after a 429. */
const retryPost = { limit: 4, methods: ['POST' as const], statusCodes };
const receivedPath = '/api/v1/sms/received/';
const lostReply = ['lost_response'] as const;

/** Careful, but waits after a 429 as `waitOf` says, and gives up at the fifth attempt. */
function after429(waitOf: (askedMs: number, job: Job) => number): Partial<Habits> {
  return {
    waitOf: (reply, attempt, job) => {
      if (reply?.status !== 429) return careful.waitOf(reply, attempt, job);
      return attempt < 5 ? waitOf(retryAfterMs(reply), job) : undefined;
    },
  };
}

function randomId({ random }: Job): string {
  return Math.floor(random() * 2 ** 48).toString(16);
}

/** Another message to the same recipient. */
function followUpOf(message: Message): Message {
  return { ...message, intent: `${message.intent}-b`, message: `${message.message} again` };
}

/**
 * Careful, but drops a message without a report after this failure, and sends the next at once.
 * `failedStatus`: undefined for a lost reply.
 */
function silentAfter(failedStatus: number | undefined): Partial<Habits> {
  const isFailure = (reply: Reply | undefined) => reply?.status === failedStatus;
  return {
    waitOf: (reply, attempt, job) =>
      isFailure(reply) ? undefined : careful.waitOf(reply, attempt, job),
    reportOf: (reply) => (isFailure(reply) ? undefined : careful.reportOf(reply)),
  };
}

/** Repeats each refused send twice, even after a final refusal, and then reports it as failed. */
const stubborn: Partial<Habits> = { waitOf: (_, attempt) => (attempt < 3 ? 30_000 : undefined) };

/** Sends the whole list during a 429, and then retries what was refused. */
async function sendOnDespite429(job: Job): Promise<void> {
  const refused: { readonly message: Message; readonly retryAtMs: number }[] = [];
  for (const message of job.messages) {
    const reply = await post(job, bodyOf(message));
    if (reply?.status === 429) {
      refused.push({ message, retryAtMs: Date.now() + retryAfterMs(reply) });
    } else reportAccepted(job, message);
    await sleep(2_000);
  }
  for (const { message, retryAtMs } of refused) {
    await sleep(Math.max(0, retryAtMs - Date.now()));
    await deliver(job, message);
  }
}

/** Each worker waits for its own 429s alone. */
async function sendByThreeWorkers(job: Job): Promise<void> {
  const send = kyOn(job, { ...retryPost, limit: 10 });
  const queue = [...job.messages, ...job.messages.map(followUpOf)].values();
  const work = async (pauseMs: number) => {
    for (const message of queue) {
      await send(message);
      reportAccepted(job, message);
      await sleep(pauseMs);
    }
  };
  await Promise.all([work(1_700), work(2_900), work(4_300)]);
}

/** Answers a 429 by a send with another key of the account, to which the same limit applies. */
async function evadeByOtherKey(job: Job): Promise<void> {
  const second = job.simulator.accounts.createKey('acme', { name: 'spare' });
  for (const message of job.messages) {
    const reply = await post(job, bodyOf(message));
    if (reply?.status === 429) {
      const retryAtMs = Date.now() + retryAfterMs(reply);
      await sleep(2_000);
      await post({ ...job, key: second.key }, bodyOf(followUpOf(message)));
      await sleep(Math.max(0, retryAtMs - Date.now()) + 60_000);
      await deliver(job, message);
      await deliver(job, followUpOf(message));
    } else reportAccepted(job, message);
  }
}

/** Sends these requests, and pauses after each; the service limits them to `limitPerMinute`. */
function askingForReceived(
  limitPerMinute: number,
  requests: readonly (readonly [path: string, pauseSeconds: number])[],
): Program {
  return onFetch(async (job) => {
    job.simulator.limits.patch({ received: limitPerMinute });
    for (const [path, pauseSeconds] of requests) {
      await get(job, path);
      await sleep(pauseSeconds * secondMs);
    }
  });
}

export const wrongRetries: readonly NodeClient[] = [
  ...breaking('CLIENT-1', { also: ['CLIENT-2', 'CLIENT-14'], meets: ['throttle'] })({
    'retries-at-once': ['retries a 429 at once', delivering(after429(() => 0))],
    'jitter-below': [
      'takes up to a fifth off Retry-After, to spread its retries',
      delivering(after429((askedMs, { random }) => askedMs * (0.8 + random() * 0.19))),
    ],
    'received-retried-early': [
      'asks again for received messages 5 s after a 429',
      askingForReceived(
        1,
        [20, 5, 5, 5].map((pauseSeconds) => [receivedPath, pauseSeconds]),
      ),
      { also: ['CLIENT-13'] },
    ],
    'p-retry-defaults': ['retries by the pauses that p-retry comes with', byPRetry({ retries: 4 })],
    'ky-max-retry-after': [
      'sets maxRetryAfter to 10 s, at which ky retries all the same',
      byKy({ ...retryPost, methods: ['post'], maxRetryAfter: 10_000 }),
    ],
    'undici-longest-timeout': [
      'retries POST by a RetryAgent, whose maxTimeout of 30 s cuts Retry-After short',
      byUndici({ maxRetries: 4, methods: ['POST'], statusCodes }),
    ],
  }),
  ...breaking('CLIENT-2', { meets: ['throttle'] })({
    'bulk-goes-on': [
      'goes on with its list during a 429, and comes back to what was refused',
      onFetch(sendOnDespite429),
    ],
    'workers-wait-each-for-themselves': [
      'sends by three workers, of which only the one that met the 429 waits',
      { library: 'ky', run: sendByThreeWorkers },
    ],
    'walks-pages-through-a-429': [
      'asks for the next page of received messages while a 429 holds',
      askingForReceived(
        2,
        [1, 2, 3, 4].map((page) => [`${receivedPath}?page=${page}`, 3]),
      ),
    ],
    'other-key-of-the-account': [
      'answers a 429 with the next key of the account, which shares its limit',
      onFetch(evadeByOtherKey),
    ],
  }),
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
  ...breaking('CLIENT-8')({
    'repeats-a-400': [
      'retries every error, a 400 too',
      delivering({
        ...stubborn,
        bodyOf: (message, id) => ({ ...message, to: '555', request_id: id }),
      }),
      { also: ['CLIENT-15'] },
    ],
    'repeats-a-401': [
      'retries with a wrong key',
      onFetch((job) => deliverAll({ ...job, key: 'smst_wrong' }, stubborn)),
    ],
    'repeats-a-402': [
      'counts 402 among the statuses that got retries',
      byGot({ limit: 2, methods: ['POST'], statusCodes: [402, 429, 503] }),
      { meets: ['quota'] },
    ],
    'repeats-a-403': [
      'lets axios-retry repeat every error',
      byAxios((client) => axiosRetry(client, { retries: 2, retryCondition: () => true }), {
        body: (message) => ({ ...bodyOf(message), from: '+12025550199' }),
      }),
    ],
    'repeats-a-404': [
      'asks for a message by its own id instead of message_id, again and again',
      oneByOne(async (job, message) => {
        await deliver(job, message);
        for (let look = 1; look <= 3; look++) {
          await get(job, `/api/v1/sms/${message.intent}/`);
          await sleep(20_000);
        }
      }),
    ],
  }),
  ...breaking('CLIENT-9')({
    'gives-up-after-a-429': [
      'drops the message at a 429 and sends the next one at once',
      delivering(silentAfter(429)),
      { meets: ['throttle'] },
    ],
    'gives-up-after-a-lost-reply': [
      'drops the message when the connection closes',
      delivering(silentAfter(undefined)),
      { meets: lostReply },
    ],
    'fire-and-forget': [
      'starts its sends and reads no reply',
      onFetch(async (job) => {
        await Promise.allSettled(job.messages.map((message) => post(job, bodyOf(message))));
      }),
      { meets: ['refuse'] },
    ],
    'ky-defaults': [
      'leaves ky as it comes, which repeats no POST, and swallows the error',
      byKy({}, { around: swallowing }),
      { meets: ['truncate'] },
    ],
    'got-gives-up-a-long-wait': [
      'sets maxRetryAfter to 10 s, beyond which got gives up, and swallows the error',
      byGot({ ...retryPost, maxRetryAfter: 10_000 }, { around: swallowing }),
      { meets: ['throttle'], also: ['CLIENT-2'] },
    ],
  }),
  ...breaking('CLIENT-17', { meets: ['overloaded'] })({
    'waits-its-own-time': ['waits 20 s after a 503, whatever Retry-After says', delivering()],
  }),
];
