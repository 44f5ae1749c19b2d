/**
 * Clients on `fetch` that break no rule but look unusual: the referee must find nothing. They send
 * one message after another or several at once, change ids, senders and keys, or read. The table at
 * the end says what each does; the functions above it are their programs.
 */
import { hourMs } from '../../../src/ledger/time-units.ts';
import { Simulator } from '../../../src/simulator.ts';
import { type Job, type Message, type NodeClient, right, sleep } from '../client.ts';
import {
  bodyOf,
  careful,
  carefulBut,
  deliver,
  deliverAll,
  deliverForPath,
  delivering,
  get,
  isConfirmed,
  oneByOne,
  onFetch,
  post,
  type Reply,
  retryAfterMs,
  withEqualText,
  withTimeout,
} from './deliver.ts';

/** One second longer than the minute that a limit counts. */
const afterWindowMs = 61_000;

/** True unless a retry makes sense: no reply, 5xx or 429. */
function isFinal(reply: Reply | undefined): boolean {
  return reply !== undefined && reply.status < 500 && reply.status !== 429;
}

/** Moves the service's clock without the client's, which the operation refuses. */
function jump({ simulator }: Job, ms: number): void {
  if (!(simulator instanceof Simulator)) throw new Error('no simulator of this process');
  const { simulation, wallClock } = simulator;
  simulation.clock.advanceTo(simulation.clock.now() + ms);
  wallClock.anchor();
}

/** Delivers without a report: the caller reports the outcome. */
function deliverSilently(job: Job, message: Message): Promise<Reply | undefined> {
  return deliver({ ...job, report: () => {} }, message);
}

function reportAccepted(job: Job, message: Message): void {
  job.report(message, bodyOf(message).request_id, 'accepted');
}

/** A wait that all workers share: after a 429, no worker sends before the end of the wait. */
class Gate {
  /** When the wait ends, in epoch milliseconds. */
  #untilMs = 0;

  /** Sends until it is confirmed. Other sends may be in flight when a 429 closes the gate. */
  async deliver(job: Job, message: Message): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      while (Date.now() < this.#untilMs) await sleep(this.#untilMs - Date.now());
      const reply = await post(job, bodyOf(message));
      if (reply?.status === 429) {
        const untilMs = Date.now() + Number(reply.retryAfter) * 1_000;
        this.#untilMs = Math.max(this.#untilMs, untilMs);
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
  const queue = [...job.messages];
  const work = async () => {
    for (let message = queue.shift(); message !== undefined; message = queue.shift()) {
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

/** Sends with a key that is revoked before the third message, and from then on with another. */
async function rotateKey(job: Job): Promise<void> {
  const old = job.simulator.accounts.createKey('acme', { name: 'old' });
  let { key } = old;
  for (const [index, message] of job.messages.entries()) {
    if (index === 2) job.simulator.accounts.revokeKey(old.key_id);
    const reply = await deliverSilently({ ...job, key }, message);
    if (reply?.status === 401) {
      key = job.key;
      await deliver(job, message);
    } else reportAccepted(job, message);
  }
}

async function waitForNextMonth(job: Job): Promise<void> {
  job.simulator.accounts.patch('acme', { monthly_quota: 3 });
  for (const message of job.messages) {
    const reply = await deliverSilently(job, message);
    const month = new Date().getUTCMonth();
    while (reply?.status === 402 && new Date().getUTCMonth() === month) await sleep(hourMs);
    // After a 202, a harmless replay of the same id.
    await deliver(job, message);
  }
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

/** `rereadAfterMs`: how long after the final status it reads the message once more. */
async function pollUntilFinal(job: Job, rereadAfterMs?: number): Promise<void> {
  const readUntilFinal = async (path: string, message: Message) => {
    let status = '';
    while (!['delivered', 'failed'].includes(status)) {
      await sleep(20_000);
      status = String((await get(job, path))?.json['status']);
    }
    if (status === 'delivered') job.report(message, bodyOf(message).request_id, status);
    if (rereadAfterMs === undefined) return;
    await sleep(rereadAfterMs);
    await get(job, path);
  };
  const readers: Promise<void>[] = [];
  for (const message of job.messages) {
    readers.push(readUntilFinal(await deliverForPath(job, message), message));
    await sleep(job.random() * 5_000);
  }
  await Promise.all(readers);
}

/**
 * Takes a new id after each refusal that it has seen, unless an earlier send may be queued.
 * `fromOf`: the sender under the first id of a message, the second and so on.
 */
async function renewId(
  job: Job,
  fromOf: (idNumber: number, message: Message) => string,
  beforeMessage: (index: number) => void = () => {},
) {
  for (const [index, message] of job.messages.entries()) {
    beforeMessage(index);
    let idNumber = 1;
    let mayBeQueued = false;
    for (let attempt = 1; ; attempt++) {
      const id = `${message.intent}-${idNumber}`;
      const sent = { ...message, from: fromOf(idNumber, message) };
      const reply = await post(job, { ...bodyOf(sent), request_id: id });
      if (isConfirmed(reply)) {
        job.report(sent, id, 'accepted');
        break;
      }
      // Proves that no send under this id is queued: a queued one would be replayed.
      if (reply?.isInactive === true && reply.isWhole) mayBeQueued = false;
      else if (reply?.isWhole !== true || reply.status >= 500) mayBeQueued = true;
      if (!mayBeQueued) {
        // The report tells the referee that this id belongs to the intent.
        job.report(sent, id, 'failed');
        idNumber++;
      }
      await sleep(careful.waitOf(reply, attempt, job) ?? 20_000);
    }
  }
}

/** Deactivates the first SIM of the account for `forMs`, before the third message. */
function deactivateBeforeThird({ simulator }: Job, forMs: number): (index: number) => void {
  const [sim] = simulator.sims.list('acme');
  const setActive = (active: boolean) => simulator.sims.patch(sim?.device_id ?? '', { active });
  return (index) => {
    if (index !== 2) return;
    setActive(false);
    void sleep(forMs).then(() => setActive(true));
  };
}

/** Makes the service refuse the second and the fifth send with this `Retry-After`. */
function refuseTwo({ simulator }: Job, status: number, header: string): void {
  const fault = { kind: 'status', status, headers: { 'retry-after': header } } as const;
  simulator.faults.add({ match: { endpoint: 'send' }, when: { nth: [2, 5] }, fault });
}

/** The first key and number of the second account. */
function secondAccount(job: Job): Pick<Job, 'key'> & Pick<Message, 'from'> {
  const account = job.simulator.readyFile().accounts[1];
  return { key: account?.api_key ?? '', from: account?.sims[0]?.number ?? '' };
}

/** Sends by two accounts in turn; each id is used once by each account. */
async function alternateAccounts(job: Job, message: Message, index: number): Promise<void> {
  const { key, from } = secondAccount(job);
  const habits = carefulBut({ idOf: () => `order-${Math.floor(index / 2)}` });
  if (index % 2 === 0) await deliver(job, message, habits);
  else await deliver({ ...job, key }, { ...message, from }, habits);
}

/** Sends what the first account's quota refuses from the second account. */
async function sendRestByOtherAccount(job: Job): Promise<void> {
  job.simulator.accounts.patch('acme', { monthly_quota: 2 });
  const { key, from } = secondAccount(job);
  const secondHabits = carefulBut({ idOf: ({ intent }) => `2-${intent}` });
  const waitOf: typeof careful.waitOf = (reply, attempt, currentJob) =>
    reply?.isWhole === false ? 20_000 : careful.waitOf(reply, attempt, currentJob);
  for (const message of job.messages) {
    const reply = await deliver({ ...job, report: () => {} }, message, carefulBut({ waitOf }));
    // The report tells the referee that the first id, too, belongs to the intent.
    job.report(message, bodyOf(message).request_id, isConfirmed(reply) ? 'accepted' : 'failed');
    if (!isConfirmed(reply)) await deliver({ ...job, key }, { ...message, from }, secondHabits);
  }
}

async function walkPages(job: Job): Promise<void> {
  const inbound = { from: '+12025550123', to: '+12025550101', message: 'Thank you' };
  for (let round = 1; round <= 4; round++) {
    job.simulator.sims.receive('acme', inbound);
    for (let page = 1; page <= round; page++) {
      await get(job, `/api/v1/sms/received/?page_size=1&page=${page}`);
    }
    await sleep(30_000);
  }
}

export const rightSenders: readonly NodeClient[] = right({
  careful: ['waits as long as it is asked to', delivering()],
  'retries-23-hours-later': [
    'retries on the next day, just before the id is forgotten',
    delivering({
      waitOf: (reply, attempt) => {
        if (isFinal(reply)) return undefined;
        return attempt === 1 ? 22 * hourMs : 20 * 60_000;
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
      jump(job, (1 + Math.floor(job.random() * 30)) * hourMs);
    }),
  ],
  'rotates-its-key': [
    'has its key revoked in the middle, and retries the refused request with the next',
    onFetch(rotateKey),
  ],
  'tries-its-keys-in-turn': [
    'starts with three keys, two of them stale, and uses the first that works',
    onFetch(async (job) => {
      for (const key of ['smst_stale1', 'smst_stale2', job.key]) {
        const reply = await get({ ...job, key }, '/api/v1/account/stats/');
        if (reply?.status === 200) await deliverAll({ ...job, key });
      }
    }),
  ],
  'alias-on-retry-alone': [
    'sends from first, and from_number in another order on a retry',
    oneByOne((job, message) => {
      let attempts = 0;
      const bodyOfAttempt: typeof careful.bodyOf = ({ to, from, message: text }, id) =>
        attempts++ === 0
          ? { to, from, message: text, request_id: id }
          : { request_id: id, message: text, to, from_number: from };
      return deliver(job, message, carefulBut({ bodyOf: bodyOfAttempt }));
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
  'one-id-for-each-day': [
    'uses one id every other day, for another message each time',
    oneByOne(async (job, message) => {
      await deliver(job, message, carefulBut({ idOf: () => 'reminder' }));
      // Far longer than the 24 hours for which the service knows an id, even after retries.
      await sleep(49 * hourMs);
    }),
  ],
  'waits-for-the-next-month': [
    'spends its quota, and sends the rest next month',
    onFetch(waitForNextMonth),
  ],
  'says-that-it-failed': [
    'spends its quota, and reports the rest as failed',
    onFetch(async (job) => {
      job.simulator.accounts.patch('acme', { monthly_quota: 2 });
      await deliverAll(job);
    }),
  ],
  'corrects-its-sender': [
    'meets a 403, and sends the same message under the same id from another number',
    oneByOne(async (job, message) => {
      const reply = await deliverSilently(job, { ...message, from: '+12025550199' });
      if (reply?.status === 403) await deliver(job, message);
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
  'polls-until-final': [
    'reads each message every 20 seconds until it is final, and reports what was delivered',
    onFetch((job) => pollUntilFinal(job)),
  ],
  'audits-a-day-later': [
    'reads each message once more a day after it was final',
    onFetch((job) => pollUntilFinal(job, 24 * hourMs)),
  ],
  'new-id-after-a-429': [
    'takes a new id after a refusal that it has seen, and keeps it after a reply that it has not',
    onFetch((job) => renewId(job, (_, { from }) => from)),
  ],
  'other-sim-after-a-503': [
    'sends by its second SIM, under a new id, while the first one is deactivated',
    onFetch((job) => {
      const second = job.simulator.sims.list('acme')[1]?.number ?? '';
      const fromOf = (idNumber: number, { from }: Message) => (idNumber === 1 ? from : second);
      return renewId(job, fromOf, deactivateBeforeThird(job, hourMs));
    }),
  ],
  'new-id-where-the-first-is-burned': [
    'takes a new id for a SIM that is active again, as the service refuses the first for a day',
    onFetch((job) => {
      job.simulator.assumptions.patch({ failedRequestId: 'burned' });
      const deactivate = deactivateBeforeThird(job, 30_000);
      return renewId(job, (_, { from }) => from, deactivate);
    }),
  ],
  'two-accounts-with-equal-ids': [
    'sends for two accounts in turn, under ids that are equal',
    oneByOne(alternateAccounts),
  ],
  'other-account-after-a-402': [
    'sends over a second account, under a new id, when the quota of the first is spent',
    onFetch(sendRestByOtherAccount),
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
  'reads-once-at-once': [
    'reads each message right after it was sent, once',
    oneByOne(async (job, message) => get(job, await deliverForPath(job, message))),
  ],
  'walks-pages': [
    'asks for all pages of received messages at once, every half minute',
    onFetch(walkPages),
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
