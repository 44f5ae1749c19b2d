/**
 * Cases about which messages are accepted, and which fields are refused. Rules: SEND-1 to SEND-3,
 * SEND-5, SEND-6, STATE-1, SVC-2, SVC-4. A row of a table is a value that every permitted answer to
 * an assumption treats alike.
 */

import type { RuleId } from '../../src/ledger/rules.ts';
import { hourMs } from '../../src/ledger/time-units.ts';
import { about, type Case } from '../case.ts';
import type { Recording } from '../recording.ts';
import { longestMessage, tooLongMessage } from '../refused-sends.ts';
import type { Need } from '../target.ts';
import { type Fields, paths, type Subject, type Trial } from '../trial.ts';
import * as numbers from './number-forms.ts';

/** The budget of sends of most cases if all cases share an account and its limits. */
const fewTries = 3;
const senderNeeds: readonly Need[] = ['sender'];
/** Characters of a row that a report shows. */
const mostShown = 80;

interface RefusalCase {
  readonly id: `${RuleId}/${string}`;
  readonly sends: string;
  /** The fields to send, each row on its own; an undefined field is left out. */
  readonly rows: (valid: { to: string; from: string }) => readonly Fields[];
  /** The budget of sends without a control port: only so many rows, which `--seed` selects. */
  readonly tries?: number;
}

/** A case that sends each row and demands a 400. */
function refusalCase({ id, sends, rows, tries = fewTries }: RefusalCase): Case {
  return {
    ...about(id, senderNeeds, { send: tries }),
    sends,
    demands: '400 that names the failing field',
    steps: async (t, account) => {
      const all = rows({ to: t.recipient, from: account.from });
      const chosen = allowedRows(t, t.someOf(all, tries));
      if (chosen.length < all.length)
        t.describeSends(
          `${sends}: ${chosen.length} of ${all.length}, by --seed: ${chosen.map(shownFields).join(', ')}`,
        );
      for (const fields of chosen) await t.send(account, fields);
      // A service that refuses everything must not pass.
      if (t.controlled) await t.send(account);
    },
  };
}

/** The rows that may be sent: --allow-to permits only its own recipients. */
function allowedRows(t: Trial, rows: readonly Fields[]): readonly Fields[] {
  const allowed = rows.filter((fields) => t.target.allowTo === undefined || !('to' in fields));
  if (allowed.length === 0) t.lack('recipients outside --allow-to');
  return allowed;
}

/** The fields of a row, as reports show them. */
function shownFields(fields: Fields): string {
  const text = JSON.stringify(fields, (_, value: unknown) =>
    value === undefined ? 'nothing' : value,
  );
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text;
}

const requiredFields = ['to', 'from', 'message'];

/**
 * A target may read a number as text (`typeCoercion`). So a number is only in a field where its
 * text is invalid too.
 */
const wrongTypes: readonly Fields[] = [
  { message: { text: 'x' } },
  { message: ['x'] },
  { request_id: { id: 7 } },
  { send_at: 'tomorrow' },
  { send_at: '2040-13-45T00:00:00Z' },
  { from: ['+12025550123'] },
  { from: { number: '+12025550123' } },
  { to: ['+12025550123'] },
  { to: { number: '+12025550123' } },
  { to: 12025550123 },
  { from: 12025550123 },
  { send_at: 1_900_000_000 },
];

const refusalCases: readonly RefusalCase[] = [
  {
    id: 'SEND-2/required-fields',
    sends: 'a message without `to`, without `from`, without `message`',
    rows: () => requiredFields.map((name) => ({ [name]: undefined })),
  },
  {
    id: 'SEND-2/null-is-missing',
    sends: 'null as `to`, as `from`, as `message`',
    rows: () => requiredFields.map((name) => ({ [name]: null })),
  },
  {
    id: 'SEND-2/to-is-e164',
    sends: 'recipients that are not E.164 numbers',
    rows: ({ to: valid }) => {
      const texts = new Set([...numbers.dialledForms(valid), ...numbers.malformed]);
      return [numbers.asJsonNumber(valid), ...texts].map((to) => ({ to }));
    },
    tries: 4,
  },
  {
    id: 'SEND-2/from-is-e164',
    sends: 'senders that are not E.164 numbers',
    rows: ({ from: valid }) => {
      const texts = [...numbers.otherSpellings(valid), ...numbers.malformed];
      return [numbers.asJsonNumber(valid), ...texts].map((from) => ({ from }));
    },
  },
  {
    id: 'SEND-2/alias-is-e164',
    sends: 'a `from_number` that is not an E.164 number',
    rows: () => ['abc', '12025550123'].map((from_number) => ({ from: undefined, from_number })),
    tries: 1,
  },
  {
    id: 'SEND-2/numbers-are-not-tidied',
    sends:
      'good numbers with a line end, a null byte, full-width digits, a space that does not break',
    rows: ({ to, from }) => [
      { to: `${to}\n` },
      { to: numbers.inWideDigits(to) },
      { to: `${to}\u0000` },
      { from: `${from}\u00a0` },
      { from: `${from}\n` },
    ],
  },
  {
    id: 'SEND-5/wrong-types',
    sends: 'values of the wrong type in every field, and invalid dates',
    rows: () => wrongTypes,
  },
  {
    id: 'SEND-5/body-identifies-the-field',
    sends: 'one failing field at a time: `message` too long, `send_at` past, `from` malformed',
    rows: () => [
      { message: tooLongMessage },
      { send_at: '2020-02-01T00:00:00.000Z' },
      { from: 'x' },
    ],
  },
];

/** Malformed bodies never contain a recipient, so that no message can be sent. */
const malformedTexts = ['{', '[]', 'null', '"text"', '42', '{"message": ', 'not json', ''];

/** Malformed bodies, then a valid one. Two rules judge the same replies. */
const malformedBodies: Recording = {
  name: 'malformed bodies',
  needs: senderNeeds,
  spends: { send: fewTries + 1 },
  record: async (t, account) => {
    for (const body of t.someOf(malformedTexts, fewTries))
      await t.post(paths.send, account.key, body);
    await t.send(account);
  },
};

function malformedCase(rule: 'SEND-5' | 'SVC-4', demands: string): Case {
  return {
    ...about(`${rule}/malformed-bodies`, senderNeeds),
    recordings: [malformedBodies],
    sends: 'bodies that are not a JSON object (three of eight without a control port, by --seed)',
    demands,
  };
}

interface TextCase extends Pick<Case, 'sends' | 'demands'> {
  readonly id: `${RuleId}/${string}`;
  readonly texts: readonly string[];
}

/** A case that sends one message with each of these texts. */
function textCase({ id, sends, demands, texts }: TextCase): Case {
  return {
    ...about(id, senderNeeds, { send: texts.length }),
    sends,
    demands,
    steps: async (t, account) => {
      for (const message of texts) await t.send(account, { message });
    },
  };
}

const then400 = '202, then 400 that names `message`';
const longestText = 'a'.repeat(longestMessage);
/** One letter more than a message of one segment may have. */
const twoSegments = 'a'.repeat(161);
const farTooLong = 'a'.repeat(5_000);
/** Characters that become several when they are escaped for HTML, a modem or a log. */
const oftenEscaped = '&"\'\\\n{€|';

function longestAndTooLong(letter: string): string[] {
  return [letter.repeat(longestMessage), letter.repeat(longestMessage + 1)];
}

const textCases: readonly TextCase[] = [
  {
    id: 'SEND-6/letters',
    sends: '1,600 letters, then 1,601',
    demands: then400,
    texts: longestAndTooLong('a'),
  },
  {
    id: 'SEND-6/characters-not-bytes',
    sends: '1,600 characters of two and of three bytes, then 1,601',
    demands: then400,
    texts: [...longestAndTooLong('é'), ...longestAndTooLong('短')],
  },
  {
    id: 'SEND-6/counted-as-it-is-sent',
    sends:
      '1,600 letters that are often escaped; 1,601 of which spaces, line ends or accents might be dropped',
    demands: '202 for the first; no message for the others',
    texts: [
      oftenEscaped.repeat(longestMessage / oftenEscaped.length),
      `${longestText} `,
      // From here on: 1,601 code points, but 1,600 visible characters.
      `${longestText.slice(1)}\r\n`,
      `${longestText.slice(1)}e\u0301`,
      `${longestText.slice(1)}👍🏽`,
    ],
  },
  {
    id: 'SEND-3/any-text',
    sends: 'texts with emoji, quotes, a line break, other scripts',
    demands: '202 each',
    texts: ['👋 🇺🇸 👩‍👩‍👧', `O'Brien; "x" \\ 100% <b>&amp;`, 'one\ntwo', 'Жé短 مرحبا'],
  },
  {
    id: 'SEND-3/two-sends-are-two-messages',
    sends: 'the same message twice, without a request_id',
    demands: '202 both times, with different message_ids',
    texts: ['conformance', 'conformance'],
  },
];

/** Sends a message under the name `from`, then under the alias alone. */
async function sendUnderBothNames(t: Trial, account: Subject, senders: readonly string[]) {
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
    const { messageId } = await t.queued(account);
    await t.read(account, messageId);
  },
};

export const sendCases: readonly Case[] = [
  ...refusalCases.map(refusalCase),
  ...textCases.map(textCase),
  malformedCase('SEND-5', 'a 4xx with a JSON body, never a 5xx, and the service keeps running'),
  malformedCase('SVC-4', 'a 4xx whose own body is JSON'),
  {
    ...about('SEND-2/numbers-of-other-lands', ['sender', 'unknown-from'], { send: 4 }),
    sends:
      'from an unknown sender, so that none is sent: messages to a malformed number and to well-formed ones of three countries, which are reserved for fiction',
    demands: 'no 400 for a well-formed recipient',
    steps: async (t, account) => {
      const from = t.unusedNumber();
      for (const to of ['abc', ...numbers.fictional]) await t.send(account, { from, to });
    },
  },
  {
    ...about('SEND-6/far-too-long', senderNeeds, { send: 2, dashboard_send: 1, external_send: 1 }),
    sends: '161 letters, then 5,000 with a send_at; 5,000 by the other two sends',
    demands: '202: more than one segment is allowed; then 400 by the send that the document shows',
    steps: async (t, account) => {
      await t.send(account, { message: twoSegments });
      const send_at = new Date((await t.now()) + hourMs).toISOString();
      await t.send(account, { message: farTooLong, send_at });
      for (const path of [paths.dashboard_send, paths.external_send])
        await t.post(path, account.key, t.fields(account, { message: farTooLong }));
    },
  },
  {
    ...about('SEND-3/escaped-text', senderNeeds, { send: 2 }),
    also: ['RES-3'],
    sends: 'a text and a request_id with emoji and accents, written with the escapes of JSON',
    demands: '202, and the request_id as it was sent, where the service takes such ids',
    steps: async (t, account) => {
      const rich = 'caf\u00e9 \u{1f600}';
      const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
      for (const fields of [{ message: rich }, { request_id: `${t.requestId()} ${rich}` }]) {
        const body = JSON.stringify(t.fields(account, fields));
        await t.post(paths.send, account.key, body.replace(/[^\x20-\x7e]/g, escaped));
      }
    },
  },
  {
    ...about('SEND-5/refused-is-not-queued', ['fresh'], { send: 3 }),
    sends: 'invalid messages with a request_id, then the list of messages',
    demands: 'only the valid message exists',
    steps: async (t, account) => {
      for (const fields of [{}, { message: tooLongMessage }, { to: 'abc' }])
        await t.send(account, { ...fields, request_id: t.requestId() });
      await t.noteMessageCount(account);
    },
  },
  {
    ...about('SEND-3/new-message-is-202', senderNeeds),
    recordings: [sentAndRead],
    sends: 'a valid new message',
    demands: '202 with the Message body, status queued',
  },
  {
    ...about('STATE-1/created-queued', senderNeeds),
    recordings: [sentAndRead],
    sends: 'a valid message',
    demands: 'it exists, in status queued',
  },
  {
    ...about('SVC-2/answers-when-queued', senderNeeds),
    recordings: [sentAndRead],
    sends: 'a valid message, and a read straight after',
    demands: 'the reply says queued: nothing is sent yet',
  },
  {
    ...about('SEND-1/alias-is-equivalent', senderNeeds, { send: 2 }),
    sends: 'one message with `from`, one with `from_number` alone',
    demands: '202 for both, from the same number and device',
    steps: (t, account) => sendUnderBothNames(t, account, [account.from]),
  },
  {
    ...about('SEND-1/alias-is-judged-alike', ['sender', 'unknown-from'], { send: 4 }),
    sends: 'an unknown number and a malformed one, under `from` and under `from_number`',
    demands: 'the same refusals under both names',
    steps: (t, account) => sendUnderBothNames(t, account, [t.unusedNumber(), 'no-number']),
  },
];
