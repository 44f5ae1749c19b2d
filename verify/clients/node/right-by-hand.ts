/** Right clients on `fetch` that look odd. */
import { type Job, type Message, type NodeClient, sendPath, sleep } from '../client.ts';
import {
  but,
  careful,
  deliver,
  get,
  impatient,
  inTurn,
  isConfirmed,
  post,
  type Reply,
  sent,
} from './deliver.ts';
import { bodyOf } from './library.ts';

const hourMs = 3_600_000;
const library = 'fetch';
const reply = { from: '+12025550123', to: '+12025550101', message: 'Thank you' };

/** A wait that all share: while it runs, not one of them sends. */
class Gate {
  #untilMs = 0;

  async pass(): Promise<void> {
    while (Date.now() < this.#untilMs) await sleep(this.#untilMs - Date.now());
  }

  close(reply: Reply | undefined): void {
    if (reply?.status !== 429) return;
    this.#untilMs = Math.max(this.#untilMs, Date.now() + Number(reply.retryAfter) * 1_000);
  }

  /** Sends under a gate; several may be on their way when it closes. */
  async deliver(job: Job, message: Message): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await this.pass();
      const reply = await post(job, bodyOf(message));
      this.close(reply);
      if (isConfirmed(reply)) break;
      // What the gate lets go shall not go at once.
      await sleep((15 + job.random() * 20 * attempt) * 1_000);
    }
    job.report(message, bodyOf(message).request_id, 'accepted');
  }
}

/** Sends by several workers under one gate. */
function workers(count: number, pauseMs: number): NodeClient['run'] {
  return async (job) => {
    const gate = new Gate();
    const queue = [...job.messages];
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        await gate.deliver(job, next);
        await sleep(job.random() * pauseMs);
      }
    };
    await Promise.all(Array.from({ length: count }, work));
  };
}

async function readUntilFinal(job: Job, path: string): Promise<void> {
  for (;;) {
    await sleep(20_000);
    const reply = await get(job, path);
    if (['delivered', 'failed'].includes(String(reply?.json['status']))) return;
  }
}

export const rightByHand: readonly NodeClient[] = [
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
    name: 'three-workers-one-gate',
    library,
    does: 'sends by three workers, which all stop when one meets a 429',
    run: workers(3, 3_000),
  },
  {
    name: 'all-at-once-under-a-gate',
    library,
    does: 'sends all its messages at the same moment',
    run: workers(20, 0),
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
    name: 'two-processes-with-one-wait',
    library,
    does: 'runs twice with one key, and shares the end of a 429 through a file',
    run: async (job) => {
      const half = Math.floor(job.messages.length / 2);
      const gate = new Gate();
      const process = async (messages: readonly Message[], pauseMs: number) => {
        for (const message of messages) {
          await gate.deliver(job, message);
          await sleep(pauseMs);
        }
      };
      await Promise.all([
        process(job.messages.slice(0, half), 1_300),
        process(job.messages.slice(half), 2_100),
      ]);
    },
  },
  {
    name: 'one-key-for-each-process',
    library,
    does: 'runs twice with two keys of one account, and shares the end of a 429',
    run: async (job) => {
      const { key } = job.simulator.accounts.createKey('acme', { name: 'second' });
      const gate = new Gate();
      const [first, ...others] = job.messages;
      const process = async (own: Job, messages: readonly (Message | undefined)[]) => {
        for (const message of messages) {
          if (message !== undefined) await gate.deliver(own, message);
        }
      };
      await Promise.all([process(job, [first]), process({ ...job, key }, others)]);
    },
  },
  {
    name: 'other-endpoint-meanwhile',
    library,
    does: 'sends other messages by the dashboard endpoint while the first one is limited',
    run: async (job) => {
      const half = Math.floor(job.messages.length / 2);
      await Promise.all([
        inTurn()({ ...job, messages: job.messages.slice(half) }),
        inTurn({ path: '/api/sms/send/' })({ ...job, messages: job.messages.slice(0, half) }),
      ]);
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
    name: 'equal-texts-at-once',
    library,
    does: 'sends the same text at the same moment several times, each under an id of its own',
    run: (job) => workers(20, 0)({ ...job, messages: job.messages.map(equal) }),
  },
  {
    name: 'service-clock-jumps',
    library,
    does: 'lives through jumps of the service’s clock',
    run: async (job) => {
      for (const message of job.messages) {
        await deliver(job, message);
        job.simulator.clock.advance(`${1 + Math.floor(job.random() * 30)}h`);
      }
    },
  },
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
    name: 'hedges',
    library,
    does: 'sends the same request again when no reply has come within three seconds',
    run: async (job) => {
      for (const message of job.messages) {
        for (;;) {
          const replies = await hedged(job, message);
          // One may be confirmed and the other a 429, which holds for the next message too.
          if (replies.some((reply) => reply?.status === 429)) await sleep(61_000);
          if (replies.some(isConfirmed)) break;
          await sleep(20_000);
        }
        job.report(message, bodyOf(message).request_id, 'accepted');
      }
    },
  },
  {
    name: 'spreads-its-retries',
    library,
    does: 'sends 34 messages at once, and retries each at a time of its own',
    run: async (job) => {
      job.simulator.limits.patch({ send: 20 });
      const messages = Array.from({ length: 34 }, (_, at) => ({
        intent: `many-${at}`,
        to: '+12025550123',
        from: '+12025550101',
        message: `Number ${at}`,
      }));
      const habits = but({
        waitOf: (_, __, { random }) => (61 + random() * 90) * 1_000,
      });
      await Promise.all(messages.map((message) => deliver(job, message, habits)));
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

function isRefused(reply: Reply | undefined): boolean {
  return reply !== undefined && reply.status < 500 && reply.status !== 429;
}

function equal(message: Message): Message {
  return { ...message, message: 'Your order is on its way' };
}

async function hedged(job: Job, message: Message): Promise<(Reply | undefined)[]> {
  const first = post(job, bodyOf(message));
  const isLate = await Promise.race([first.then(() => false), sleep(3_000).then(() => true)]);
  return isLate ? Promise.all([first, post(job, bodyOf(message))]) : [await first];
}

async function nextMonth(): Promise<void> {
  const month = new Date().getUTCMonth();
  while (new Date().getUTCMonth() === month) await sleep(hourMs);
}
