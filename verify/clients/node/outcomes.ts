/** Clients that repeat a refusal, give up silently, or report a wrong outcome. */
import axiosRetry from 'axios-retry';
import pRetry from 'p-retry';
import { type NodeClient, sendPath, sleep } from '../client.ts';
import { careful, deliver, get, type Habits, inTurn, post } from './deliver.ts';
import { axiosOn, bodyOf, confirmed, eachBy, gotOn, kyOn, type Send, undiciOn } from './library.ts';

const repeats = { rule: 'CLIENT-8' } as const;
const givesUp = { rule: 'CLIENT-9' } as const;
const misreports = { rule: 'CLIENT-10' } as const;

/** Repeats what was refused for good two more times, then reports it as failed. */
function stubborn(habits: Partial<Habits>): Partial<Habits> {
  return { ...habits, waitOf: (_, attempt) => (attempt < 3 ? 30_000 : undefined) };
}

/** Sends each message, and swallows whatever the library throws. */
function swallowing(sendOf: (job: Parameters<NodeClient['run']>[0]) => Send): NodeClient['run'] {
  return async (job) => {
    const send = sendOf(job);
    for (const message of job.messages) {
      await send(message).then(
        () => job.report(message, bodyOf(message).request_id, 'accepted'),
        () => {},
      );
    }
  };
}

export const outcomes: readonly NodeClient[] = [
  {
    ...repeats,
    name: 'repeats-a-400',
    library: 'fetch',
    does: 'retries every error, a 400 too',
    also: ['CLIENT-15'],
    run: inTurn(stubborn({ bodyOf: (message, id) => ({ ...message, to: '555', request_id: id }) })),
  },
  {
    ...repeats,
    name: 'repeats-a-401',
    library: 'p-retry',
    does: 'retries with a wrong key',
    run: eachBy(
      (job) => (message) =>
        pRetry(() => confirmed({ ...job, key: 'smst_wrong' }, bodyOf(message)), { retries: 2 }),
    ),
  },
  {
    ...repeats,
    name: 'repeats-a-402',
    library: 'got',
    does: 'counts 402 among the statuses that got retries',
    meets: ['quota'],
    onSocket: true,
    run: eachBy((job) => gotOn(job, { limit: 2, methods: ['POST'], statusCodes: [402, 429, 503] })),
  },
  {
    ...repeats,
    name: 'repeats-a-403',
    library: 'axios-retry',
    does: 'lets axios-retry repeat every error',
    run: eachBy((job) =>
      axiosOn(
        job,
        (client) => axiosRetry(client, { retries: 2, retryCondition: () => true }),
        (message) => ({ ...bodyOf(message), from: '+12025550199' }),
      ),
    ),
  },
  {
    ...repeats,
    name: 'repeats-a-403-of-access',
    library: 'undici',
    does: 'lets a RetryAgent repeat 403, with the number of another account',
    onSocket: true,
    run: eachBy((job) =>
      undiciOn(job, { maxRetries: 2, methods: ['POST'], statusCodes: [403] }, (message) => ({
        ...bodyOf(message),
        from: '+12025550111',
      })),
    ),
  },
  {
    ...repeats,
    name: 'repeats-a-404',
    library: 'fetch',
    does: 'asks for a message by its own id instead of message_id, again and again',
    run: async (job) => {
      for (const message of job.messages) {
        await deliver(job, message);
        for (let look = 1; look <= 3; look++) {
          await get(job, `/api/v1/sms/${message.intent}/`);
          await sleep(20_000);
        }
      }
    },
  },
  {
    ...givesUp,
    name: 'gives-up-after-a-429',
    library: 'fetch',
    does: 'logs a 429 and goes on with the next message a minute later',
    meets: ['throttle'],
    run: inTurn(silent(429)),
  },
  {
    ...givesUp,
    name: 'gives-up-after-a-503',
    library: 'fetch',
    does: 'drops the message at a 503',
    meets: ['busy'],
    run: inTurn(silent(503)),
  },
  {
    ...givesUp,
    name: 'gives-up-after-a-lost-reply',
    library: 'fetch',
    does: 'drops the message when the connection closes',
    meets: ['lost_response'],
    run: inTurn(silent(undefined)),
  },
  {
    ...givesUp,
    name: 'fire-and-forget',
    library: 'fetch',
    does: 'starts its sends and reads no reply',
    meets: ['refuse'],
    run: async (job) => {
      await Promise.allSettled(job.messages.map((message) => post(job, bodyOf(message))));
    },
  },
  {
    ...givesUp,
    name: 'axios-retry-defaults',
    library: 'axios-retry',
    does: 'leaves axios-retry as it comes, which repeats no POST, and swallows the error',
    meets: ['busy'],
    run: swallowing((job) => axiosOn(job, (client) => axiosRetry(client))),
  },
  {
    ...givesUp,
    name: 'got-defaults',
    library: 'got',
    does: 'leaves got as it comes, which repeats no POST, and swallows the error',
    meets: ['refuse'],
    onSocket: true,
    run: swallowing((job) => gotOn(job, {})),
  },
  {
    ...givesUp,
    name: 'ky-defaults',
    library: 'ky',
    does: 'leaves ky as it comes, which repeats no POST, and swallows the error',
    meets: ['truncate'],
    run: swallowing((job) => kyOn(job, {})),
  },
  {
    ...givesUp,
    name: 'undici-defaults',
    library: 'undici',
    does: 'leaves a RetryAgent as it comes, which repeats no POST, and swallows the error',
    meets: ['busy'],
    onSocket: true,
    run: swallowing((job) => undiciOn(job, {})),
  },
  {
    ...givesUp,
    name: 'got-gives-up-a-long-wait',
    library: 'got',
    does: 'sets maxRetryAfter to 10 s, beyond which got gives up, and swallows the error',
    meets: ['throttle'],
    onSocket: true,
    also: ['CLIENT-2'],
    run: swallowing((job) =>
      gotOn(job, { limit: 5, methods: ['POST'], statusCodes: [429], maxRetryAfter: 10_000 }),
    ),
  },
  {
    ...misreports,
    name: 'lost-reply-is-failure',
    library: 'fetch',
    does: 'reports a message as failed when its reply is lost',
    meets: ['lost_response'],
    run: inTurn({ waitOf: () => undefined }),
  },
  {
    ...givesUp,
    name: 'got-times-out-in-silence',
    library: 'got',
    does: 'sets a timeout of two seconds, and swallows the error',
    meets: ['delay'],
    onSocket: true,
    run: swallowing((job) => gotOn(job, {}, bodyOf, 2_000)),
  },
  {
    ...misreports,
    name: 'timeout-is-failure',
    library: 'axios',
    does: 'reports a message as failed when its timeout of two seconds is over',
    meets: ['delay'],
    run: eachBy((job) =>
      axiosOn(job, (client) => {
        client.defaults.timeout = 2_000;
      }),
    ),
  },
  {
    ...misreports,
    name: 'unreadable-reply-is-failure',
    library: 'ky',
    does: 'reports a message as failed when its reply is no JSON',
    meets: ['malformed'],
    run: eachBy((job) => kyOn(job, 0)),
  },
  {
    ...misreports,
    name: 'cut-reply-is-failure',
    library: 'got',
    does: 'reports a message as failed when its reply is cut',
    meets: ['truncate'],
    onSocket: true,
    run: eachBy((job) => gotOn(job, { limit: 0 })),
  },
  {
    ...misreports,
    name: 'any-reply-is-success',
    library: 'fetch',
    does: 'reports accepted whatever the status is',
    meets: ['quota'],
    run: inTurn({ reportOf: () => 'accepted' }),
  },
  {
    ...misreports,
    name: 'axios-accepts-every-status',
    library: 'axios',
    does: 'sets validateStatus to accept every status, and takes a refusal for success',
    meets: ['quota'],
    run: eachBy((job) =>
      axiosOn(job, (client) => {
        client.defaults.validateStatus = () => true;
      }),
    ),
  },
  {
    ...misreports,
    name: 'reports-before-it-sends',
    library: 'fetch',
    does: 'reports accepted when it queues a message, and ends before it sends the last',
    run: async (job) => {
      for (const message of job.messages) {
        job.report(message, bodyOf(message).request_id, 'accepted');
      }
      for (const message of job.messages.slice(0, -1)) {
        await post(job, bodyOf(message), sendPath);
      }
    },
  },
];

/** Careful, but says nothing of a message after this status, and waits before the next. */
function silent(status: number | undefined): Partial<Habits> {
  return {
    waitOf: (reply, attempt, job) =>
      reply?.status === status ? undefined : careful.waitOf(reply, attempt, job),
    reportOf: (reply) => (reply?.status === status ? undefined : careful.reportOf(reply)),
  };
}
