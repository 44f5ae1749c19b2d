/**
 * Cases about which messages are accepted: texts, lengths, names of fields. Rules: SEND-1 to
 * SEND-3, SEND-5, SEND-6, STATE-1, SVC-2. `send-refusals.ts` has those that send invalid fields. A
 * row of a table is a value that every permitted answer to an assumption treats alike.
 */
import { messageMaxCharacters } from '#contract/limits.ts';
import type { RuleId } from '#contract/rules.ts';
import { hourMs, isoTime } from '#contract/time.ts';
import { about, type Case, judging } from '../run/case.ts';
import type { Recording } from '../run/recording.ts';
import { type AccountUnderTest, paths, type Trial } from '../run/trial.ts';
import type { Need } from '../target/target.ts';
import { oneIdWithTwoKeys } from './observations-accounts.ts';
import * as similar from './similar-values.ts';

const senderNeeds: readonly Need[] = ['sender'];

interface TextCase extends Pick<Case, 'sends' | 'demands'> {
  readonly texts: readonly string[];
}

/** A case that sends one message with each of these texts. */
function textCase(id: `${RuleId}/${string}`, { sends, demands, texts }: TextCase): Case {
  return about(id, senderNeeds, texts.length, {
    sends,
    demands,
    steps: async (t, account) => {
      for (const message of texts) await t.send(account, { message });
    },
  });
}

const then400 = '202, then 400 that names `message`';
const longestText = 'a'.repeat(messageMaxCharacters);
const farTooLong = 'a'.repeat(5_000);
/** Characters that become several when they are escaped for HTML, a modem or a log. */
const oftenEscaped = '&"\'\\\n{€|';

/** Headers of a send by different clients. */
const sendersHeaders = [
  {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'axios/1.13.2',
    'accept-encoding': 'gzip',
    'x-request-id': 'one-of-a-gateway',
  },
  { 'content-type': 'application/json;charset="UTF-8"', accept: '*/*', 'user-agent': 'curl/8.5.0' },
] as const;

function longestAndTooLong(letter: string): string[] {
  return [letter.repeat(messageMaxCharacters), letter.repeat(messageMaxCharacters + 1)];
}

/** Sends a message under the name `from`, then under the alias alone. */
async function sendUnderBothNames(t: Trial, account: AccountUnderTest, senders: readonly string[]) {
  for (const from of senders) {
    await t.send(account, { from });
    await t.send(account, { from: undefined, from_number: from });
  }
}

/** A message and a read straight after it: three rules judge the same replies. */
const sentAndRead: Recording = {
  name: 'a message and its read',
  needs: senderNeeds,
  spends: { send: 1 },
  record: async (t, account) => {
    const { messageId } = await t.mustSend(account);
    await t.read(account, messageId);
  },
};

export const sendCases: readonly Case[] = [
  textCase('SEND-6/letters', {
    sends: '1,600 letters, then 1,601',
    demands: then400,
    texts: longestAndTooLong('a'),
  }),
  textCase('SEND-6/characters-not-bytes', {
    sends: '1,600 characters of two and of three bytes, then 1,601',
    demands: then400,
    texts: [...longestAndTooLong('é'), ...longestAndTooLong('短')],
  }),
  textCase('SEND-6/counted-as-it-is-sent', {
    sends:
      '1,600 letters that are often escaped; 1,601 of which spaces, line ends or accents might be dropped',
    demands: '202 for the first; no message for the others',
    texts: [
      oftenEscaped.repeat(messageMaxCharacters / oftenEscaped.length),
      `${longestText} `,
      // From here on: 1,601 code points, but 1,600 visible characters.
      `${longestText.slice(1)}\r\n`,
      `${longestText.slice(1)}e\u0301`,
      `${longestText.slice(1)}👍🏽`,
    ],
  }),
  textCase('SEND-3/any-text', {
    sends:
      'texts with emoji, quotes, a link, code, placeholders, white space of many kinds, other scripts, and that a language may take for none, or a network for a command',
    demands: '202 each',
    texts: [
      '👋 🇺🇸 👩‍👩‍👧 ❤️',
      `=1+1 O'Brien' OR 1=1; DROP TABLE a; SELECT 1 UNION SELECT 2 -- "x" \\ 100% ../../etc/passwd <script>alert(1)</script>&amp; https://example.com/?a=1 {{name}} \${name} {0} %s`,
      'one\r\n\ttwo\u2028three\u00a0four',
      'Жé短 漢字日本語 مرحبا',
      '0',
      'null',
      'STOP',
    ],
  }),
  about('SEND-3/empty-ids-are-no-replay', senderNeeds, 2, {
    sends: 'a message with an empty request_id, twice',
    demands: '202 both times, or 400 (emptyRequestId)',
    steps: async (t, account) => {
      for (let times = 0; times < 2; times += 1) await t.send(account, { request_id: '' });
    },
  }),
  textCase('SEND-3/two-sends-are-two-messages', {
    sends: 'the same message twice, without a request_id',
    demands: '202 both times, with different message_ids',
    texts: ['conformance', 'conformance'],
  }),
  about('SEND-3/any-key-of-the-account', ['sender', 'other-key'], 1, {
    sends: 'a message with the second key of the account',
    demands: "202: the number is the account's",
    steps: async (t, account) => {
      const { key } = await t.secondKey(account);
      await t.send({ ...account, key });
    },
  }),
  judging('SEND-3/two-keys-one-request-id', oneIdWithTwoKeys, {
    sends: 'one request_id with two keys of one account',
    demands: 'a message of its own, or the replay of the first (replayScope)',
  }),
  about('SEND-2/numbers-of-other-lands', ['sender', 'unknown-from'], 4, {
    sends:
      'from an unknown sender, so that none is sent: messages to a short code and to well-formed numbers of three countries, which are reserved for fiction',
    demands: '400 for the short code, no 400 for a well-formed recipient',
    steps: async (t, account) => {
      const from = t.unusedNumber();
      for (const to of ['12345', ...similar.fictional]) await t.send(account, { from, to });
    },
  }),
  about('SEND-6/far-too-long', senderNeeds, 2, {
    spends: { dashboard_send: 1, external_send: 1 },
    sends: '161 letters, then 5,000 with a send_at and a request_id; 5,000 by the other two sends',
    demands: '202: more than one segment is allowed; then 400 by the send that the document shows',
    steps: async (t, account) => {
      await t.send(account, { message: similar.twoSegments });
      const send_at = isoTime(t.now() + hourMs);
      await t.send(account, { message: farTooLong, send_at, request_id: t.requestId() });
      for (const path of [paths.dashboard_send, paths.external_send])
        await t.post(path, account.key, t.fields(account, { message: farTooLong }));
    },
  }),
  about('SEND-3/escaped-text', senderNeeds, 4, {
    also: ['RES-3', 'SEND-4', 'SEND-6'],
    sends:
      'the longest texts of accents and of emoji, and a request_id with an emoji, a slash and a tab, written with the escapes of JSON, then the request_id without them',
    demands:
      '202, and the request_id as it was sent, where the service takes such ids; then its replay. 400 for the emoji where two units of UTF-16 are two characters (characterUnit)',
    steps: async (t, account) => {
      const ids = { request_id: `${t.requestId()} caf\u00e9/\u{1f600}\t` };
      // Emoji make the longest body that a message needs, of 19 KB.
      const longest = ['\u00e9', '\u{1f600}'].map((one) => one.repeat(messageMaxCharacters));
      const inHex = (unit: string) => unit.charCodeAt(0).toString(16).padStart(4, '0');
      const escaped = (unit: string) =>
        `\\u${unit < '\ud800' ? inHex(unit).toUpperCase() : inHex(unit)}`;
      for (const fields of [...longest.map((message) => ({ message })), ids]) {
        const body = JSON.stringify(t.fields(account, fields));
        const inAscii = body.replace(/[^\x20-\x7e]/g, escaped).replaceAll('/', '\\/');
        await t.post(paths.send, account.key, inAscii);
      }
      await t.send(account, ids);
    },
  }),
  about('SEND-3/as-any-client-sends', senderNeeds, 5, {
    also: ['SEND-4'],
    sends:
      'sends with the headers of several clients, with a charset, in chunks and laid out in lines; then a replay by another client',
    demands: '202 each, then the replay: a send depends on its fields alone',
    steps: async (t, account) => {
      const ids = { request_id: t.requestId() };
      const post = (body: string, headers: Readonly<Record<string, string>>) =>
        t.post(paths.send, account.key, body, headers);
      const body = JSON.stringify(t.fields(account));
      await post(body, sendersHeaders[0]);
      await post(`\n${JSON.stringify(t.fields(account), null, '\t')}\r\n`, sendersHeaders[1]);
      // RFC 9110 lets a server refuse a body of unstated length.
      if ((await post(body, { 'transfer-encoding': 'chunked' })).status === 411) t.exchanges.pop();
      for (const headers of sendersHeaders)
        await post(JSON.stringify(t.fields(account, ids)), headers);
    },
  }),
  about('SEND-5/refused-is-not-queued', ['fresh'], 3, {
    sends: 'invalid messages with a request_id, then the list of messages',
    demands: 'only the valid message exists',
    steps: async (t, account) => {
      for (const fields of [{}, { message: similar.tooLongMessage }, { to: 'abc' }])
        await t.send(account, { ...fields, request_id: t.requestId() });
      await t.noteMessageCount(account);
    },
  }),
  judging('SEND-3/new-message-is-202', sentAndRead, {
    sends: 'a valid new message',
    demands: '202 with the Message body, status queued',
  }),
  judging('STATE-1/created-queued', sentAndRead, {
    sends: 'a valid message',
    demands: 'it exists, in status queued',
  }),
  about('STATE-1/fields-of-its-own', senderNeeds, 1, {
    also: ['RES-2', 'RES-4', 'SEND-7'],
    sends:
      'a held message with a status, an id, a device and a time, which the service sets itself',
    demands: 'a message that is held, with those of the service, or 400 (unknownFields)',
    steps: async (t, account) => {
      const reply = await t.send(account, {
        status: 'delivered',
        message_id: 'mine',
        device_id: 'mine',
        created_at: '2020-02-01T00:00:00.000Z',
        send_at: isoTime(t.now() + hourMs),
      });
      if (reply.status === 400) t.lack('a target that ignores fields it does not know');
      await t.read(account, String(Object(reply.json).message_id));
    },
  }),
  judging('SVC-2/answers-when-queued', sentAndRead, {
    sends: 'a valid message, and a read straight after',
    demands: 'the reply says queued: nothing is sent yet',
  }),
  about('SEND-1/alias-is-equivalent', senderNeeds, 2, {
    sends: 'one message with `from`, one with `from_number` alone',
    demands: '202 for both, from the same number and device',
    steps: (t, account) => sendUnderBothNames(t, account, [account.from]),
  }),
  about('SEND-1/alias-is-judged-alike', ['sender', 'unknown-from'], 4, {
    sends: 'an unknown number and a malformed one, under `from` and under `from_number`',
    demands: 'the same refusals under both names',
    steps: (t, account) => sendUnderBothNames(t, account, [t.unusedNumber(), 'no-number']),
  }),
];
