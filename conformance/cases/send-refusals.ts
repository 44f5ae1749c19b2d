/**
 * Sends that must be refused: cases about the fields that a refusal names and about bodies that are
 * not a JSON object, and the recording `refusedSends`, which other files judge. Rules: SEND-2,
 * SEND-5, SVC-4. A row of a table is a value that every permitted answer to an assumption treats
 * alike.
 */
import type { RuleId } from '#contract/rules.ts';
import { about, type Case, judging } from '../run/case.ts';
import type { Recording } from '../run/recording.ts';
import { type AccountUnderTest, type Fields, paths, type Trial } from '../run/trial.ts';
import { isAllowed, isNearlyAllowed } from '../target/client.ts';
import type { Need } from '../target/target.ts';
import * as similar from './similar-values.ts';

/** The default number of rows that a case sends if all cases share an account and its limits. */
const defaultTries = 3;
const senderNeeds: readonly Need[] = ['sender'];
/** Characters of a row that a report shows. */
const mostShown = 80;

interface ValidNumbers {
  readonly to: string;
  readonly from: string;
}

interface RefusalCase {
  readonly sends: string;
  /** The fields to send, each row on its own; an undefined field is left out. */
  readonly rows: (valid: ValidNumbers) => readonly Fields[];
  /** The number of rows to send without a control port; `--seed` selects them. */
  readonly tries?: number;
}

/** A case that sends each row and demands a 400. */
function refusalCase(
  id: `${RuleId}/${string}`,
  { sends, rows, tries = defaultTries }: RefusalCase,
): Case {
  return about(id, senderNeeds, tries, {
    sends,
    demands: '400 that names the failing field',
    account: { isAny: true },
    steps: async (t, account) => {
      const all = rows({ to: t.recipient, from: account.from });
      const allowed = allowedRows(t, all);
      const chosen = t.someOf(allowed, tries);
      const excluded = all.length - allowed.length;
      if (chosen.length < all.length) {
        const why =
          excluded === 0
            ? ''
            : `, without ${excluded} to recipients that --allow-to excludes (--unknown-from would allow them)`;
        t.describeSends(
          `${sends}: ${chosen.length} of ${all.length}, by --seed${why}: ${chosen.map(shownFields).join(', ')}`,
        );
      }
      for (const fields of chosen) await t.send(account, fields);
      // A service that refuses everything must not pass.
      if (t.hasControl) await t.send(account);
    },
  });
}

/**
 * The rows that may be sent. --allow-to permits only its own recipients, in any spelling. Other rows
 * are sent from a number that no SIM has, if the run has one: validation comes before the sender
 * under every answer of `gateOrder`.
 */
function allowedRows(t: Trial, rows: readonly Fields[]): readonly Fields[] {
  const { allowTo, flags } = t.target;
  const { unknownFrom: from } = flags;
  if (allowTo === undefined) return rows;
  const allowed = rows.flatMap((row): readonly Fields[] => {
    if (isAllowed(allowTo, row['to'])) return [row];
    return from !== undefined && isNearlyAllowed(allowTo, row['to']) ? [{ ...row, from }] : [];
  });
  if (allowed.length === 0)
    t.lack('--unknown-from, to name recipients that --allow-to does not have');
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

/** Holds no JSON numbers, because a target may read one as its text (`typeCoercion`). */
const wrongValues = ({ to, from }: ValidNumbers): readonly Fields[] => [
  { message: { text: 'x' } },
  { message: ['x'] },
  { message: 'x\0' },
  { message: 'x\ud83d' },
  { request_id: { id: 7 } },
  { send_at: 'tomorrow' },
  { send_at: '2040-02-31T00:00:00.000Z' },
  { from: [from] },
  { from: { number: from } },
  { to: [to] },
  { to: { number: to } },
];

/** Malformed bodies without a recipient, so that no message can be sent. */
const malformedTexts = ['{', '[]', 'null', ''];
/** What follows a whole object. A parser that reads a stream of values stops before it. */
const trailingTexts = ['x', '{}'];

/** Malformed bodies, then a valid one. Two rules judge the same replies. */
const malformedBodies: Recording = {
  name: 'malformed bodies',
  needs: senderNeeds,
  spends: { send: malformedTexts.length + 1 + trailingTexts.length + 1 },
  record: async (t, account) => {
    const whole = JSON.stringify(t.fields(account));
    const trailing = trailingTexts.map((text) => `${whole}${text}`);
    // As the source code of many languages, which a lax parser takes.
    const inSingleQuotes = whole.replaceAll('"', "'");
    for (const body of [...malformedTexts, inSingleQuotes, ...trailing])
      await t.post(paths.send, account.key, body);
    await t.send(account);
  },
};

function malformedCase(rule: 'SEND-5' | 'SVC-4', demands: string): Case {
  return judging(`${rule}/malformed-bodies`, malformedBodies, {
    sends: 'bodies that are not a JSON object, in single quotes, or that go on after one',
    demands,
  });
}

export const refusalCases: readonly Case[] = [
  refusalCase('SEND-2/required-fields', {
    sends: 'a message with `To` in place of `to`, without `from`, and with `MESSAGE` for `message`',
    rows: ({ to }) => [
      { to: undefined, To: to },
      { from: undefined },
      { message: undefined, MESSAGE: 'conformance' },
    ],
  }),
  refusalCase('SEND-2/null-is-missing', {
    sends: 'null as `to`, as `from`, as `message`',
    rows: () => requiredFields.map((name) => ({ [name]: null })),
  }),
  refusalCase('SEND-2/to-is-e164', {
    sends: 'recipients that are not E.164 numbers',
    rows: ({ to: valid }) => {
      const texts = [...similar.dialledForms(valid), ...similar.malformedForms(valid)];
      return [similar.asJsonNumber(valid), ...texts].map((to) => ({ to }));
    },
    tries: 17,
  }),
  refusalCase('SEND-2/from-is-e164', {
    sends: 'senders that are not E.164 numbers',
    rows: ({ from: valid }) => {
      const texts = [...similar.otherSpellings(valid), ...similar.malformedForms(valid)];
      return [similar.asJsonNumber(valid), ...texts].map((from) => ({ from }));
    },
    tries: 12,
  }),
  refusalCase('SEND-2/alias-is-e164', {
    sends: 'a `from_number` that ends in a line break',
    rows: ({ from }) => [{ from: undefined, from_number: `${from}\n` }],
    tries: 1,
  }),
  refusalCase('SEND-2/numbers-are-not-tidied', {
    sends: 'valid numbers with a line break, a null byte, full-width digits or a no-break space',
    rows: ({ to, from }) => [
      { to: `${to}\n` },
      { to: similar.inWideDigits(to) },
      { to: `${to}\u0000` },
      { from: `${from}\u00a0` },
      { from: `${from}\n` },
      { from: similar.inWideDigits(from) },
    ],
    tries: 6,
  }),
  refusalCase('SEND-5/wrong-types', {
    sends:
      'values of the wrong type in every field, a null byte, half of an emoji, and invalid dates',
    rows: wrongValues,
    tries: 11,
  }),
  refusalCase('SEND-5/body-identifies-the-field', {
    sends: 'one failing field at a time: `message` too long, `send_at` past',
    rows: () => [{ message: similar.tooLongMessage }, { send_at: '2020-02-01T00:00:00.000Z' }],
    tries: 2,
  }),
  malformedCase('SEND-5', 'a 4xx with a JSON body, never a 5xx, and the service keeps running'),
  malformedCase('SVC-4', 'a 4xx whose own body is JSON'),
];

/** Fields that each fail a different check. */
const invalidFields: readonly Fields[] = [
  { message: similar.tooLongMessage },
  { to: 'x' },
  { send_at: 'soon' },
];

/**
 * Refused sends, each followed by a valid send of the same `request_id`, except by an account whose
 * quota is spent. Two rules judge the replies: SEND-4, because a refused `request_id` is not an
 * original, and SVC-4, because a refusal is JSON.
 */
export const refusedSends: Recording = {
  name: 'refused sends',
  needs: senderNeeds,
  spends: { send: 7 },
  record: async (t) => {
    const account = await t.account({ sims: 2 });
    // Shows that the key is accepted.
    await t.get(paths.stats, account.key);
    const senders = await refusedSenders(t, account);
    for (const wrong of [...t.someOf(invalidFields, 1), ...senders]) {
      const request_id = t.requestId();
      await t.send(account, { ...wrong, request_id });
      await t.send(account, { request_id });
    }
    const exhausted = await t.exhaustedAccount(account.from);
    if (exhausted !== undefined) await t.send(exhausted, { request_id: t.requestId() });
  },
};

/** An unknown sender and one whose SIM is deactivated, as far as the run has them. */
async function refusedSenders(t: Trial, account: AccountUnderTest): Promise<Fields[]> {
  const { unknownFrom, inactiveFrom } = t.target.flags;
  if (!t.hasControl)
    return [unknownFrom, inactiveFrom].flatMap((from) => (from === undefined ? [] : { from }));
  await t.patchSim(account, 1, { active: false });
  return [{ from: t.unusedNumber() }, { from: account.sims[1]?.number }];
}
