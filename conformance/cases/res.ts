/**
 * Cases about the bodies of replies: the fields of a Message in a 202, a replay or a read (rules
 * RES-1 to RES-6), and that every body is JSON (rule SVC-4).
 */
import type { RuleId } from '#contract/rules.ts';
import { type Exchange, methodOf } from '#judging/evidence/exchange.ts';
import { textOf } from '#judging/service/expectations.ts';
import { about, type Case, judging, replyEvidence } from '../run/case.ts';
import type { Recording } from '../run/recording.ts';
import {
  type AccountUnderTest,
  type Fields,
  paths,
  sendPaths,
  type Trial,
  unknownId,
} from '../run/trial.ts';
import { statusEvidence, watched } from '../steps/watched-messages.ts';
import type { Need } from '../target/target.ts';
import { getStatsWithAndWithoutKey, readPaths } from './auth.ts';
import { lastReads } from './read.ts';
import { idOfDigits, statedMaxLength } from './send-4-ids.ts';
import { refusedSends } from './send-refusals.ts';

/** Characters of a long id; a target may refuse it (`requestIdMaxLength`). */
const longIdLength = 100;
/** Prefers HTML, and takes anything, also compressed. */
const ofBrowser = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-encoding': 'gzip',
};
/** At this part of a second, the milliseconds have a leading zero. */
const earlyMs = 40;
/** The longest `request_id` to send if the target does not state its own bound. */
const usualIdLength = 255;

async function sendAndRead(
  t: Trial,
  account: AccountUnderTest,
  fields: Fields = {},
): Promise<void> {
  const { messageId } = await t.mustSend(account, fields);
  await t.read(account, messageId);
}

/** The three bodies of one message. Several rules judge them. */
const oneMessage: Recording = {
  name: 'a message, a read and a replay',
  needs: ['sender'],
  spends: { send: 2 },
  record: async (t, account) => {
    const fields = { request_id: t.requestId() };
    await sendAndRead(t, account, fields);
    await t.send(account, fields);
  },
};

function oneMessageCase(id: `${RuleId}/${string}`, demands: string): Case {
  return judging(id, oneMessage, { sends: 'a send, a read of it, a replay of it', demands });
}

/** The statuses that a rule judges; all of them, where a rule has none. */
const judgedStatuses: Partial<Record<RuleId, readonly number[]>> = {
  // A send that another case repeats with another key or endpoint may be a replay.
  'ERR-1': [202, 402],
  // SEND-5 also judges replays, but of sends at once the log does not show which came first.
  'SEND-5': [400, 500],
  // Each new message has an id of its own; whether a send must be accepted is judged elsewhere.
  'SEND-3': [202],
  // Other rules judge a broken connection and a lost message.
  'SVC-2': [200, 202],
  // Not what a server in front of the service may answer by itself.
  'SVC-4': [200, 202, 401, 402, 403, 429],
};

/** A busy server may refuse a good sender for a moment: only cases judge that. */
const isOfSenderRule = ({ sender, reply }: Exchange) =>
  sender?.is !== 'own' || reply.status === 202;

/** The requests that a rule judges; all of them, where a rule has none. */
const judgedRequests: Partial<Record<RuleId, (exchange: Exchange) => boolean>> = {
  // Other keys that no service knows differ by their spelling, of which some is open.
  'AUTH-3': ({ caller: { key }, reply }) =>
    key === 'revoked' || (key === 'valid' && reply.status === 200),
  'AUTH-4': isOfSenderRule,
  'AUTH-5': isOfSenderRule,
  'ERR-2': isOfSenderRule,
};

/** What a case needs that judges all replies of a rule, where a message alone is not enough. */
const needsOfReplies: Partial<Record<RuleId, readonly Need[]>> = {
  'AUTH-3': ['key'],
  'AUTH-4': ['sender', 'unknown-from'],
  'AUTH-5': ['sender', 'foreign-from'],
  'ERR-1': ['sender', 'exhausted-key'],
  'ERR-2': ['sender', 'inactive-from'],
  'RES-6': ['sender', 'device'],
};

const rulesOfReplies = [
  // The first use of a key or a number by any case may be the only one that a cache lets pass.
  'AUTH-3',
  'AUTH-4',
  'AUTH-5',
  'ERR-1',
  'ERR-2',
  'RES-1',
  'RES-2',
  'RES-3',
  'RES-4',
  'RES-5',
  'RES-6',
  'SEND-3',
  'SEND-5',
  'SVC-2',
  'SVC-4',
] as const;

/** Cases that judge every reply that the run received, so they send nothing. */
const everyBodyOfTheRun: readonly Case[] = rulesOfReplies.map((rule) =>
  about(`${rule}/every-body-of-the-run`, needsOfReplies[rule] ?? ['sender'], 0, {
    isLast: true,
    // A read shows a message whose 202 is open, too.
    ...(rule.startsWith('RES') && { recordings: [lastReads] }),
    sends: 'nothing more: judges the replies of the run that the rule is about',
    demands: `${rule} holds for each of them`,
    steps: async (t) => {
      const isJudged = (exchange: Exchange) => {
        const { reply, endpoint, method } = exchange;
        return (
          endpoint !== undefined &&
          method === methodOf(endpoint) &&
          (judgedStatuses[rule]?.includes(reply.status) ?? true) &&
          (judgedRequests[rule]?.(exchange) ?? true) &&
          // With a control port, a case may move a message on at the instant of its reply.
          !(rule === 'SVC-2' && t.hasControl && endpoint === 'read')
        );
      };
      const known = new Set(t.exchanges);
      t.exchanges.push(...t.target.log.filter((one) => isJudged(one) && !known.has(one)));
      if (t.exchanges.length === 0) t.lack('other cases that send or read a message');
    },
  }),
);

/** A case that sends each request_id and reads the message. */
function echoCase(name: string, sends: string, ids: (t: Trial) => readonly string[]): Case {
  return about(`RES-3/${name}`, ['sender'], 3, {
    sends,
    demands: 'the same request_id in the 202 and in a read of the message',
    steps: async (t, account) => {
      const longest = statedMaxLength(t) ?? usualIdLength;
      const allowed = ids(t).filter(({ length }) => length <= longest);
      if (allowed.length === 0)
        t.lack(`a target that takes request_ids of more than ${longest} characters`);
      for (const request_id of allowed) await sendAndRead(t, account, { request_id });
    },
  });
}

export const resCases: readonly Case[] = [
  ...everyBodyOfTheRun,
  oneMessageCase('RES-1/seven-fields', 'exactly the seven fields, each a string, each time'),
  oneMessageCase(
    'RES-2/uuids-and-numbers',
    'message_id and device_id are UUIDs; from_number and to are E.164 and those that were sent',
  ),
  oneMessageCase(
    'RES-4/created-at-utc-milliseconds',
    'created_at with milliseconds and a trailing Z, about now',
  ),
  oneMessageCase('RES-5/status-is-a-state', 'status is one of the five states'),
  about('RES-2/numbers-of-this-message', ['sender', 'second-sender'], 1, {
    sends:
      'a message from each of two SIMs, without a control port from another account, and a read of each',
    demands: 'from_number is the number that was named, to is the recipient',
    steps: async (t) => {
      const account = t.hasControl ? await t.account({ sims: 2 }) : await t.otherAccount();
      for (const from of account.sims.map(({ number }) => number))
        await sendAndRead(t, account, { from });
      if (account.sims.length === 0) await sendAndRead(t, account);
    },
  }),
  about('RES-6/device-is-the-sim', ['sender', 'device'], 1, {
    sends: 'a message from each SIM of an account',
    demands: 'device_id is that of the SIM behind `from`',
    account: { sims: 2 },
    steps: async (t, account) => {
      for (const { number } of account.sims) await sendAndRead(t, account, { from: number });
    },
  }),
  about('RES-6/another-accounts-sim', ['sender', 'second-sender'], 2, {
    sends: 'a message from a number of each of two accounts',
    demands: 'two device_ids: a SIM belongs to one account',
    steps: async (t, own) => {
      for (const account of [own, await t.otherAccount()]) await t.mustSend(account);
    },
  }),
  echoCase('request-id-echoed', 'a send with a request_id, and a read of it', (t) => [
    t.requestId(),
  ]),
  echoCase(
    'request-id-echoed-as-it-is',
    'request_ids with letter case, signs, a tag, spaces within, letters of other scripts and a combining accent, and of digits alone',
    (t) => [
      ...['MiXed+"quoted" a\\b<i>_{0}', 'Ж e\u0301 短 😀'].map(
        (text) => `${t.hasControl ? '' : t.requestId()}${text}`,
      ),
      idOfDigits(t),
    ],
  ),
  // One of spaces alone may have been used in an earlier run.
  echoCase(
    'spaces-are-echoed',
    'a request_id with a leading and a trailing space, and in an account of its own one of spaces alone',
    (t) => [` ${t.requestId()} `, ...(t.hasControl ? ['   '] : [])],
  ),
  about('RES-3/long-id-is-echoed', ['sender'], 1, {
    also: ['SEND-5'],
    sends: `a send with a request_id of ${longIdLength} characters, and a read of it`,
    demands: 'the whole request_id in the 202 and in a read of the message',
    steps: async (t, account) => {
      // Three bytes each: an id is measured in characters.
      const reply = await t.send(account, { request_id: t.requestId().padEnd(longIdLength, '短') });
      if (reply.status === 400) {
        t.lack(
          `a target that takes request_ids of ${longIdLength} characters (requestIdMaxLength)`,
        );
      }
      await t.read(account, textOf(Object(reply.json).message_id));
    },
  }),
  about('RES-3/empty-when-none', ['sender'], 1, {
    sends: 'a send without a request_id, and a read of it',
    demands: 'request_id is the empty string',
    steps: sendAndRead,
  }),
  about('RES-4/early-in-a-second', ['sender'], 2, {
    mustRunAlone: true,
    sends: 'a message in the first tenth of a second',
    demands: 'milliseconds with their leading zeros',
    steps: async (t, account) => {
      const { body } = await t.mustSend(account);
      const intoMs = Date.parse(textOf(body['created_at'])) % 1_000;
      if (!Number.isNaN(intoMs)) await t.advance(1_000 + earlyMs - intoMs);
      await t.mustSend(account);
    },
  }),
  about('RES-4/created-at-stays', ['sender'], 1, {
    mustRunAlone: true,
    sends: 'a send, and two reads of it',
    demands: 'created_at is the same in all',
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      for (let i = 0; i < 2; i += 1) {
        await t.advance(t.hasControl ? 1_500 : 50);
        await t.read(account, messageId);
      }
    },
  }),
  judging('RES-4/created-at-stays-all-its-life', watched, {
    sends: 'a message, and reads of it until it is final',
    demands: 'created_at is that of the 202, whatever the status',
    evidence: statusEvidence.end,
  }),
  about('SVC-4/successes-are-json', ['sender', 'device'], 2, {
    spends: { dashboard_send: 1, external_send: 1, received: 1, tasks: 1 },
    sends: 'a good request to each of the seven endpoints, the GETs as by a browser, and a replay',
    demands: 'JSON bodies, declared as application/json',
    steps: async (t, account) => {
      const fields = t.fields(account, { request_id: t.requestId() });
      const { messageId } = await t.mustSend(account, fields);
      // Where endpoints share ids, the same id would only show replays.
      for (const path of sendPaths)
        await t.post(path, account.key, path === paths.send ? fields : t.fields(account));
      for (const path of readPaths(account, messageId)) await t.get(path, account.key, ofBrowser);
    },
  }),
  about('SVC-4/refusals-are-json', ['key'], 0, {
    sends: 'a good request, one without a key, one for an unknown id',
    demands: 'JSON bodies, declared as application/json',
    evidence: replyEvidence('refusal', (status) => status >= 400),
    steps: async (t, account) => {
      await getStatsWithAndWithoutKey(t, account);
      await t.read(account, unknownId);
    },
  }),
  judging('SVC-4/refused-senders-are-json', refusedSends, {
    sends: 'refusals with 400, 402, 403 and 503, as far as they can be provoked',
    demands: 'JSON bodies, declared as application/json',
    evidence: replyEvidence('refusal', (status) => status >= 400),
  }),
];
