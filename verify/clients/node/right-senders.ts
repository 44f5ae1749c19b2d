/** Right clients on `fetch` that send one message after another, and look odd. */
import { type NodeClient, sleep } from '../client.ts';
import {
  but,
  careful,
  deliver,
  equal,
  get,
  impatient,
  inTurn,
  isConfirmed,
  post,
  type Reply,
} from './deliver.ts';
import { bodyOf } from './library.ts';

const hourMs = 3_600_000;
const library = 'fetch';

export const rightSenders: readonly NodeClient[] = [
  { name: 'careful', library, does: 'waits as long as it is asked to', run: inTurn() },
  {
    name: 'waits-an-hour',
    library,
    does: 'waits an hour whatever the reason',
    run: inTurn({ waitOf: (reply) => (isRefused(reply) ? undefined : hourMs) }),
  },
  {
    name: 'retries-23-hours-later',
    library,
    does: 'retries on the next day, just before the id is forgotten',
    run: inTurn({
      waitOf: (reply, attempt) =>
        isRefused(reply) ? undefined : attempt === 1 ? 22 * hourMs : 20 * 60_000,
    }),
  },
  {
    name: 'times-out-and-retries',
    library,
    does: 'closes the connection after two seconds without a reply, and retries under the same id',
    run: (job) => inTurn()(impatient(job, 2_000)),
  },
  {
    name: 'restarted-in-the-middle',
    library,
    does: 'is killed while it waits for a reply, again and again, with its ids on disk',
    run: async (job) => {
      for (const message of job.messages) {
        // Killed: it never reads this reply. Started again, it waits before it goes on.
        if (job.random() < 0.5) {
          void post(job, bodyOf(message));
          await sleep(61_000);
        }
        await deliver(job, message);
      }
    },
  },
  {
    name: 'other-endpoint-after-a-lost-reply',
    library,
    does: 'retries a lost send by another endpoint, which knows the same request_id',
    run: async (job) => {
      for (const message of job.messages) {
        const reply = await post(job, bodyOf(message));
        if (isConfirmed(reply)) {
          job.report(message, bodyOf(message).request_id, 'accepted');
          continue;
        }
        await sleep(61_000);
        await deliver(job, message, but({ path: '/api/external/send/' }));
      }
    },
  },
  {
    name: 'equal-texts-on-purpose',
    library,
    does: 'sends the same text to the same number several times, each under an id of its own',
    run: (job) => inTurn()({ ...job, messages: job.messages.map(equal) }),
  },
  {
    name: 'service-clock-jumps',
    library,
    does: 'keeps working across jumps of the service’s clock',
    run: async (job) => {
      for (const message of job.messages) {
        await deliver(job, message);
        job.simulator.clock.advance(`${1 + Math.floor(job.random() * 30)}h`);
      }
    },
  },
  {
    name: 'rotates-its-key',
    library,
    does: 'has its key revoked in the middle, and retries the refused request with the next',
    run: async (job) => {
      const first = job.simulator.accounts.createKey('acme', { name: 'old' });
      let key = first.key;
      for (const [at, message] of job.messages.entries()) {
        if (at === 2) job.simulator.accounts.revokeKey(first.key_id);
        const reply = await deliver({ ...job, key, report: () => {} }, message);
        if (reply?.status === 401) {
          key = job.key;
          await deliver(job, message);
        } else job.report(message, careful.idOf(message, 1, job), 'accepted');
      }
    },
  },
  {
    name: 'tries-its-keys-in-turn',
    library,
    does: 'starts with three keys, two of them stale, and uses the first that works',
    run: async (job) => {
      for (const key of ['smst_stale1', 'smst_stale2', job.key]) {
        const reply = await get({ ...job, key }, '/api/v1/account/stats/');
        if (reply?.status === 200) await inTurn()({ ...job, key });
      }
    },
  },
  {
    name: 'other-words-on-retry',
    library,
    does: 'writes the same message otherwise on a retry: from_number, other order, more spaces',
    run: inTurn({
      bodyOf: ({ to, from, message }, id) => ({ request_id: id, message, from_number: from, to }),
      idOf: ({ intent }) => `other-${intent}`,
    }),
  },
  {
    name: 'alias-on-retry-alone',
    library,
    does: 'sends from first, and from_number on a retry',
    run: async (job) => {
      for (const message of job.messages) {
        let attempts = 0;
        await deliver(
          job,
          message,
          but({
            bodyOf: ({ to, from, message: text }, id) =>
              attempts++ === 0
                ? { to, from, message: text, request_id: id }
                : { request_id: id, message: text, to, from_number: from },
          }),
        );
      }
    },
  },
  {
    name: 'schedules',
    library,
    does: 'sends messages for tomorrow, with their send_at, and retries them as they are',
    run: async (job) => {
      const sendAt = new Date(Date.now() + 26 * hourMs).toISOString();
      await inTurn({
        bodyOf: (message, id) => ({ ...careful.bodyOf(message, id), send_at: sendAt }),
      })(job);
    },
  },
  {
    name: 'asks-again-what-became-of-it',
    library,
    does: 'sends everything a second time an hour later, to learn the ids that it has lost',
    run: async (job) => {
      await inTurn()(job);
      await sleep(hourMs);
      await inTurn()(job);
    },
  },
  {
    name: 'one-id-for-each-day',
    library,
    does: 'uses one id every other day, for another message each time',
    run: async (job) => {
      for (const message of job.messages) {
        await deliver(job, message, but({ idOf: () => 'reminder' }));
        await sleep(49 * hourMs);
      }
    },
  },
  {
    name: 'waits-for-the-next-month',
    library,
    does: 'spends its quota, and sends the rest next month',
    run: async (job) => {
      job.simulator.accounts.patch('acme', { monthly_quota: 3 });
      for (const message of job.messages) {
        const reply = await deliver({ ...job, report: () => {} }, message);
        if (reply?.status === 402) await nextMonth();
        await deliver(job, message);
      }
    },
  },
  {
    name: 'says-that-it-failed',
    library,
    does: 'spends its quota, and reports the rest as failed',
    run: async (job) => {
      job.simulator.accounts.patch('acme', { monthly_quota: 2 });
      await inTurn()(job);
    },
  },
  {
    name: 'corrects-its-sender',
    library,
    does: 'meets a 403, and sends the same message under the same id from another number',
    run: async (job) => {
      for (const message of job.messages) {
        const wrong = { ...message, from: '+12025550199' };
        const reply = await deliver({ ...job, report: () => {} }, wrong);
        if (reply?.status === 403) await deliver(job, message);
      }
    },
  },
  {
    name: 'long-texts',
    library,
    does: 'sends 1,600 characters of several bytes',
    run: (job) =>
      inTurn()({
        ...job,
        messages: job.messages.map((one) => ({ ...one, message: '\u{1F600}'.repeat(1_600) })),
      }),
  },
];

function isRefused(reply: Reply | undefined): boolean {
  return reply !== undefined && reply.status < 500 && reply.status !== 429;
}

async function nextMonth(): Promise<void> {
  const month = new Date().getUTCMonth();
  while (new Date().getUTCMonth() === month) await sleep(hourMs);
}
