/**
 * Clients on `fetch` that break no rule but change their ids, senders, keys or accounts, or read
 * what they have sent: the referee must find nothing.
 */
import { hourMs } from '#contract/time.ts';
import { type Job, type Message, type NodeClient, type Program, right, sleep } from '../client.ts';
import {
  bodyOf,
  careful,
  deliver,
  deliverAll,
  deliverForPath,
  get,
  type Habits,
  isConfirmed,
  oneByOne,
  onFetch,
  post,
  reportAccepted,
  silent,
} from './deliver.ts';

/** Delivers each message, and calls `instead` for one that is refused with this status. */
async function deliverUnless(
  status: number,
  job: Job,
  instead: (message: Message) => Promise<unknown>,
): Promise<void> {
  for (const message of job.messages) {
    const reply = await deliver(job, message, silent);
    if (reply?.status === status) await instead(message);
    else reportAccepted(job, message);
  }
}

/** Sleeps an hour at a time: a timer cannot last a month. */
async function sleepUntilNextMonth(): Promise<void> {
  const month = new Date().getUTCMonth();
  while (new Date().getUTCMonth() === month) await sleep(hourMs);
}

function setQuota({ simulator }: Job, monthly_quota: number): void {
  simulator.accounts.patch('acme', { monthly_quota });
}

/** The sender of a message under its first id (`idNumber` 1), its second and so on. */
type SenderChoice = (message: Message, idNumber: number) => string;

const sameSender: SenderChoice = ({ from }) => from;

/** Sends under a new id after each refusal, unless a send under the old one may be queued. */
async function sendUnderNewIds(job: Job, message: Message, chooseSender = sameSender) {
  for (let idNumber = 1; ; idNumber++) {
    const id = `${message.intent}-${idNumber}`;
    const sent = { ...message, from: chooseSender(message, idNumber) };
    const isAccepted = await sendUnderOneId(job, sent, id);
    // The report of a failure shows the referee that this id also belongs to the intent.
    job.report(sent, id, isAccepted ? 'accepted' : 'failed');
    if (isAccepted) return;
  }
}

/** Retries under the id while a send under it may be queued. Returns whether it was accepted. */
async function sendUnderOneId(job: Job, message: Message, id: string): Promise<boolean> {
  let mayBeQueued = false;
  for (let attempt = 1; ; attempt++) {
    const reply = await post(job, { ...bodyOf(message), request_id: id });
    if (isConfirmed(reply)) return true;
    // Proves that no send under this id is queued: a queued one would be replayed.
    if (reply?.json?.['code'] === 'device_inactive') mayBeQueued = false;
    else if (reply?.json === undefined || reply.status >= 500) mayBeQueued = true;
    await sleep(careful.waitOf(reply, attempt, job) ?? 20_000);
    if (!mayBeQueued) return false;
  }
}

/** Deactivates the account's first SIM for `inactiveMs` before it sends the third message. */
function sendingAcrossDeactivation(inactiveMs: number, chooseSender?: SenderChoice): Program {
  return oneByOne(async (job, message, index) => {
    const { sims } = job.simulator;
    const setActive = (active: boolean) =>
      sims.patch(sims.list('acme')[0]?.device_id ?? '', { active });
    if (index === 2) {
      setActive(false);
      void sleep(inactiveMs).then(() => setActive(true));
    }
    await sendUnderNewIds(job, message, chooseSender);
  });
}

async function deliverBySecond(job: Job, message: Message, habits: Habits): Promise<void> {
  const { api_key: key = '', sims } = job.simulator.readyFile().accounts[1] ?? {};
  await deliver({ ...job, key }, { ...message, from: sims?.[0]?.number ?? '' }, habits);
}

/** Reads all messages until their status is final, and again `laterMs` after that. */
function following(laterMs?: number): Program {
  const follow = async (job: Job, path: string, message: Message) => {
    let status: unknown;
    while (status !== 'delivered' && status !== 'failed') {
      await sleep(20_000);
      status = (await get(job, path))?.json?.['status'];
    }
    if (status === 'delivered') job.report(message, bodyOf(message).request_id, status);
    if (laterMs === undefined) return;
    await sleep(laterMs);
    await get(job, path);
  };
  return onFetch(async (job) => {
    const all: Promise<void>[] = [];
    for (const message of job.messages) {
      all.push(follow(job, await deliverForPath(job, message), message));
      await sleep(job.random() * 5_000);
    }
    await Promise.all(all);
  });
}

export const rightIdentities: readonly NodeClient[] = right({
  'has its key revoked, and retries the refused request with the next': onFetch(async (job) => {
    const { accounts } = job.simulator;
    const old = accounts.createKey('acme', { name: 'old' });
    let { key } = old;
    for (const [index, message] of job.messages.entries()) {
      if (index === 2) accounts.revokeKey(old.key_id);
      await deliverUnless(401, { ...job, key, messages: [message] }, async () => {
        key = job.key;
        await deliver(job, message);
      });
    }
  }),
  'uses the first of its three keys that works': onFetch(async (job) => {
    for (const key of ['smst_stale1', 'smst_stale2', job.key]) {
      const reply = await get({ ...job, key }, '/api/v1/account/stats/');
      if (reply?.status === 200) await deliverAll({ ...job, key });
    }
  }),
  'sends from first, and from_number on a retry': oneByOne((job, message) =>
    deliver(job, message, {
      fieldsOf: ({ from }, attempt) =>
        attempt === 1 ? {} : { from: undefined, from_number: from },
    }),
  ),
  'uses one id every other day, for another message each time': oneByOne(async (job, message) => {
    await deliver(job, message, { idOf: () => 'reminder' });
    // Far longer than the 24 hours for which the service knows an id, even after retries.
    await sleep(49 * hourMs);
  }),
  'spends its quota, and sends the rest next month': onFetch(async (job) => {
    setQuota(job, 3);
    await deliverUnless(402, job, async (message) => {
      await sleepUntilNextMonth();
      await deliver(job, message);
    });
  }),
  'spends its quota, and reports the rest as failed': onFetch(async (job) => {
    setQuota(job, 2);
    await deliverAll(job);
  }),
  'meets a 403, and sends under the same id from another number': oneByOne(async (job, message) => {
    const reply = await deliver(job, { ...message, from: '+12025550199' }, silent);
    if (reply?.status === 403) await deliver(job, message);
  }),
  'takes a new id after a refusal, and keeps it after a reply that it has not seen': oneByOne(
    (job, message) => sendUnderNewIds(job, message),
  ),
  'sends by its second SIM, under a new id, while the first is deactivated':
    sendingAcrossDeactivation(hourMs, ({ from }, idNumber) =>
      idNumber === 1 ? from : '+12025550102',
    ),
  'takes a new id where the service refuses the first for a day': onFetch((job) => {
    job.simulator.assumptions.patch({ failedRequestId: 'burned' });
    return sendingAcrossDeactivation(30_000).run(job);
  }),
  'sends for two accounts in turn, under ids that are equal': oneByOne(
    async (job, message, index) => {
      const habits = { idOf: () => `order-${Math.floor(index / 2)}` };
      await (index % 2 === 0 ? deliver : deliverBySecond)(job, message, habits);
    },
  ),
  'sends over a second account when the quota of the first is spent': oneByOne(
    async (job, message, index) => {
      if (index === 0) setQuota(job, 2);
      const waitOf: typeof careful.waitOf = (reply, ...others) =>
        reply?.json === undefined ? 20_000 : careful.waitOf(reply, ...others);
      const isAccepted = isConfirmed(await deliver(job, message, { ...silent, waitOf }));
      // The report of a failure shows the referee that the first id also belongs to the intent.
      job.report(message, bodyOf(message).request_id, isAccepted ? 'accepted' : 'failed');
      const idOf = ({ intent }: Message) => `2-${intent}`;
      if (!isAccepted) await deliverBySecond(job, message, { idOf });
    },
  ),
  'reads each message until it is final, and reports what was delivered': following(),
  'reads each message once more a day after it was final': following(24 * hourMs),
  'reads each message right after it was sent, once': oneByOne(async (job, message) =>
    get(job, await deliverForPath(job, message)),
  ),
  'asks for all pages of received messages at once, every half minute': onFetch(async (job) => {
    const inbound = { from: '+12025550123', to: '+12025550101', message: 'Thank you' };
    for (let round = 1; round <= 4; round++) {
      job.simulator.sims.receive('acme', inbound);
      for (let page = 1; page <= round; page++)
        await get(job, `/api/v1/sms/received/?page_size=1&page=${page}`);
      await sleep(30_000);
    }
  }),
});
