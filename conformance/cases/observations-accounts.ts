/**
 * Observations of accounts, senders, limits and quotas where the document is silent, which need
 * several accounts, many requests or other code; `observations-replies.ts` has those of single
 * requests. An observation finds the target's answer to an assumption and judges nothing.
 */
import { documentedLimits } from '#contract/limits.ts';
import { dayMs, isoTime } from '#contract/time.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import * as verify from '#judging/service/expectations.ts';
import { floodOf } from '../floods/floods.ts';
import { flood } from '../floods/limited-requests.ts';
import { about, type Observation, type Seen } from '../run/case.ts';
import { type Recording, recorded } from '../run/recording.ts';
import type { AccountUnderTest, Trial } from '../run/trial.ts';
import { answerOf, largestAccepted, requireKey, requireSender } from '../steps/probe.ts';
import { tooLongMessage } from './similar-values.ts';

const fresh = ['fresh'] as const;
/** If a `send_at` more than a century ahead is accepted, there is no limit. */
const mostDaysAhead = 40_000;
/** Longer `request_id`s are not tried, because bodies have a maximum size too. */
const longestTriedId = 65_000;

/** The answer that the status of a reply shows. */
function answerByStatus({ status }: Reply, answers: Readonly<Record<number, string>>): Seen {
  return answerOf(String(status), answers);
}

/** One `request_id` with two keys of one account. */
export const oneIdWithTwoKeys: Recording<{ first: string; second: Reply }> = {
  name: 'one request_id with two keys',
  needs: ['sender', 'other-key'],
  spends: { send: 2 },
  record: async (t, account) => {
    const fields = { request_id: t.requestId() };
    const { messageId: first } = await t.mustSend(account, fields);
    const { key } = await t.secondKey(account);
    return { first, second: await t.send({ ...account, key }, fields) };
  },
};

export const accountObservations: readonly Observation[] = [
  about('gateOrder/invalid-replay', ['sender'], 3, {
    sends: 'a replay whose message is too long, and an unknown sender under a spent quota',
    run: async (t, account) => {
      const request_id = t.requestId();
      await t.mustSend(account, { request_id });
      const reply = await t.send(account, { request_id, message: tooLongMessage });
      if (reply.status === 400) return { answer: 'validate_first' };
      if (reply.status !== 200 && reply.status !== 409) return answerByStatus(reply, {});
      const key = t.hasControl
        ? (await t.account({ quota: 0 })).key
        : t.target.flags.exhaustedApiKey;
      const from = t.target.flags.unknownFrom ?? t.target.control?.unusedNumber();
      if (key === undefined || from === undefined) {
        return {
          undetermined: 'without a spent quota and an unknown number two answers look alike',
        };
      }
      const refused = await t.send({ ...account, key }, { from });
      return answerByStatus(refused, { 403: 'replay_first', 402: 'quota_before_sender' });
    },
  }),
  about('replayScope/second-key', ['sender', 'other-key'], 0, {
    recordings: [oneIdWithTwoKeys],
    sends: 'one request_id with two keys of one account',
    run: async (t) => {
      const { first, second } = await recorded(t, oneIdWithTwoKeys);
      if (second.status === 202 && Object(second.json).message_id === first)
        return { undetermined: 'none of these: 202, but with the message_id of the first' };
      return answerByStatus(second, { 200: 'account', 202: 'api_key' });
    },
  }),
  about('replaySpends/many-replays', fresh, documentedLimits.send + 2, {
    throttled: 1,
    sends: `${documentedLimits.send} replays, then a new message`,
    run: async (t, account) => {
      const fields = { request_id: t.requestId() };
      await t.mustSend(account, fields);
      await flood(documentedLimits.send, () => t.send(account, fields));
      return answerByStatus(await t.send(account), { 429: 'throttle', 202: 'nothing' });
    },
  }),
  about('quotaUnit/three-segments', fresh, 1, {
    sends: 'a message of three segments under a quota of two',
    account: { quota: 2 },
    run: async (t, account) => {
      // A segment of a long message holds 153 letters.
      const reply = await t.send(account, { message: 'x'.repeat(400) });
      return answerByStatus(reply, { 202: 'messages', 402: 'segments' });
    },
  }),
  about('keyFormat/prefix', ['key'], 0, {
    sends: 'nothing: it inspects the key itself',
    run: async (t, account) => {
      await requireKey(t, account);
      const prefix = /^([A-Za-z0-9_.~-]{0,32})[A-Za-z0-9]{40}$/.exec(account.key)?.[1];
      return prefix === undefined
        ? { undetermined: 'the key does not end in 40 letters and digits' }
        : { answer: prefix };
    },
  }),
  about('disconnectedSim/own-sim', fresh, 1, {
    sends: 'a message from a SIM that is not connected',
    run: async (t, account) => {
      const sim = account.sims[0]?.deviceId;
      await t.patchSim(account, 0, { connected: false });
      const reply = await t.send(account);
      const isOwn = reply.status === 202 && verify.object(reply)['device_id'] === sim;
      return answerByStatus(reply, {
        202: isOwn ? 'queues' : 'pool',
        403: 'access_denied',
        503: 'device_inactive',
      });
    },
  }),
  about('foreignNumber/another-accounts-number', ['sender', 'foreign-from'], 1, {
    sends: "a message from another account's number",
    run: async (t, account) => {
      await requireKey(t, account);
      const from = t.target.flags.foreignFrom ?? (await t.account()).from;
      const code = verify.codeOf(await t.send(account, { from })) ?? '';
      if (code.startsWith('from_number_access_denied')) return { answer: 'access_denied' };
      if (code === 'from_number_not_found') return { answer: 'not_found' };
      return { undetermined: `another code: ${code}` };
    },
  }),
  about('poolBesideOwnSim/pool-number', ['pool'], 2, {
    sends: 'a message from the pool number by an account with a connected SIM',
    run: async (t, account) => {
      const from = await t.control.poolNumber();
      const withoutSim = await t.send(await t.account({ sims: 0 }), { from });
      verify.given(() => verify.accepted(withoutSim));
      const reply = await t.send(account, { from });
      return answerByStatus(reply, { 403: 'access_denied', 202: 'allow' });
    },
  }),
  about('unauthenticatedThrottle/many-without-a-key', ['key'], 0, {
    recordings: [floodOf.address],
    sends: 'requests without a key beyond the limit of an address',
    run: async (t, account) => {
      const { refusals } = await recorded(t, floodOf.address);
      if (refusals.length > 0) return { answer: 'then_429' };
      if (t.hasControl && (await errorsSpend(t, account))) return { answer: 'always_401' };
      return {
        undetermined: 'either refused requests spend nothing here, or they are never throttled',
      };
    },
  }),
  about('clientIp/forwarded-for', ['key'], 0, {
    recordings: [floodOf.address],
    sends: 'requests without a key until 429, then one with X-Forwarded-For',
    run: async (t) => {
      const { forwarded } = await recorded(t, floodOf.address);
      if (forwarded === undefined)
        return { undetermined: 'calls without a key are never throttled here' };
      return answerByStatus(forwarded, { 429: 'peer', 401: 'x_forwarded_for' });
    },
  }),
  about('errorsSpendToken/many-invalid', fresh, documentedLimits.send + 1, {
    throttled: 1,
    sends: `${documentedLimits.send} invalid messages, then a valid one`,
    run: async (t, account) => ({ answer: (await errorsSpend(t, account)) ? 'yes' : 'no' }),
  }),
  about('requestIdMaxLength/longest', ['sender', 'discover'], 20, {
    sends: 'request_ids of many lengths',
    run: async (t, account) => {
      await requireSender(t, account);
      const longest = await findLongest(t, account);
      return typeof longest === 'string' ? { undetermined: longest } : { answer: longest };
    },
  }),
  about('sendAtMaxAheadDays/furthest', ['sender', 'discover'], 20, {
    sends: 'send_at of many distances',
    run: async (t, account) => {
      await requireSender(t, account);
      const accepts = async (days: number) => {
        const send_at = isoTime(t.now() + days * dayMs);
        return (await t.send(account, { send_at })).status === 202;
      };
      if (await accepts(mostDaysAhead)) return { answer: 'unlimited' };
      // Half a day ahead is refused as well, so no number of days can be determined.
      if (!(await accepts(0.5))) return { undetermined: 'half a day ahead is refused' };
      const usual = [1, 7, 14, 30, 31, 60, 90, 180, 365, 366, 730];
      return { answer: await largestAccepted(0, mostDaysAhead - 1, accepts, usual) };
    },
  }),
];

/** Sends invalid messages up to the limit; true if the next valid one is throttled. */
async function errorsSpend(t: Trial, account: AccountUnderTest): Promise<boolean> {
  const refusals = await flood(documentedLimits.send, () =>
    t.send(account, { message: tooLongMessage }),
  );
  verify.given(() => {
    for (const reply of refusals) verify.status(reply, 400);
  });
  const valid = await t.send(account);
  verify.given(() => verify.status(valid, 202, 429));
  return valid.status === 429;
}

/** The longest accepted `request_id`, or why it is unknown. */
async function findLongest(t: Trial, account: AccountUnderTest): Promise<number | string> {
  const accepts = async (length: number) => {
    const id = t.requestId().slice(-length).padEnd(length, 'r');
    const { status } = await t.send(account, { request_id: id });
    // A short id may be known from an earlier run.
    return status === 202 || status === 200;
  };
  if (await accepts(longestTriedId))
    return `request_ids of ${longestTriedId} characters are still accepted`;
  if (!(await accepts(1))) return 'a request_id of one character is refused';
  const usual = [32, 36, 40, 50, 64, 100, 128, 255, 256, 512, 1_024];
  return largestAccepted(1, longestTriedId - 1, accepts, usual);
}
