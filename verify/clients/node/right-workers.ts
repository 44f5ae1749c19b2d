/** Right clients on `fetch` that send several messages at once. */
import { type Job, type Message, type NodeClient, sleep } from '../client.ts';
import { but, deliver, equal, inTurn, isConfirmed, post, type Reply } from './deliver.ts';
import { bodyOf } from './library.ts';

const library = 'fetch';

/** A wait that all workers share: none of them sends while it runs. */
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

export const rightWorkers: readonly NodeClient[] = [
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
    name: 'equal-texts-at-once',
    library,
    does: 'sends the same text at the same moment several times, each under an id of its own',
    run: (job) => workers(20, 0)({ ...job, messages: job.messages.map(equal) }),
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
];

async function hedged(job: Job, message: Message): Promise<(Reply | undefined)[]> {
  const first = post(job, bodyOf(message));
  const isLate = await Promise.race([first.then(() => false), sleep(3_000).then(() => true)]);
  return isLate ? Promise.all([first, post(job, bodyOf(message))]) : [await first];
}
