/**
 * Cases about reads, unknown ids, the paths of the service, and what reads at the end of a run show.
 * Rules: READ-1, READ-2, SVC-3, VER-1.
 */
import { hash } from 'node:crypto';
import { dayMs, hourMs, isoTime, secondMs } from '#contract/time.ts';
import {
  type Exchange,
  isAccepted,
  isMessageSend,
  isRead,
  isSend,
  messageIdOf,
} from '#judging/evidence/exchange.ts';
import { uuid } from '#judging/service/body.ts';
import { type History, historiesIn, pickupOf } from '#judging/service/histories.ts';
import { isPassedBy, latestPickupMs } from '#judging/service/pace.ts';
import { tellingPart, tellingReads } from '#judging/service/read.ts';
import { mayBeHeld } from '#judging/service/validity.ts';
import { flood } from '../floods/limited-requests.ts';
import { about, type Case, judging } from '../run/case.ts';
import { type Recording, recorded } from '../run/recording.ts';
import { paths, type Trial, unknownId } from '../run/trial.ts';
import { statusEvidence, watched } from '../steps/watched-messages.ts';

const unknownIds = [unknownId, 'f47ac10b-58cc-4372-a567-0e02b2c3d479'];
/** Ids of another version of UUIDs, in other spellings, of other forms, and that no database stores. */
const malformedIds = [
  'c232ab00-9414-11ec-b3c8-9f6bdeced846',
  'F47AC10B-58CC-4372-A567-0E02B2C3D479',
  'f47ac10b58cc4372a5670e02b2c3d479',
  '00000000-0000-0000-0000-000000000000',
  'not-an-id',
  '1',
  "1'",
  'a%20b',
  'x'.repeat(300),
  '%00',
  '%ff',
];
/** The hexadecimal digits of a UUID before its first hyphen. */
const firstBlockLength = 8;

/**
 * Wrong forms of an id: cut, with more around it, with a changed digit, and as a database pattern.
 * No digit of the UUID's version or variant changes.
 */
export function similarIdsOf(id: string): string[] {
  const last = id.length - 1;
  const withOtherDigit = (index: number) =>
    `${id.slice(0, index)}${id[index] === '0' ? '1' : '0'}${id.slice(index + 1)}`;
  return [
    ...[0, firstBlockLength + 1, last].map(withOtherDigit),
    id.slice(0, firstBlockLength),
    id.slice(0, last),
    `${id}0`,
    // As long as an id in braces, which a parser may remove unseen.
    `x${id}x`,
    `${id.slice(0, last)}_`,
  ];
}

/** Another unknown id for each `n` up to 98: it replaces the last two digits. */
const unknownIdOf = (n: number) => `${unknownId.slice(0, -2)}${`${n + 1}`.padStart(2, '0')}`;

/** Reads a foreign id and unknown ones: more of them while the replies seem to tell them apart. */
async function compareReads(
  t: Trial,
  foreignId: string,
  read: (id: string) => Promise<unknown>,
): Promise<void> {
  const from = t.exchanges.length;
  for (const id of [...unknownIds, foreignId]) await read(id);
  for (let n = 0; n < tellingReads; n++) {
    const reads = t.exchanges.slice(from);
    const foreign = reads.filter(({ id }) => id === foreignId);
    const unknown = reads.filter(({ id }) => id !== foreignId);
    if (tellingPart(foreign, unknown) === undefined) return;
    await read(unknownIdOf(n));
    await read(foreignId);
  }
}

/** Headers of a read by different clients. The dates of a cache are older than any message. */
const readersHeaders: readonly Readonly<Record<string, string>>[] = [
  { 'user-agent': 'curl/8.5.0', accept: '*/*' },
  {
    'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0',
    accept: 'application/json, text/plain, */*',
    'accept-language': 'de-DE,de;q=0.9,en;q=0.8',
    'x-requested-with': 'XMLHttpRequest',
    origin: 'https://app.example.com',
  },
  {
    'user-agent': 'python-requests/2.32.3',
    'content-type': 'application/json',
    'accept-encoding': 'gzip',
  },
  { 'if-none-match': '"another body"' },
  { 'if-modified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' },
];

/** Reads are free (READ-3), so the messages of a usual run are all read again. */
const readsAtTheEnd = 1_000;
/** A slow target gets fewer of these reads. */
const longestReadingMs = 20 * secondMs;

/** The run since the last broken connection: a target that restarted may have lost the rest. */
export function sinceLastBreak({ target: { log } }: Trial): readonly Exchange[] {
  return log.slice(log.findLastIndex(({ reply }) => reply.interruptions > 0) + 1);
}

/** Reads the messages of all other cases, as far as there is time: first those that are few. */
async function readMessagesOfTheRun(t: Trial): Promise<void> {
  const since = sinceLastBreak(t);
  // The 202 of the other sends is open: its message_id may be no id.
  const mayHaveRead = (one: Exchange) => isMessageSend(one) || uuid.test(messageIdOf(one));
  const sends = since.filter((one) => isSend(one) && isAccepted(one) && mayHaveRead(one));
  if (sends.length === 0) t.lack('other cases whose messages are accepted');
  const ids = new Set(sends.map(messageIdOf));
  t.exchanges.push(...since.filter((exchange) => isRead(exchange) && ids.has(exchange.id ?? '')));
  const drawn = sends
    .map((send) => ({ send, place: readingOrderOf(send, t.target.seed) }))
    .sort((one, other) => (one.place < other.place ? -1 : 1));
  const startedAt = performance.now();
  await flood(Math.min(drawn.length, readsAtTheEnd), async (index) => {
    const send = drawn[index]?.send;
    if (send === undefined || performance.now() - startedAt > longestReadingMs) return;
    const { authorization = '' } = send.headers;
    const path = paths.read(messageIdOf(send));
    await t.request({ method: 'GET', path, headers: { authorization } });
  });
}

/** Held messages come first, then those with a text of their own; each group by chance of the seed. */
function readingOrderOf(send: Exchange, seed: number): string {
  const isCommon = String(send.fields?.['message']).startsWith('conformance');
  const kind = mayBeHeld(send) ? 0 : 1 + Number(isCommon);
  return `${kind} ${hash('sha256', `${seed} ${messageIdOf(send)}`)}`;
}

export const lastReads: Recording = {
  name: 'reads at the end of the run',
  needs: ['sender'],
  spends: {},
  record: readMessagesOfTheRun,
};

/** The sends of the run that a read at its end shows: those of the other endpoints may have no read. */
export function readAgainIn(t: Trial): readonly Exchange[] {
  const found = new Set(
    t.exchanges.filter((one) => isRead(one) && one.reply.status === 200).map(({ id }) => id),
  );
  return sinceLastBreak(t).filter(
    (one) => isSend(one) && isAccepted(one) && found.has(messageIdOf(one)),
  );
}

/** The held sends whose messages were still queued long after their time, and passed by later ones. */
export function passedHolds(t: Trial): readonly Exchange[] {
  const trace = { ...t.trace(), exchanges: sinceLastBreak(t) };
  return historiesIn({ exchanges: trace.exchanges })
    .filter((one) => isMessageSend(one.start) && mayBeHeld(one.start) && isPassedBy(trace, one))
    .map(({ start }) => start);
}

/** The sends whose messages were seen to be picked up in time, or passed by later ones of their SIM. */
function sendsOfMovingQueue(t: Trial): readonly Exchange[] {
  const trace = { ...t.trace(), exchanges: sinceLastBreak(t) };
  const isTimely = (one: History) =>
    (pickupOf(one)?.until ?? Number.POSITIVE_INFINITY) - one.start.sentAt <= latestPickupMs(trace);
  const isDue = ({ start }: History) => !mayBeHeld(start);
  return historiesIn({ exchanges: trace.exchanges })
    .filter((one) => isDue(one) && (isTimely(one) || isPassedBy(trace, one)))
    .map(({ start }) => start);
}

export const readCases: readonly Case[] = [
  judging('READ-1/every-message-of-the-run', lastReads, {
    isLast: true,
    sends: `reads of up to ${readsAtTheEnd} messages of the other cases`,
    demands: '200 with the Message body of that message, in each read of the run',
  }),
  judging('SVC-3/every-message-of-the-run', lastReads, {
    isLast: true,
    sends: `reads of up to ${readsAtTheEnd} messages of the other cases`,
    demands: 'no message is still queued long after later ones of its SIM were picked up',
    steps: async (t) => {
      const sends = sendsOfMovingQueue(t);
      if (sends.length === 0) t.lack('a message that its device picked up in time');
      t.exchanges.push(...sends);
    },
  }),
  about('READ-1/own-message', ['sender'], 2, {
    sends: 'two messages, and a read of each',
    demands: '200 with the Message body of that message',
    steps: async (t, account) => {
      const both = [await t.mustSend(account), await t.mustSend(account)];
      for (const { messageId } of both) await t.read(account, messageId);
    },
  }),
  about('READ-1/as-any-client-asks', ['sender'], 1, {
    also: ['RES-5'],
    sends:
      'reads as command lines, libraries and browsers make them, and with the conditions of a cache that has another body',
    demands: '200 with the same Message body: a read depends on the id alone',
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      for (const headers of readersHeaders)
        await t.get(paths.read(messageId), account.key, headers);
    },
  }),
  about('READ-1/held-message', ['sender'], 1, {
    sends: 'a read of a message that is held for an hour',
    demands: '200 with its Message body',
    steps: async (t, account) => {
      const send_at = isoTime(t.now() + hourMs);
      const { messageId } = await t.mustSend(account, { send_at });
      await t.read(account, messageId);
    },
  }),
  about('READ-1/a-month-later', ['fresh', 'clock'], 1, {
    sends: 'reads of a message one, two and thirty-one days after it was sent',
    demands: '200 with the Message body',
    steps: async (t, account) => {
      const sentAt = t.now();
      const { messageId } = await t.mustSend(account);
      for (const days of [1, 2, 31]) {
        await t.control.advanceTo(sentAt + days * dayMs);
        await t.read(account, messageId);
      }
    },
  }),
  judging('READ-1/current-status', watched, {
    sends: 'reads of a message until it has been picked up',
    demands: '200 each time, and the status changes from queued',
    evidence: statusEvidence.pickup,
  }),
  about('READ-1/any-key-of-the-account', ['sender', 'other-key'], 1, {
    sends: 'a read with the second key of the account',
    demands: "200: the message is the account's",
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      const { key } = await t.secondKey(account);
      await t.get(paths.read(messageId), key);
    },
  }),
  about('READ-2/unknown-id', ['sender'], 1, {
    sends: 'reads of ids that no message has, among them the request_id of a message',
    demands: '404 with a JSON body, never a permission error; 400 only for bytes that are no text',
    steps: async (t, account) => {
      const request_id = t.requestId();
      const { messageId } = await t.mustSend(account, { request_id });
      for (const id of [messageId, request_id, ...unknownIds, ...malformedIds])
        await t.read(account, id);
    },
  }),
  about('READ-2/nearly-an-id', ['sender'], 1, {
    sends: "reads of a message's id cut, longer, with another digit, and as a pattern",
    demands: '404 each; 200 for the id itself',
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      for (const id of [...similarIdsOf(messageId), messageId]) await t.read(account, id);
    },
  }),
  about('READ-2/another-accounts-id', ['sender', 'second-account'], 1, {
    sends: "a read and a HEAD of another account's message, and of unknown ids",
    demands: '404 for each read, and replies that do not show which message exists',
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      await t.read(account, messageId);
      const other = await t.otherAccount();
      const headers = { authorization: `Bearer ${other.key}` };
      for (const method of ['GET', 'HEAD']) {
        await compareReads(t, messageId, (id) =>
          t.request({ method, path: paths.read(id), headers }),
        );
      }
      await t.read(account, messageId);
    },
  }),
  judging('READ-2/at-the-end-of-a-message', watched, {
    needs: ['second-account'],
    sends: 'reads of messages that have ended, by another account, and of unknown ids',
    demands: '404 for each',
    evidence: statusEvidence.end,
    steps: async (t) => {
      const other = await t.otherAccount();
      const ended = await recorded(t, watched);
      for (const id of [...unknownIds, ...ended.map(({ messageId }) => messageId)])
        await t.read(other, id);
    },
  }),
  about('VER-1/under-v1', ['sender'], 1, {
    spends: { received: 1 },
    sends: 'send, read, received and stats under /api/v1/',
    demands: '202, 200, 200, 200',
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      for (const path of [paths.read(messageId), paths.received, paths.stats])
        await t.get(path, account.key);
    },
  }),
  about('VER-1/without-version', ['sender', 'device'], 0, {
    spends: { dashboard_send: 1, external_send: 1, tasks: 1 },
    sends: 'dashboard send, external send and device tasks without a version prefix',
    demands: 'they exist: neither 404 nor 405',
    steps: async (t, account) => {
      await t.read(account, unknownId);
      for (const path of [paths.dashboard_send, paths.external_send])
        await t.post(path, account.key, t.fields(account));
      await t.poll(account);
    },
  }),
  about('VER-1/received-is-no-message-id', ['key'], 0, {
    spends: { received: 1 },
    sends: 'a read of received messages, and of an unknown id',
    demands: '200 with JSON for the list, 404 for the unknown id',
    steps: async (t, account) => {
      await t.get(paths.received, account.key);
      await t.read(account, unknownId);
    },
  }),
];
