/** Right clients on `fetch` that read: statuses, pages, statistics. */
import { type Job, type Message, type NodeClient, sendPath, sleep } from '../client.ts';
import { careful, get, inTurn, sent } from './deliver.ts';
import { bodyOf } from './library.ts';

const library = 'fetch';
const reply = { from: '+12025550123', to: '+12025550101', message: 'Thank you' };

async function readUntilFinal(job: Job, path: string): Promise<void> {
  for (;;) {
    await sleep(20_000);
    const reply = await get(job, path);
    if (['delivered', 'failed'].includes(String(reply?.json['status']))) return;
  }
}

export const rightReaders: readonly NodeClient[] = [
  {
    name: 'polls-until-final',
    library,
    does: 'reads each message every 20 seconds until it is final, several at a time',
    run: async (job) => {
      const readers: Promise<void>[] = [];
      for (const message of job.messages) {
        readers.push(readUntilFinal(job, await sent(job, message)));
        await sleep(job.random() * 5_000);
      }
      await Promise.all(readers);
    },
  },
  {
    name: 'reads-once-at-once',
    library,
    does: 'reads each message right after it was sent, once',
    run: async (job) => {
      for (const message of job.messages) await get(job, await sent(job, message));
    },
  },
  {
    name: 'walks-pages',
    library,
    does: 'asks for all pages of received messages at once, every half minute',
    run: async (job) => {
      for (let round = 1; round <= 4; round++) {
        job.simulator.sims.receive('acme', reply);
        for (let page = 1; page <= round; page++) {
          await get(job, `/api/v1/sms/received/?page_size=1&page=${page}`);
        }
        await sleep(30_000);
      }
    },
  },
  {
    name: 'looks-before-it-retries',
    library,
    does: 'reads the account statistics before each retry',
    run: inTurn({
      bodyOf: (message, id) => careful.bodyOf(message, id),
      waitOf: (reply, attempt, job) => {
        void get(job, '/api/v1/account/stats/');
        return careful.waitOf(reply, attempt, job);
      },
    }),
  },
  {
    name: 'reads-the-status-alone',
    library,
    does: 'looks at the status of a reply and never at its body',
    run: async (job) => {
      const ask = (message: Message) =>
        job
          .fetch(`${job.baseUrl}${sendPath}`, {
            method: 'POST',
            headers: { authorization: `Bearer ${job.key}`, 'content-type': 'application/json' },
            body: JSON.stringify(bodyOf(message)),
          })
          .then(
            ({ status }) => status,
            () => 0,
          );
      for (const message of job.messages) {
        for (let status = await ask(message); status !== 202 && status !== 200; ) {
          await sleep(61_000);
          status = await ask(message);
        }
        job.report(message, bodyOf(message).request_id, 'accepted');
      }
    },
  },
];
