/**
 * Clients on `fetch` that break no rule but send or retry at unusual times, in unusual ways, or
 * several messages at once: the referee must find nothing.
 */
import { hourMs, minuteMs, secondMs } from '#contract/time.ts';
import { Simulator } from '#src/simulator.ts';
import { type Job, type Message, type NodeClient, right, sleep } from '../client.ts';
import { numbered } from '../conditions.ts';
import {
  bodyOf,
  careful,
  deliver,
  deliverAll,
  delivering,
  get,
  type Habits,
  isConfirmed,
  oneByOne,
  onFetch,
  post,
  reportAccepted,
  retryAfterMs,
  withTimeout,
} from './deliver.ts';

/** One second longer than the minute that a limit counts. */
const afterWindowMs = 61_000;

function withText(job: Job, message: string): Job {
  return { ...job, messages: job.messages.map((original) => ({ ...original, message })) };
}

/** Moves the service's clock without the client's, which the operation refuses. */
function moveServiceClock({ simulator }: Job, ms: number): void {
  if (!(simulator instanceof Simulator)) throw new Error('no simulator of this process');
  const { simulation, wallClock } = simulator;
  simulation.clock.advanceTo(simulation.clock.now() + ms);
  wallClock.anchor();
}

/**
 * Sends messages by several workers, each of which takes the next message. All stop when one meets a
 * 429: no send leaves before the end of the wait, but others may be in flight at its start. A worker
 * pauses up to `pauseMs` after a message.
 */
async function sendByWorkers(
  messages: readonly Message[],
  workers: readonly Job[],
  pauseMs: number,
): Promise<void> {
  const queue = messages.values();
  let waitEndMs = 0;
  const deliverAfterWait = async (job: Job, message: Message) => {
    for (let attempt = 1; ; attempt++) {
      while (Date.now() < waitEndMs) await sleep(waitEndMs - Date.now());
      const reply = await post(job, bodyOf(message));
      if (reply?.status === 429) waitEndMs = Math.max(waitEndMs, Date.now() + retryAfterMs(reply));
      if (isConfirmed(reply)) return reportAccepted(job, message);
      // Messages that waited for the same end must not leave at the same moment.
      await sleep((15 + job.random() * 20 * attempt) * secondMs);
    }
  };
  const work = async (job: Job) => {
    for (const message of queue) {
      await deliverAfterWait(job, message);
      await sleep(job.random() * pauseMs);
    }
  };
  await Promise.all(workers.map(work));
}

/** Sends a message again if no reply came within three seconds, and reads both replies. */
async function hedge(job: Job, message: Message): Promise<void> {
  for (;;) {
    const first = post(job, bodyOf(message));
    const isLate = await Promise.race([first.then(() => false), sleep(3_000).then(() => true)]);
    const replies = await Promise.all(isLate ? [first, post(job, bodyOf(message))] : [first]);
    // One may be confirmed and the other a 429, whose wait also holds for the next message.
    if (replies.some((reply) => reply?.status === 429)) await sleep(afterWindowMs);
    if (replies.some(isConfirmed)) return reportAccepted(job, message);
    await sleep(20_000);
  }
}

/** A careful client of a service that refuses the second and the fifth send with a `Retry-After`. */
function refusedTwice(status: number, retryAfter: () => string, habits: Habits = {}) {
  return onFetch((job) => {
    const headers = { 'retry-after': retryAfter() };
    const fault = { kind: 'status', status, headers } as const;
    job.simulator.faults.add({ match: { endpoint: 'send' }, when: { nth: [2, 5] }, fault });
    return deliverAll(job, habits);
  });
}

export const rightSenders: readonly NodeClient[] = right({
  'waits as long as it is asked to': delivering(),
  'retries on the next day, just before the id is forgotten': delivering({
    waitOf: (reply, attempt, job) => {
      if (careful.waitOf(reply, attempt, job) === undefined) return undefined;
      return attempt === 1 ? 22 * hourMs : 20 * minuteMs;
    },
  }),
  'closes the connection after two seconds, and retries under the same id': onFetch((job) =>
    deliverAll(withTimeout(job)),
  ),
  'is killed while it waits for a reply, with its ids on disk': oneByOne(async (job, message) => {
    if (job.random() < 0.5) {
      void post(job, bodyOf(message));
      await sleep(afterWindowMs);
    }
    await deliver(job, message);
  }),
  'retries by another endpoint, which knows the same request_id': oneByOne(async (job, message) => {
    if (isConfirmed(await post(job, bodyOf(message)))) return reportAccepted(job, message);
    await sleep(afterWindowMs);
    await deliver(job, message, { path: '/api/external/send/' });
  }),
  'sends the same text to the same number several times': onFetch((job) =>
    deliverAll(withText(job, 'Hello')),
  ),
  'keeps working across jumps of the service’s clock': oneByOne(async (job, message) => {
    await deliver(job, message);
    moveServiceClock(job, (1 + Math.floor(job.random() * 30)) * hourMs);
  }),
  'sends messages for tomorrow, and retries them as they are': onFetch((job) => {
    const send_at = new Date(Date.now() + 26 * hourMs).toISOString();
    return deliverAll(job, { fieldsOf: () => ({ send_at }) });
  }),
  'sends everything again an hour later, to learn the message_ids': onFetch(async (job) => {
    await deliverAll(job);
    await sleep(hourMs);
    await deliverAll(job);
  }),
  'sends 1,600 characters of several bytes': onFetch((job) =>
    deliverAll(withText(job, '\u{1F600}'.repeat(1_600))),
  ),
  'sends by three workers, which all stop when one meets a 429': onFetch((job) =>
    sendByWorkers(job.messages, [job, job, job], 3_000),
  ),
  'runs twice with two keys of one account, and shares the end of a 429': onFetch((job) => {
    const { key } = job.simulator.accounts.createKey('acme', { name: 'second' });
    return sendByWorkers(job.messages, [job, { ...job, key }], 0);
  }),
  'sends the same text at the same moment several times': onFetch((job) => {
    const worker = withText(job, 'Hello');
    return sendByWorkers(worker.messages, Array<Job>(20).fill(worker), 0);
  }),
  'sends other messages by the dashboard while the first is limited': onFetch(async (job) => {
    const half = job.messages.length / 2;
    const path = '/api/sms/send/';
    await Promise.all([
      deliverAll({ ...job, messages: job.messages.slice(half) }),
      deliverAll({ ...job, messages: job.messages.slice(0, half) }, { path }),
    ]);
  }),
  'sends again what got no reply within three seconds': oneByOne(hedge),
  'sends 34 messages at once, and retries each at a time of its own': onFetch(async (job) => {
    job.simulator.limits.patch({ send: 20 });
    const waitOf = () => afterWindowMs + job.random() * 90_000;
    await Promise.all(numbered(34).map((message) => deliver(job, message, { waitOf })));
  }),
  'waits after a 429 until an HTTP date': refusedTwice(429, () =>
    new Date(Date.now() + hourMs).toUTCString(),
  ),
  'waits after a 503 as long as it asks': refusedTwice(503, () => '90', {
    waitOf: (reply, ...others) =>
      reply?.retryAfter ? retryAfterMs(reply) : careful.waitOf(reply, ...others),
  }),
  'reads the account statistics before each retry': delivering({
    waitOf: (reply, attempt, job) => {
      void get(job, '/api/v1/account/stats/');
      return careful.waitOf(reply, attempt, job);
    },
  }),
});
