/** Right clients on `fetch` that look odd: one message after another, several at once, and readers. */
import { hourMs } from '../../../src/ledger/time-units.ts';
import { Simulator } from '../../../src/simulator.ts';
import { type Job, type Message, type NodeClient, right, sleep } from '../client.ts';
import {
  askedMs,
  bodyOf,
  but,
  careful,
  deliver,
  equal,
  get,
  impatient,
  inTurn,
  isConfirmed,
  oneByOne,
  onFetch,
  post,
  type Reply,
  sending,
  sent,
} from './deliver.ts';

/** One second over the minute of the limits. */
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

/** Sends without a report: the caller of this function reports what follows. */
function tryOnce(job: Job, message: Message): Promise<Reply | undefined> {
  return deliver({ ...job, report: () => {} }, message);
}

function reportAccepted(job: Job, message: Message): void {
  job.report(message, bodyOf(message).request_id, 'accepted');
}

/** A wait that all workers share: no worker sends before its end. */
class Gate {
  #untilMs = 0;

  /** Several sends may be in flight when the gate closes. */
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

/** Sends by several workers under one gate. */
async function byWorkers(job: Job, count: number, pauseMs: number): Promise<void> {
  const gate = new Gate();
  const queue = [...job.messages];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      await gate.deliver(job, next);
      await sleep(job.random() * pauseMs);
    }
  };
  await Promise.all(Array.from({ length: count }, work));
}

/** Sends the first message with one key and the others with another, under one gate. */
async function withTwoKeys(job: Job): Promise<void> {
  const { key } = job.simulator.accounts.createKey('acme', { name: 'second' });
  const gate = new Gate();
  const sendBy = async (own: Job, messages: readonly Message[]) => {
    for (const message of messages) await gate.deliver(own, message);
  };
  const messages = [...job.messages];
  await Promise.all([sendBy(job, messages.splice(0, 1)), sendBy({ ...job, key }, messages)]);
}

async function restarted(job: Job, message: Message): Promise<void> {
  // The client was killed before it could read this reply. After its restart it waits first.
  if (job.random() < 0.5) {
    void post(job, bodyOf(message));
    await sleep(afterWindowMs);
  }
  await deliver(job, message);
}

async function byAnotherEndpoint(job: Job, message: Message): Promise<void> {
  if (isConfirmed(await post(job, bodyOf(message)))) return reportAccepted(job, message);
  await sleep(afterWindowMs);
  await deliver(job, message, but({ path: '/api/external/send/' }));
}

/** Sends with a key that is revoked before the third message, then with the job's own. */
async function rotatesKey(job: Job): Promise<void> {
  const first = job.simulator.accounts.createKey('acme', { name: 'old' });
  let key = first.key;
  for (const [at, message] of job.messages.entries()) {
    if (at === 2) job.simulator.accounts.revokeKey(first.key_id);
    const reply = await tryOnce({ ...job, key }, message);
    if (reply?.status === 401) {
      key = job.key;
      await deliver(job, message);
    } else reportAccepted(job, message);
  }
}

async function waitsForNextMonth(job: Job): Promise<void> {
  job.simulator.accounts.patch('acme', { monthly_quota: 3 });
  for (const message of job.messages) {
    const reply = await tryOnce(job, message);
    const month = new Date().getUTCMonth();
    while (reply?.status === 402 && new Date().getUTCMonth() === month) await sleep(hourMs);
    await deliver(job, message);
  }
}

/** Sends a message again if no reply came within three seconds, and reads both replies. */
async function hedges(job: Job, message: Message): Promise<void> {
  for (;;) {
    const first = post(job, bodyOf(message));
    const isLate = await Promise.race([first.then(() => false), sleep(3_000).then(() => true)]);
    const second = isLate ? [post(job, bodyOf(message))] : [];
    const replies = await Promise.all([first, ...second]);
    // One may be confirmed and the other a 429, which holds for the next message too.
    if (replies.some((reply) => reply?.status === 429)) await sleep(afterWindowMs);
    if (replies.some(isConfirmed)) return reportAccepted(job, message);
    await sleep(20_000);
  }
}

/** Sends more messages at once than the limit allows. */
async function spreadsRetries(job: Job): Promise<void> {
  job.simulator.limits.patch({ send: 20 });
  const many = Array.from({ length: 34 }, (_, at) => ({
    intent: `many-${at}`,
    to: '+12025550123',
    from: '+12025550101',
    message: `Number ${at}`,
  }));
  const habits = but({ waitOf: (_, __, { random }) => afterWindowMs + random() * 90_000 });
  await Promise.all(many.map((message) => deliver(job, message, habits)));
}

/** `auditMs`: how long after the last status it reads the message once more. */
async function pollsUntilFinal(job: Job, auditMs?: number): Promise<void> {
  const readUntilFinal = async (path: string, message: Message) => {
    let status = '';
    while (!['delivered', 'failed'].includes(status)) {
      await sleep(20_000);
      status = String((await get(job, path))?.json['status']);
    }
    if (status === 'delivered') job.report(message, bodyOf(message).request_id, status);
    if (auditMs === undefined) return;
    await sleep(auditMs);
    await get(job, path);
  };
  const readers: Promise<void>[] = [];
  for (const message of job.messages) {
    readers.push(readUntilFinal(await sent(job, message), message));
    await sleep(job.random() * 5_000);
  }
  await Promise.all(readers);
}

/** Takes a new id after each refusal that it has seen, unless an earlier send may be queued. */
async function renewsItsId(
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
      const own = { ...message, from: fromOf(idNumber, message) };
      const reply = await post(job, { ...bodyOf(own), request_id: id });
      if (isConfirmed(reply)) {
        job.report(own, id, 'accepted');
        break;
      }
      if (reply?.isInactive === true && reply.isWhole) mayBeQueued = false;
      else if (reply?.isWhole !== true || reply.status >= 500) mayBeQueued = true;
      if (!mayBeQueued) {
        // The report tells the referee that this id belongs to the intent.
        job.report(own, id, 'failed');
        idNumber++;
      }
      await sleep(careful.waitOf(reply, attempt, job) ?? 20_000);
    }
  }
}

/** Deactivates the first SIM of the account for `forMs`, before the third message. */
function deactivatingBeforeThird({ simulator }: Job, forMs: number): (index: number) => void {
  const [sim] = simulator.sims.list('acme');
  const activate = (active: boolean) => simulator.sims.patch(sim?.device_id ?? '', { active });
  return (index) => {
    if (index !== 2) return;
    activate(false);
    void sleep(forMs).then(() => activate(true));
  };
}

/** Makes the service refuse the second and the fifth send with this `Retry-After`. */
function refusing({ simulator }: Job, status: number, header: string): void {
  const fault = { kind: 'status', status, headers: { 'retry-after': header } } as const;
  simulator.faults.add({ match: { endpoint: 'send' }, when: { nth: [2, 5] }, fault });
}

/** The first key and number of another account. */
function ofGlobex(job: Job): Pick<Job, 'key'> & Pick<Message, 'from'> {
  const account = job.simulator.readyFile().accounts[1];
  return { key: account?.api_key ?? '', from: account?.sims[0]?.number ?? '' };
}

/** Sends by two accounts in turn; each id is used once by each. */
async function withTwoAccounts(job: Job, message: Message, at: number): Promise<void> {
  const { key, from } = ofGlobex(job);
  const habits = but({ idOf: () => `order-${Math.floor(at / 2)}` });
  if (at % 2 === 0) await deliver(job, message, habits);
  else await deliver({ ...job, key }, { ...message, from }, habits);
}

/** Sends what the first account's quota refuses from the second account. */
async function byAnotherAccount(job: Job): Promise<void> {
  job.simulator.accounts.patch('acme', { monthly_quota: 2 });
  const { key, from } = ofGlobex(job);
  const habits = but({ idOf: ({ intent }) => `2-${intent}` });
  const untilWhole: typeof careful.waitOf = (reply, attempt, own) =>
    reply?.isWhole === false ? 20_000 : careful.waitOf(reply, attempt, own);
  for (const message of job.messages) {
    const reply = await deliver({ ...job, report: () => {} }, message, but({ waitOf: untilWhole }));
    // The report tells the referee that the first id, too, belongs to the intent.
    job.report(message, bodyOf(message).request_id, isConfirmed(reply) ? 'accepted' : 'failed');
    if (!isConfirmed(reply)) await deliver({ ...job, key }, { ...message, from }, habits);
  }
}

async function walksPages(job: Job): Promise<void> {
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
  careful: ['waits as long as it is asked to', sending()],
  'retries-23-hours-later': [
    'retries on the next day, just before the id is forgotten',
    sending({
      waitOf: (reply, attempt) => {
        if (isFinal(reply)) return undefined;
        return attempt === 1 ? 22 * hourMs : 20 * 60_000;
      },
    }),
  ],
  'times-out-and-retries': [
    'closes the connection after two seconds without a reply, and retries under the same id',
    onFetch((job) => inTurn(impatient(job, 2_000))),
  ],
  'restarted-in-the-middle': [
    'is killed while it waits for a reply, again and again, with its ids on disk',
    oneByOne(restarted),
  ],
  'other-endpoint-after-a-lost-reply': [
    'retries a lost send by another endpoint, which knows the same request_id',
    oneByOne(byAnotherEndpoint),
  ],
  'equal-texts-on-purpose': [
    'sends the same text to the same number several times, each under an id of its own',
    onFetch((job) => inTurn({ ...job, messages: job.messages.map(equal) })),
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
    onFetch(rotatesKey),
  ],
  'tries-its-keys-in-turn': [
    'starts with three keys, two of them stale, and uses the first that works',
    onFetch(async (job) => {
      for (const key of ['smst_stale1', 'smst_stale2', job.key]) {
        const reply = await get({ ...job, key }, '/api/v1/account/stats/');
        if (reply?.status === 200) await inTurn({ ...job, key });
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
      return deliver(job, message, but({ bodyOf: bodyOfAttempt }));
    }),
  ],
  schedules: [
    'sends messages for tomorrow, with their send_at, and retries them as they are',
    onFetch((job) => {
      const send_at = new Date(Date.now() + 26 * hourMs).toISOString();
      return inTurn(job, {
        bodyOf: (message, id) => ({ ...careful.bodyOf(message, id), send_at }),
      });
    }),
  ],
  'asks-again-what-became-of-it': [
    'sends everything a second time an hour later, to learn the ids that it has lost',
    onFetch(async (job) => {
      await inTurn(job);
      await sleep(hourMs);
      await inTurn(job);
    }),
  ],
  'one-id-for-each-day': [
    'uses one id every other day, for another message each time',
    oneByOne(async (job, message) => {
      await deliver(job, message, but({ idOf: () => 'reminder' }));
      await sleep(49 * hourMs);
    }),
  ],
  'waits-for-the-next-month': [
    'spends its quota, and sends the rest next month',
    onFetch(waitsForNextMonth),
  ],
  'says-that-it-failed': [
    'spends its quota, and reports the rest as failed',
    onFetch(async (job) => {
      job.simulator.accounts.patch('acme', { monthly_quota: 2 });
      await inTurn(job);
    }),
  ],
  'corrects-its-sender': [
    'meets a 403, and sends the same message under the same id from another number',
    oneByOne(async (job, message) => {
      const reply = await tryOnce(job, { ...message, from: '+12025550199' });
      if (reply?.status === 403) await deliver(job, message);
    }),
  ],
  'long-texts': [
    'sends 1,600 characters of several bytes',
    onFetch((job) => {
      const message = '\u{1F600}'.repeat(1_600);
      return inTurn({
        ...job,
        messages: job.messages.map((original) => ({ ...original, message })),
      });
    }),
  ],
  'three-workers-one-gate': [
    'sends by three workers, which all stop when one meets a 429',
    onFetch((job) => byWorkers(job, 3, 3_000)),
  ],
  'one-key-for-each-process': [
    'runs twice with two keys of one account, and shares the end of a 429',
    onFetch(withTwoKeys),
  ],
  'other-endpoint-meanwhile': [
    'sends other messages by the dashboard endpoint while the first one is limited',
    onFetch(async (job) => {
      const messages = [...job.messages];
      const half = messages.splice(0, messages.length / 2);
      const path = '/api/sms/send/';
      await Promise.all([
        inTurn({ ...job, messages }),
        inTurn({ ...job, messages: half }, { path }),
      ]);
    }),
  ],
  'equal-texts-at-once': [
    'sends the same text at the same moment several times, each under an id of its own',
    onFetch((job) => byWorkers({ ...job, messages: job.messages.map(equal) }, 20, 0)),
  ],
  hedges: [
    'sends the same request again when no reply has come within three seconds',
    oneByOne(hedges),
  ],
  'spreads-its-retries': [
    'sends 34 messages at once, and retries each at a time of its own',
    onFetch(spreadsRetries),
  ],
  'polls-until-final': [
    'reads each message every 20 seconds until it is final, and reports what was delivered',
    onFetch((job) => pollsUntilFinal(job)),
  ],
  'audits-a-day-later': [
    'reads each message once more a day after it was final',
    onFetch((job) => pollsUntilFinal(job, 24 * hourMs)),
  ],
  'new-id-after-a-429': [
    'takes a new id after a refusal that it has seen, and keeps it after a reply that it has not',
    onFetch((job) => renewsItsId(job, (_, { from }) => from)),
  ],
  'other-sim-after-a-503': [
    'sends by its second SIM, under a new id, while the first one is deactivated',
    onFetch((job) => {
      const second = job.simulator.sims.list('acme')[1]?.number ?? '';
      const fromOf = (idNumber: number, { from }: Message) => (idNumber === 1 ? from : second);
      return renewsItsId(job, fromOf, deactivatingBeforeThird(job, hourMs));
    }),
  ],
  'new-id-where-the-first-is-burned': [
    'takes a new id for a SIM that is active again, as the service refuses the first for a day',
    onFetch((job) => {
      job.simulator.assumptions.patch({ failedRequestId: 'burned' });
      const deactivate = deactivatingBeforeThird(job, 30_000);
      return renewsItsId(job, (_, { from }) => from, deactivate);
    }),
  ],
  'two-accounts-with-equal-ids': [
    'sends for two accounts in turn, under ids that are equal',
    oneByOne(withTwoAccounts),
  ],
  'other-account-after-a-402': [
    'sends over a second account, under a new id, when the quota of the first is spent',
    onFetch(byAnotherAccount),
  ],
  'waits-until-a-date': [
    'meets a 429 whose Retry-After is an HTTP date, and waits until then',
    onFetch((job) => {
      refusing(job, 429, new Date(Date.now() + hourMs).toUTCString());
      return inTurn(job);
    }),
  ],
  'waits-as-a-503-asks': [
    'meets a 503 with a Retry-After, and waits as long',
    onFetch((job) => {
      refusing(job, 503, '90');
      return inTurn(job, {
        waitOf: (reply, attempt, own) =>
          reply?.retryAfter ? askedMs(reply) : careful.waitOf(reply, attempt, own),
      });
    }),
  ],
  'reads-once-at-once': [
    'reads each message right after it was sent, once',
    oneByOne(async (job, message) => get(job, await sent(job, message))),
  ],
  'walks-pages': [
    'asks for all pages of received messages at once, every half minute',
    onFetch(walksPages),
  ],
  'looks-before-it-retries': [
    'reads the account statistics before each retry',
    sending({
      waitOf: (reply, attempt, job) => {
        void get(job, '/api/v1/account/stats/');
        return careful.waitOf(reply, attempt, job);
      },
    }),
  ],
});
