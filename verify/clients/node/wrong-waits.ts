/**
 * Wrong clients that the referee must find, by the rule that each breaks: they retry too early or
 * in vain, send during a wait, or give up. Rules: CLIENT-1, CLIENT-2, CLIENT-8, CLIENT-9 and
 * CLIENT-17.
 */
import axiosRetry from 'axios-retry';
import { secondMs } from '#contract/time.ts';
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
} from './deliver.ts';
import { byAxios, byGot, byKy, byPRetry, byUndici, hidingFailures, kyOn } from './library.ts';

/** The statuses after which a library retries; most retry after others, too. */
const statusCodes = [429];
/** The options by which libraries retry a POST after a 429. */
const retryPost = { limit: 4, methods: ['POST' as const], statusCodes };
const receivedPath = '/api/v1/sms/received/';

/** Careful, but waits after a 429 as `waitOf` says, and gives up at the fifth attempt. */
function after429(waitOf: (askedMs: number, job: Job) => number): Partial<Habits> {
  return {
    waitOf: (reply, attempt, job) => {
      if (reply?.status !== 429) return careful.waitOf(reply, attempt, job);
      return attempt < 5 ? waitOf(retryAfterMs(reply), job) : undefined;
    },
  };
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

export const wrongWaits: readonly NodeClient[] = [
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
      { meets: ['lost_response'] },
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
      byKy({}, { loop: hidingFailures }),
      { meets: ['truncate'] },
    ],
    'got-gives-up-a-long-wait': [
      'sets maxRetryAfter to 10 s, beyond which got gives up, and swallows the error',
      byGot({ ...retryPost, maxRetryAfter: 10_000 }, { loop: hidingFailures }),
      { meets: ['throttle'], also: ['CLIENT-2'] },
    ],
  }),
  ...breaking('CLIENT-17', { meets: ['overloaded'] })({
    'waits-its-own-time': ['waits 20 s after a 503, whatever Retry-After says', delivering()],
  }),
];
