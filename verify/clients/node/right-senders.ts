/**
 * Clients on `fetch` that break no rule but send or retry at unusual times, by unusual ways, or
 * several messages at once: the referee must find nothing. The table at the end says what each
 * does; the functions above it are their programs.
 */
import { hourMs, minuteMs } from '#contract/time.ts';
import { Simulator } from '#src/simulator.ts';
import { type Job, type Message, type NodeClient, right, sleep } from '../client.ts';
import {
  bodyOf,
  careful,
  carefulBut,
  deliver,
  deliverAll,
  delivering,
  get,
  isConfirmed,
  oneByOne,
  onFetch,
  post,
  reportAccepted,
  retryAfterMs,
  withEqualText,
  withTimeout,
} from './deliver.ts';

/** One second longer than the minute that a limit counts. */
const afterWindowMs = 61_000;

/** Moves the service's clock without the client's, which the operation refuses. */
function moveServiceClock({ simulator }: Job, ms: number): void {
  if (!(simulator instanceof Simulator)) throw new Error('no simulator of this process');
  const { simulation, wallClock } = simulator;
  simulation.clock.advanceTo(simulation.clock.now() + ms);
  wallClock.anchor();
}

/** A wait that all workers share: after a 429, no worker sends before the end of the wait. */
class Gate {
  /** When the wait ends, in epoch milliseconds. */
  #closedUntilMs = 0;

  /** Sends until it is confirmed. Other sends may be in flight when a 429 closes the gate. */
  async deliver(job: Job, message: Message): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      while (Date.now() < this.#closedUntilMs) await sleep(this.#closedUntilMs - Date.now());
      const reply = await post(job, bodyOf(message));
      if (reply?.status === 429) {
        this.#closedUntilMs = Math.max(this.#closedUntilMs, Date.now() + retryAfterMs(reply));
      }
      if (isConfirmed(reply)) break;
      // Messages that waited at the gate must not leave at the same moment.
      await sleep((15 + job.random() * 20 * attempt) * 1_000);
    }
    reportAccepted(job, message);
  }
}

/** Sends by several workers that share a gate; each pauses up to `pauseMs` after a message. */
async function sendByWorkers(job: Job, count: number, pauseMs: number): Promise<void> {
  const gate = new Gate();
  const queue = job.messages.values();
  const work = async () => {
    for (const message of queue) {
      await gate.deliver(job, message);
      await sleep(job.random() * pauseMs);
    }
  };
  await Promise.all(Array.from({ length: count }, work));
}

/** Sends the first message with one key and the others with another, under one gate. */
async function sendByTwoKeys(job: Job): Promise<void> {
  const { key } = job.simulator.accounts.createKey('acme', { name: 'second' });
  const gate = new Gate();
  const sendAll = async (jobOfKey: Job, messages: readonly Message[]) => {
    for (const message of messages) await gate.deliver(jobOfKey, message);
  };
  const [first, others] = [job.messages.slice(0, 1), job.messages.slice(1)];
  await Promise.all([sendAll(job, first), sendAll({ ...job, key }, others)]);
}

async function sendDespiteKills(job: Job, message: Message): Promise<void> {
  // Half of the time the client is killed before it reads the reply; restarted, it waits first.
  if (job.random() < 0.5) {
    void post(job, bodyOf(message));
    await sleep(afterWindowMs);
  }
  await deliver(job, message);
}

async function retryByOtherEndpoint(job: Job, message: Message): Promise<void> {
  if (isConfirmed(await post(job, bodyOf(message)))) return reportAccepted(job, message);
  await sleep(afterWindowMs);
  await deliver(job, message, carefulBut({ path: '/api/external/send/' }));
}

/** Sends a message again if no reply came within three seconds, and reads both replies. */
async function hedge(job: Job, message: Message): Promise<void> {
  for (;;) {
    const first = post(job, bodyOf(message));
    const isLate = await Promise.race([first.then(() => false), sleep(3_000).then(() => true)]);
    const sends = isLate ? [first, post(job, bodyOf(message))] : [first];
    const replies = await Promise.all(sends);
    // One may be confirmed and the other a 429, whose wait covers the next message, too.
    if (replies.some((reply) => reply?.status === 429)) await sleep(afterWindowMs);
    if (replies.some(isConfirmed)) return reportAccepted(job, message);
    await sleep(20_000);
  }
}

/** Sends more messages at once than the limit allows. */
async function spreadRetries(job: Job): Promise<void> {
  job.simulator.limits.patch({ send: 20 });
  const messages = Array.from({ length: 34 }, (_, index) => ({
    intent: `many-${index}`,
    to: '+12025550123',
    from: '+12025550101',
    message: `Number ${index}`,
  }));
  const habits = carefulBut({ waitOf: (_, __, { random }) => afterWindowMs + random() * 90_000 });
  await Promise.all(messages.map((message) => deliver(job, message, habits)));
}

/** Makes the service refuse the second and the fifth send with this `Retry-After`. */
function refuseTwo({ simulator }: Job, status: number, retryAfter: string): void {
  const fault = { kind: 'status', status, headers: { 'retry-after': retryAfter } } as const;
  simulator.faults.add({ match: { endpoint: 'send' }, when: { nth: [2, 5] }, fault });
}

export const rightSenders: readonly NodeClient[] = right({
  careful: ['waits as long as it is asked to', delivering()],
  'retries-23-hours-later': [
    'retries on the next day, just before the id is forgotten',
    delivering({
      waitOf: (reply, attempt, job) => {
        if (careful.waitOf(reply, attempt, job) === undefined) return undefined;
        return attempt === 1 ? 22 * hourMs : 20 * minuteMs;
      },
    }),
  ],
  'times-out-and-retries': [
    'closes the connection after two seconds without a reply, and retries under the same id',
    onFetch((job) => deliverAll(withTimeout(job, 2_000))),
  ],
  'restarted-in-the-middle': [
    'is killed while it waits for a reply, again and again, with its ids on disk',
    oneByOne(sendDespiteKills),
  ],
  'other-endpoint-after-a-lost-reply': [
    'retries a lost send by another endpoint, which knows the same request_id',
    oneByOne(retryByOtherEndpoint),
  ],
  'equal-texts-on-purpose': [
    'sends the same text to the same number several times, each under an id of its own',
    onFetch((job) => deliverAll({ ...job, messages: job.messages.map(withEqualText) })),
  ],
  'service-clock-jumps': [
    'keeps working across jumps of the service’s clock',
    oneByOne(async (job, message) => {
      await deliver(job, message);
      moveServiceClock(job, (1 + Math.floor(job.random() * 30)) * hourMs);
    }),
  ],
  schedules: [
    'sends messages for tomorrow, with their send_at, and retries them as they are',
    onFetch((job) => {
      const send_at = new Date(Date.now() + 26 * hourMs).toISOString();
      return deliverAll(job, {
        bodyOf: (message, id) => ({ ...careful.bodyOf(message, id), send_at }),
      });
    }),
  ],
  'asks-again-what-became-of-it': [
    'sends everything a second time an hour later, to learn the ids that it has lost',
    onFetch(async (job) => {
      await deliverAll(job);
      await sleep(hourMs);
      await deliverAll(job);
    }),
  ],
  'long-texts': [
    'sends 1,600 characters of several bytes',
    onFetch((job) => {
      const message = '\u{1F600}'.repeat(1_600);
      return deliverAll({
        ...job,
        messages: job.messages.map((original) => ({ ...original, message })),
      });
    }),
  ],
  'three-workers-one-gate': [
    'sends by three workers, which all stop when one meets a 429',
    onFetch((job) => sendByWorkers(job, 3, 3_000)),
  ],
  'one-key-for-each-process': [
    'runs twice with two keys of one account, and shares the end of a 429',
    onFetch(sendByTwoKeys),
  ],
  'other-endpoint-meanwhile': [
    'sends other messages by the dashboard endpoint while the first one is limited',
    onFetch(async (job) => {
      const messages = [...job.messages];
      const half = messages.splice(0, messages.length / 2);
      const path = '/api/sms/send/';
      await Promise.all([
        deliverAll({ ...job, messages }),
        deliverAll({ ...job, messages: half }, { path }),
      ]);
    }),
  ],
  'equal-texts-at-once': [
    'sends the same text at the same moment several times, each under an id of its own',
    onFetch((job) => sendByWorkers({ ...job, messages: job.messages.map(withEqualText) }, 20, 0)),
  ],
  hedges: [
    'sends the same request again when no reply has come within three seconds',
    oneByOne(hedge),
  ],
  'spreads-its-retries': [
    'sends 34 messages at once, and retries each at a time of its own',
    onFetch(spreadRetries),
  ],
  'waits-until-a-date': [
    'meets a 429 whose Retry-After is an HTTP date, and waits until then',
    onFetch((job) => {
      refuseTwo(job, 429, new Date(Date.now() + hourMs).toUTCString());
      return deliverAll(job);
    }),
  ],
  'waits-as-a-503-asks': [
    'meets a 503 with a Retry-After, and waits as long',
    onFetch((job) => {
      refuseTwo(job, 503, '90');
      return deliverAll(job, {
        waitOf: (reply, attempt, currentJob) =>
          reply?.retryAfter ? retryAfterMs(reply) : careful.waitOf(reply, attempt, currentJob),
      });
    }),
  ],
  'looks-before-it-retries': [
    'reads the account statistics before each retry',
    delivering({
      waitOf: (reply, attempt, job) => {
        void get(job, '/api/v1/account/stats/');
        return careful.waitOf(reply, attempt, job);
      },
    }),
  ],
});
