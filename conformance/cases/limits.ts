/**
 * Cases about the limit of each endpoint, and about 429s. Rules: LIMIT-1 to LIMIT-7, AUTH-6,
 * READ-3, ERR-3, ERR-4, SVC-4. A flood, which sends more than a limit allows, is costly. So a run
 * makes one of each endpoint (`conformance/floods/floods.ts`), which nearly all of these cases
 * judge.
 */
import {
  documentedLimits,
  type LimitedEndpoint,
  limitedEndpoints,
  ruleOfLimit,
} from '#contract/limits.ts';
import type { RuleId } from '#contract/rules.ts';
import { secondMs } from '#contract/time.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { soonSeconds } from '../floods/after-flood.ts';
import { floodOf } from '../floods/floods.ts';
import {
  flood,
  isRefused,
  passed,
  requestTo,
  waitForNewMinute,
} from '../floods/limited-requests.ts';
import { about, type Case, judging, replyEvidence } from '../run/case.ts';
import { type Recording, recorded } from '../run/recording.ts';
import { paths, type Trial, unknownId } from '../run/trial.ts';

/** The longest wait for a whole bucket: a minute, and a margin. */
const refillSeconds = 62;
/** More requests than an endpoint with a limit would let pass. */
const readTimes = { some: 150, many: 300, stats: 350 };
const manySends = `more than ${documentedLimits.send} sends`;

function casesOf(name: LimitedEndpoint): Case[] {
  const rule = ruleOfLimit[name];
  const limit = documentedLimits[name];
  const caseName = name.replace('_', '-');
  const manyRequests = `more than ${limit} requests to ${name}`;
  return [
    judging(`${rule}/${limit}-pass`, floodOf[name], {
      sends: `${manyRequests} within a minute, with two user agents, keys, SIMs, recipients, names of the sender and other queries`,
      demands: `${limit} pass, then 429`,
    }),
    judging(`${rule}/a-minute`, floodOf[name], {
      waitSeconds: refillSeconds,
      sends: `${manyRequests} at once, then one before and one after Retry-After`,
      demands: 'what was spent is back after a minute, and not before',
    }),
    judging(`ERR-3/sufficient-and-tight-${caseName}`, floodOf[name], {
      waitSeconds: refillSeconds,
      sends: `requests to ${name} until 429; one a second before Retry-After is over, one after it`,
      demands: 'Retry-After in whole seconds; the first is 429, the second passes',
    }),
    judging(`ERR-4/detail-${caseName}`, floodOf[name], {
      sends: `requests to ${name} until 429`,
      demands: 'a JSON object with a text `detail` that states the seconds of Retry-After',
    }),
    judging(`LIMIT-7/${caseName}-leaves-the-others`, floodOf[name], {
      sends: `${manyRequests}, then some to every other endpoint`,
      demands: 'a 429 at this endpoint, none at the others',
    }),
    judging(`AUTH-6/keys-of-a-user-share-${caseName}`, floodOf[name], {
      needs: ['other-key'],
      sends: `${manyRequests} with two keys of one account in turn`,
      demands: `${limit} pass, then 429`,
    }),
    judging(`AUTH-6/users-do-not-share-${caseName}`, floodOf[name], {
      needs: ['second-account'],
      sends: `${manyRequests} by one account, then one by another, from one address`,
      demands: '429 for the first account, none for the second',
    }),
    manyMinutesCase(name),
  ];
}

/** Judges every 429 of the run, whatever case it met, so it sends nothing. */
const every429OfTheRun = about('ERR-3/every-429-of-the-run', ['sender'], 0, {
  isLast: true,
  sends: 'nothing more: judges every 429 of the run',
  demands: 'a wait of at most a minute, and the next request passes after it',
  steps: async (t) => {
    for (const exchange of t.target.log) t.exchanges.push(exchange);
  },
});

/** Polls that other cases may have sent before. */
const pollsOfOtherCases = 10;

/** Empties the bucket of tasks at the start of a run; the main flood is in a later minute. */
const earlyFlood: Recording = {
  name: 'an early flood of tasks',
  needs: ['key', 'device'],
  spends: { tasks: documentedLimits.tasks - pollsOfOtherCases },
  throttled: 2,
  seconds: 2,
  waitSeconds: refillSeconds,
  isForIdleTime: true,
  record: async (t, account) => {
    const poll = () => t.poll(account);
    const replies = await flood(documentedLimits.tasks + 2, poll);
    // A bucket with a continuous refill has some tokens again.
    for (let i = 0; i < 10 && replies.every(passed); i += 1)
      replies.push(...(await flood(2, poll)));
  },
};

/** One request at the start of a run, then a minute for tokens to accumulate before the flood. */
const earlyRequest: Recording = {
  name: 'an early request for received',
  needs: ['key'],
  spends: { received: 1 },
  seconds: 61,
  waitSeconds: refillSeconds,
  isForIdleTime: true,
  record: async (t, { key }) => {
    await t.get(paths.received, key);
    await t.pause(61 * secondMs, 'tokens to accumulate');
  },
};

/** How long, and how often, an endpoint is called whose tokens return one by one. */
const steadyCalls = { seconds: 40, everyMs: 300 };

/**
 * True if tokens return one by one: the first refusal asked for so short a wait. Later ones may
 * come just before the end of any wait.
 */
function areReturnedSingly(t: Trial): boolean {
  const refusal = t.target.log.find(
    ({ endpoint, reply }) => endpoint === 'received' && isRefused(reply),
  );
  return Number(refusal?.reply.headers['retry-after']) <= soonSeconds;
}

/** Three bursts exceed the limit, two do not. */
const burstSize = Math.floor(documentedLimits.received * 0.37);

/**
 * Sends bursts after the flood of received messages; no minute holds more than two bursts. Where
 * tokens return one by one, empties the bucket and then calls faster than they return: only that shows
 * a bucket that refills too fast.
 */
const steadyBursts: Recording = {
  name: 'bursts of received',
  needs: ['key'],
  // Its earlier bursts are in the ledger when the next one is due.
  spends: { received: burstSize },
  seconds: 72,
  waitSeconds: 35,
  follows: floodOf.received,
  record: async (t, { key }) => {
    const call = () => t.get(paths.received, key);
    if (areReturnedSingly(t)) {
      await flood(documentedLimits.received + 2, call);
      const endMs = t.now() + steadyCalls.seconds * secondMs;
      while (t.now() < endMs) {
        await call();
        await t.pause(steadyCalls.everyMs, 'the next of steady requests for received messages');
      }
      return;
    }
    const burstsPass = async () => {
      const replies: Reply[] = [];
      for (const pauseSeconds of [0, 35, 35]) {
        await t.pause(pauseSeconds * secondMs, 'the next burst of requests for received messages');
        replies.push(...(await flood(burstSize, call)));
      }
      return replies.every(passed);
    };
    if (await burstsPass()) return;
    // Another client may have used the bucket: again, after a flood that finds the bucket full.
    await t.pause(refillSeconds * secondMs, 'the limit of received');
    await flood(documentedLimits.received + 2, call);
    await t.pause(refillSeconds * secondMs, 'the limit of received');
    await burstsPass();
  },
};

/** Without a control port, these recordings replace the steps of `manyMinutesCase`. */
const realTimeRecordings: Partial<Record<LimitedEndpoint, readonly Recording[]>> = {
  tasks: [earlyFlood, floodOf.tasks],
  received: [earlyRequest, floodOf.received, steadyBursts],
};

/**
 * A case about several minutes: floods after long pauses and after just over a minute; then steady
 * requests. Without a control port it judges recordings, of endpoints that send no messages.
 */
function manyMinutesCase(name: LimitedEndpoint): Case {
  const recordings = realTimeRecordings[name];
  const limit = documentedLimits[name];
  return about(`${ruleOfLimit[name]}/many-minutes`, recordings?.[0]?.needs ?? ['clock'], 0, {
    ...(recordings !== undefined && { recordings }),
    sends: `requests to ${name} in several minutes, after pauses and steadily`,
    demands: `${limit} pass in any minute, whatever came before it`,
    steps: async (t, account) => {
      if (!t.hasControl) return;
      await waitForNewMinute(t);
      await requestTo(t, name, account);
      // Several minutes, one and a half, and just over one.
      for (const pauseSeconds of [340, 90, 65]) {
        await t.advance(pauseSeconds * secondMs);
        await flood(limit + 2, () => requestTo(t, name, account));
      }
      await t.advance(65 * secondMs);
      // Half of the limit every 40 s: no minute holds more than the limit.
      for (let i = 0; i < 3; i += 1) {
        await flood(Math.floor(limit / 2), () => requestTo(t, name, account));
        await t.advance(40 * secondMs);
      }
    },
  });
}

/** A case about reads of one message, which have no limit. */
function manyReadsCase(id: `${RuleId}/${string}`, times: number, demands: string): Case {
  return about(id, ['sender'], 1, {
    sends: `${times} reads of one message`,
    demands,
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      await flood(times, () => t.read(account, messageId));
    },
  });
}

export const limitCases: readonly Case[] = [
  ...limitedEndpoints.flatMap(casesOf),
  every429OfTheRun,
  judging('LIMIT-1/throttled-is-not-queued', floodOf.send, {
    also: ['SEND-4'],
    sends: `${manySends}; the list of messages or of tasks, and a refused send again`,
    demands: 'as many messages as were answered 202, and no replay of a refused send',
    spends: { send: 1 },
    steps: async (t) => {
      const { account, refused } = await recorded(t, floodOf.send);
      await t.noteMessageCount(account);
      await t.send(account, refused[0]);
    },
  }),
  about('LIMIT-7/the-others-stay-whole', ['sender'], 0, {
    recordings: [floodOf.send, floodOf.dashboard_send, floodOf.external_send, floodOf.received],
    sends: 'floods of four endpoints, one after another, and many reads',
    demands: 'as many pass at each: requests to other endpoints do not count',
  }),
  judging('LIMIT-7/reads-and-statistics-spend-nothing', floodOf.send, {
    sends: `reads and requests for statistics, then ${manySends}`,
    demands: `${documentedLimits.send} of the sends pass`,
  }),
  judging('AUTH-6/addresses-of-a-user-share', floodOf.received, {
    sends: `more than ${documentedLimits.received} requests for received messages by one account, then from another address`,
    demands: 'as many pass as from one: authenticated calls are keyed by user',
  }),
  judging('AUTH-6/unauthenticated-by-address', floodOf.address, {
    sends:
      'requests without a key; then one with a key, and one without from another address and to another endpoint',
    demands: `401 for ${documentedLimits.received} of them; neither the key, the other address nor the other endpoint is throttled`,
  }),
  judging('AUTH-6/users-do-not-spend-the-address', floodOf.address, {
    sends: 'requests with a key, then without one from the same address',
    demands: `401 for ${documentedLimits.received} of those without a key`,
  }),
  judging('AUTH-6/revoked-key-does-not-spend-the-user', floodOf.address, {
    needs: ['revoked-key'],
    sends: 'requests with a revoked key, then with the good key of the same account',
    demands: 'the revoked key counts for the address, and not for the user',
  }),
  about('AUTH-6/users-of-the-pool-do-not-share', ['pool'], 0, {
    sends: `${documentedLimits.send + 1} sends from the pool number by one account without a SIM, then one by another`,
    demands: '429 for the first account, 202 for the second',
    account: { sims: 0 },
    steps: async (t, account) => {
      const from = await t.control.poolNumber();
      const other = await t.account({ sims: 0 });
      await flood(documentedLimits.send + 1, () => t.send(account, { from }));
      await t.send(other, { from });
    },
  }),
  judging('ERR-3/sufficient-without-a-key', floodOf.address, {
    waitSeconds: refillSeconds,
    sends: 'requests without a key until 429, then one after Retry-After seconds',
    demands: 'Retry-After in whole seconds; then 401',
  }),
  judging('ERR-4/detail-without-a-key', floodOf.address, {
    sends: 'requests without a key until 429',
    demands: 'a JSON object with a text `detail` that states the seconds of Retry-After',
  }),
  judging('SVC-4/throttled-is-json', floodOf.received, {
    sends: 'requests for received messages until 429',
    demands: 'a JSON body, declared as application/json',
    evidence: replyEvidence('429', (status) => status === 429),
  }),
  judging('READ-3/reads-while-sends-are-throttled', floodOf.send, {
    sends: 'reads after the limit of the send endpoint was met',
    demands: '200 each',
  }),
  manyReadsCase('READ-3/many-reads', readTimes.many, '200 each'),
  manyReadsCase('LIMIT-6/reads', readTimes.some, 'no 429'),
  about('LIMIT-6/reads-of-unknown-ids', ['key'], 0, {
    sends: `${readTimes.some} reads of unknown ids`,
    demands: '404 each, no 429',
    steps: async (t, account) => {
      await t.get(paths.stats, account.key);
      await flood(readTimes.some, () => t.read(account, unknownId));
    },
  }),
  about('LIMIT-6/stats', ['key'], 0, {
    sends: `${readTimes.stats} requests for the account statistics`,
    demands: 'no 429',
    steps: (t, { key }) => flood(readTimes.stats, () => t.get(paths.stats, key)),
  }),
];
