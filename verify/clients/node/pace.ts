/** Clients that ask too often, or all at once. */
import axiosRetry from 'axios-retry';
import pRetry from 'p-retry';
import { type Job, type NodeClient, sleep } from '../client.ts';
import { but, deliver, get, type Reply, sent } from './deliver.ts';
import { axiosOn, bodyOf, confirmed, eachBy, undiciOn } from './library.ts';

const received = '/api/v1/sms/received/';
const pollsFast = { rule: 'CLIENT-11' } as const;
const pollsOn = { rule: 'CLIENT-12' } as const;
const pollsReceived = { rule: 'CLIENT-13' } as const;
const crowds = { rule: 'CLIENT-14' } as const;

function isFinal(reply: Reply | undefined): boolean {
  return ['delivered', 'failed'].includes(String(reply?.json['status']));
}

/** Sends each message, and reads it after each pause until `isOver`. */
function polling(pauseMs: (look: number) => number, isOver = isFinal): NodeClient['run'] {
  return async (job) => {
    for (const message of job.messages) {
      const path = await sent(job, message);
      for (let look = 1; look <= 20; look++) {
        await sleep(pauseMs(look));
        if (isOver(await get(job, path))) break;
      }
    }
  };
}

function every(pauseMs: number, path = received): NodeClient['run'] {
  return async (job) => {
    for (let look = 1; look <= 5; look++) {
      await get(job, path);
      await sleep(pauseMs);
    }
  };
}

export const pace: readonly NodeClient[] = [
  {
    ...pollsFast,
    name: 'polls-every-second',
    library: 'fetch',
    does: 'reads a message each second until it is final',
    run: polling(() => 1_000),
  },
  {
    ...pollsFast,
    name: 'polls-by-back-off',
    library: 'fetch',
    does: 'reads a message after 1, 2, 4, ... seconds',
    run: polling((look) => 1_000 * 2 ** Math.min(look, 6)),
  },
  {
    ...pollsFast,
    name: 'polls-every-14-seconds',
    library: 'fetch',
    does: 'reads a message every 14 seconds',
    run: polling(() => 14_000),
  },
  {
    ...pollsFast,
    name: 'p-retry-polls',
    library: 'p-retry',
    does: 'polls by p-retry, whose first pause is one second',
    run: async (job) => {
      for (const message of job.messages) {
        const path = await sent(job, message);
        await pRetry(async () => {
          if (!isFinal(await get(job, path))) throw new Error('not final');
        });
      }
    },
  },
  {
    ...pollsFast,
    name: 'two-pollers',
    library: 'fetch',
    does: 'polls each message every 20 seconds in two processes',
    run: async (job) => {
      const [message] = job.messages;
      if (message === undefined) return;
      const path = await sent(job, message);
      const poller = async (startMs: number) => {
        await sleep(startMs);
        while (!isFinal(await get(job, path))) await sleep(20_000);
      };
      await Promise.all([poller(0), poller(7_000)]);
    },
    also: ['CLIENT-12'],
  },
  {
    ...pollsOn,
    name: 'polls-a-delivered-message',
    library: 'fetch',
    does: 'reads a message ten times, whatever it has become',
    run: polling(
      () => 20_000,
      () => false,
    ),
  },
  {
    ...pollsOn,
    name: 'waits-for-delivered-alone',
    library: 'fetch',
    does: 'polls until a message is delivered, and so on for ever where it has failed',
    run: async (job) =>
      polling(
        () => 20_000,
        (reply) => reply?.json['status'] === 'delivered',
      )({ ...job, messages: job.messages.map((one) => ({ ...one, to: '+12025550161' })) }),
  },
  {
    ...pollsOn,
    name: 'refreshes-its-table',
    library: 'fetch',
    does: 'reads all messages of its table every minute',
    run: async (job) => {
      const paths: string[] = [];
      for (const message of job.messages) paths.push(await sent(job, message));
      for (let look = 1; look <= 6; look++) {
        await sleep(60_000);
        for (const path of paths) await get(job, path);
      }
    },
  },
  {
    ...pollsReceived,
    name: 'polls-received-every-2-seconds',
    library: 'fetch',
    does: 'asks for received messages every two seconds',
    run: every(2_000),
  },
  {
    ...pollsReceived,
    name: 'polls-received-without-a-pause',
    library: 'fetch',
    does: 'asks for received messages as if the reply were held until there are some',
    run: every(0),
  },
  {
    ...pollsReceived,
    name: 'polls-received-every-10-seconds',
    library: 'axios',
    does: 'asks for received messages every ten seconds, by page',
    run: every(10_000, `${received}?page=1`),
  },
  {
    ...crowds,
    name: 'ten-attempts-in-a-minute',
    library: 'p-retry',
    does: 'retries every five seconds, ten times',
    run: async (job) => {
      breakDown(job);
      await eachBy(
        (one) => (message) =>
          pRetry(() => confirmed(one, bodyOf(message)), {
            retries: 9,
            minTimeout: 5_000,
            factor: 1,
          }),
      )(job);
    },
  },
  {
    ...crowds,
    name: 'axios-retry-without-pauses',
    library: 'axios-retry',
    does: 'retries eight times without a pause',
    run: async (job) => {
      breakDown(job);
      await eachBy((one) =>
        axiosOn(one, (client) => axiosRetry(client, { retries: 8, retryCondition: () => true })),
      )(job);
    },
  },
  {
    ...crowds,
    name: 'undici-eight-retries',
    library: 'undici',
    does: 'retries POST eight times, at pauses of a few seconds at most',
    onSocket: true,
    run: async (job) => {
      breakDown(job);
      await eachBy((one) => undiciOn(one, { maxRetries: 8, maxTimeout: 5_000, methods: ['POST'] }))(
        job,
      );
    },
  },
  {
    ...crowds,
    name: 'thundering-herd',
    library: 'fetch',
    does: 'lets all messages that met a 429 go at the end of the same wait',
    run: async (job) => {
      job.simulator.limits.patch({ send: 15 });
      const habits = but({ waitOf: (reply) => Number(reply?.retryAfter) * 1_000 });
      await Promise.all(copies(job, 30).map((message) => deliver(job, message, habits)));
    },
  },
  {
    ...crowds,
    name: 'retries-on-the-minute',
    library: 'fetch',
    does: 'retries everything at the next full minute after an outage',
    run: async (job) => {
      job.simulator.faults.add({ when: { nth: range(12) }, fault: { kind: 'refuse' } });
      const habits = but({ waitOf: () => 120_000 - (Date.now() % 60_000) });
      const messages = copies(job, 12);
      await Promise.all(
        messages.map(async (message, at) => {
          await sleep(at * 300);
          await deliver(job, message, habits);
        }),
      );
    },
  },
];

/** Every send is 503 from now on. */
function breakDown({ simulator }: Job): void {
  simulator.faults.add({ when: { every: 1 }, fault: { kind: 'status', status: 503 } });
}

function copies({ messages: [first] }: Job, count: number) {
  if (first === undefined) return [];
  return range(count).map((at) => ({
    ...first,
    intent: `copy-${at}`,
    message: `${first.message} ${at}`,
  }));
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}
