/**
 * Wrong clients that the referee must find, by the rule that each breaks: they misreport, poll too
 * often, send invalid bodies, or show their key. Rules: CLIENT-10 to CLIENT-16.
 */
import pRetry from 'p-retry';
import { breaking, headersOf, type Job, type NodeClient, sendPath, sleep } from '../client.ts';
import {
  bodyOf,
  carefulBut,
  deliver,
  deliverAll,
  deliverForPath,
  delivering,
  get,
  oneByOne,
  onFetch,
  post,
  type Reply,
  reportAccepted,
} from './deliver.ts';
import { byAxios, byGot, byKy, byPRetry } from './library.ts';

function hasStatus(reply: Reply | undefined, ...statuses: readonly string[]): boolean {
  return statuses.includes(String(reply?.json['status']));
}

function isFinal(reply: Reply | undefined): boolean {
  return hasStatus(reply, 'delivered', 'failed');
}

/** Sends each message, and reads it after each pause until `isOver` is true, at most 20 times. */
function polling(pauseMs: number, isOver = isFinal, to?: string) {
  return oneByOne(async (job, message) => {
    const path = await deliverForPath(job, { ...message, ...(to !== undefined && { to }) });
    for (let look = 1; look <= 20; look++) {
      await sleep(pauseMs);
      if (isOver(await get(job, path))) break;
    }
  });
}

function pollingReceived(pauseMs: number, query = '') {
  return onFetch(async (job) => {
    for (let look = 1; look <= 5; look++) {
      await get(job, `/api/v1/sms/received/${query}`);
      await sleep(pauseMs);
    }
  });
}

/** Polls the first message from two loops that do not know each other. */
async function pollTwice(job: Job): Promise<void> {
  const [message] = job.messages;
  if (message === undefined) return;
  const path = await deliverForPath(job, message);
  const poll = async (startMs: number) => {
    await sleep(startMs);
    while (!isFinal(await get(job, path))) await sleep(20_000);
  };
  await Promise.all([poll(0), poll(7_000)]);
}

const pollsByPRetry = oneByOne(async (job, message) => {
  const path = await deliverForPath(job, message);
  await pRetry(async () => {
    if (!isFinal(await get(job, path))) throw new Error('not final');
  });
});

function numbersTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** Messages like the job's first one. */
function copies({ messages: [first] }: Job, count: number) {
  if (first === undefined) return [];
  return numbersTo(count).map((number) => ({
    ...first,
    intent: `copy-${number}`,
    message: `${first.message} ${number}`,
  }));
}

async function stampede(job: Job): Promise<void> {
  job.simulator.limits.patch({ send: 15 });
  const habits = carefulBut({ waitOf: (reply) => Number(reply?.retryAfter) * 1_000 });
  await Promise.all(copies(job, 30).map((message) => deliver(job, message, habits)));
}

async function retryOnTheMinute(job: Job): Promise<void> {
  job.simulator.faults.add({ when: { nth: numbersTo(12) }, fault: { kind: 'refuse' } });
  const habits = carefulBut({ waitOf: () => 120_000 - (Date.now() % 60_000) });
  const deliverLater = async (message: Job['messages'][number], index: number) => {
    await sleep(index * 300);
    await deliver(job, message, habits);
  };
  await Promise.all(copies(job, 12).map(deliverLater));
}

/** Makes the service answer every send 503 while the program runs. */
function whileBroken(program: NodeClient['run']): NodeClient['run'] {
  return (job) => {
    const fault = { kind: 'status', status: 503 } as const;
    job.simulator.faults.add({ when: { every: 1 }, fault });
    return program(job);
  };
}

const persistent = byPRetry({ retries: 9, minTimeout: 5_000, factor: 1 });

/**
 * A row: what the client does, its program, then `meets` (troubles without which the mistake does
 * not show) and `also` (other rules it breaks). `byKy(0)` and `byGot({ limit: 0 })` make no
 * retries.
 */
export const wrongContents: readonly NodeClient[] = [
  ...breaking('CLIENT-10')({
    'lost-reply-is-failure': [
      'reports a message as failed when its reply is lost',
      delivering({ waitOf: () => undefined }),
      { meets: ['lost_response'] },
    ],
    'timeout-is-failure': [
      'reports a message as failed when its timeout of two seconds is over',
      byAxios((client) => void Object.assign(client.defaults, { timeout: 2_000 }), {
        library: 'axios',
      }),
      { meets: ['delay'] },
    ],
    'unreadable-reply-is-failure': [
      'reports a message as failed when its reply is not JSON',
      byKy(0),
      { meets: ['malformed'] },
    ],
    'cut-reply-is-failure': [
      'reports a message as failed when its reply is cut',
      byGot({ limit: 0 }),
      { meets: ['truncate'] },
    ],
    'any-reply-is-success': [
      'reports accepted whatever the status is',
      delivering({ reportOf: () => 'accepted' }),
      { meets: ['quota'] },
    ],
    'reports-before-it-sends': [
      'reports accepted when it queues a message, and ends before it sends the last',
      onFetch(async (job) => {
        for (const message of job.messages) reportAccepted(job, message);
        for (const message of job.messages.slice(0, -1)) await post(job, bodyOf(message));
      }),
    ],
  }),
  ...breaking('CLIENT-11')({
    'polls-every-14-seconds': ['reads a message every 14 seconds', polling(14_000)],
    'p-retry-polls': [
      'polls by p-retry, whose first pause is one second',
      { ...pollsByPRetry, library: 'p-retry' },
    ],
    'two-pollers': [
      'polls one message from two loops, each every 20 seconds',
      onFetch(pollTwice),
      { also: ['CLIENT-12'] },
    ],
  }),
  ...breaking('CLIENT-12')({
    'polls-a-delivered-message': [
      'reads a message twenty times, whatever it has become',
      polling(20_000, () => false),
    ],
    'waits-for-delivered-alone': [
      'polls until a message is delivered, and so on for ever where it has failed',
      polling(20_000, (reply) => hasStatus(reply, 'delivered'), '+12025550161'),
    ],
  }),
  ...breaking('CLIENT-13')({
    'polls-received-without-a-pause': [
      'asks for received messages as if the reply were held until there are some',
      pollingReceived(0),
    ],
  }),
  ...breaking('CLIENT-14')({
    'ten-attempts-in-a-minute': [
      'retries every five seconds, ten times',
      { ...persistent, run: whileBroken(persistent.run) },
    ],
    'thundering-herd': [
      'lets all messages that met a 429 go at the end of the same wait',
      onFetch(stampede),
    ],
    'retries-on-the-minute': [
      'retries everything at the next full minute after an outage',
      onFetch(retryOnTheMinute),
    ],
  }),
  ...breaking('CLIENT-15')({
    'longer-than-1600': [
      'sends texts of any length',
      delivering({
        bodyOf: (message, id) => ({
          ...bodyOf(message),
          message: message.message.padEnd(1_700, '.'),
          request_id: id,
        }),
      }),
    ],
    'send-at-in-the-past': [
      'sends what was due while it was switched off, with its old send_at',
      byAxios(() => {}, {
        library: 'axios',
        body: (message) => ({
          ...bodyOf(message),
          send_at: new Date(Date.now() - 60_000).toISOString(),
        }),
      }),
    ],
    'number-as-a-number': [
      'writes a phone number as a JSON number',
      byGot({}, { body: (message) => ({ ...bodyOf(message), to: 12_025_550_123 }) }),
    ],
  }),
  ...breaking('CLIENT-16')({
    'key-in-the-query': [
      'appends its key to every URL',
      onFetch((job) => deliverAll(job, { path: `${sendPath}?api_key=${job.key}` })),
    ],
    'key-in-the-body': [
      'sends its key as a field of the body too',
      byAxios(() => {}, {
        library: 'axios',
        body: (message, job) => ({ ...bodyOf(message), api_key: job.key }),
      }),
    ],
    'key-in-the-path': [
      'calls an address with its key in the path first, as another service wants it',
      onFetch(async (job) => {
        await get(job, `/bot${job.key}/status/`);
        await get(job, `/api/v1/account/${job.key}/stats/`);
      }),
    ],
    'key-in-the-request-id': [
      'makes its request_ids unique by its key',
      delivering({
        idOf: ({ intent }, _, job) => `${job.key}/${intent}`,
        reportOf: () => undefined,
      }),
    ],
    'key-in-the-text': [
      'sends its configuration as a message, to test the way',
      byKy(
        {},
        {
          loop: (sendOf) => async (job) => {
            const send = sendOf(job);
            const text = JSON.stringify(headersOf(job.key));
            for (const message of job.messages) await send({ ...message, message: text });
          },
        },
      ),
    ],
    'key-in-a-form': [
      'logs in by a form with its key before it sends',
      onFetch(async (job) => {
        const body = new URLSearchParams({ key: job.key });
        await job.fetch(`${job.baseUrl}/api/v1/account/stats/`, { method: 'POST', body });
        for (const message of job.messages) await post(job, bodyOf(message));
      }),
    ],
  }),
];
