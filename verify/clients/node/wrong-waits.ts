/**
 * Wrong clients that the referee must find, by the rule that each breaks: they retry too early or
 * in vain, send during a wait, give up, poll too often, or retry in bursts. Rules: CLIENT-1,
 * CLIENT-2, CLIENT-8, CLIENT-9, CLIENT-11 to CLIENT-15 and CLIENT-17.
 */
import axiosRetry from 'axios-retry';
import { minuteMs, secondMs } from '#contract/time.ts';
import { breaking, type Job, type Message, type NodeClient, sleep } from '../client.ts';
import { numbered } from '../conditions.ts';
import {
  bodyOf,
  careful,
  deliver,
  deliverAll,
  deliverForPath,
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
import { byAxios, byGot, byPRetry, byUndici } from './library.ts';

const receivedPath = '/api/v1/sms/received/';

/** Careful, but waits after a 429 as `waitOf` says, and gives up at the fifth attempt. */
function after429(waitOf: (askedMs: number, job: Job) => number): Habits {
  return {
    waitOf: (reply, attempt, job) => {
      if (reply?.status !== 429) return careful.waitOf(reply, attempt, job);
      return attempt < 5 ? waitOf(retryAfterMs(reply), job) : undefined;
    },
  };
}

/** Lists received messages once for each pause, under this limit of the service. */
function listingReceived(
  limit: number | null,
  pauseSeconds: readonly number[],
  queryOf = (_: number) => '',
) {
  return onFetch(async (job) => {
    job.simulator.limits.patch({ received: limit });
    for (const [index, seconds] of pauseSeconds.entries()) {
      await get(job, `${receivedPath}${queryOf(index)}`);
      await sleep(seconds * secondMs);
    }
  });
}

/**
 * Careful, but sends something during the wait for a refused message: `meanwhile` gets the job, the
 * next message and another key of the same account.
 */
function during429(meanwhile: (job: Job, next: Message, otherKey: string) => Promise<unknown>) {
  return onFetch(async (job) => {
    const { key } = job.simulator.accounts.createKey('acme', { name: 'spare' });
    for (const message of job.messages) {
      const next = { ...message, intent: `${message.intent}-b`, message: `${message.message} b` };
      const reply = await post(job, bodyOf(message));
      if (reply?.status === 429) {
        const retryAtMs = Date.now() + retryAfterMs(reply);
        await sleep(2_000);
        await meanwhile(job, next, key);
        await sleep(Math.max(0, retryAtMs - Date.now()) + minuteMs);
        await deliver(job, message);
        await deliver(job, next);
      } else reportAccepted(job, message);
    }
  });
}

/**
 * Careful, but drops a message without a report after this failure, and sends the next at once.
 * `failedStatus`: undefined for a lost reply.
 */
function silentAfter(failedStatus: number | undefined) {
  const isFailure = (reply: Reply | undefined) => reply?.status === failedStatus;
  return delivering({
    waitOf: (reply, ...others) => (isFailure(reply) ? undefined : careful.waitOf(reply, ...others)),
    reportOf: (reply) => (isFailure(reply) ? undefined : careful.reportOf(reply)),
  });
}

/** Repeats each refused send twice, even after a final refusal, and then reports it as failed. */
const stubborn: Habits = { waitOf: (_, attempt) => (attempt < 3 ? 30_000 : undefined) };

/** Sends each message, and reads it after each pause until its status is final, or 20 times. */
function polling(pauseMs: number, finalStatuses = ['delivered', 'failed'], to?: string) {
  return oneByOne(async (job, message) => {
    const path = await deliverForPath(job, { ...message, ...(to !== undefined && { to }) });
    for (let look = 1; look <= 20; look++) {
      await sleep(pauseMs);
      if (finalStatuses.includes(String((await get(job, path))?.json?.['status']))) break;
    }
  });
}

/** Sends messages `pauseMs` apart without waiting for replies, and retries each after `waitOf`. */
function sendingMany(count: number, pauseMs: number, waitOf: (reply?: Reply) => number) {
  return async (job: Job) => {
    const deliverLater = async (message: Message, index: number) => {
      await sleep(index * pauseMs);
      await deliver(job, message, { waitOf });
    };
    await Promise.all(numbered(count).map(deliverLater));
  };
}

/** A program whose first requests the service refuses. */
function refusing(count: number, run: NodeClient['run']): NodeClient['run'] {
  return (job) => {
    const nth = Array.from({ length: count }, (_, index) => index + 1);
    job.simulator.faults.add({ when: { nth }, fault: { kind: 'refuse' } });
    return run(job);
  };
}

const persistent = byPRetry({ retries: 9, minTimeout: 5_000, factor: 1 });

export const wrongWaits: readonly NodeClient[] = [
  ...breaking('CLIENT-1', { also: ['CLIENT-2', 'CLIENT-14'], meets: ['throttle'] })({
    'retries a 429 at once': delivering(after429(() => 0)),
    'takes up to a fifth off Retry-After, to spread its retries': delivering(
      after429((askedMs, { random }) => askedMs * (0.8 + random() * 0.19)),
    ),
    'asks again for received messages 5 s after a 429': [
      listingReceived(1, [20, 5, 5, 5]),
      { also: ['CLIENT-13'] },
    ],
    'leaves the maxTimeout of undici, which cuts Retry-After short': byUndici({
      maxRetries: 4,
      methods: ['POST'],
      statusCodes: [429],
    }),
  }),
  ...breaking('CLIENT-2', { meets: ['throttle'] })({
    'goes on with its list during a 429': during429((job, next) => post(job, bodyOf(next))),
    'answers a 429 with the next key of the account, which shares its limit': during429(
      (job, next, key) => post({ ...job, key }, bodyOf(next)),
    ),
    'asks for the next page of received messages while a 429 holds': listingReceived(
      2,
      [3, 3, 3, 3],
      (index) => `?page=${index + 1}`,
    ),
  }),
  ...breaking('CLIENT-8')({
    'repeats a 400': [
      delivering({ ...stubborn, fieldsOf: () => ({ to: '555' }) }),
      { also: ['CLIENT-15'] },
    ],
    'repeats a 401': onFetch((job) => deliverAll({ ...job, key: 'smst_wrong' }, stubborn)),
    'counts 402 among the statuses that got retries': [
      byGot({ limit: 2, methods: ['POST'], statusCodes: [402, 429, 503] }),
      { meets: ['quota'] },
    ],
    'lets axios-retry repeat every error, a 403 too': byAxios(
      (client) => axiosRetry(client, { retries: 2, retryCondition: () => true }),
      { body: (message) => ({ ...bodyOf(message), from: '+12025550199' }) },
    ),
    'asks for a message by its own id instead of message_id': oneByOne(async (job, message) => {
      await deliver(job, message);
      for (let look = 1; look <= 3; look++) {
        await get(job, `/api/v1/sms/${message.intent}/`);
        await sleep(20_000);
      }
    }),
  }),
  ...breaking('CLIENT-9')({
    'drops a message at a 429': [silentAfter(429), { meets: ['throttle'] }],
    'drops a message when the connection closes': [
      silentAfter(undefined),
      { meets: ['lost_response'] },
    ],
    'starts its sends and reads no reply': [
      onFetch(async (job) => {
        await Promise.all(job.messages.map((message) => post(job, bodyOf(message))));
      }),
      { meets: ['refuse'] },
    ],
  }),
  ...breaking('CLIENT-11')({
    'reads a message every 14 seconds': polling(14_000),
    'polls one message from two loops, each every 20 seconds': [
      onFetch(async (job) => {
        const poll = polling(20_000).run;
        const later = sleep(7_000).then(() => poll(job));
        await Promise.all([poll(job), later]);
      }),
      { also: ['CLIENT-12'] },
    ],
  }),
  ...breaking('CLIENT-12')({
    'reads a message twenty times, whatever it has become': polling(20_000, []),
    'polls until a message is delivered, also one that has failed': polling(
      20_000,
      ['delivered'],
      '+12025550161',
    ),
  }),
  ...breaking('CLIENT-13')({
    'asks for received messages without a pause': listingReceived(null, [0, 0]),
  }),
  ...breaking('CLIENT-14')({
    'retries every five seconds, ten times': { ...persistent, run: refusing(100, persistent.run) },
    'lets all messages that met a 429 go at the end of the same wait': onFetch((job) => {
      job.simulator.limits.patch({ send: 15 });
      return sendingMany(30, 0, (reply) => retryAfterMs(reply as Reply))(job);
    }),
    'retries everything at the next full minute after an outage': onFetch(
      refusing(
        12,
        sendingMany(12, 300, () => 2 * minuteMs - (Date.now() % minuteMs)),
      ),
    ),
  }),
  ...breaking('CLIENT-17', { meets: ['overloaded'] })({
    'waits 20 s after a 503, whatever Retry-After says': delivering(),
  }),
];
