/**
 * Clients on `fetch` that break no rule but change their ids, senders, keys or accounts, or read
 * what they have sent: the referee must find nothing.
 */
import { hourMs } from '#contract/time.ts';
import { type Job, type Message, type NodeClient, right, sleep } from '../client.ts';
import {
  bodyOf,
  careful,
  carefulBut,
  deliver,
  deliverAll,
  deliverForPath,
  deliverSilently,
  get,
  isConfirmed,
  oneByOne,
  onFetch,
  post,
  reportAccepted,
} from './deliver.ts';

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

/** Sends what the quota refuses in the next month. */
async function waitForNextMonth(job: Job): Promise<void> {
  job.simulator.accounts.patch('acme', { monthly_quota: 3 });
  for (const message of job.messages) {
    const reply = await deliverSilently(job, message);
    if (reply?.status === 402) {
      await sleepUntilNextMonth();
      await deliver(job, message);
    } else reportAccepted(job, message);
  }
}

/** Sleeps an hour at a time: a timer cannot last a month. */
async function sleepUntilNextMonth(): Promise<void> {
  const month = new Date().getUTCMonth();
  while (new Date().getUTCMonth() === month) await sleep(hourMs);
}

/** The sender of a message under its first id (`idNumber` 1), its second and so on. */
type ChooseSender = (message: Message, idNumber: number) => string;

const sameSender: ChooseSender = ({ from }) => from;

/** Sends under a new id after each refusal, unless a send under the old one may be queued. */
async function sendUnderNewIds(job: Job, message: Message, chooseSender = sameSender) {
  for (let idNumber = 1; ; idNumber++) {
    const id = `${message.intent}-${idNumber}`;
    const sent = { ...message, from: chooseSender(message, idNumber) };
    const isAccepted = await sendUnderOneId(job, sent, id);
    // The report of a failure tells the referee that this id, too, belongs to the intent.
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
    if (reply?.isInactive === true && reply.isWhole) mayBeQueued = false;
    else if (reply?.isWhole !== true || reply.status >= 500) mayBeQueued = true;
    await sleep(careful.waitOf(reply, attempt, job) ?? 20_000);
    if (!mayBeQueued) return false;
  }
}

/** Deactivates the account's first SIM for `inactiveMs` before it sends the third message. */
async function sendAcrossDeactivation(job: Job, inactiveMs: number, chooseSender = sameSender) {
  const { sims } = job.simulator;
  const setActive = (active: boolean) =>
    sims.patch(sims.list('acme')[0]?.device_id ?? '', { active });
  for (const [index, message] of job.messages.entries()) {
    if (index === 2) {
      setActive(false);
      void sleep(inactiveMs).then(() => setActive(true));
    }
    await sendUnderNewIds(job, message, chooseSender);
  }
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
    const isAccepted = isConfirmed(await deliverSilently(job, message, { waitOf }));
    // The report of a failure tells the referee that the first id, too, belongs to the intent.
    job.report(message, bodyOf(message).request_id, isAccepted ? 'accepted' : 'failed');
    if (!isAccepted) await deliver({ ...job, key }, { ...message, from }, secondHabits);
  }
}

/** What a client does with a message that it has sent, and can read under a path. */
type Follow = (job: Job, path: string, message: Message) => Promise<void>;

/** Reads the message until its status is final, and reports whether it was delivered. */
const readUntilFinal: Follow = async (job, path, message) => {
  let status = '';
  while (!['delivered', 'failed'].includes(status)) {
    await sleep(20_000);
    status = String((await get(job, path))?.json['status']);
  }
  if (status === 'delivered') job.report(message, bodyOf(message).request_id, status);
};

const readAgainNextDay: Follow = async (job, path, message) => {
  await readUntilFinal(job, path, message);
  await sleep(24 * hourMs);
  await get(job, path);
};

/** Follows all messages at the same time. */
async function sendAndFollow(job: Job, follow: Follow): Promise<void> {
  const following: Promise<void>[] = [];
  for (const message of job.messages) {
    following.push(follow(job, await deliverForPath(job, message), message));
    await sleep(job.random() * 5_000);
  }
  await Promise.all(following);
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

export const rightIdentities: readonly NodeClient[] = right({
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
  'new-id-after-a-429': [
    'takes a new id after a refusal that it has seen, and keeps it after a reply that it has not',
    oneByOne((job, message) => sendUnderNewIds(job, message)),
  ],
  'other-sim-after-a-503': [
    'sends by its second SIM, under a new id, while the first one is deactivated',
    onFetch((job) => {
      const second = job.simulator.sims.list('acme')[1]?.number ?? '';
      return sendAcrossDeactivation(job, hourMs, ({ from }, idNumber) =>
        idNumber === 1 ? from : second,
      );
    }),
  ],
  'new-id-where-the-first-is-burned': [
    'takes a new id for a SIM that is active again, as the service refuses the first for a day',
    onFetch((job) => {
      job.simulator.assumptions.patch({ failedRequestId: 'burned' });
      return sendAcrossDeactivation(job, 30_000);
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
  'polls-until-final': [
    'reads each message every 20 seconds until it is final, and reports what was delivered',
    onFetch((job) => sendAndFollow(job, readUntilFinal)),
  ],
  'audits-a-day-later': [
    'reads each message once more a day after it was final',
    onFetch((job) => sendAndFollow(job, readAgainNextDay)),
  ],
  'reads-once-at-once': [
    'reads each message right after it was sent, once',
    oneByOne(async (job, message) => get(job, await deliverForPath(job, message))),
  ],
  'walks-pages': [
    'asks for all pages of received messages at once, every half minute',
    onFetch(walkPages),
  ],
});
